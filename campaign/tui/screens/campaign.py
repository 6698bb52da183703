"""The campaign screen: what is believed, why, and what it cost."""

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.timer import Timer

from campaign.ledger.filtering import NO_HYPOTHESIS, RunFilter
from campaign.operations import evidence as weighing
from campaign.operations import hypotheses as operations
from campaign.operations import runs as running
from campaign.operations.evidence import Evidence
from campaign.operations.hypotheses import Shown
from campaign.operations.runs import Listed
from campaign.operations.status import WEIGHED_AT_ONCE, Overview
from campaign.tui.demo import is_demo_open, open_demo
from campaign.tui.dialogs.details import DetailsDialog
from campaign.tui.dialogs.hypothesis import HypothesisDialog
from campaign.tui.dialogs.note import NoteDialog
from campaign.tui.dialogs.standing import StandingDialog
from campaign.tui.reading import Reading
from campaign.tui.screens.mode import UNREADABLE, ModeScreen
from campaign.tui.the_app import app_of
from campaign.tui.widgets.evidence import EvidencePane
from campaign.tui.widgets.hypotheses import HypothesesPane
from campaign.tui.widgets.runs import MOST, RunsPane
from campaign.tui.widgets.table import Table
from campaign.tui.widgets.welcome import Welcome
from campaign.workspace import Workspace
from hypotheses.observation import Counts

if TYPE_CHECKING:
    from campaign.operations.advise import Advice

_PAUSE_S, _KEY_S, _PACE_S = 0.5, 0.12, 1.0
"""Before restarts are weighed; before it is read what the cursor is on, for it may move on; from
one reading of that to the next, while others write."""

_ASKED_FOR = object()
"""In place of what was weighed: a person wants it weighed, however long that takes."""

_MANY = "To weigh the restarts of {:,} runs takes a while: F5 does it."

_Dialog = Callable[[Shown], ModalScreen[None]]

_OF_ONE = frozenset({"edit", "note", "standing", "details"})
"""Actions on the hypothesis under the cursor."""

_OF_SOME = frozenset({"filter", "sort", "again", *_OF_ONE})
"""Actions that need hypotheses."""


