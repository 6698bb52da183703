"""The live screen: the run under way, whoever started it."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical

from campaign.cli.text import shown
from campaign.ledger.records import Run
from campaign.operations import control
from campaign.operations import live as reading
from campaign.operations.live import Belief, Live
from campaign.operations.status import WEIGHED_AT_ONCE
from campaign.tui.dialogs.abort import AbortDialog
from campaign.tui.dialogs.pick import PickDialog
from campaign.tui.dialogs.save import SaveDialog
from campaign.tui.reading import Reading
from campaign.tui.screens.mode import AGAIN_S, UNREADABLE, ModeScreen
from campaign.tui.the_app import app_of
from campaign.tui.widgets.empty import Empty
from campaign.tui.widgets.log_pane import LogPane
from campaign.tui.widgets.meter import MeterPane
from campaign.tui.widgets.outcomes import OutcomesPane
from campaign.tui.widgets.run_line import RunLine
from campaign.tui.widgets.steps import StepsPane

NOTHING = """\
Nothing is running.

A run that anyone starts in this workspace appears here: its steps with
their times, its output, failures as they are counted, and what it costs.

  r   choose a playbook, see its plan, and run it
      or, in another terminal:  campaign run PLAYBOOK
"""

STARTING = """\
{} is starting ...

