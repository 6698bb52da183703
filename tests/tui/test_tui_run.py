"""Choosing, planning, confirming and following a run; and one that was started elsewhere."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from report_builders import Arm, Story
from textual.pilot import Pilot
from textual.widgets import Input
from toy import Toy
from tui_console import LONG
from tui_pilot import drive, shows, text, until

from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.tui.app import CampaignApp
from campaign.tui.screens import live
from hypotheses.hypothesis import Hypothesis
from hypotheses.observation import Counts
from hypotheses.verdict import Verdict


@pytest.fixture
def known(toy: Toy) -> Toy:
    """A toy workspace with its hypotheses in the ledger."""
    toy.playbook("long", LONG)
    assert toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml")).returncode == 0
    return toy


@pytest.fixture
def ready(known: Toy) -> Toy:
    """The same with its service up."""
    assert known.run("services", "start").returncode == 0
    return known


@contextmanager
def edited(toy: Toy, old: str, new: str) -> Iterator[None]:
    """With `new` for `old` in campaign.yaml."""
    path = toy.root / "campaign.yaml"
    given = path.read_text(encoding="utf-8")
    assert old in given
    path.write_text(given.replace(old, new), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(given, encoding="utf-8")


async def choose(pilot: Pilot[int], name: str) -> None:
    """Opens the list of playbooks and narrows it to one."""
    await shows(pilot, "rule")
    await pilot.press("r")
    await shows(pilot, "Does it fail in safe mode?")
    await pilot.press(*name)
    await shows(pilot, f"campaign run {name}")


async def type_trials(pilot: Pilot[int], value: str) -> None:
    """Goes to the variable and types it anew."""
    await pilot.press("enter")
    await until(pilot, lambda: "variable" in getattr(pilot.app.focused, "classes", ()))
    await pilot.press("ctrl+u", *value)


def test_from_the_list_to_the_verdict(ready: Toy) -> None:
    before = ready.tree()

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await choose(pilot, "fix")
        await type_trials(pilot, "20")
        await shows(pilot, "campaign run fix -e trials=20")
        await pilot.press("enter")
        await shows(pilot, "Plan for toy", "+BUG = False", "campaign run fix -e trials=20 --yes")
        await pilot.press("question_mark")
        await shows(pilot, "the way back is part of the run", "Run it, where that is confirmed")
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is not None and app.focused.id == "cancel")
        await pilot.press("y")
        await shows(pilot, "✓ completed", "undo: correct the rule", "verdict on rule", "0/20")
        await shows(pilot, '{"outcome": "good", "key": 20}', "cost")
        await until(pilot, lambda: not app.runner.busy)

    assert drive(ready.root, script) is None
    assert ready.tree() == before


def test_nothing_typed_is_lost_whatever_comes_of_planning(known: Toy) -> None:
    known.playbook("broken", "kind: nothing\n")

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await choose(pilot, "broken")
        await shows(pilot, "not valid", "kind: nothing")
        await pilot.press("ctrl+u", *"fix")
        await shows(pilot, "campaign run fix")
        await type_trials(pilot, "7")
        (known.root / "src" / "rule.py").write_text("BUG = 'else'\n", encoding="utf-8")
        await pilot.press("enter")
        await shows(pilot, "hunk 1 does not fit")
        assert [one.value for one in app.screen.query(Input)] == ["fix", "7"]
        await pilot.press("escape")
        await shows(pilot, "1 Campaign")

    drive(known.root, script)


def test_a_very_small_terminal_has_room_for_the_way_to_a_run(ready: Toy) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "rule")
        await pilot.press("r", *"fix")
        await shows(pilot, "campaign run fix", "trials", "Cancel", "Plan", "esc Close")
        await pilot.press("ctrl+s")
        await shows(
            pilot, "Plan for toy", "In all:", "campaign run fix --yes", "Run it", "esc Back"
        )
        await pilot.press("end")
        await shows(pilot, "put back")
        await pilot.press("y")
        await shows(pilot, "Outcomes (40)", '"key": 40', "q Quit")
        await until(pilot, lambda: not app.runner.busy)

    drive(ready.root, script, size=(60, 15))


def alive(pid: Path) -> bool:
    """Whether the process that the file names is there."""
    written = pid.read_text(encoding="utf-8") if pid.exists() else ""
    return bool(written) and Path(f"/proc/{written.strip()}/exe").exists()


def runs(toy: Toy) -> list[dict[str, Any]]:
    """The ledger's runs, the newest first."""
    return [one["run"] for one in json.loads(toy.run("runs", "list", "--json").stdout)]