class CampaignScreen(ModeScreen):
    """Hypotheses, the evidence for the focused one, and its runs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "New", tooltip="Write down a new hypothesis"),
        Binding("e", "edit", "Edit", tooltip="Edit the hypothesis"),
        Binding("a", "note", "Note", tooltip="Add a note to the hypothesis"),
        Binding("t", "standing", "Standing", tooltip="Set the standing, with a reason"),
        Binding("h", "details", "Details", tooltip="All of the hypothesis, with its history"),
        Binding("slash", "filter", "Filter", key_display="/", tooltip="Filter the hypotheses"),
        Binding("s", "sort", "Sort", tooltip="Sort the hypotheses otherwise"),
        Binding("d", "demo", "Demo", show=False, tooltip="Make and open the demo"),
        Binding("f5", "again", "Weigh again", show=False, tooltip="Read and weigh all again"),
        Binding("escape", "back", "Back", tooltip="Back to the hypotheses"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.hypotheses, self.evidence, self.runs = HypothesesPane(), EvidencePane(), RunsPane()
        self.welcome = Welcome()
        self._weighed: object = None
        self._baseline: Counts | None = None
        self._read_at = 0.0
        self._again: Timer | None = None
        self._evidence = Reading(self, self._show_evidence, delay=_KEY_S)
        self._runs = Reading(self, self._show_runs, delay=_KEY_S)
        self._details: Reading[tuple[_Dialog, Shown]] = Reading(self, self._open)
        self._advice: Reading[Advice] = Reading(
            self, self.evidence.show_advice, self.evidence.show_advice, _PAUSE_S, rest=1.0
        )

    def compose_body(self) -> ComposeResult:
        yield self.welcome
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                yield self.hypotheses
                yield self.runs
            yield self.evidence

    def on_mount(self) -> None:
        self.query_one("#panes").display = False
        self.welcome.focus()
        self.watch(self.app, "overview", self._show)
        self.watch(self.app, "problem", self._greet)
        self.watch(self.app, "theme", self.evidence.draw, init=False)

    def read(self, *, fills: bool = False) -> None:
        """Reads what is shown of the hypothesis under the cursor, and the baseline beside it."""
        wait_s = self._read_at + _PACE_S - monotonic()
        if wait_s <= 0:
            self._read_at, self._baseline = monotonic(), None
            self._read_hypothesis(fills=fills)
        elif self._again is None:
            self._again = self.set_timer(wait_s, self._read_again)

    def _read_again(self) -> None:
        self._again = None
        self.read()

    def _read_hypothesis(self, *, fills: bool = False) -> None:
        workspace, slug, baseline = app_of(self).workspace, self.hypotheses.slug, self._baseline
        if workspace is not None and self.hypotheses.table.focused_key is not None:
            self._evidence.ask(lambda: weighing.evidence(workspace, slug, baseline), fills=fills)
            self._runs.ask(lambda: _runs_of(workspace, slug), fills=fills)

    def _show(self, overview: Overview | None) -> None:
        if overview is None or self.app.screen_stack[:1] != [self]:
            return
        self._show_panes(bool(overview.hypotheses or overview.runs))
        self.hypotheses.show(overview)
        self._weigh(overview)

    def _show_panes(self, any_there: bool) -> None:
        panes = self.query_one("#panes")
        if panes.display == any_there and self.welcome.display != any_there:
            return
        panes.display, self.welcome.display = any_there, not any_there
        (self.hypotheses.table if any_there else self.welcome).focus()
        self.refresh_bindings()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._greet()
        self._show(app_of(self).overview)

    def _greet(self) -> None:
        app = app_of(self)
        if app.problem:
            self.welcome.update(UNREADABLE)
        elif app.workspace is not None:
            self.welcome.show(str(app.workspace.root))

    def _weigh(self, overview: Overview) -> None:
        """Asks for the advice where what it rests on has changed: it takes a while."""
        workspace = app_of(self).workspace
        rests_on = (workspace, *((one.hypothesis, one.standing, one.runs, one.fail, one.n)
                                 for one in overview.hypotheses))  # fmt: skip
        new = not overview.stale and rests_on != self._weighed and len(rests_on) > 1
        if workspace is None or not new:
            return
        if overview.runs > WEIGHED_AT_ONCE and self._weighed is not _ASKED_FOR:
            self.evidence.show_advice(_MANY.format(overview.runs))
        else:
            self._weighed = rests_on
            self._advice.ask(lambda: _advised(workspace))

    def _show_evidence(self, evidence: Evidence) -> None:
        self._baseline = evidence.baseline
        self.evidence.show(evidence)

    def _show_runs(self, runs: tuple[Listed, ...]) -> None:
        self.runs.show(self.hypotheses.table.focused_key or "", runs)

    @on(HypothesesPane.Focused)
    def _other_hypothesis(self) -> None:
        self._read_hypothesis()
        self.refresh_bindings()

    @on(Table.Opened, "#hypotheses-table")
    def _to_evidence(self) -> None:
        self.evidence.scroll.focus()

    @on(Table.Opened, "#runs-table")
    def _open_run(self) -> None:
        if self.runs.run is not None:
            app_of(self).show_run(self.runs.run)

    def on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        """Where there is room for one side only, it is the one with the focus."""
        self.set_class(self.evidence.has_focus_within, "-detail")

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """What would do something now: what needs a hypothesis is there once there is one."""
        if action in _OF_ONE:
            return self.hypotheses.slug is not None
        if action == "back":
            return self.evidence.has_focus_within or self.hypotheses.filter.display
        if action == "demo":
            return self.welcome.display and not is_demo_open(app_of(self))
        overview = app_of(self).overview
        return bool(overview and overview.hypotheses) if action in _OF_SOME else True

    def action_back(self) -> None:
        """Closes the filter; back to the hypotheses."""
        if self.hypotheses.filter.has_focus or not self.evidence.has_focus_within:
            self.hypotheses.close_filter()
        else:
            self.hypotheses.table.focus()

    def action_filter(self) -> None:
        """Opens the filter."""
        self.hypotheses.open_filter()

    def action_sort(self) -> None:
        """Sorts by the next of the orders."""
        self.hypotheses.next_order()

    def action_again(self) -> None:
        """Reads all again, and weighs all restarts again."""
        self._weighed = _ASKED_FOR
        self.evidence.show_advice("")
        app_of(self).read_again()
        self._show(app_of(self).overview)

    def action_demo(self) -> None:
        """Makes the demo beside where the app was started, and opens it."""
        open_demo(app_of(self))

    def action_new(self) -> None:
        """Asks for a new hypothesis."""
        self.app.push_screen(HypothesisDialog(added=self.hypotheses.go_to))

    def action_edit(self) -> None:
        """Asks what to change in the hypothesis."""
        self._ask(lambda shown: HypothesisDialog(shown.listed.hypothesis))

    def action_details(self) -> None:
        """Shows all of the hypothesis."""
        self._ask(DetailsDialog)

    def action_note(self) -> None:
        """Asks for a note."""
        if self.hypotheses.slug is not None:
            self.app.push_screen(NoteDialog(self.hypotheses.slug))

    def action_standing(self) -> None:
        """Asks for a standing and its reason."""
        self._ask(lambda shown: StandingDialog(shown.listed.hypothesis))

    def _ask(self, dialog: _Dialog) -> None:
        """Opens a dialog made from all that is known of the hypothesis."""
        workspace, slug = app_of(self).workspace, self.hypotheses.slug
        if workspace is not None and slug is not None:
            self._details.ask(lambda: (dialog, operations.shown(workspace, slug)), opens=True)

    def _open(self, asked: tuple[_Dialog, Shown]) -> None:
        dialog, shown = asked
        self.app.push_screen(dialog(shown))


def _runs_of(workspace: Workspace, slug: str | None) -> tuple[Listed, ...]:
    """The newest runs of a hypothesis, or of those that speak to none."""
    return running.listed(workspace, MOST, RunFilter(hypothesis=slug or NO_HYPOTHESIS))


def _advised(workspace: Workspace) -> "Advice":
    """In the thread, where loading what weighing takes holds up no key."""
    from campaign.operations.advise import advise

    return advise(workspace)
