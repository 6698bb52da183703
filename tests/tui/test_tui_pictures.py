"""What the screens look like: at 80, 120 and 200 columns, dark, light and without colour."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from report_builders import Story
from textual.pilot import Pilot
from toy import Toy, make
from tui_picture import colours, looks, matches, matches_at_all_sizes
from tui_pilot import drive, shows, until
from tui_tale import under_way, until_the_fix

from campaign.ledger.recorder import Recorder
from campaign.operations import demo
from campaign.tui.app import CampaignApp

FIRST = (200, 50)


@pytest.fixture(params=["coloured", "plain"])
def plain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether no colours are wanted."""
    wanted: bool = request.param == "plain"
    if wanted:
        monkeypatch.setenv("NO_COLOR", "1")
    return wanted


def test_a_campaign_and_its_history(folder: Path, plain: bool) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)", "here: idle")
        await pilot.press("down", "down", "down")
        async for _look in looks(app):
            await pilot.press("1")
            await shows(pilot, "Evidence: idxk-transfer", "that it is part of the cause")
            await matches_at_all_sizes(pilot, app, "campaign")
            await pilot.resize_terminal(80, 24)
            await pilot.press("question_mark")
            await shows(pilot, "Write down a new hypothesis")
            await matches(pilot, app, "help")
            await pilot.press("escape", "enter")
            await shows(pilot, "Evidence: idxk-transfer")
            await matches(pilot, app, "evidence")
            await pilot.resize_terminal(*FIRST)
            await pilot.press("escape", "3")
            await shows(pilot, "Runs (8)", "Run: ")
            await pilot.press("home", "down", "down", "down")
            await shows(pilot, "Run: sentinel-after-transfer", "transfer.wait_landed()")
            await matches_at_all_sizes(pilot, app, "history")
        assert bool(colours(app)) is not plain

    drive(folder, script, size=FIRST)


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The demo's workspace with a run that drives its sessions, at a time that stands still."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    workspace = demo.write(tmp_path / "running", fresh=False)
    with Recorder.open(workspace.ledger, create=True) as recorder:
        story = Story(recorder)
        monkeypatch.setattr(time, "time", story.tick)
        until_the_fix(story)
        now = under_way(story, workspace.artifacts)
    monkeypatch.setattr(time, "time", lambda: now)
    yield workspace.root
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("plain")
def test_a_run_under_way(running: Path) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)", "here: running")
        await pilot.press("2")
        await shows(pilot, "this boot", "part of the cause", '"outcome": "', "41 of 60 trials")
        async for _look in looks(app):
            await matches_at_all_sizes(pilot, app, "live")

    drive(running, script, size=FIRST)


@pytest.fixture
def fresh() -> Iterator[Toy]:
    """The toy in a folder whose path is always as long."""
    with tempfile.TemporaryDirectory(prefix="look-", dir="/tmp") as folder:
        toy = make(Path(folder) / "toy")
        assert toy.run("init").returncode == 0
        yield toy


@pytest.mark.usefixtures("plain")
def test_first_sight_and_the_way_to_a_run(fresh: Toy) -> None:
    hidden = str(fresh.root.parent)

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "nothing is suspected yet")
        async for _look in looks(app):
            await matches_at_all_sizes(pilot, app, "first", hidden)
        fresh.run("hypothesis", "import", str(fresh.root / "hypotheses.yaml"))
        await shows(pilot, "Hypotheses (2)")
        async for _look in looks(app):
            await pilot.press("r")
            await shows(pilot, "Does it fail in safe mode?")
            await pilot.press(*"fix")
            await shows(pilot, "campaign run fix")
            await matches_at_all_sizes(pilot, app, "choose", hidden)
            await pilot.press("ctrl+s")
            await shows(pilot, "Plan for toy")
            await matches_at_all_sizes(pilot, app, "plan", hidden)
            await pilot.press("escape", "escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)

    drive(fresh.root, script, size=FIRST)
