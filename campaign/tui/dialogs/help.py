"""Help: what the focused thing is, and every key that works there."""

from textual.screen import Screen

from campaign.cli.text import columns
from campaign.tui.dialogs.text import TextDialog


class HelpDialog(TextDialog):
    """Explains what has the focus on `screen`: its HELP, or its screen's, and the keys there."""

    def __init__(self, screen: Screen[object]) -> None:
        super().__init__("Help", f"{_about(screen)}\n\n{_keys(screen)}".strip())


def _about(screen: Screen[object]) -> str:
    """The nearest HELP from the focused widget up, in lines as wide as there is room."""
    nodes = screen.focused.ancestors_with_self if screen.focused else [screen]
    texts = (vars(type(node)).get("HELP") for node in nodes)
    return next((" ".join(text.split()) for text in texts if text), "")


def _keys(screen: Screen[object]) -> str:
    rows = [
        (screen.app.get_key_display(one.binding), one.binding.tooltip or one.binding.description)
        for one in screen.active_bindings.values()
        if one.enabled and one.binding.description
    ]
    return columns(list(dict.fromkeys(rows)))
