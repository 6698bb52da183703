"""What there is to see of runs under way: from the ledger and the kept files alone."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from campaign.engine.belief import believe
from campaign.engine.counted import unlike
from campaign.ledger import records
from campaign.ledger.conditions import stored
from campaign.ledger.reads import Ledger
from campaign.operations.declared import baselines
from campaign.workspace import Workspace
from hypotheses.assumptions import Settings
from hypotheses.observation import Counts, Observation, pooled

NEWEST = 400
"""As many trials of an observation are read one by one: its newest."""


class Reproduction(Struct, frozen=True):
    """An observation with its counts so far, and its newest trials.

    `rule` says what ends it early (empty: nothing), `planned` how many trials it is to drive;
    `unlike` which of its conditions differ from the baseline's, in words: then their rates are not
    compared.
    """

    record: records.Observation
    counts: Counts
    rule: str
    planned: int | None
    newest: tuple[records.Trial, ...]
    unlike: tuple[str, ...] = ()


class Output(Struct, frozen=True):
    """A file of a run: what is in it, and where it is."""

    name: str
    path: Path


class Live(Struct, frozen=True):
    """One invocation as it stands; everything in the order it happened.

    `runs` are those of its playbooks that have begun, the last of which is the one to look at;
    `boots` include the way back (without a run) once that has begun. `baselines` are the valid ones
    that suspects are held against, `baseline` their trials, pooled; `hypotheses` are those the last
    run speaks to.
    """

    runs: tuple[records.Run, ...]
    hypotheses: tuple[str, ...]
    boots: tuple[records.Boot, ...]
    steps: tuple[records.Step, ...]
    cycles: tuple[records.Cycle, ...]
    reproductions: tuple[Reproduction, ...]
    verdicts: tuple[records.Verdict, ...]
    requests: tuple[records.Request, ...]
    baselines: tuple[Observation, ...]
    baseline: Counts
    outputs: tuple[Output, ...]

    @property
    def run(self) -> records.Run:
        return self.runs[-1]

    @property
    def putting_back(self) -> bool:
        return any(boot.run is None for boot in self.boots)

    @property
    def pause(self) -> records.Request | None:
        """The pause that is asked for, or that it is in."""
        asked = (one for one in self.requests if one.kind == "pause" and one.ended_at is None)
        return next(asked, None) if self.run.status == "running" else None


def batches(workspace: Workspace) -> tuple[records.Run, ...]:
    """A run of each invocation under way: its newest one; the newest invocation first.

    Errors: CampaignError.
    """
    with Ledger.open(workspace.ledger) as ledger:
        newest = {run.batch: run for run in reversed(ledger.running())}
        return tuple(sorted(newest.values(), key=lambda run: run.started_at, reverse=True))


def newest_of(workspace: Workspace, pid: int | None) -> str:
    """The invocation of the newest run, also one that is over, where process `pid` runs it.

    Empty otherwise. Errors: CampaignError.
    """
    if pid is None:
        return ""
    with Ledger.open(workspace.ledger) as ledger:
        return next((run.batch for run in ledger.runs(limit=1) if run.owner_pid == pid), "")


def live(workspace: Workspace, batch: str, last: Live | None = None) -> Live:
    """One invocation as it stands, also one that is over. Errors: CampaignError.

    `last` is how it was seen before, if it was: the baseline is read again once a run has begun or
    ended.
    """
    with Ledger.snapshot(workspace.ledger) as ledger:
        runs = ledger.batch_runs(batch)
        newest, held = runs[-1], _baselines(workspace, ledger, runs, last)
        return Live(
            runs=runs,
            hypotheses=ledger.hypotheses_of(newest.id),
            boots=ledger.batch_boots(batch),
            steps=tuple(sorted((step for run in runs for step in ledger.steps(run.id)),
                               key=lambda step: step.started_at)),
            cycles=tuple(one for run in runs for one in ledger.cycles(run.id)),
            reproductions=tuple(_reproductions(ledger, newest.id, held[-1:])),
            verdicts=ledger.verdicts(newest.id),
            requests=ledger.requests(batch),
            baselines=held,
            baseline=last.baseline if last and held is last.baselines else pooled(held),
            outputs=tuple(_outputs(workspace, ledger, runs)),
        )  # fmt: skip


def _baselines(
    workspace: Workspace, ledger: Ledger, runs: tuple[records.Run, ...], last: Live | None
) -> tuple[Observation, ...]:
    """The same as long as the runs stand as they did: thousands of baselines take their time."""
    if last is not None and last.runs == runs:
        return last.baselines
    return baselines(workspace, ledger)


def _reproductions(
    ledger: Ledger, run: str, baseline: Sequence[Observation]
) -> Iterator[Reproduction]:
    counts, accepted = ledger.trial_counts(run), ledger.terms(run).accepted.splitlines()
    for one in ledger.observations(run):
        have = counts.get(one.id, Counts())
        start = max(0, have.n + have.censored - NEWEST)
        terms = ledger.observation_terms(one.id)
        yield Reproduction(
            record=one,
            counts=have,
            rule=terms.rule if terms else "",
            planned=ledger.planned(one.id),
            newest=ledger.trials(one.id, start),
            unlike=tuple(
                difference
                for control in baseline
                for difference in unlike(stored(one.conditions), control.conditions, accepted)
            ),
        )


def outputs(workspace: Workspace, run: str) -> tuple[Output, ...]:
    """What a run kept, or is printing. Errors: CampaignError (USAGE: no such run)."""
    with Ledger.snapshot(workspace.ledger) as ledger:
        return tuple(_outputs(workspace, ledger, (ledger.run(run),)))


def _outputs(
    workspace: Workspace, ledger: Ledger, runs: tuple[records.Run, ...]
) -> Iterator[Output]:
    """What is kept, and what a reproducer under way is printing."""
    for run in runs:
        kept = ledger.artifacts(run.id)
        names = {step.id: step.name for step in ledger.steps(run.id)}
        for one in ledger.observations(run.id):
            if all(artifact.step != one.step for artifact in kept):
                yield Output(f"output.log: {names[one.step]}", workspace.artifacts / one.artifact)
        for artifact in kept:
            about = f": {names[artifact.step]}" if artifact.step else ""
            yield Output(f"{artifact.name}{about}", workspace.root / artifact.path)


class Belief(Struct, frozen=True):
    """How likely each hypothesis is part of the cause; `counted`: with the run's trials so far.

    They are not where its conditions differ from the baseline's, or its effect is not proven.
    """

    parts: Mapping[str, float]
    counted: bool


def belief(workspace: Workspace, settings: Settings, run: str) -> Belief:
    """What is believed while `run` goes on; nothing without hypotheses. Errors: CampaignError."""
    with Ledger.open(workspace.ledger) as ledger:
        found = believe(ledger, settings, run)
    if found is None:
        return Belief({}, False)
    counted = any(one.run == run for one in found.restarts)
    return Belief({slug: found.part(slug) for slug in found.causes}, counted)
