"""Help: what the focused thing is, and every key that works there."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from campaign.cli.text import columns


class HelpDialog(ModalScreen[None]):
    """Explains what has the focus on `screen`: its HELP, or its screen's, and the keys there."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,question_mark", "dismiss", "Close")]

    def __init__(self, screen: Screen[object]) -> None:
        super().__init__()
        self._text = Text(f"{_about(screen)}\n\n{_keys(screen)}")

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog") as box:
            box.border_title = "Help"
            box.border_subtitle = "Esc closes"
            yield Static(self._text, markup=False)


def _about(screen: Screen[object]) -> str:
    """The nearest HELP from the focused widget up."""
    nodes = screen.focused.ancestors_with_self if screen.focused else [screen]
    texts = (getattr(node, "HELP", None) for node in nodes)
    return next((text.strip() for text in texts if text), "")


def _keys(screen: Screen[object]) -> str:
    rows = [
        (screen.app.get_key_display(one.binding), one.binding.tooltip or one.binding.description)
        for one in screen.active_bindings.values()
        if one.enabled and one.binding.description
    ]
    return columns(list(dict.fromkeys(rows)))
