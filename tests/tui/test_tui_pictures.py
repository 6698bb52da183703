"""What the main screens look like: at 80, 120 and 200 columns, dark, light and without colour."""

from pathlib import Path

import pytest
from textual.pilot import Pilot
from tui_picture import matches
from tui_pilot import drive, shows

from campaign.tui.app import CampaignApp

SIZES = ((80, 24), (120, 35), (200, 50))


@pytest.mark.parametrize("look", ["dark", "light", "plain"])
@pytest.mark.parametrize("size", SIZES, ids=[str(width) for width, _ in SIZES])
def test_the_campaign_screen(
    folder: Path, look: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    if look == "plain":
        monkeypatch.setenv("NO_COLOR", "1")

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)", "here: idle")
        if look == "light":
            await pilot.press("ctrl+t")
        await pilot.press("down", "down", "down")
        await shows(pilot, "Runs: idxk-transfer")
        if size[0] >= 100:
            await shows(pilot, "Evidence: idxk-transfer", "that it is part of the cause")
        await matches(pilot, app, f"campaign-{size[0]}-{look}")
        if look == "plain":
            assert not _coloured(app)

    drive(folder, script, size=size)


def _coloured(app: CampaignApp) -> list[str]:
    """The colours on the screen, but for the terminal's own."""
    segments = [one for strip in app.screen._compositor.render_strips() for one in strip]
    colours = {
        colour.name
        for one in segments
        if one.style
        for colour in (one.style.color, one.style.bgcolor)
        if colour is not None
    }
    return sorted(colours - {"default"})


def test_the_evidence_where_there_is_room_for_one_side(folder: Path) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)", "here: idle")
        await pilot.press("down", "down", "down", "enter")
        await shows(pilot, "Evidence: idxk-transfer", "that it is part of the cause")
        await matches(pilot, app, "evidence-80-dark")

    drive(folder, script, size=(80, 24))


def test_the_help_of_the_focused_thing(folder: Path) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)", "here: idle", "Runs: topk-v2")
        await pilot.press("question_mark")
        await shows(pilot, "Write down a new hypothesis")
        await matches(pilot, app, "help-80-dark")

    drive(folder, script, size=(80, 24))
