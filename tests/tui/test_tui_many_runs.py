"""What is shown where reading takes long: rows first, sums after them; no search is forgotten."""

import threading
from pathlib import Path

import pytest
from textual.pilot import Pilot
from tui_pilot import drive, shows, text, type_at_once, until

from campaign.operations import status
from campaign.operations.live import Output
from campaign.operations.status import Sums
from campaign.tui.app import CampaignApp
from campaign.tui.dialogs.output import OutputDialog
from campaign.tui.screens import campaign as campaign_screen
from campaign.workspace import Workspace


def test_rows_are_there_before_the_sums_and_keys_move_over_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summed, real = threading.Event(), status.sums

    def late(workspace: Workspace) -> Sums:
        summed.wait()
        return real(workspace)

    monkeypatch.setattr(status, "SUMMED_AT_ONCE", 0)
    monkeypatch.setattr(status, "sums", late)
    monkeypatch.setattr(campaign_screen, "WEIGHED_AT_ONCE", 0)

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        try:
            await shows(pilot, "Hypotheses (4)", "confirmed", "…", "summing what it cost")
            assert "18/58" not in text(app)
            await pilot.press("down", "down", "down")
            await shows(pilot, "Evidence: idxk-transfer")
        finally:
            summed.set()
        await shows(pilot, "18/58", "(none)", "F5 does")
        await until(pilot, lambda: "summing" not in text(app))
        await pilot.press("f5")
        await shows(pilot, "that it is part of the cause")

    drive(folder, script, size=(140, 45))


def test_an_overview_keeps_the_sums_of_before_and_says_that_they_are_old(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace.find(folder)
    whole = status.overview(workspace)
    monkeypatch.setattr(status, "SUMMED_AT_ONCE", 0)
    first = status.overview(workspace)
    assert (first.total, first.stale) == (None, True)
    assert [one.hypothesis for one in first.hypotheses] == [
        one.hypothesis for one in whole.hypotheses if one.standing
    ]
    then = status.overview(workspace, whole)
    assert (then.total, then.hypotheses, then.stale) == (whole.total, whole.hypotheses, True)
    assert status.with_sums(first, status.sums(workspace)) == whole
    assert not whole.stale


def test_what_is_typed_right_after_the_search_key_is_searched_for(folder: Path) -> None:
    kept = folder / "output.log"
    kept.write_text("".join(f"line-{number}-\n" for number in range(20_000)), encoding="utf-8")

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)")
        type_at_once(app, "/idxk", "enter")
        await shows(pilot, "Hypotheses (1 of 4)", "Evidence: idxk-transfer")
        app.push_screen(OutputDialog("run", (Output("output.log", kept),)))
        await shows(pilot, "line-19999-", "following")
        type_at_once(app, "/line-77-", "enter")
        await shows(pilot, "line-77-", "held")
        await pilot.press("end")
        await shows(pilot, "line-19999-", "following")

    drive(folder, script)
