"""runs list, show, log, retract."""

import shutil
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.capacity import CycleCapacity
from campaign.ledger.costs import RunCosts
from campaign.ledger.filtering import EVERY_RUN, NO_HYPOTHESIS, RunFilter
from campaign.ledger.reads import Ledger
from campaign.operations.meant import meant
from campaign.workspace import Workspace
from hypotheses.observation import Counts
from hypotheses.splits import Split, splits_of
from hypotheses.tally import Tally

if TYPE_CHECKING:
    from campaign.engine.again import Rejudged
    from campaign.engine.events import StandingMoved

OUTPUT = "output.log"
"""The name under which a reproducer's output is kept."""


class Listed(Struct, frozen=True):
    """A run with its terms, hypotheses, counts, verdicts and what it cost, money in `currency`.

    `tally` is what its valid trials show.
    """

    run: records.Run
    terms: records.RunTerms
    hypotheses: tuple[str, ...]
    counts: Counts
    tally: Tally
    verdicts: tuple[records.Verdict, ...]
    costs: RunCosts
    currency: str


class Shown(Struct, frozen=True):
    """A run whole, each part in the order it happened.

    `keys` are by comparison id, `contexts` by comparison id and key.
    """

    listed: Listed
    boots: tuple[records.Boot, ...]
    cycles: tuple[records.Cycle, ...]
    capacities: tuple[CycleCapacity, ...]
    steps: tuple[records.Step, ...]
    edits: tuple[records.Edit, ...]
    states: tuple[records.ServiceState, ...]
    observations: tuple[records.Observation, ...]
    counts: dict[str, Counts]
    tallies: dict[str, Tally]
    splits: tuple[Split, ...]
    comparisons: tuple[records.Comparison, ...]
    keys: dict[str, tuple[records.ComparisonKey, ...]]
    contexts: dict[str, Mapping[str, records.ComparisonContext]]
    artifacts: tuple[records.Artifact, ...]
    latencies: tuple[records.RoundLatency, ...]


def listed(
    workspace: Workspace, limit: int | None = None, wanted: RunFilter = EVERY_RUN
) -> tuple[Listed, ...]:
    """The runs that are meant, `limit` of them at most, newest first.

    Errors: CampaignError (USAGE for a playbook or a hypothesis that there is not).
    """
    with Ledger.open(workspace.ledger) as ledger:
        _check(workspace, ledger, wanted)
        return tuple(_page(ledger, ledger.places(wanted, limit)).values())


def _check(workspace: Workspace, ledger: Ledger, wanted: RunFilter) -> None:
    if wanted.hypothesis and wanted.hypothesis != NO_HYPOTHESIS:
        slugs = {one.slug for one in ledger.hypotheses()}
        _check_known("hypothesis", wanted.hypothesis, slugs, "hypothesis list")
    if wanted.playbook:
        names = {*workspace.playbook_names(), *ledger.playbooks()}
        _check_known("playbook", wanted.playbook, names, "runs list")


def places(workspace: Workspace, wanted: RunFilter, known: "array[int] | None") -> "array[int]":
    """Where the runs that are meant are in the ledger, newest first: for `page`.

    `known` is the last answer to the same question; where all runs are meant and there are no new
    ones, it is the answer. Errors: as `listed`.
    """
    with Ledger.open(workspace.ledger) as ledger:
        if known is not None and wanted == EVERY_RUN and ledger.run_count() == len(known):
            return known
        _check(workspace, ledger, wanted)
        return ledger.places(wanted)


def place_of(workspace: Workspace, run: str) -> int | None:
    """Where the run of that id is in the ledger. Errors: CampaignError."""
    with Ledger.open(workspace.ledger) as ledger:
        return ledger.place_of(run)


def page(workspace: Workspace, at: Sequence[int]) -> dict[int, Listed]:
    """The runs at these places, in their order. Errors: CampaignError."""
    with Ledger.snapshot(workspace.ledger) as ledger:
        return _page(ledger, at)


def _page(ledger: Ledger, at: Sequence[int]) -> dict[int, Listed]:
    runs = ledger.runs_at(at)
    return dict(zip(runs, _listed(ledger, list(runs.values())), strict=True))


def _check_known(what: str, name: str, known: Collection[str], listing: str) -> None:
    if name not in known:
        raise CampaignError(Exit.USAGE, f"there is no {what} {name!r}", meant(name, known, listing))


def _listed(ledger: Ledger, runs: Sequence[records.Run]) -> Iterator[Listed]:
    ids = [run.id for run in runs]
    outlines, costs, currency = ledger.outlines(ids), ledger.costs_of(ids), ledger.currency()
    for run in runs:
        known = outlines[run.id]
        yield Listed(
            run,
            known.terms,
            tuple(known.hypotheses),
            known.tally.counts,
            known.tally,
            tuple(known.verdicts),
            costs[run.id],
            currency,
        )


