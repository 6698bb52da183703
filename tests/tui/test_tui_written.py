"""A text takes as many lines as it has, whatever else the screen has to do."""

import asyncio

from rich.text import Text
from textual.app import App, ComposeResult
from tui_pilot import until

from campaign.tui.widgets.written import Written


class Bare(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.line = Written()

    def compose(self) -> ComposeResult:
        yield self.line


def test_it_shrinks_also_where_a_layout_was_due_and_came_before_it() -> None:
    async def script() -> None:
        app = Bare()
        async with app.run_test() as pilot:
            for text, height in (("one\ntwo", 2), ("one", 1), ("one\ntwo\nthree", 3)):
                app.line.refresh(layout=True)
                app.screen._refresh_layout()
                app.line.write(Text(text))
                await until(pilot, lambda height=height: app.line.size.height == height)

    asyncio.run(script())
