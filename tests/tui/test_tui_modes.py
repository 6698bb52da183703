"""The shell of the terminal UI: its modes, and where it starts."""

import os
import pty
import select
import sys
from contextlib import suppress
from pathlib import Path

from report_builders import Arm, Story
from textual.pilot import Pilot
from toy import Toy
from tui_pilot import PATIENCE_S, drive, shows, text, until

from campaign.tui.app import CampaignApp
from hypotheses.observation import Counts


def test_outside_a_workspace_it_says_what_to_do_and_makes_one(tmp_path: Path) -> None:
    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "no campaign.yaml", "campaign init", "campaign demo")
        await pilot.press("i")
        await shows(pilot, "idle", "2 Live run")

    drive(tmp_path, script)
    assert (tmp_path / "campaign.yaml").is_file()


def test_keys_change_between_the_modes(toy: Toy) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "toy")
        await pilot.press("2")
        await shows(pilot, "Nothing is running")
        await pilot.press("3")
        await shows(pilot, "No runs yet")
        await pilot.press("slash", "2")
        await shows(pilot, "Nothing is running")
        await pilot.press("question_mark")
        await shows(pilot, "Explain what has the focus", "esc Close")
        assert "Quit" not in text(app), "only keys that do something are told"

    toy.run("init")
    drive(toy.root, script)


def test_every_action_is_in_the_palette_by_what_it_does(toy: Toy) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "nothing is suspected yet")
        told = {one.title for one in app.get_system_commands(app.screen)}
        active = app.screen.active_bindings.values()
        keys = {one.binding.key: one.binding.tooltip for one in active if one.binding.tooltip}
        assert keys.keys() >= {"2", "3", "r", "n", "question_mark", "q"}
        assert set(keys.values()) <= told
        await pilot.press("ctrl+p", *"write down")
        await shows(pilot, "Write down a new hypothesis")
        await until(pilot, lambda: "Choose a playbook" not in text(app))
        await pilot.press("down", "enter")
        await shows(pilot, "New hypothesis", "campaign hypothesis add")
        await pilot.press("escape", "ctrl+t")
        await until(pilot, lambda: app.theme == "campaign-light")

    toy.run("init")
    drive(toy.root, script)


def test_a_campaign_yaml_that_is_not_valid_is_said_and_the_ledger_is_shown_all_the_same(
    toy: Toy,
) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    text = (toy.root / "campaign.yaml").read_text(encoding="utf-8")
    (toy.root / "campaign.yaml").write_text(f"{text}typo: 1\n", encoding="utf-8")

    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (2)", "campaign.yaml is not valid", "campaign check")

    drive(toy.root, script)


def test_a_ledger_that_cannot_be_read_is_told_in_full(toy: Toy) -> None:
    (toy.root / "campaign.db").write_bytes(b"not a ledger" * 100)

    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "The ledger cannot be read.", "put back a copy of the ledger")
        (toy.root / "campaign.db").unlink()
        toy.run("init")
        await shows(pilot, "nothing is suspected yet")

    drive(toy.root, script)


def test_a_ledger_that_goes_away_while_it_is_shown_is_told_on_every_screen(told: Story) -> None:
    told.run("lasting", "probe", [Arm(Counts(1, 8))], status="running", ended_at=None)
    ledger = told.recorder.path
    aside = ledger.with_name("aside")

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "running lasting-")
        await pilot.press("2")
        await shows(pilot, "▸ running", "1/9")
        ledger.rename(aside)
        for key, kept in (("2", "1/9"), ("1", "Hypotheses (4)"), ("3", "ledger cannot be read")):
            await pilot.press(key)
            await shows(pilot, "campaign.db is gone; what is shown is as it was before", kept)
            assert "Nothing is running" not in text(app)
            assert "No runs yet" not in text(app)
        aside.rename(ledger)
        await shows(pilot, "running lasting-", "Runs (9)")
        await until(pilot, lambda: "is gone" not in text(app))

    drive(ledger.parent, script)


def test_campaign_alone_opens_it_on_a_terminal(toy: Toy) -> None:
    toy.run("init")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, toy.command(), {**os.environ, "TERM": "xterm", "NO_COLOR": "1"})
    seen = b""
    while b"nothing is suspected" not in seen:
        assert select.select([terminal], [], [], PATIENCE_S)[0], seen
        seen += os.read(terminal, 65536)
    os.write(terminal, b"q")
    with suppress(OSError):  # what is left to read of a terminal whose program has ended
        while select.select([terminal], [], [], PATIENCE_S)[0] and os.read(terminal, 65536):
            pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)
    assert b"\x1b[38;" not in seen


def test_on_a_dumb_terminal_it_is_refused(toy: Toy) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, toy.command("tui"), {**os.environ, "TERM": "dumb"})
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    assert b"needs a terminal that it can draw on" in os.read(terminal, 65536)
    os.close(terminal)


def test_without_a_terminal_it_is_refused_and_campaign_alone_shows_its_help(toy: Toy) -> None:
    refused = toy.run("tui")
    assert refused.returncode == 2
    assert "needs a terminal" in refused.stderr
    alone = toy.run()
    assert alone.returncode == 2
    assert "Commands:" in alone.stderr
