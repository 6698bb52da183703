"""init, check, schema and plan, and the variables of the command line."""

import json
import subprocess
from pathlib import Path

import pytest
import toy as toys
from toy import CAMPAIGN, Toy


def test_a_new_workspace_is_valid_as_it_stands(tmp_path: Path) -> None:
    made = Toy(tmp_path, 0)
    written = made.run("init", "new")
    assert written.returncode == 0, written.stderr
    assert "wrote campaign.yaml" in written.stdout
    new = Toy(tmp_path / "new", 0)
    assert new.run("check").returncode == 0
    planned = new.run("plan", "baseline")
    assert planned.returncode == 0, planned.stderr
    assert "1 boot to measure" in planned.stdout


def test_init_overwrites_nothing_and_makes_a_missing_ledger(tmp_path: Path) -> None:
    made = Toy(tmp_path, 0)
    assert made.run("init").returncode == 0
    config = (tmp_path / "campaign.yaml").read_bytes()
    again = made.run("init")
    assert (again.returncode, again.stdout) == (2, "")
    assert "campaign.yaml is there already; nothing was changed" in again.stderr
    (tmp_path / "campaign.db").unlink()
    assert "`campaign init` makes one" in made.run("status").stderr
    assert made.run("init").stdout.splitlines()[0] == "wrote campaign.db"
    assert (tmp_path / "campaign.yaml").read_bytes() == config
    assert made.run("status").returncode == 0


def test_what_gives_no_secret_to_anyone_needs_none(tmp_path: Path) -> None:
    made = Toy(tmp_path, 0)
    assert made.run("init").returncode == 0
    (tmp_path / "campaign.db").unlink()
    with (tmp_path / "campaign.yaml").open("a", encoding="utf-8") as config:
        config.write("budget: {restarts: 7}\nsecrets: {KEY: {env: NOT_SET_ANYWHERE}}\n")
    assert made.run("init").stdout.splitlines()[0] == "wrote campaign.db"
    assert "0 of 7 restarts" in made.run("status").stdout
    recovered = made.run("recover")
    assert (recovered.returncode, recovered.stderr) == (0, "")
    planned = made.run("plan", "baseline")
    assert planned.returncode == 2
    assert "secret 'KEY': environment variable NOT_SET_ANYWHERE is not set" in planned.stderr


def test_init_into_what_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused = Toy(tmp_path, 0).run("init", "file/below")
    assert refused.returncode == 2
    assert "cannot write" in refused.stderr
    assert "Not a directory" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_check_tells_all_that_is_wrong_with_place_and_guess(toy: Toy) -> None:
    toy.playbook("bad", BAD)
    (toy.root / "playbooks" / "worse.yaml").write_bytes(b"name: worse\n\tkind: probe\n")
    checked = toy.run("check")
    assert (checked.returncode, checked.stdout) == (2, "")
    folder = toy.root / "playbooks"
    for start, what in (
        (f"{folder}/bad.yaml:3:1: ", "did you mean 'question'?"),
        (f"{folder}/bad.yaml:5:", "did you mean 'app'?"),
        (f"{folder}/bad.yaml:6:", "did you mean 'trials'?"),
        (f"{folder}/worse.yaml:2:", "tab"),
    ):
        assert any(
            line.startswith(start) and what in line for line in checked.stderr.splitlines()
        ), (start, checked.stderr)
    assert "^" in checked.stderr
    assert "Traceback" not in checked.stderr


BAD = """\
name: bad
kind: probe
qestion: what?
steps:
  - restart: {services: [ap]}
  - reproduce: {use: trails}
"""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "campaign.yaml"),
        (b"campaign: \xff\xfe\n", "campaign.yaml"),
        (b"campaign: [unclosed\n", "campaign.yaml:"),
        (b"- a list\n", "campaign.yaml:1:1: "),
    ],
    ids=["empty", "not UTF-8", "no YAML", "a list"],
)
def test_a_broken_campaign_file_is_one_clear_complaint(toy: Toy, content: bytes, said: str) -> None:
    (toy.root / "campaign.yaml").write_bytes(content)
    failed = toy.run("services", "list")
    assert failed.returncode == 2, failed.stderr
    assert said in failed.stderr
    assert "Traceback" not in failed.stderr


def test_problems_are_json_where_json_was_asked_for(toy: Toy) -> None:
    toy.playbook("bad", BAD)
    answer = json.loads(toy.run("check", "--json").stdout)
    assert answer["exit"] == 2
    where = [(one["line"], one["what"]) for one in answer["problems"]]
    assert len(where) == 3
    assert all(one["file"].endswith("playbooks/bad.yaml") for one in answer["problems"])


def test_the_schema_is_json(toy: Toy) -> None:
    schemas = json.loads(toy.run("schema").stdout)
    assert set(schemas) == {"campaign", "playbook", "hypotheses"}
    assert all(one["type"] == "object" for one in schemas.values())