Its steps appear here once it has made sure that the system is as it was planned for.
"""

_MANY = "not weighed, with {:,} runs: F5 on the Campaign screen does it"
_PACE_S, _BELIEF_PACE_S = 0.25, 1.0
"""From one look at the run to the next; from one weighing of its trials to the next."""

_OF_A_RUN = frozenset({"output", "save"})
_OF_ONE_UNDER_WAY = frozenset({"pause", "abort"})


class LiveScreen(ModeScreen):
    """Follows the newest run under way, or the one that was chosen, to its end and after."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pause", "Pause or go on", tooltip="Pause after this restart cycle, or go on"),
        Binding("a", "abort", "Abort", tooltip="Stop the run, and put everything back"),
        Binding("a", "abort_again", show=False),
        Binding("o", "output", "Outputs", tooltip="Choose which of the run's outputs is shown"),
        Binding("s", "save", "Save", tooltip="Save the output that is shown"),
        Binding("c", "cost", "Cost", tooltip="Show the cost in place of the outcomes, or not"),
        Binding("v", "choose", "Other run", tooltip="Choose among the runs under way"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.line, self.steps, self.outcomes = RunLine(), StepsPane(), OutcomesPane()
        self.meter, self.log_pane, self.empty = MeterPane(), LogPane(), Empty(NOTHING)
        self._batch = self._starting = ""
        self.shown: Live | None = None
        self.under_way: tuple[Run, ...] = ()
        self._live: Reading[tuple[tuple[Run, ...], Live | None]] = Reading(
            self, self._show, self._no_run, pace=_PACE_S, again=AGAIN_S
        )
        self._belief: Reading[Belief] = Reading(
            self,
            self.outcomes.show_belief,
            self.outcomes.show_belief,
            rest=1.0,
            pace=_BELIEF_PACE_S,
        )
        self._asked: Reading[str] = Reading(self, self._did, self._cannot_read)

    def compose_body(self) -> ComposeResult:
        yield self.empty
        with Vertical(id="live"):
            yield self.line
            with Container(id="live-top"):
                yield self.steps
                with Vertical(id="live-right"):
                    yield self.outcomes
                    yield self.meter
            yield self.log_pane

    def on_mount(self) -> None:
        self.query_one("#live").display = False
        self.watch(self.app, "theme", self._redraw, init=False)
        self.watch(self.app, "problem", self._greet, init=False)
        self.empty.focus()

    def read(self, *, fills: bool = False) -> None:
        """Reads the run that is followed; the newest, where none was chosen or it is over.

        One that was started here may be over before it was seen under way.
        """
        workspace, batch = app_of(self).workspace, self._batch
        last, ours = self.shown, app_of(self).runner.pid
        if workspace is None:
            return

        def read() -> tuple[tuple[Run, ...], Live | None]:
            under_way, chosen = reading.batches(workspace), batch
            if batch not in [run.batch for run in under_way]:
                chosen = (
                    under_way[0].batch if under_way else reading.newest_of(workspace, ours)
                ) or batch
            return under_way, reading.live(workspace, chosen, last) if chosen else None

        self._live.ask(read, fills=fills)

    def _show(self, read: tuple[tuple[Run, ...], Live | None]) -> None:
        self.under_way, live = read
        starts = self._starts(live)
        self._show_panes(starts, live is not None)
        if live is None or starts:
            return
        self.shown, self._batch = live, live.run.batch
        self.line.show(live, len(self.under_way))
        for pane in (self.steps, self.outcomes, self.meter, self.log_pane):
            pane.show(live)
        self._believe(live)
        self.refresh_bindings()

    def _starts(self, live: Live | None) -> str:
        """The command that was started here while the ledger has not heard of it; or nothing."""
        runner = app_of(self).runner
        known = (*self.under_way, *(live.runs if live else ()))
        heard_of = any(run.owner_pid == runner.pid for run in known)
        return runner.command if runner.busy and not heard_of else ""

    def _show_panes(self, starts: str, any_run: bool) -> None:
        panes = self.query_one("#live")
        panes.display = any_run and not starts
        self.empty.display = not panes.display
        if self.empty.display:
            self._starting = starts
            self._greet()
            self.empty.focus()
        elif self.empty.has_focus:
            self.log_pane.log_view.focus()

    def _greet(self) -> None:
        """Says what is in place of a run, where none is shown."""
        starting = STARTING.format(shown(self._starting)) if self._starting else NOTHING
        self.empty.update(Text(UNREADABLE if app_of(self).problem else starting))

    def _believe(self, live: Live) -> None:
        app = app_of(self)
        workspace, system, run = app.workspace, app.system, live.run.id
        if app.overview is not None and app.overview.runs > WEIGHED_AT_ONCE:
            self.outcomes.show_belief(_MANY.format(app.overview.runs) if live.hypotheses else "")
        elif workspace is not None and system is not None and live.hypotheses:
            self._belief.ask(lambda: reading.belief(workspace, system.statistics, run))

    def _no_run(self, why: str) -> None:
        """Before the first run or hypothesis there is no ledger, and that is no problem."""
        app = app_of(self)
        missing = app.workspace is not None and not app.workspace.ledger.exists()
        if missing and self.shown is None:
            self._show(((), None))
        elif not missing and not app.problem:
            app.tell(why)

    def _cannot_read(self, why: str) -> None:
        app_of(self).tell(why)

    def _redraw(self) -> None:
        for pane in (self.steps, self.outcomes, self.meter):
            pane.draw()
        self.log_pane.log_view.refresh()

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """What can be asked of the run that is shown, as it stands."""
        if action in _OF_ONE_UNDER_WAY:
            live = self.shown
            return live is not None and live.run.status == "running" and not live.putting_back
        if action == "abort_again":
            return self.shown is not None and self.shown.run.status == "running"
        if action in _OF_A_RUN:
            return self.log_pane.log_view.path is not None
        if action == "choose":
            return len(self.under_way) > 1
        return self.shown is not None and self.has_class("-narrow") if action == "cost" else True

    def action_pause(self) -> None:
        """Has the run pause after this restart cycle, or go on."""
        workspace, live = app_of(self).workspace, self.shown
        if workspace is None or live is None:
            return
        verb = "pause" if live.pause is None else "resume"
        ask = control.pause if live.pause is None else control.resume
        run = live.run.id
        self._asked.ask(lambda: f"runs {verb} {ask(workspace, run).id}", fills=True)

    def _did(self, command: str) -> None:
        app_of(self).did(f"campaign {command}")

    def action_abort(self) -> None:
        """Asks whether to stop the run."""
        if self.shown is not None:
            self.app.push_screen(AbortDialog(self.shown.run))

    def action_abort_again(self) -> None:
        """What is being put back is not aborted: it is said what goes on."""
        workspace, live = app_of(self).workspace, self.shown
        if workspace is not None and live is not None:
            run = live.run.id
            self._asked.ask(lambda: f"runs abort {control.abort(workspace, run).id}")

    def action_output(self) -> None:
        """Asks which output to show."""
        outputs = self.log_pane.outputs
        dialog = PickDialog("Outputs", [one.name for one in outputs])
        self.app.push_screen(dialog, self._open_output)

    def _open_output(self, index: int | None) -> None:
        if index is not None:
            self.log_pane.choose(self.log_pane.outputs[index])

    def action_save(self) -> None:
        """Asks where to save the output that is shown."""
        path, live = self.log_pane.log_view.path, self.shown
        if path is not None and live is not None:
            suggested = app_of(self).folder / f"{live.run.id}-{path.name}"
            self.app.push_screen(SaveDialog(path.parent.name, path.name, suggested))

    def action_cost(self) -> None:
        """Shows the cost in place of the outcomes, where there is room for one."""
        self.toggle_class("-cost")

    def action_choose(self) -> None:
        """Asks which of the runs under way to follow."""
        names = [f"{run.id}  pid {run.owner_pid}  {run.command}" for run in self.under_way]
        self.app.push_screen(PickDialog("Runs under way", names), self._follow)

    def _follow(self, index: int | None) -> None:
        if index is not None:
            self._batch, self.shown = self.under_way[index].batch, None
            self.read(fills=True)
