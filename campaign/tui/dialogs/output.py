"""What a run kept: its raw output, read from the file, and searched there."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from campaign.cli.text import shown
from campaign.operations.live import Output
from campaign.tui.dialog import Dialog
from campaign.tui.dialogs.pick import PickDialog
from campaign.tui.widgets.keys import HELP_IN_DIALOGS, Keys
from campaign.tui.widgets.log_pane import LogPane


class OutputDialog(Dialog[None]):
    """Shows the newest of `outputs` of a run, or the one that is chosen."""

    AUTO_FOCUS = "#log-view"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "choose", "Others", tooltip="Choose which of the run's files is shown"),
        HELP_IN_DIALOGS,
        Binding("escape", "back", "Close", tooltip="Close the search, or the output"),
        Binding("q", "close", "Close", show=False),
    ]

    def __init__(self, run: str, outputs: Sequence[Output]) -> None:
        super().__init__()
        self._run = run
        self._outputs = tuple(outputs)
        self._pane = LogPane()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="output") as box:
            box.border_title = Text(shown(f"campaign runs log {self._run}"))
            yield self._pane
        yield Keys()

    def on_mount(self) -> None:
        self._pane.show_outputs(self._run, self._outputs)

    def action_choose(self) -> None:
        """Asks which file to show."""
        dialog = PickDialog("Kept", [one.name for one in self._outputs])
        self.app.push_screen(dialog, self._open)

    def _open(self, index: int | None) -> None:
        if index is not None:
            self._pane.choose(self._outputs[index])

    def action_back(self) -> None:
        """Closes the search, or else the output."""
        if self._pane.search.display:
            self._pane.close_search()
        else:
            self.dismiss()

    def action_close(self) -> None:
        """Closes the output."""
        self.dismiss()
