"""The plan of a run, and the question whether to run it."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Input, Static

from campaign.cli.plans import as_text
from campaign.cli.text import shown
from campaign.operations.plan import Planned, Request
from campaign.tui.colours import colour
from campaign.tui.dialog import Dialog
from campaign.tui.runner import command_text
from campaign.tui.the_app import app_of
from campaign.tui.widgets.keys import COPY_COMMAND, HELP_IN_DIALOGS, Keys

_DIFF = " " * 7
"""What stands before a line of a diff in a plan's text."""

_TINTS = (("+++", "quiet"), ("---", "quiet"), ("@@", "primary"), ("+", "success"), ("-", "error"))


def arguments(planned: Planned, request: Request) -> list[str]:
    """What follows `campaign` to run it without being asked again."""
    words = ["run", *request.playbooks]
    words += [
        word for name, value in request.variables.items() for word in ("-e", f"{name}={value}")
    ]
    return [
        *words,
        *(("--keep",) if request.keep else ()),
        *(("--yes-i-mean", planned.system.campaign) if planned.system.protected else ("--yes",)),
    ]


class PlanDialog(Dialog[Sequence[str]]):
    """Shows a plan; returns the words of the command where it is to be run. Cancel has the focus.

    A protected campaign is run only once its name has been typed.
    """

    HELP = """
The plan: every boot with its edits, environment, restarts and measures, and what that takes. What
the trials can show stands at the end, and steps that cannot be taken back. Nothing has been changed
yet; the way back is part of the run.
"""

    deliberate = True
    AUTO_FOCUS = "#cancel"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", "Run it", tooltip="Run it, where that is confirmed"),
        COPY_COMMAND,
        HELP_IN_DIALOGS,
        Binding("escape", "cancel", "Back", tooltip="Back to the playbooks; nothing is run"),
        Binding("up,k", "scroll(-1)", "Up", show=False),
        Binding("down,j", "scroll(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "end(0)", "Start", show=False),
        Binding("end,G", "end(1)", "End", show=False),
    ]

    def __init__(self, planned: Planned, request: Request) -> None:
        super().__init__()
        self._planned = planned
        self._words = arguments(planned, request)
        self._typed = Input(compact=True, id="name")
        self._wrong = Static("", markup=False, classes="wrong")
        self._box = VerticalScroll(id="plan-text")

    @property
    def _protected(self) -> bool:
        return self._planned.system.protected

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="plan") as box:
            box.border_title = "Run this?"
            boots, total = _parts(as_text(self._planned, diffs=True))
            with self._box:
                yield Static(self._coloured(boots), markup=False)
            with VerticalScroll(id="plan-total", can_focus=False):
                yield Static(self._coloured(total), markup=False)
            yield Static(Text(shown(command_text(self._words))), markup=False, classes="command")
            if self._protected:
                yield Static(
                    f"{self._planned.system.campaign} is protected. Type its name to run this:",
                    markup=False,
                )
                yield self._typed
            yield self._wrong
            with Horizontal(classes="buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Run it", id="run", variant="primary", compact=True)
        yield Keys()

    def _coloured(self, text: str) -> Text:
        lines = text.splitlines()
        return Text("\n").join(Text(one, colour(self.app, _meaning(one))) for one in lines)

    @on(Button.Pressed, "#run")
    @on(Input.Submitted, "#name")
    def action_yes(self) -> None:
        """Runs it, where that is confirmed."""
        if not self._protected or self._typed.value.strip() == self._planned.system.campaign:
            self.dismiss(self._words)
            return
        wrong = "that is not its name" if self._typed.value else "type the campaign's name"
        self._wrong.update(f"{wrong}; nothing was changed")
        self._wrong.display = True
        self._typed.focus()

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Goes back; nothing is run."""
        self.dismiss(None)

    def action_copy_command(self) -> None:
        """Copies the command."""
        app_of(self).copy(command_text(self._words))

    def action_scroll(self, by: int) -> None:
        """Scrolls the plan by a line."""
        self._box.scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        """Scrolls the plan by a page."""
        self._box.scroll_relative(y=by * self._box.size.height, animate=False)

    def action_end(self, which: int) -> None:
        """Scrolls to the start of the plan (0), or to its end (1)."""
        self._box.scroll_to(y=which * self._box.max_scroll_y, animate=False)


def _meaning(line: str) -> str:
    """The colour of a line of a plan."""
    if line.startswith("  NO UNDO"):
        return "error"
    if line.startswith(_DIFF):
        return next((tint for mark, tint in _TINTS if line[len(_DIFF) :].startswith(mark)), "")
    return "primary" if line[:1].isdigit() else ""


def _parts(text: str) -> tuple[str, str]:
    """The boots of a plan, and what they come to in all: that is to be in sight at once."""
    boots, mark, total = text.rpartition("\nIn all: ")
    return boots.rstrip(), f"{mark.strip()} {total}"
