"""hypothesis add, list, show, set, note, import, export, as they are typed."""

import json

from toy import Toy


def test_a_hypothesis_from_adding_to_overruling(toy: Toy) -> None:
    empty = toy.run("hypothesis", "list")
    assert empty.returncode == 6  # no ledger yet
    added = toy.run(
        *("hypothesis", "add", "clock", "--claim", "the clocks drift | badly"),
        *("--mechanism", "NTP is off", "--prior", "0.25", "--if-true", "skew over 1 s"),
        *("--if-false", "no skew", "--assumption", "one zone", "--assumption", "no leap second"),
        *("--link", "https://example.org/1"),
    )
    assert (added.returncode, added.stdout) == (0, "added clock\n")
    assert toy.run("hypothesis", "note", "clock", "see the rack's switch").returncode == 0
    overruled = toy.run("hypothesis", "set", "clock", "abandoned", "--reason", "measured: no skew")
    assert overruled.stdout == "clock: abandoned, by you\n"
    shown = toy.run("hypothesis", "show", "clock").stdout
    for text in (
        "– clock: abandoned",
        "the clocks drift | badly",
        "NTP is off",
        "0.25",
        "skew over 1 s",
        "one zone",
        "no leap second",
        "https://example.org/1",
        "see the rack's switch",
        "standing abandoned (by operator): measured: no skew",
        "no runs yet",
    ):
        assert text in shown
    listed = json.loads(toy.run("hypothesis", "list", "--json").stdout)
    assert [(one["hypothesis"]["slug"], one["hypothesis"]["standing"]) for one in listed] == [
        ("clock", "abandoned")
    ]
    assert json.loads(toy.run("hypothesis", "show", "clock", "--json").stdout)["runs"] == []


