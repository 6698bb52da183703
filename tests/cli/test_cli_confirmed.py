"""What runs is the plan that was confirmed, however long that took; or nothing does."""

from pathlib import Path

import pytest
from cli_terminal import Terminal
from toy import Toy

ARMS = """\
name: arms
kind: probe
question: Does it matter in which order?
arms: [control, treatment]
schedule: randomised
blocks: 8
vars: {trials: 2}
steps:
  - name: safe mode
    env: {services: [app], set: {MODE: safe}}
    when: treatment
  - restart: {services: [app]}
  - reproduce: {use: trials}
"""


@pytest.fixture
def ready(toy: Toy) -> Toy:
    """The toy with its hypotheses, so that all its playbooks run."""
    assert toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml")).returncode == 0
    return toy


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text("utf-8") + text, encoding="utf-8")


def planned(toy: Toy, *words: str) -> str:
    """The path of a file with the plan for programs."""
    path = toy.root / "plan.json"
    made = toy.run("plan", *words, "--json")
    assert made.returncode == 0, made.stderr
    path.write_text(made.stdout, encoding="utf-8")
    return str(path)


def test_what_changes_while_the_question_is_open_is_named_and_nothing_is_run(ready: Toy) -> None:
    rule = ready.root / "src" / "rule.py"
    for change, told in (
        (lambda: rule.chmod(0o600), f"this is not the plan that was confirmed: here:{rule} has"),
        (
            lambda: append(rule, "BUG = None\n"),
            "the plan that was confirmed cannot be made any more",
        ),
    ):
        with Terminal(ready, "run", "fix") as terminal:
            terminal.until("Run this? [y/N]")
            change()
            before = ready.tree()
            terminal.type("y\n")
            code, _ = terminal.end()
        assert code == 6
        assert told in terminal.text
        assert ready.tree() == before
    assert ready.run("runs", "list", "--json").stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("file", "text", "words", "said"),
    [
        ("env/app.env", "MODE=risky\n", (), "MODE of app in boot 1, safe-mode: risky -> safe now"),
        ("campaign.yaml", "restart_groups: [[app, aide]]\n", (), "what restarts for boot 1"),
        ("hypotheses.yaml", "", ("-e", "trials=7"), "the variable trials of safe-mode: 7 now, "),
    ],
)
def test_a_run_is_held_to_a_plan_that_was_kept(
    ready: Toy, file: str, text: str, words: tuple[str, ...], said: str
) -> None:
    config = ready.root / "campaign.yaml"
    aide = "services:\n  aide: {host: here, process: {command: [sleep, '9'], cwd: .}}"
    config.write_text(config.read_text("utf-8").replace("services:", aide), encoding="utf-8")
    plan = planned(ready, "safe-mode")
    append(ready.root / file, text)
    before = ready.tree()
    refused = ready.run("run", "safe-mode", "-y", "--as-planned", plan, *words)
    assert refused.returncode == 6
    assert said in refused.stderr
    assert ready.tree() == before


def test_an_order_that_was_drawn_is_kept(ready: Toy) -> None:
    ready.playbook("arms", ARMS)
    shown = ready.run("plan", "arms").stdout
    plan = planned(ready, "arms")
    first, second = (ready.run("run", "arms", "--as-planned", plan).stderr for _ in range(2))
    assert "nobody is there to confirm" in first
    assert first == second
    assert "seed" in shown
    assert shown not in first


def test_what_is_no_plan_is_told_in_one_line(ready: Toy) -> None:
    (ready.root / "plan.json").write_text("[]", encoding="utf-8")
    for path, why in (("nowhere.json", "No such file"), (str(ready.root / "plan.json"), "no plan")):
        refused = ready.run("run", "fix", "-y", "--as-planned", path)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert why in refused.stderr
