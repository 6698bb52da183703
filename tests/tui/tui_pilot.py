"""Driving the app: waiting on conditions, and reading what is on the screen."""

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from pathlib import Path
from time import monotonic

from textual.events import Key
from textual.pilot import Pilot

from campaign.tui.app import CampaignApp
from campaign.tui.dialog import Dialog

PATIENCE_S = 60.0


def drive(
    folder: Path,
    script: Callable[[CampaignApp, Pilot[int]], Awaitable[None]],
    size: tuple[int, int] = (120, 35),
    *,
    notes: bool = False,
) -> int | None:
    """Runs `script` with the app on `folder`; what the app returned.

    `notes`: what is said in passing is on the screen, too.
    """

    async def main() -> int | None:
        app = CampaignApp(folder)
        async with app.run_test(size=size, notifications=notes) as pilot:
            await script(app, pilot)
        return app.return_value

    return asyncio.run(main())


def lines(app: CampaignApp) -> list[str]:
    """The screen's text, line by line, without blanks at the ends."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def text(app: CampaignApp) -> str:
    return "\n".join(lines(app))


async def until(
    pilot: Pilot[int], holds: Callable[[], object], patience_s: float = PATIENCE_S
) -> None:
    """Waits until `holds()` is true; looks less often the longer that takes."""
    deadline, pause_s = monotonic() + patience_s, 0.02
    while not holds():
        assert monotonic() < deadline, text_of(pilot)
        await pilot.pause(pause_s)
        pause_s = min(0.2, pause_s * 1.1)


async def shows(pilot: Pilot[int], *wanted: str) -> None:
    """Waits until all of `wanted` is on the screen; a dialog has been drawn then."""
    await until(pilot, lambda: is_drawn(pilot) and all(one in text_of(pilot) for one in wanted))


def is_drawn(pilot: Pilot[int]) -> bool:
    screen = pilot.app.screen
    return not isinstance(screen, Dialog) or screen.seen_at < inf


def type_at_once(app: CampaignApp, *keys: str) -> None:
    """All keys are there before the first is looked at, as from a quick hand on a busy machine.

    A key is named as for `Pilot.press`; one of several characters that is no such name is typed.
    """
    for key in keys:
        for one in [key] if key in _NAMED else key:
            app.post_message(Key(_NAMED.get(one, one), one if len(one) == 1 else None))


_NAMED = {name: name for name in ("enter", "escape", "tab", "down", "end", "ctrl+s")} | {
    "/": "slash",
    " ": "space",
    "-": "minus",
}


async def settles(pilot: Pilot[int]) -> None:
    """Waits until nothing on the screen has changed for a second."""
    await until(pilot, lambda: pilot.app.screen.size == pilot.app.size)
    seen, since = text_of(pilot), monotonic()
    while monotonic() < since + 1.0:
        await pilot.pause(0.1)
        if text_of(pilot) != seen:
            seen, since = text_of(pilot), monotonic()


def text_of(pilot: Pilot[int]) -> str:
    app = pilot.app
    assert isinstance(app, CampaignApp)
    return text(app)
