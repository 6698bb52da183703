"""next and power, from the first restart to a search that is decided."""

import json
from typing import Any

from toy import Toy

CONFLICTING = """\
name: other-mode
hypothesis: third
kind: toggle
vars: {trials: 40}
steps:
  - env: {services: [app], set: {MODE: other}, removes: [third]}
  - restart: {services: [app]}
  - reproduce: {use: trials}
verdict: {by: rate, expect: drop, against: baseline}
conflicts_with: [fix]
"""
NAMELESS = CONFLICTING.replace("other-mode", "nameless").replace(", removes: [third]", "")


def advice(toy: Toy) -> dict[str, Any]:
    done = toy.run("next", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def names(found: dict[str, Any]) -> list[str]:
    return [one["name"] for one in found["options"]]


def prepare(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    toy.run("hypothesis", "add", "third", "--claim", "something else")
    toy.playbook("other-mode", CONFLICTING)
    toy.playbook("nameless", NAMELESS)


def test_without_a_ledger_or_hypotheses_it_says_what_to_do(toy: Toy) -> None:
    for words in (("next",), ("power", "fix")):
        none = toy.run(*words)
        assert (none.returncode, "there is no ledger here" in none.stderr) == (6, True)
    (toy.root / "playbooks" / "fix.yaml").unlink()
    (toy.root / "playbooks" / "safe-mode.yaml").unlink()
    toy.run("init")
    toy.run("run", "baseline", "-y")
    none = toy.run("next")
    assert (none.returncode, "no hypotheses to choose among" in none.stderr) == (2, True)
    assert len(none.stderr.splitlines()) == 1


def test_from_the_first_restart_to_the_last(toy: Toy) -> None:
    prepare(toy)
    first = advice(toy)
    assert names(first) == ["baseline"]
    assert first["options"][0]["price"]["guessed"]
    assert "no control has failed yet" in first["notes"][0]
    assert first["left_out"] == ["nameless: none of its steps says what it removes"]
    power = toy.run("power", "fix").stdout
    assert "the baseline has not failed yet" in power
    assert "try 59 trials" in power

    before = toy.tree()
    ran = toy.run("next", "--run", "-y")
    assert ran.returncode == 0, ran.stderr
    assert "campaign run baseline" in ran.stderr

    found = advice(toy)
    assert set(names(found)) >= {"fix", "safe-mode", "other-mode", "fix+safe-mode"}
    assert not [name for name in names(found) if "other-mode" in name and "+" in name]
    assert names(found)[0] in {"fix", "fix+safe-mode"}
    best = found["options"][0]
    assert best["if_no"] < best["chance"] < best["if_yes"]
    assert 0 < best["bits"] < 1
    assert not best["price"]["guessed"]
    worth = [one["worth"] for one in found["options"]]
    assert worth == sorted(worth, reverse=True)
    shown = toy.run("next").stdout
    assert f"run it: campaign next --run, or: campaign run {best['name']}" in shown

    refused = toy.run("next", "--run")
    assert (refused.returncode, "nobody is there to confirm" in refused.stderr) == (6, True)
    assert toy.tree() == before


def test_decided_asks_for_what_a_claim_still_lacks(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    toy.run("run", "baseline", "fix", "-y")
    found = advice(toy)
    assert names(found) == ["baseline"]
    assert found["parts"]["rule"] > 0.95
    assert "in which the failure returns" in found["notes"][1]
    toy.run("run", "baseline", "fix", "-y")
    shown = advice(toy)
    assert (shown["options"], shown["notes"][-1]) == (
        [],
        "the search is decided, and the restarts show it",
    )
    nothing = toy.run("next", "--run", "-y")
    assert (nothing.returncode, "there is nothing to run next" in nothing.stderr) == (6, True)


def test_a_combination_runs_as_one_restart(toy: Toy) -> None:
    prepare(toy)
    before = toy.tree()
    done = toy.run("run", "baseline", "fix+safe-mode", "-y", "--json")
    assert done.returncode == 0, done.stderr
    both = json.loads(done.stdout)["runs"][1]
    assert both["playbook"] == "fix+safe-mode"
    assert (both["verdict"]["word"], both["verdict"]["qualifier"]) == ("inconclusive", "")
    assert toy.tree() == before
    for words, said in (
        ("other-mode+fix", "other-mode says that it conflicts with fix"),
        ("safe-mode+other-mode", "do not go together: both change MODE of app"),
        ("fix+nope", "no playbook 'fix+nope'"),
        ("fix+baseline", "baseline cannot be combined with others: none of its steps says"),
    ):
        refused = toy.run("plan", words)
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr


def test_power_says_what_planned_trials_can_and_cannot_show(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    toy.run("run", "baseline", "-y")
    shown = toy.run("power", "fix").stdout
    for text in (
        "fix: 40 trials against baseline (8/40, 20.0% (10.5-34.8%))",
        "separated from baseline only at 1/40 or fewer",
        "counts alone are at most leading",
        "a rate that is only halved takes about 195 trials an arm",
        "40 trials after one restart weigh as 14",
        "one like it settles whether removing rule ends it",
    ):
        assert text in shown
    few = json.loads(toy.run("power", "fix", "-e", "trials=5", "--json").stdout)
    assert few["by_rate"]["separated"] is None
    assert {one["chance"] for one in few["by_rate"]["prospects"]} == {0.0}
    text = (toy.root / "campaign.yaml").read_text(encoding="utf-8")
    untold = text.replace('    trials: "{{ trials }}"\n', "")
    (toy.root / "campaign.yaml").write_text(untold, encoding="utf-8")
    refused = toy.run("power", "fix")
    assert (refused.returncode, "does not say how many trials" in refused.stderr) == (2, True)
