"""A screen as text: its lines, and the styles of each, so that a picture can be compared."""

import os
from collections.abc import AsyncIterator
from itertools import groupby
from pathlib import Path

from textual.pilot import Pilot
from textual.strip import Strip
from tui_pilot import settles, until

from campaign.tui.app import CampaignApp
from campaign.tui.themes import DARK, LIGHT, PLAIN

GOLD = Path(__file__).parent / "gold"
SIZES = ((80, 24), (120, 35), (200, 50))
LOOKS = {DARK.name: "dark", LIGHT.name: "light", PLAIN.name: "plain"}


async def looks(app: CampaignApp) -> AsyncIterator[str]:
    """Dark, then light; or the one without colour, where the app has no other."""
    for theme in (PLAIN,) if app.plain else (DARK, LIGHT):
        app.theme = theme.name
        yield LOOKS[theme.name]


async def matches_at_all_sizes(
    pilot: Pilot[int], app: CampaignApp, name: str, hidden: str = ""
) -> None:
    """As `matches`, at 80, 120 and 200 columns; what has the focus keeps it.

    A new screen is drawn before its focus is set: who has it is known once the first size matches.
    """
    focused = None
    for size in SIZES:
        await pilot.resize_terminal(*size)
        await matches(pilot, app, name, hidden)
        assert app.focused is (focused := focused or app.focused)


async def matches(pilot: Pilot[int], app: CampaignApp, name: str, hidden: str = "") -> None:
    """Waits until the screen is as the gold files have it; UPDATE_GOLD=1 rewrites them.

    One file has its text, which is the same in dark and light, and one the styles of this look.
    `hidden` is what differs from time to time, always of one length.
    """
    stem, look = f"{name}-{app.size.width}", LOOKS[app.theme]
    text = GOLD / (f"{stem}-plain.txt" if app.plain else f"{stem}.txt")
    styles = GOLD / f"{stem}-{look}.styles"
    if os.environ.get("UPDATE_GOLD"):
        await settles(pilot)
        text.write_text(_text(app, hidden), encoding="utf-8")
        styles.write_text(_styles(app), encoding="utf-8")
    lines, tints = (file.read_text(encoding="utf-8") for file in (text, styles))
    try:
        await until(pilot, lambda: _text(app, hidden) == lines and _styles(app) == tints)
    except AssertionError:
        for found, gold, file in ((_text(app, hidden), lines, text), (_styles(app), tints, styles)):
            assert found == gold, f"UPDATE_GOLD=1 rewrites {file.name}"


def colours(app: CampaignApp) -> list[str]:
    """The colours on the screen, but for the terminal's own."""
    segments = [one for strip in _strips(app) for one in strip]
    found = {
        colour.name
        for one in segments
        if one.style
        for colour in (one.style.color, one.style.bgcolor)
        if colour is not None
    }
    return sorted(found - {"default"})


def _strips(app: CampaignApp) -> list[Strip]:
    return app.screen._compositor.render_strips()


def _text(app: CampaignApp, hidden: str) -> str:
    lines = ["".join(segment.text for segment in strip) for strip in _strips(app)]
    text = "\n".join([*(f"|{line}|" for line in lines), ""])
    return text.replace(hidden, "~" * len(hidden)) if hidden else text


def _styles(app: CampaignApp) -> str:
    """Line by line, runs of cells by a letter for their style; then what the letters stand for."""
    letters: dict[str, str] = {}
    lines = []
    for strip in _strips(app):
        cells = [(str(one.style or "none"), one.cell_length) for one in strip]
        runs = [(name, sum(n for _, n in some)) for name, some in groupby(cells, lambda c: c[0])]
        lines.append(" ".join(f"{n}{letters.setdefault(k, _letter(letters))}" for k, n in runs))
    return "\n".join([*lines, "", *(f"{letter} = {name}" for name, letter in letters.items()), ""])


def _letter(known: dict[str, str]) -> str:
    return chr(ord("a") + len(known)) if len(known) < 26 else chr(ord("A") + len(known) - 26)
