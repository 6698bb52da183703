"""The history screen: every run there was, found, looked into, compared and retracted."""

from array import array
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input

from campaign.cli.compare import as_text
from campaign.ledger.filtering import EVERY_RUN, RunFilter
from campaign.operations import compare as comparing
from campaign.operations import live as kept
from campaign.operations import runs as operations
from campaign.operations import trend as trending
from campaign.operations.compare import Compared
from campaign.operations.live import Output
from campaign.operations.runs import Shown
from campaign.operations.trend import Trend
from campaign.tui.dialogs.output import OutputDialog
from campaign.tui.dialogs.retract import RetractDialog
from campaign.tui.dialogs.text import TextDialog
from campaign.tui.dialogs.trend import TrendDialog
from campaign.tui.reading import Reading
from campaign.tui.run_filter import parse
from campaign.tui.screens.mode import AGAIN_S, UNREADABLE, ModeScreen
from campaign.tui.the_app import app_of
from campaign.tui.widgets.empty import Empty
from campaign.tui.widgets.history import HistoryPane
from campaign.tui.widgets.run_detail import RunDetailPane
from campaign.tui.widgets.run_list import RunList

NOTHING = """\
No runs yet.

Every run is kept here with its steps, changes, proof, outcomes and cost.

  1   choose what to run, on the Campaign screen
      or, in another terminal:  campaign run PLAYBOOK
"""

_KEY_S, _PACE_S = 0.12, 0.25
"""Before it is read what the cursor is on, for it may move on; between two looks at the ledger."""

_OF_ONE = frozenset({"mark", "retract", "output", "trend"})
"""Actions on the run under the cursor."""