def test_programs_are_answered_as_json_also_where_something_is_done(toy: Toy) -> None:
    def told(*words: str) -> tuple[int, dict[str, object]]:
        done = toy.run(*words, "--json")
        return done.returncode, json.loads(done.stdout)

    assert told("init", "new")[1]["written"][-1] == "campaign.db"  # type: ignore[index]
    imported = told("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    assert imported == (0, {"added": ["mode", "rule"], "changed": [], "same": []})
    assert told("hypothesis", "add", "clock", "--claim", "it drifts")[1]["claim"] == "it drifts"
    assert told("hypothesis", "edit", "clock", "--prior", "0.5")[1]["prior"] == 0.5
    assert told("hypothesis", "note", "clock", "x") == (0, {"slug": "clock", "note": "x"})
    words = ("hypothesis", "set", "clock", "abandoned", "--reason", "x")
    assert told(*words) == (0, {"slug": "clock", "standing": "abandoned"})
    assert told("services", "start") == (0, {"started": ["app"]})
    assert told("services", "stop") == (0, {"stopped": ["app"]})
    for verb in ("abort", "pause", "resume"):
        missing = "no run matches 'nothing'; `campaign runs list` shows them"
        assert told("runs", verb, "nothing") == (2, {"error": missing, "exit": 2})


def test_an_edit_changes_what_is_given_and_its_history_keeps_what_it_was(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    before = json.loads(toy.run("hypothesis", "show", "mode", "--json").stdout)
    changed = toy.run(
        *("hypothesis", "edit", "mode", "--no-prior", "--if-true", "it goes"),
        *("--assumption", "one", "--assumption", "two"),
    )
    assert (changed.returncode, changed.stdout) == (0, "changed mode\n")
    after = json.loads(toy.run("hypothesis", "show", "mode", "--json").stdout)
    one = after["listed"]["hypothesis"]
    assert one == before["listed"]["hypothesis"] | {
        "prior": None,
        "predicts_if_true": "it goes",
        "assumptions": ["one", "two"],
    }
    assert after["events"][-1]["kind"] == "changed"
    assert "prior: 0.3 -> none" in after["events"][-1]["text"]
    assert toy.run("hypothesis", "edit", "mode", "--assumption", "").returncode == 0
    same = toy.run("hypothesis", "edit", "mode", "--if-true", "it goes")
    assert same.stdout == "nothing to change in mode\n"
    last = json.loads(toy.run("hypothesis", "show", "mode", "--json").stdout)
    assert last["listed"]["hypothesis"]["assumptions"] == []


def test_what_cannot_be_a_hypothesis_is_refused_in_one_line(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    for words, said in (
        (("add", "rule", "--claim", "again"), "the hypothesis rule exists"),
        (("add", "new", "--claim", "x", "--prior", "0"), "give a number above 0 and below 1"),
        (("add", "new", "--claim", "x", "--prior", "nan"), "is not a weight"),
        (("add", "new", "--claim", " "), "needs a claim"),
        (("add", "a b", "--claim", "x"), "'a b' cannot name a hypothesis"),
        (("edit", "rull", "--claim", "x"), "did you mean 'rule'?"),
        (("edit", "rule", "--claim", " "), "needs a claim"),
        (("edit", "rule", "--prior", "2"), "a prior of 2 is not a weight"),
        (("edit", "rule", "--prior", "0.2", "--no-prior"), "exclude each other"),
        (("show", "rull"), "did you mean 'rule'?"),
        (("note", "rull", "text"), "did you mean 'rule'?"),
        (("note", "rule", " "), "a note without text"),
        (("set", "rull", "refuted", "--reason", "x"), "did you mean 'rule'?"),
        (("set", "rule", "refuted", "--reason", " "), "a standing needs a reason"),
        (("set", "rule", "wrong", "--reason", "x"), "'wrong' is not one of 'open', 'leading'"),
        (("show", "qqq"), "campaign hypothesis list shows what there is"),
        (("import", "nope.yaml"), "nope.yaml: there is no such file"),
    ):
        wrong = toy.run("hypothesis", *words)
        assert wrong.returncode == 2, words
        assert said in wrong.stderr
        assert wrong.stdout == ""
        assert len(wrong.stderr.splitlines()) == 1
    listed = json.loads(toy.run("hypothesis", "list", "--json").stdout)
    assert [one["hypothesis"]["slug"] for one in listed] == ["mode", "rule"]


def test_what_is_exported_can_be_imported_and_changes_nothing(toy: Toy) -> None:
    claim = "# 'quotes', \"more\": é, 日本\nand a line"
    toy.run("hypothesis", "add", "odd", "--claim", claim, "--prior", "0.5")
    exported = toy.run("hypothesis", "export").stdout
    file = toy.root / "again.yaml"
    file.write_text(exported, encoding="utf-8")
    assert toy.run("hypothesis", "import", str(file)).stdout == "same: odd\n"
    file.write_text(exported.replace("0.5", "0.25"), encoding="utf-8")
    assert toy.run("hypothesis", "import", str(file)).stdout == "changed: odd\n"
    (toy.root / "campaign.db").unlink()
    assert toy.run("hypothesis", "import", str(file)).stdout == "added: odd\n"
    (one,) = json.loads(toy.run("hypothesis", "list", "--json").stdout)
    assert (one["hypothesis"]["claim"], one["hypothesis"]["prior"]) == (claim, 0.25)


def test_an_import_with_a_fault_adds_nothing(toy: Toy) -> None:
    file = toy.root / "some.yaml"
    file.write_text(
        "hypotheses:\n  good: {claim: fine}\n  bad: {clam: x, prior: 3}\n", encoding="utf-8"
    )
    wrong = toy.run("hypothesis", "import", str(file))
    assert wrong.returncode == 2
    assert f"{file}:3:9: " in wrong.stderr
    assert "did you mean 'claim'?" in wrong.stderr
    assert "prior" in wrong.stderr
    assert not (toy.root / "campaign.db").exists()
