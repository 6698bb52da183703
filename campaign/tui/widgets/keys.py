"""The keys that work now, in as many lines as they need."""

from collections.abc import Iterable

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.binding import Binding
from textual.events import Click

from campaign.tui.colours import colour
from campaign.tui.widgets.written import Written

EXPLAINS = "Explain what has the focus, and the keys"

HELP_IN_DIALOGS = Binding(
    "f1,question_mark",
    "app.explain",
    "Help",
    key_display="F1",
    tooltip=EXPLAINS,
)
"""In fields a question mark is typed."""

COPY_COMMAND = Binding(
    "ctrl+y",
    "copy_command",
    "Copy the command",
    priority=True,
    tooltip="Copy the command that does the same",
)

PRESS = "press"
"""In the meta of a style: the key that a click there presses."""


class KeyText(Written):
    """A text in which clicks press keys."""

    def on_click(self, event: Click) -> None:
        key = event.style.meta.get(PRESS)
        if key is not None:
            self.app.simulate_key(key)


class Keys(KeyText):
    """The keys of the focused thing, its screen and the app."""

    _drawn: object = None

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _screen: self._draw())
        self.watch(self.app, "theme", self._draw, init=False)

    def on_unmount(self) -> None:
        self.screen.bindings_updated_signal.unsubscribe(self)

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        told = {
            one.binding.action: one.binding
            for one in reversed(self.screen.active_bindings.values())
            if one.binding.show and one.enabled and one.binding.description
        }
        new = (self.size.width, self.app.theme, [*told.values()])
        if self.size.width and new != self._drawn:
            self._drawn = new
            items = [self._item(one) for one in reversed(told.values())]
            self.write(Text("\n").join(_filled(items, self.size.width)))

    def _item(self, one: Binding) -> Text:
        key = Style.parse(colour(self.app, "primary") or "bold")
        press = Style(meta={PRESS: one.key})
        name = self.app.get_key_display(one)
        return Text.assemble((name, key + press), (f" {one.description}", press))


def _filled(items: Iterable[Text], width: int) -> list[Text]:
    """The items in lines of at most `width` columns, two blanks apart."""
    lines = [Text()]
    for item in items:
        if lines[-1] and cell_len(lines[-1].plain) + 2 + cell_len(item.plain) > width:
            lines.append(Text())
        lines[-1].append("  " if lines[-1] else "").append_text(item)
    return lines
