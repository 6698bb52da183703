"""Help: what the focused thing is, and every key that works there."""

from collections.abc import Iterable, Iterator

from textual.binding import ActiveBinding
from textual.screen import Screen

from campaign.cli.text import columns
from campaign.tui.dialogs.text import TextDialog
from campaign.tui.widgets.empty import Empty


class HelpDialog(TextDialog):
    """Explains what has the focus on `screen`: its HELP, or its screen's, and the keys there."""

    def __init__(self, screen: Screen[object]) -> None:
        super().__init__("Help", f"{_about(screen)}\n\n{_keys(screen)}".strip())


def _about(screen: Screen[object]) -> str:
    """The nearest HELP of ours from the focused widget up, in lines as wide as there is room."""
    nodes = screen.focused.ancestors_with_self if screen.focused else [screen]
    kinds = (kind for node in nodes for kind in type(node).__mro__)
    texts = (vars(one).get("HELP") for one in kinds if one.__module__.startswith("campaign."))
    return next((" ".join(text.split()) for text in texts if text), "")


def told_bindings(screen: Screen[object]) -> Iterable[ActiveBinding]:
    """What has a key on `screen` now and says what it does: not what every list has."""
    told = {
        one.binding.action: one
        for one in reversed(screen.active_bindings.values())
        if one.enabled and one.binding.tooltip
    }
    return reversed(told.values())


def _keys(screen: Screen[object]) -> str:
    rows = [
        (screen.app.get_key_display(one.binding), one.binding.tooltip)
        for one in told_bindings(screen)
    ]
    return columns([*rows, *_moving(screen)])


def _moving(screen: Screen[object]) -> Iterator[tuple[str, str]]:
    """How to move, where there is anything to move to or in."""
    if len(screen.focus_chain) > 1:
        yield "tab", "To the next pane; shift+tab to the one before"
    if not isinstance(screen.focused, Empty):
        yield "arrows", "Move; page up, page down, home and end as well"