def test_a_plan_shows_edits_environment_restarts_and_cost_and_changes_nothing(toy: Toy) -> None:
    before = toy.tree()
    assert "unknown hypothesis 'rule'" in toy.run("plan", "fix").stderr
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    ledger = (toy.root / "campaign.db").read_bytes()
    shown = toy.run("plan", "fix", "safe-mode").stdout
    for text in (
        "2 boots to measure, 3 restarts with the way back",
        "-BUG = True",
        "+BUG = False",
        "src/notes/why.txt  (new file)",
        "MODE  plain  ->  safe",
        "restart app",
        "USD",
    ):
        assert text in shown
    assert "-BUG" not in toy.run("plan", "fix", "--no-diff").stdout
    (toy.root / "long.txt").write_text("".join(f"line {number}\n" for number in range(100)))
    upload = "    patch: {root: src, upload: long.txt, to: long.txt}\n"
    fix = (toy.root / "playbooks" / "fix.yaml").read_text("utf-8")
    toy.playbook("long", fix.replace("name: fix", "name: long").replace(
        "  - restart", f"  - name: lay in\n{upload}  - restart", 1))  # fmt: skip
    long = toy.run("plan", "long").stdout
    assert "+line 8\n" in long
    assert "+line 9\n" not in long
    assert "       ... 91 more lines: --diff shows them\n" in long
    assert "+line 99\n" in toy.run("plan", "long", "--diff").stdout
    planned = json.loads(toy.run("plan", "fix", "safe-mode", "--json").stdout)
    assert planned["restarts"] == 3
    assert [boot["playbook"] for boot in planned["boots"]] == ["fix", "safe-mode", None]
    assert planned["boots"][1]["env"] == [
        {"service": "app", "name": "MODE", "before": "plain", "after": "safe"}
    ]
    assert toy.tree() == before
    assert (toy.root / "campaign.db").read_bytes() == ledger


def test_a_variable_goes_to_the_playbooks_that_know_it(toy: Toy) -> None:
    toy.playbook("fixed", (toy.root / "playbooks" / "baseline.yaml").read_text("utf-8").replace(
        "vars: {trials: 40}\n", ""
    ).replace("name: baseline", "name: fixed").replace(
        "{use: trials}", "{use: trials, vars: {trials: 3}}"
    ).replace("kind: baseline", "kind: probe"))  # fmt: skip
    toy.playbook("quiet", "name: quiet\nkind: probe\nquestion: none?\nsteps:\n"
                          "  - restart: {services: [app]}\n  - wait: 1s\n")  # fmt: skip
    checked = toy.run("check", "baseline", "quiet", "-e", "trials=3")
    assert checked.returncode == 0, checked.stderr
    unknown = toy.run("check", "baseline", "quiet", "-e", "trails=3", "-e", "trials=2")
    assert unknown.returncode == 2
    assert unknown.stderr == "--var trails: no such variable (did you mean 'trials'?)\n"
    alone = toy.run("check", "quiet", "-e", "trials=3")
    assert (alone.returncode, alone.stderr) == (2, "--var trials: no such variable\n")


def test_a_variable_without_a_value_is_a_usage_error(toy: Toy) -> None:
    wrong = toy.run("plan", "baseline", "--var", "trials")
    assert wrong.returncode == 2
    assert wrong.stderr == (
        "campaign: --var 'trials' is not NAME=VALUE; see campaign plan --help\n"
    )


def test_unknown_names_are_answered_with_what_was_meant(toy: Toy) -> None:
    for words, meant in (
        (("stats",), "(did you mean 'status'?)"),
        (("check", "--jsno"), "(did you mean '--json'?)"),
        (("hypothesis", "lst"), "(did you mean 'list' or 'set'?)"),
        (("plan", "basline"), "did you mean 'baseline'?"),
    ):
        wrong = toy.run(*words)
        assert wrong.returncode == 2
        assert meant in wrong.stderr
        assert len(wrong.stderr.splitlines()) == 1


def test_outside_a_workspace_it_says_how_to_make_one(tmp_path: Path) -> None:
    for command in ("status", "check", "report", "recover"):
        lost = Toy(tmp_path, 0).run(command)
        assert lost.returncode == 2
        assert "make a workspace with 'campaign init'" in lost.stderr


def test_no_command_shows_the_help_as_it_is() -> None:
    shown = subprocess.run(CAMPAIGN, capture_output=True, text=True, check=False, timeout=60)
    assert shown.returncode == 2
    assert shown.stderr.startswith("Usage: campaign ")


def test_a_workspace_may_lie_anywhere(tmp_path: Path) -> None:
    made = toys.make(tmp_path / "an odd 'folder' – ünïcode $HOME")
    try:
        made.playbook(
            "probe",
            (made.root / "playbooks" / "fix.yaml")
            .read_text("utf-8")
            .replace("hypothesis: rule\n", "")
            .replace("name: fix", "name: probe")
            .replace(", removes: [rule]", "")
            .replace("kind: fix", "kind: probe"),
        )
        ran = made.run("run", "probe", "-y")
        assert ran.returncode == 0, ran.stderr
        assert made.run("runs", "show", "probe").returncode == 0
    finally:
        made.run("services", "stop")


def test_status_tells_the_campaign_as_its_file_has_it_now(tmp_path: Path) -> None:
    made = Toy(tmp_path, 0)
    made.run("init")
    file = tmp_path / "campaign.yaml"
    text = file.read_text(encoding="utf-8").replace("campaign: my-campaign", "campaign: mine")
    file.write_text(f"{text}\nbudget: {{restarts: 2, downtime: 45m, money: 50}}\n")
    told = made.run("status").stdout.splitlines()[0]
    assert told == (
        "mine | 0 runs | 0 of 2 restarts, 0.0 s of 45 m 00 s down, 0.0 s occupied,"
        " 0.00 of 50.00 USD"
    )
    assert made.run("report").stdout.startswith("# mine\n")
    file.write_text("campaign: [", encoding="utf-8")
    assert "! campaign.yaml is not valid; run: campaign check" in made.run("status").stdout