def test_a_plan_that_takes_too_long_is_given_up(known: Toy) -> None:
    slow = known.root / "slow"
    slow.write_text('#!/bin/sh\necho $$ >"$0.pid"\nexec sleep 1000\n', encoding="utf-8")
    slow.chmod(0o755)

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await choose(pilot, "fix")
        await pilot.press("ctrl+s")
        await shows(pilot, "Planning: the hosts are asked")
        await until(pilot, lambda: alive(slow.with_suffix(".pid")))
        await pilot.press("escape")
        await shows(pilot, "Planning was given up")
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await until(pilot, lambda: not alive(slow.with_suffix(".pid")))

    with edited(known, "here: {local: true}", f"here: {{local: true, python: {slow}}}"):
        drive(known.root, script)


def test_a_protected_campaign_is_run_once_its_name_is_typed(ready: Toy) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await choose(pilot, "fix")
        await type_trials(pilot, "5")
        await pilot.press("enter")
        await shows(pilot, "toy is protected", "--yes-i-mean toy")
        await pilot.press("y")
        await shows(pilot, "type the campaign's name; nothing was changed")
        await pilot.press(*"toi", "enter")
        await shows(pilot, "that is not its name")
        await pilot.press("backspace", "y", "enter")
        await shows(pilot, "✓ completed")
        await until(pilot, lambda: not app.runner.busy)

    with edited(ready, "cost:", "protected: true\ncost:"):
        drive(ready.root, script)
    (run,) = runs(ready)
    assert run["command"] == "campaign run fix -e trials=5 --yes-i-mean toy"
    assert run["status"] == "completed"


def test_a_run_that_is_refused_says_why(known: Toy) -> None:
    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await choose(pilot, "fix")
        await pilot.press("ctrl+s")
        await shows(pilot, "Plan for toy")
        (known.root / "src" / "rule.py").write_text("BUG = 'else'\n", encoding="utf-8")
        await pilot.press("y")
        await shows(pilot, "refused", "cannot be made any more", "does not fit")
        await pilot.press("escape")
        await shows(pilot, "Nothing is running")

    drive(known.root, script)
    assert runs(known) == []


def test_what_runs_is_the_plan_that_was_confirmed(known: Toy) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await choose(pilot, "fix")
        await pilot.press("ctrl+s")
        await shows(pilot, "Plan for toy")
        with edited(known, "timeout: 20s", "timeout: 21s"):
            await pilot.press("y")
            await shows(pilot, "refused", "this is not the plan that was", "the service app has")
        await until(pilot, lambda: not app.runner.busy)

    drive(known.root, script)
    assert runs(known) == []


@contextmanager
def elsewhere(toy: Toy, *words: str) -> Iterator[None]:
    """A run of another process, under way; it has ended afterwards."""
    process = toy.start("run", *words, "-y")
    try:
        yield
        process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_a_run_started_elsewhere_is_followed_held_and_stopped(ready: Toy) -> None:
    before = ready.tree()

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "rule")
        with elsewhere(ready, "long"):
            await pilot.press("2")
            await shows(
                pilot, "▸ running", "reproduce trials", "↶ to undo", '"key": 1', "this boot"
            )
            await pilot.press("1")
            await shows(pilot, "running long-")
            await pilot.press("2", "p")
            await shows(pilot, "pausing after this cycle")
            await pilot.press("p")
            await shows(pilot, "▸ running")
            await pilot.press("a")
            await shows(pilot, "Abort the run?", "campaign runs abort long-")
            await pilot.press("y")
            await shows(pilot, "◌ aborted", "put back", "undo: correct the rule", "restart app")
            await until(pilot, lambda: "Abort" not in text(app).splitlines()[-1])

    drive(ready.root, script)
    assert ready.tree() == before


