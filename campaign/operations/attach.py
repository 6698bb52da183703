"""attach: follows an invocation under way from the ledger, whoever started it, and wherever."""

from collections.abc import Iterator

from msgspec import Struct, field

from campaign.engine.events import (
    BootStarted,
    Event,
    StepEnded,
    StepStarted,
    TrialsSeen,
    VerdictGiven,
)
from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.reads import Ledger
from campaign.report.judgements import verdict_of
from campaign.workspace import Workspace
from hypotheses.observation import Counts

_EXITS = {
    "completed": Exit.COMPLETED,
    "failed": Exit.STEP_FAILED,
    "aborted": Exit.INTERRUPTED,
    "interrupted": Exit.DIRTY,
}


def batch_of(workspace: Workspace, fragment: str | None) -> records.Run:
    """The run under way that is meant; None: the newest one.

    Errors: CampaignError (USAGE for no such run, REFUSED where none is under way, or it is over).
    """
    with Ledger.open(workspace.ledger) as ledger:
        if fragment is not None:
            run = ledger.run_to_change(fragment, under_way=True)
        else:
            under_way = sorted(ledger.running(), key=lambda one: one.started_at)
            if not under_way:
                raise CampaignError(
                    Exit.REFUSED, "no run is under way", "campaign runs list shows those that were"
                )
            run = under_way[-1]
    if run.status != "running":
        raise CampaignError(
            Exit.REFUSED, f"{run.id} is over: {run.status}", f"campaign runs show {run.id} tells it"
        )
    return run


class Following(Struct):
    """What an invocation, a `batch`, has done so far; `news` tells each thing once.

    `kept` are the ids of those of its runs that keep what they changed.
    """

    batch: str
    runs: tuple[records.Run, ...] = ()
    kept: tuple[str, ...] = ()
    _told: set[tuple[str, str]] = field(default_factory=set)
    _counts: Counts | None = None

    @property
    def is_over(self) -> bool:
        return bool(self.runs) and all(run.status != "running" for run in self.runs)

    @property
    def exit(self) -> Exit:
        """How it ended: the worst end of its runs; DIRTY overrides all."""
        if any(run.state == "dirty" for run in self.runs):
            return Exit.DIRTY
        ends = {_EXITS[run.status] for run in self.runs if run.status in _EXITS}
        order = (Exit.DIRTY, Exit.STEP_FAILED, Exit.INTERRUPTED)
        return next((one for one in order if one in ends), Exit.COMPLETED)

    def news(self, ledger: Ledger) -> Iterator[Event]:
        """What is new since the last call, in the order it happened. Errors: CampaignError."""
        self.runs = ledger.batch_runs(self.batch)
        self.kept = tuple(run.id for run in self.runs if ledger.kept(run.id) is not None)
        found = sorted(self._events(ledger), key=lambda one: one[0])
        counts = self._trials(ledger)
        for _, kind, key, event in found:
            if (kind, key) not in self._told:
                self._told.add((kind, key))
                yield event
        if counts is not None and counts != self._counts:
            self._counts = counts
            yield TrialsSeen(counts)

    def _events(self, ledger: Ledger) -> Iterator[tuple[float, str, str, Event]]:
        playbooks = {run.id: run.playbook for run in self.runs}
        for boot in ledger.batch_boots(self.batch):
            title = f"{playbooks.get(boot.run or '', 'put back')} {boot.arm}".rstrip()
            event = BootStarted(boot.position + 1, None, title, boot.run)
            yield boot.started_at, "boot", boot.id, event
        for run in self.runs:
            for step in ledger.steps(run.id):
                yield from _step(step)
            for one in ledger.verdicts(run.id):
                told = VerdictGiven(run.id, run.playbook, one.hypothesis, verdict_of(one))
                yield one.at, "verdict", one.id, told

    def _trials(self, ledger: Ledger) -> Counts | None:
        """The trials of the reproducer under way."""
        run = self.runs[-1].id
        under_way = [one.id for one in ledger.observations(run) if one.ended_at is None]
        counts = ledger.trial_counts(run) if under_way else {}
        return counts.get(under_way[-1]) if under_way else None


def _step(step: records.Step) -> Iterator[tuple[float, str, str, Event]]:
    started = StepStarted(step.position, step.name, step.kind)
    yield step.started_at, "started", step.id, started
    if step.ended_at is not None:
        took = step.ended_at - step.started_at
        ended = StepEnded(step.position, step.name, step.status, took, step.detail)
        yield step.ended_at, "step", step.id, ended