class HistoryScreen(ModeScreen):
    """All runs, the newest first, with the one under the cursor whole beside them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/", tooltip="Filter and search the runs"),
        Binding("o", "output", "Output", tooltip="The raw output of the run, and all that it kept"),
        Binding("m", "mark", "Mark", tooltip="Mark the run, to compare another with it"),
        Binding("c", "compare", "Compare", tooltip="Compare the run with the marked one"),
        Binding("p", "trend", "Plot", tooltip="Plot the playbook's rate and what was spent"),
        Binding("x", "retract", "Retract", tooltip="Say why the run's results do not count"),
        Binding("escape", "back", "Back", tooltip="Back to the runs; all of them"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.pane, self.detail, self.empty = HistoryPane(), RunDetailPane(), Empty(NOTHING)
        self.wanted: RunFilter = EVERY_RUN
        self._known: array[int] | None = None
        self._places: Reading[tuple[RunFilter, array[int]]] = Reading(
            self, self._show, self.pane.refuse, pace=_PACE_S, again=AGAIN_S
        )
        self._whole: Reading[Shown] = Reading(self, self._show_run, delay=_KEY_S)
        self._opened: Reading[int | None] = Reading(self, self._go_to)
        self._pair: Reading[Compared] = Reading(self, self._show_pair)
        self._trend: Reading[Trend] = Reading(self, self._show_trend)
        self._outputs: Reading[tuple[str, tuple[Output, ...]]] = Reading(self, self._show_outputs)

    @property
    def list(self) -> RunList:
        return self.pane.list

    def compose_body(self) -> ComposeResult:
        yield self.empty
        with Horizontal(id="history"):
            yield self.pane
            yield self.detail

    def on_mount(self) -> None:
        self.query_one("#history").display = False
        self.detail.say("Reading ...")
        self.empty.focus()
        self.watch(self.app, "theme", self.detail.draw, init=False)
        self.watch(self.app, "problem", self._greet)
        self.watch(self.app, "opened_run", self._open_run)

    def _greet(self) -> None:
        self.empty.update(UNREADABLE if app_of(self).problem else NOTHING)

    def read(self, *, fills: bool = False) -> None:
        """Reads which runs there are; the list reads those that are on the screen."""
        workspace, wanted, known = app_of(self).workspace, self.wanted, self._known
        if workspace is not None:
            self._places.ask(
                lambda: (wanted, operations.places(workspace, wanted, known)), fills=fills
            )

    def _show(self, found: tuple[RunFilter, "array[int]"]) -> None:
        wanted, places = found
        workspace = app_of(self).workspace
        if wanted != self.wanted or workspace is None:
            return
        self._known = places
        any_there = bool(places) or wanted != EVERY_RUN
        if self.empty.display == any_there:
            self.empty.display, self.query_one("#history").display = not any_there, any_there
            (self.list if any_there else self.empty).focus()
        self.pane.show(wanted, places, partial(operations.page, workspace))
        if not places:
            self.detail.say("No run is shown.")
        self._open_run(app_of(self).opened_run)
        self.refresh_bindings()

    def _open_run(self, run: str) -> None:
        """Goes to a run that another screen asks for, once its place is known."""
        workspace = app_of(self).workspace
        if run and workspace is not None and self._known is not None:
            self._opened.ask(lambda: operations.place_of(workspace, run), fills=True)

    def _go_to(self, place: int | None) -> None:
        if place is None or place in self.list.places:
            app_of(self).opened_run = ""
        if place is not None and place in self.list.places:
            self.list.focus()
            self.list.move_to_place(place)
        elif place is not None and self.wanted != EVERY_RUN:
            self.pane.clear_filter()

    @on(RunList.Focused)
    def _other_run(self) -> None:
        workspace, one = app_of(self).workspace, self.list.run
        if workspace is not None and one is not None:
            run = one.run.id
            self._whole.ask(lambda: operations.shown(workspace, run))
        self.refresh_bindings()

    def _show_run(self, run: Shown) -> None:
        self.detail.say("")
        self.detail.show(run)

    @on(RunList.Opened)
    def _to_detail(self) -> None:
        self.detail.scroll.focus()

    @on(Input.Changed, "#history-filter")
    def _filtered(self, event: Input.Changed) -> None:
        try:
            wanted = parse(event.value)
        except ValueError as error:
            self.pane.refuse(str(error))
            return
        if wanted != self.wanted:
            self.wanted, self._known = wanted, None
            self.read(fills=True)

    @on(Input.Submitted, "#history-filter")
    def _to_list(self) -> None:
        self.list.focus()

    def on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        """Where there is room for one side only, it is the one with the focus."""
        self.set_class(self.detail.has_focus_within, "-detail")

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """What needs a run is there once one is under the cursor."""
        if action in _OF_ONE:
            return self.list.display and self.list.run is not None
        if action == "filter":
            return not self.empty.display
        if action == "compare":
            return self.list.marked is not None and self.list.marked != self.list.place
        if action == "back":
            return self.detail.has_focus_within or self.pane.filter.display
        return True

    def action_filter(self) -> None:
        """Opens the filter."""
        self.pane.open_filter()

    def action_back(self) -> None:
        """Back to the runs; where the focus is there or in the filter, shows all of them."""
        if self.detail.has_focus_within:
            self.list.focus()
        else:
            self.pane.clear_filter()
            self.list.focus()

    def action_mark(self) -> None:
        """Marks the run, or takes the mark away."""
        same = self.list.marked == self.list.place
        self.list.marked = None if same else self.list.place
        self.list.redraw()
        self.refresh_bindings()

    def action_compare(self) -> None:
        """Compares the run under the cursor with the marked one."""
        workspace = app_of(self).workspace
        first, second = self.list.marked, self.list.place
        if workspace is not None and first is not None and second is not None:
            self._pair.ask(lambda: comparing.compare_places(workspace, first, second), opens=True)

    def _show_pair(self, found: Compared) -> None:
        heading = f"campaign runs compare {found.first.run.id} {found.second.run.id}"
        self.app.push_screen(TextDialog(heading, as_text(found)))

    def action_retract(self) -> None:
        """Asks why the run's results do not count."""
        one = self.list.run
        if one is not None and one.run.retracted:
            app_of(self).tell(f"{one.run.id} is retracted already: {one.run.retracted}")
        elif one is not None:
            self.app.push_screen(RetractDialog(one.run.id))

    def action_output(self) -> None:
        """Shows what the run printed."""
        workspace, one = app_of(self).workspace, self.list.run
        if workspace is not None and one is not None:
            run = one.run.id
            self._outputs.ask(lambda: (run, kept.outputs(workspace, run)), opens=True)

    def _show_outputs(self, found: tuple[str, tuple[Output, ...]]) -> None:
        run, outputs = found
        if outputs:
            self.app.push_screen(OutputDialog(run, outputs))
        else:
            app_of(self).tell(f"{run} kept nothing")

    def action_trend(self) -> None:
        """Plots the rate of the run's playbook, and what the campaign spent."""
        workspace, one = app_of(self).workspace, self.list.run
        if workspace is not None and one is not None:
            playbook = one.run.playbook
            self._trend.ask(lambda: trending.trend(workspace, playbook), opens=True)

    def _show_trend(self, trend: Trend) -> None:
        self.app.push_screen(TrendDialog(trend))
