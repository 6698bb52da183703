"""Writing hypotheses down, changing and judging them: what the commands do, and their text."""

import json
import shlex
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input
from toy import Toy
from tui_pilot import drive, shows, text, until

from campaign.tui.app import CampaignApp


def listed(toy: Toy) -> dict[str, dict[str, object]]:
    found = json.loads(toy.run("hypothesis", "list", "--json").stdout)
    return {one["hypothesis"]["slug"]: one["hypothesis"] for one in found}


async def clear(pilot: Pilot[int]) -> None:
    await pilot.press("end", "ctrl+u")


def test_the_first_hypothesis_takes_the_place_of_the_welcome(toy: Toy) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "nothing is suspected yet", "campaign doctor", "campaign demo")
        await pilot.press("n", *"race", "tab", "tab", "tab", *"nine", "ctrl+s")
        await shows(pilot, "a prior of 'nine' is no number from 0 to 1")
        await clear(pilot)
        await pilot.press(*"0.4", "ctrl+s")
        await shows(pilot, "a hypothesis needs a claim")
        await pilot.press("shift+tab", "shift+tab", *"it's a race")
        await shows(pilot, "campaign hypothesis add race --claim")
        await pilot.press("ctrl+s")
        await shows(pilot, "Hypotheses (1)", "Evidence: race", "No trials yet")
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard)
        command = shlex.split(app.clipboard)
        assert command[:6] == ["campaign", "hypothesis", "add", "race", "--claim", "it's a race"]

    toy.run("init")
    drive(toy.root, script)
    assert listed(toy)["race"]["prior"] == 0.4


def test_an_edit_shows_the_command_that_does_the_same(toy: Toy, tmp_path: Path) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    commands: list[str] = []

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (2)")
        await pilot.press("e")
        await shows(pilot, "Edit mode")
        await clear(pilot)
        await pilot.press(*"other", "tab", *"because", "tab")
        await clear(pilot)
        await pilot.press("tab", "tab", "tab", *"a b", "enter", *"c", "ctrl+y", "ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await shows(pilot, "other")
        commands.append(app.clipboard)

    before = listed(toy)
    drive(toy.root, script)
    after = listed(toy)
    assert after["mode"] != before["mode"]
    assert after["mode"]["prior"] is None
    assert after["mode"]["assumptions"] == ["a b", "c"]
    again = Toy(tmp_path / "again", 0)
    again.root.mkdir()
    again.run("init")
    again.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    assert again.run(*shlex.split(commands[0])[1:]).returncode == 0
    assert listed(again)["mode"] == after["mode"]


def test_whatever_is_typed_the_buttons_stay_in_sight(toy: Toy) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "nothing is suspected yet")
        await pilot.press("n")
        await shows(pilot, "New hypothesis")
        app.screen.query(Input)[1].value = "a claim of many words " * 30
        app.screen.query(Input)[3].value = "nine"
        await pilot.press("ctrl+s")
        await shows(pilot, "is no number from 0 to 1", "a claim of many words a claim", "Cancel")
        app.screen.query(Input)[3].value = ""
        app.screen.query(Input)[0].value = "long"
        await pilot.press("ctrl+s")
        await shows(pilot, "Hypotheses (1)", "Open")

    toy.run("init")
    drive(toy.root, script, size=(80, 24))


def test_notes_and_standings_are_in_the_history(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (2)")
        await pilot.press("a", *"seen at noon", "enter")
        await until(pilot, lambda: app.command == "campaign hypothesis note mode 'seen at noon'")
        await pilot.press("t")
        await shows(pilot, "Standing of mode")
        await pilot.press("ctrl+s")
        await shows(pilot, "a standing needs a reason")
        await pilot.press("enter", "down", "down", "down", "enter", "tab", *"it is off", "ctrl+s")
        await shows(pilot, "✗  mode", "refuted")
        await pilot.press("h")
        await shows(pilot, "note (by operator): seen at noon", "standing refuted (by operator)")
        await pilot.press("escape")
        await until(pilot, lambda: "by operator" not in text(app))

    drive(toy.root, script)
    assert listed(toy)["mode"]["standing"] == "refuted"
