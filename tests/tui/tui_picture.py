"""A screen as text: its lines, then the styles of each, so that a picture can be compared."""

import os
from itertools import groupby
from pathlib import Path

from textual.pilot import Pilot
from tui_pilot import until

from campaign.tui.app import CampaignApp

GOLD = Path(__file__).parent / "gold"


def picture(app: CampaignApp) -> str:
    """The screen's lines; below, line by line, runs of cells by a letter for their style."""
    strips = app.screen._compositor.render_strips()
    text = ["".join(segment.text for segment in strip) for strip in strips]
    letters: dict[str, str] = {}
    styles = []
    for strip in strips:
        cells = [(str(one.style or "none"), one.cell_length) for one in strip]
        runs = [(name, sum(n for _, n in some)) for name, some in groupby(cells, lambda c: c[0])]
        styles.append(" ".join(f"{n}{letters.setdefault(k, _letter(letters))}" for k, n in runs))
    legend = [f"{letter} = {name}" for name, letter in letters.items()]
    return "\n".join([*(f"|{line}|" for line in text), "", *styles, "", *legend, ""])


def _letter(known: dict[str, str]) -> str:
    return chr(ord("a") + len(known)) if len(known) < 26 else chr(ord("A") + len(known) - 26)


async def matches(pilot: Pilot[int], app: CampaignApp, name: str) -> None:
    """Waits until the screen is as the gold file has it; UPDATE_GOLD=1 rewrites the file."""
    path = GOLD / f"{name}.txt"
    if os.environ.get("UPDATE_GOLD"):
        await pilot.pause(1.0)
        path.write_text(picture(app), encoding="utf-8")
    gold = path.read_text(encoding="utf-8")
    try:
        await until(pilot, lambda: picture(app) == gold)
    except AssertionError:
        found = picture(app)
        assert found == gold, f"UPDATE_GOLD=1 rewrites {path.name}"