def test_the_output_is_searched_held_and_saved(ready: Toy, tmp_path: Path) -> None:
    saved = tmp_path / "saved.log"

    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "rule")
        await pilot.press("2")
        with elsewhere(ready, "fix"):
            await shows(pilot, "✓ completed", '"key": 40')
        await pilot.press("slash", *'"key": 3}', "enter")
        await shows(pilot, '"key": 3}', "held")
        await pilot.press("n")
        await shows(pilot, "no later")
        await pilot.press("s")
        await shows(pilot, "campaign runs log fix-")
        await pilot.press("ctrl+u", *str(saved), "enter")
        await until(pilot, saved.exists)

    drive(ready.root, script, size=(80, 24))
    assert saved.read_text(encoding="utf-8").count("\n") == 40


def test_rates_are_not_compared_across_conditions(told: Story) -> None:
    seen, alone = [Arm(Counts(1, 8))], {"concurrency": "1"}
    told.run("alone", "probe", seen, conditions=alone, status="running", ended_at=None)

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "running alone-")
        await pilot.press("2")
        await shows(pilot, "not to be compared with the baseline", "concurrency 1 against 60")
        assert "difference" not in text(app)

    drive(told.recorder.path.parent, script)


def test_a_baseline_is_not_held_against_itself(told: Story) -> None:
    told.run("again", "baseline", [Arm(Counts(3, 8))], status="running", ended_at=None)

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "running again-")
        await pilot.press("2")
        await shows(pilot, "all baselines", "3/11")
        assert "difference" not in text(app)

    drive(told.recorder.path.parent, script)


def test_a_run_that_puts_back_refuses_to_be_aborted_and_its_verdict_is_in_sight_at_the_end(
    told: Story,
) -> None:
    arms = [Arm(Counts(1, 8))]
    run = told.run("held", "probe", arms, ["topk-v2"], status="running", ended_at=None)
    told.way_back(run)

    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "running held-")
        await pilot.press("2")
        await shows(pilot, "▸ putting back")
        await pilot.press("a")
        await shows(pilot, "is putting back already", "it ends by itself")
        told.judge(run, Verdict("inconclusive", "leading"), "topk-v2")
        told.recorder.update(records.Run, run, status="completed", ended_at=told.tick())
        await shows(pilot, "✓ completed", "verdict on topk-v2: inconclusive, leading")

    drive(told.recorder.path.parent, script, size=(80, 24), notes=True)


def test_what_could_not_be_read_is_told_and_read_again(
    told: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, reads = live.reading.live, iter((CampaignError(Exit.REFUSED, "locked"), KeyError("x")))

    def fails_at_first(*arguments: Any) -> Any:
        for error in reads:
            raise error
        return read(*arguments)

    monkeypatch.setattr(live.reading, "live", fails_at_first)
    told.run("seen", "probe", [Arm(Counts(1, 8))], status="running", ended_at=None)

    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "running seen-")
        await pilot.press("2")
        await shows(pilot, "locked")
        await shows(pilot, "a fault of campaign itself: KeyError")
        await shows(pilot, "▸ running", "1/9")

    drive(told.recorder.path.parent, script, notes=True)


def test_a_run_of_ours_that_was_over_before_it_was_seen_is_shown(
    told: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "WEIGHED_AT_ONCE", 0)
    code: list[int | None] = [None]
    child = SimpleNamespace(pid=1, poll=lambda: code[0])

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)")
        await pilot.press("2")
        await shows(pilot, "Nothing is running")
        monkeypatch.setattr(app.runner, "_child", child)
        app.runner.command = "campaign run quick"
        told.recorder.add_hypothesis(Hypothesis("later", "the ledger has changed"))
        await shows(pilot, "campaign run quick is starting")
        told.run("quick", "probe", [Arm(Counts(1, 8))], ["idxk-transfer"], owner_pid=1)
        code[0] = 0
        await shows(pilot, "✓ completed", "quick-", "not weighed, with", "runs: F5")

    drive(told.recorder.path.parent, script)


def test_fields_of_a_playbook_stay_while_its_name_is_typed(known: Toy) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await choose(pilot, "fi")
        (field,) = app.screen.query(".variable")
        await pilot.press("x")
        await shows(pilot, "campaign run fix")
        await pilot.pause()
        assert list(app.screen.query(".variable")) == [field]
        await pilot.press("y")
        await shows(pilot, "No playbook has that")
        assert not app.screen.query(".variable")
        await pilot.press("backspace")
        await shows(pilot, "Does it fail with the rule corrected?", "campaign run fix")
        await until(pilot, lambda: app.screen.query(".variable"))

    drive(known.root, script)