def shown(workspace: Workspace, fragment: str) -> Shown:
    """The run that `fragment` names. Errors: CampaignError (USAGE: none, or several)."""
    with Ledger.snapshot(workspace.ledger) as ledger:
        run = ledger.run(fragment)
        (listed,) = _listed(ledger, [run])
        comparisons = ledger.comparisons(run.id)
        return Shown(
            listed=listed,
            boots=ledger.boots(run.id),
            cycles=ledger.cycles(run.id),
            capacities=ledger.capacities(run.id),
            steps=ledger.steps(run.id),
            edits=ledger.edits(run.id),
            states=ledger.states(run.id),
            observations=ledger.observations(run.id),
            counts=dict(ledger.trial_counts(run.id)),
            tallies=dict(ledger.tallies(run.id)),
            splits=splits_of(ledger.attributes_of([run.id]).get(run.id, {})),
            comparisons=comparisons,
            keys={one.id: ledger.comparison_keys(one.id) for one in comparisons},
            contexts={one.id: ledger.comparison_contexts(one.id) for one in comparisons},
            artifacts=ledger.artifacts(run.id),
            latencies=ledger.latencies_of([run.id]).get(run.id, ()),
        )


def log(workspace: Workspace, fragment: str, name: str | None) -> Path:
    """The file that a run kept, or is writing, as `name`; its reproducer's output by default.

    `name` may be that of the file itself. Errors: CampaignError.
    """
    with Ledger.open(workspace.ledger) as ledger:
        run = ledger.run(fragment)
        files = tuple(_files(workspace, ledger, run.id))
    wanted = name or OUTPUT
    found = next((path for what, path in reversed(files) if wanted in (what, path.name)), None)
    if found is None:
        names = ", ".join(dict.fromkeys(what for what, _ in files)) or "nothing"
        raise CampaignError(Exit.USAGE, f"run {run.id} kept no {wanted}", f"it kept: {names}")
    if not found.is_file():
        raise CampaignError(Exit.USAGE, f"{found} is gone", "the numbers are still in the ledger")
    return found


def _files(workspace: Workspace, ledger: Ledger, run: str) -> Iterator[tuple[str, Path]]:
    """What a run kept, by name, and then what a reproducer under way is printing."""
    kept = ledger.artifacts(run)
    yield from ((one.name, workspace.root / one.path) for one in kept)
    steps = {one.step for one in kept}
    for one in ledger.observations(run):
        if one.step not in steps:
            yield OUTPUT, workspace.artifacts / one.artifact


def save(workspace: Workspace, fragment: str, name: str | None, to: Path) -> None:
    """Copies what `log` finds to the new file `to`. Errors: as `log`; USAGE where it is there."""
    kept = log(workspace, fragment, name)
    try:
        with kept.open("rb") as file, to.open("xb") as new:
            shutil.copyfileobj(file, new)
    except FileExistsError as error:
        raise CampaignError(Exit.USAGE, f"{to} is there already", "name another file") from error
    except OSError as error:
        raise CampaignError(Exit.USAGE, f"{to}: {error.strerror}") from error


class Retracted(Struct, frozen=True):
    """A run that was retracted, the verdicts that read otherwise without it, and what moved."""

    run: records.Run
    rejudged: "tuple[Rejudged, ...]"
    moved: "tuple[StandingMoved, ...]"


def retract(workspace: Workspace, fragment: str, reason: str) -> Retracted:
    """Takes a run's results out of all judging; its costs stay.

    The verdicts of later runs and the standings of all hypotheses are judged again without it.
    Errors: LoadError, CampaignError.
    """
    from campaign.engine.again import judge_verdicts_anew
    from campaign.engine.standing import judge_anew
    from campaign.ledger.recorder import Recorder

    if not reason.strip():
        raise CampaignError(Exit.USAGE, "a retraction needs a reason", "give one with --reason")
    settings = workspace.load_system(secrets=False).statistics
    with Ledger.open(workspace.ledger) as ledger:
        run = ledger.run_to_change(fragment)
        slugs = [one.slug for one in ledger.hypotheses()]
    with Recorder.open(workspace.ledger, create=False) as recorder:
        recorder.retract(run.id, reason)
        rejudged = judge_verdicts_anew(recorder, run, reason, settings)
        moved = judge_anew(recorder, slugs, settings, f"judged again without {run.id}")
        return Retracted(run, rejudged, moved)
