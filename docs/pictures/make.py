"""Draws the pictures of the terminal UI that the README shows: python docs/pictures/make.py

They are written beside this file, or into a folder that is named. The same code draws the same
bytes: a test holds the pictures against what this draws.
"""

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("", "tests", "tests/report", "tests/tui")]

from report_builders import Story  # noqa: E402
from textual.pilot import Pilot  # noqa: E402
from tui_pilot import drive, settles, shows  # noqa: E402
from tui_tale import confirmed, under_way, until_the_fix  # noqa: E402

from campaign.ledger.recorder import Recorder  # noqa: E402
from campaign.operations import demo  # noqa: E402
from campaign.tui.app import CampaignApp  # noqa: E402
from campaign.workspace import Workspace  # noqa: E402

FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
BUDGET = "\nbudget: {restarts: 30}\n"


@contextmanager
def told() -> Iterator[tuple[Workspace, Story]]:
    """The demo's workspace with a ledger that is told as a story, by the story's clock."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = demo.write(Path(folder) / "demo", fresh=False)
        with workspace.config.open("a", encoding="utf-8") as config:
            config.write(BUDGET)
        with Recorder.open(workspace.ledger, create=True) as recorder:
            story = Story(recorder)
            time.time = story.tick
            until_the_fix(story)
            yield workspace, story


def campaign_screen() -> str:
    """The end of the campaign, with the hypothesis that is confirmed."""

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)", "here: idle")
        await pilot.press("down", "down", "down")
        await shows(pilot, "Evidence: idxk-transfer", "Runs: idxk-transfer", "part of the cause")
        await settles(pilot)
        drawn.append(app.export_screenshot(simplify=True))

    drawn: list[str] = []
    with told() as (workspace, story):
        confirmed(story)
        now = story.tick()
        time.time = lambda: now
        drive(workspace.root, script, size=(120, 30))
    return drawn[0]


def live_screen() -> str:
    """A run that drives its sessions."""

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)", "here: running")
        await pilot.press("2")
        await shows(pilot, "this boot", "part of the cause", '"outcome": "', "41 of 60 trials")
        await settles(pilot)
        drawn.append(app.export_screenshot(simplify=True))

    drawn: list[str] = []
    with told() as (workspace, story):
        now = under_way(story, workspace.artifacts)
        time.time = lambda: now
        drive(workspace.root, script, size=(120, 34))
    return drawn[0]


def tidy(svg: str) -> str:
    """Without ids that tell nothing, and with fonts that are there: pages load none for pictures.

    Every run of text is as wide as its cells whatever the font.
    """
    svg = re.sub(r"terminal-\d+", "campaign", svg)
    svg = re.sub(r"\s*@font-face \{[^}]*\}", "", svg)
    svg = svg.replace("font-family: Fira Code, monospace", f"font-family: {FONTS}")
    return re.sub(r"[ \t]+\n", "\n", svg).strip() + "\n"


def main() -> None:
    """Draws both pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    os.environ.update(TZ="UTC", TEXTUAL_ANIMATIONS="none")
    time.tzset()
    for name in ("NO_COLOR", "TEXTUAL_THEME"):
        os.environ.pop(name, None)
    for name, draw in (("campaign", campaign_screen), ("live", live_screen)):
        (folder / f"{name}.svg").write_text(tidy(draw()), encoding="utf-8")


if __name__ == "__main__":
    main()
