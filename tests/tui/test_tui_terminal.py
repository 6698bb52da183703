"""What the terminal itself gives and gets: job control, its title, the clipboard, pastes."""

import os
import signal
from pathlib import Path

from textual.events import Paste
from textual.pilot import Pilot
from toy import Toy
from tui_console import Console, await_that
from tui_pilot import drive, shows, until

from campaign.tui.app import CampaignApp


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


def test_it_is_suspended_and_draws_itself_again(toy: Toy) -> None:
    assert toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml")).returncode == 0
    with Console(toy) as console:
        console.shows("\x1b]2;campaign toy\x07")
        console.shows("rule")
        console.type("\x1a")
        await_that(lambda: state_of(console.pid) == "T", lambda: state_of(console.pid))
        console.shows("\x1b[23;2t")
        console.type("")
        os.kill(console.pid, signal.SIGCONT)
        console.shows("rule")
        console.shows("\x1b]2;campaign toy\x07")
        console.type("q")
        assert console.end() == 0


def test_all_lines_of_what_is_pasted_into_a_field_are_kept(folder: Path) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)")
        await pilot.press("a")
        await shows(pilot, "Note on topk-v2")
        app.post_message(Paste("a log\r\n  [b]of[/b] \x1b[31mtwo\x00\nthree \u6f22\n"))
        await shows(pilot, "note topk-v2 'a log [b]of[/b] [31mtwo three \u6f22'")

    drive(folder, script)


def test_names_and_texts_are_copied(folder: Path) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)", "Evidence: topk-v2")
        await pilot.press("Y")
        await until(pilot, lambda: app.clipboard == "topk-v2")
        await pilot.press("3")
        await shows(pilot, "Run: detok-log")
        await pilot.press("down", "down", "down", "Y")
        await until(pilot, lambda: app.clipboard.startswith("sentinel-after-transfer-"))
        await shows(pilot, "Run: sentinel-after-transfer")
        await pilot.press("enter", "Y")
        await until(pilot, lambda: "transfer.wait_landed()" in app.clipboard)
        assert "proof" in app.clipboard.splitlines()

    drive(folder, script)
