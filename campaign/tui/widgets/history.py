"""The frame around the list of all runs: its filter, its heads, how many there are."""

from array import array
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from campaign.cli.text import shown
from campaign.ledger.filtering import EVERY_RUN, RunFilter
from campaign.tui.run_filter import HINT, arguments
from campaign.tui.runner import command_text
from campaign.tui.widgets.pane import Pane
from campaign.tui.widgets.run_list import Fetch, RunList


class HistoryPane(Pane):
    """Runs, the newest first."""

    HELP = """
All runs, the newest first: the verdict, or what became of a run that has none; failed trials of
those that count, with the 95% interval of the rate; and what the run cost. The filter searches
questions, errors, reasons and notes, and takes words such as  status:failed  verdict:refuted
playbook:NAME  hypothesis:SLUG;  hypothesis:(none)  finds runs that speak to none. Mark a run and go
to another to compare them. Home goes to the newest run, End to the oldest.
"""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("down", "to_rows", "Down", show=False)]

    def __init__(self) -> None:
        self.list = RunList()
        self.filter = Input(placeholder=HINT, id="history-filter", compact=True)
        super().__init__("Runs", self.list, id="history-runs")

    def compose(self) -> ComposeResult:
        yield self.filter
        yield from super().compose()

    def on_mount(self) -> None:
        super().on_mount()
        self.filter.display = False

    def action_to_rows(self) -> None:
        """From the filter to what it has found."""
        self.list.focus()

    def show(self, wanted: RunFilter, places: "array[int]", fetch: Fetch) -> None:
        """Shows the runs that a filter has found."""
        self.list.show(places, fetch)
        self.entitle(f"Runs ({len(places):,}{'' if wanted == EVERY_RUN else ' found'})")
        filtered = wanted != EVERY_RUN
        self.border_subtitle = Text(shown(command_text(arguments(wanted))) if filtered else "")
        self.say("" if places else "Nothing fits the filter.  Esc shows all again")

    def refuse(self, why: str) -> None:
        """Shows in one line why the filter finds nothing."""
        self.say(why)

    def open_filter(self) -> None:
        self.filter.display = True
        self.screen.set_focus(self.filter)

    def clear_filter(self) -> None:
        """Shows all runs again."""
        self.filter.value = ""
        self.filter.display = False
