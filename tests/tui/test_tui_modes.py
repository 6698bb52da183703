"""The shell of the terminal UI: its modes, and where it starts."""

from pathlib import Path

from textual.pilot import Pilot
from toy import Toy
from tui_pilot import drive, shows

from campaign.tui.app import CampaignApp


def test_outside_a_workspace_it_says_what_to_do_and_makes_one(tmp_path: Path) -> None:
    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "no campaign.yaml", "campaign init", "campaign demo")
        await pilot.press("i")
        await shows(pilot, "idle", "2 Live run")

    drive(tmp_path, script)
    assert (tmp_path / "campaign.yaml").is_file()


def test_keys_change_between_the_modes(toy: Toy) -> None:
    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "toy")
        await pilot.press("2")
        await shows(pilot, "Nothing is running")
        await pilot.press("3")
        await shows(pilot, "No runs yet")

    toy.run("init")
    drive(toy.root, script)


def test_without_a_terminal_it_is_refused_and_campaign_alone_shows_its_help(toy: Toy) -> None:
    refused = toy.run("tui")
    assert refused.returncode == 2
    assert "needs a terminal" in refused.stderr
    alone = toy.run()
    assert alone.returncode == 2
    assert "Commands:" in alone.stderr
