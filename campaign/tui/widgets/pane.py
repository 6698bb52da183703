"""A titled frame around what is shown in it, or around what would fill it."""

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from campaign.cli.text import shown
from campaign.tui.widgets.empty import Empty


class Pane(Vertical):
    """A frame with a title; lit while the focus is inside. Never blank: see `say`."""

    def __init__(self, title: str, content: Widget, *, id: str) -> None:
        super().__init__(id=id, classes="pane")
        self.content = content
        self.empty = Empty("")
        self._entitled = self._said = ""
        self.entitle(title)

    def compose(self) -> ComposeResult:
        yield self.content
        yield self.empty

    def on_mount(self) -> None:
        self.empty.display = False

    def entitle(self, title: str) -> None:
        """Sets the title, as it stands."""
        if title != self._entitled:
            self._entitled = title
            self.border_title = Text(shown(title))

    def say(self, text: str) -> None:
        """Shows `text` in place of the content, or the content where `text` is empty.

        What takes the other's place takes its focus.
        """
        if text == self._said:
            return
        self._said = text
        focused = (self.content if text else self.empty).has_focus
        self.empty.update(Text(shown(text)))
        self.empty.display, self.content.display = bool(text), not text
        if focused:
            (self.empty if text else self.content).focus()
