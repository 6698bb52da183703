"""A hand that is ahead of the screen: keys reach what they were meant for, or do nothing."""

import json
import threading
from pathlib import Path

import pytest
from report_builders import Arm, Story
from textual.pilot import Pilot
from toy import Toy
from tui_console import LONG, Console
from tui_pilot import drive, shows, text, type_at_once, until

from campaign.ledger.reads import Ledger
from campaign.operations import hypotheses
from campaign.operations.hypotheses import Shown
from campaign.tui.app import CampaignApp
from campaign.workspace import Workspace
from hypotheses.observation import Counts


def test_what_is_typed_in_one_go_makes_two_hypotheses(toy: Toy) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        type_at_once(app, "n", "race", "tab", "a race", "ctrl+s", "n", "cache", "tab", "stale")
        await shows(pilot, "campaign hypothesis add cache --claim stale")
        type_at_once(app, "ctrl+s", "e")
        await shows(pilot, "Hypotheses (2)", "Edit cache")

    toy.run("init")
    drive(toy.root, script)
    found = json.loads(toy.run("hypothesis", "list", "--json").stdout)
    assert [one["hypothesis"]["claim"] for one in found] == ["a race", "stale"]


def test_what_rests_on_something_that_was_refused_is_forgotten(toy: Toy) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "nothing is suspected yet")
        type_at_once(app, "n", "race", "ctrl+s", "rfix", "ctrl+s")
        await shows(pilot, "a hypothesis needs a claim", "add race --claim ''")
        await pilot.press("tab", *"x", "ctrl+s")
        await shows(pilot, "Hypotheses (1)", "Evidence: race")

    toy.run("init")
    drive(toy.root, script)


def test_a_run_is_retracted_only_where_the_filter_has_found_it(told: Story) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)")
        type_at_once(app, "3/playbook:mtp-off", "enter", "xwrong host", "enter")
        await shows(pilot, "retracted: wrong host", "Runs (1 found)")

    drive(told.recorder.path.parent, script)
    with Ledger.open(told.recorder.path) as ledger:
        retracted = [run.playbook for run in ledger.runs() if run.retracted]
    assert sorted(retracted) == ["detok-log", "mtp-off"]


def test_keys_wait_for_what_is_being_read_and_escape_gives_that_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, real = threading.Event(), hypotheses.shown

    def late(workspace: Workspace, slug: str) -> Shown:
        read.wait()
        return real(workspace, slug)

    monkeypatch.setattr(hypotheses, "shown", late)

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        try:
            await shows(pilot, "Evidence: topk-v2")
            type_at_once(app, "e", "3")
            await shows(pilot, "Reading ...  Esc gives up")
            type_at_once(app, "escape", "down")
            await shows(pilot, "Evidence: mtp")
            type_at_once(app, "e", "end", " or so")
        finally:
            read.set()
        await shows(pilot, "Edit mtp", "or so'")
        assert app.current_mode == "campaign"

    drive(folder, script, notes=True)


def test_a_dialog_that_decides_hears_no_key_from_before_it_was_seen(told: Story) -> None:
    arms = [Arm(Counts(1, 8))]
    run = told.run("held", "probe", arms, ["topk-v2"], status="running", ended_at=None)

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "running held-")
        type_at_once(app, "2ayes", "enter")
        await shows(pilot, "Abort the run?", "what was typed before this")
        assert f"campaign runs abort {run}" in text(app)
        await until(pilot, lambda: app.focused is not None and app.focused.id == "cancel")
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)

    drive(told.recorder.path.parent, script)
    with Ledger.open(told.recorder.path) as ledger:
        assert not ledger.requests(run)


def test_a_plan_is_never_confirmed_by_a_key_from_before_it_was_drawn(toy: Toy) -> None:
    toy.playbook("long", LONG)
    assert toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml")).returncode == 0
    with Console(toy) as console:
        console.shows("rule")
        console.type("rlong\r\x157\x13yy")
        console.shows("Run it")
        console.shows("is ignored")
        assert console.rows("SELECT 1 FROM run") == []
        console.type("y")
        console.shows("campaign run long -e trials=7 --yes")
        console.shows("completed")
