"""What the report says about one run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from campaign.ledger import records
from campaign.ledger.costs import Costs
from campaign.ledger.keeping import kept_edits, stays
from campaign.ledger.naming import boot_name
from campaign.ledger.query import mapping
from campaign.ledger.reads import Ledger
from campaign.ledger.whole import Whole
from campaign.report.evidence import Figures, collect_figures
from campaign.report.figures import counted, named, time_text, trials_in_short
from campaign.report.judgements import Judgement, collect_judgements
from hypotheses.observation import Counts
from hypotheses.rates import rate_text, share_text
from hypotheses.splits import splits_of
from hypotheses.tally import Tally

SESSIONS = 12
"""As many failed sessions are named in one line."""


class Trials(Struct, frozen=True):
    """The trials of one arm of a run: those that count, and why others do not."""

    arm: str
    tally: Tally
    invalid: tuple[str, ...] = ()

    @property
    def counts(self) -> Counts:
        return self.tally.counts


class Change(Struct, frozen=True):
    """A file that a run changed, in `arms`; `shown_by` is an earlier run that made this change."""

    host: str
    path: str
    diff: str
    arms: tuple[str, ...]
    shown_by: str = ""


class RunPart(Struct, frozen=True):
    """A run, what it did and what came of it; the texts are sentences without a full stop.

    `environment` maps a service to the variables that the run set or unset for it, `figures` a
    hypothesis to the numbers of the run's verdict on it. `conditions` are what held in all its
    observations; a value that differed between them is each of its values.
    """

    record: records.Run
    hypotheses: tuple[str, ...]
    trials: tuple[Trials, ...]
    changes: tuple[Change, ...]
    environment: Mapping[str, tuple[str, ...]]
    conditions: Mapping[str, str]
    effects: tuple[str, ...]
    restart_faults: tuple[str, ...]
    splits: tuple[str, ...]
    mismatches: tuple[str, ...]
    latencies: tuple[str, ...]
    transcripts: str
    judgements: tuple[Judgement, ...]
    figures: Mapping[str, Figures]
    put_back: str
    status: str
    costs: Costs

    @property
    def pooled(self) -> Tally:
        """The trials of all arms that count."""
        return sum((one.tally for one in self.trials), Tally())

    @property
    def is_evidence(self) -> bool:
        """Whether its trials and verdicts count."""
        return self.record.status == "completed" and self.record.retracted is None

    @property
    def outcome(self) -> str:
        """Its verdict; what became of it where its verdict does not count or there is none."""
        if self.record.retracted is not None:
            return "retracted"
        if self.record.status != "completed":
            return self.record.status
        return "; ".join(dict.fromkeys(str(one.verdict) for one in self.judgements)) or "no verdict"

    @property
    def in_short(self) -> str:
        """The counts of its arms, with their interval where there is one arm."""
        tried = [one for one in self.trials if one.counts.total]
        if not tried:
            return "-"
        if len(tried) == 1:
            text = trials_in_short(tried[0].tally)
        else:
            text = ", ".join(f"{one.arm or 'unnamed'} {one.counts}" for one in tried)
        return text if self.is_evidence else f"{text}, not counted"


def collect_runs(
    ledger: Ledger, runs: Sequence[records.Run], costs: Mapping[str, Costs]
) -> tuple[RunPart, ...]:
    """The parts of `runs`, in their order; `costs` by run id. Errors: CampaignError."""
    shown: dict[tuple[str, str, str | None, str | None], str] = {}
    wholes = ledger.wholes([run.id for run in runs])
    return tuple(_collect(run, wholes[run.id], costs[run.id], shown) for run in runs)


def _collect(
    run: records.Run,
    whole: Whole,
    costs: Costs,
    shown: dict[tuple[str, str, str | None, str | None], str],
) -> RunPart:
    return RunPart(
        record=run,
        hypotheses=whole.hypotheses,
        trials=_trials(whole),
        changes=_changes(run.id, whole.edits, whole.boots, shown),
        environment=_environment(whole.boots),
        conditions=_conditions(whole.observations),
        effects=_effects(whole.boots),
        restart_faults=tuple(_restart_faults(whole.cycles)),
        splits=tuple(map(str, splits_of(whole.attributes))),
        mismatches=_compared(whole.comparisons, whole.boots),
        latencies=tuple(map(str, whole.latencies)),
        transcripts=_transcripts(run.id, whole),
        judgements=collect_judgements(whole.verdicts),
        figures={one.hypothesis or "": collect_figures(one) for one in whole.verdicts},
        put_back=_put_back(run, whole.edits, whole.steps),
        status=_status(run, whole.steps, whole.terms.imported_by),
        costs=costs,
    )


def _transcripts(run: str, whole: Whole) -> str:
    """How to read the sessions of a run word for word; empty where it had none."""
    if not whole.latencies:
        return ""
    failed = list(dict.fromkeys(whole.failed_sessions))
    more = f" and {len(failed) - SESSIONS} more" if len(failed) > SESSIONS else ""
    which = f"; failed: {', '.join(failed[:SESSIONS])}{more}" if failed else ""
    return f"'campaign runs show {run} --session N'{which}"


def _trials(whole: Whole) -> tuple[Trials, ...]:
    arms: dict[str, Trials] = {}
    for one in whole.observations:
        arm = arms.get(one.arm, Trials(one.arm, Tally()))
        found = whole.tallies.get(one.id, Tally())
        if one.invalid is None:
            arm = replace(arm, tally=arm.tally + found)
        reason = _uncounted(one, found, whole.steps)
        arms[one.arm] = replace(arm, invalid=(*arm.invalid, *reason))
    return tuple(arms.values())


def _uncounted(
    observed: records.Observation, found: Tally, steps: Iterable[records.Step]
) -> Iterator[str]:
    """Why its trials do not count, where none does."""
    if observed.invalid is not None:
        yield f"{counted(found.counts.total, 'trial')} not counted: {observed.invalid}"
    elif found.counts.censored and not found.counts.n and not found.exposure:
        yield next((one.detail for one in steps if one.id == observed.step), "")


def _changes(
    run: str,
    edits: Iterable[records.Edit],
    boots: Sequence[records.Boot],
    shown: dict[tuple[str, str, str | None, str | None], str],
) -> tuple[Change, ...]:
    """Each change once, however many boots made it; `shown` keeps which run showed it first."""
    arms = {boot.id: boot.arm for boot in boots}
    told = len(set(arms.values())) > 1
    found: dict[tuple[str, str, str | None, str | None], Change] = {}
    for edit in edits:
        change = edit.host, edit.path, edit.before_sha256, edit.after_sha256
        first = shown.setdefault(change, run)
        before = found[change].arms if change in found else ()
        arm = (arms.get(edit.boot, ""),) if told else ()
        found[change] = Change(
            edit.host,
            edit.path,
            edit.diff,
            tuple(dict.fromkeys((*before, *arm))),
            "" if first == run else first,
        )
    return tuple(found.values())


def _environment(boots: Iterable[records.Boot]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for boot in boots:
        for toggle in boot.toggles.splitlines():
            scope, _, rest = toggle.partition(".")
            service, _, name = rest.rpartition(".")
            if scope == "env" and name not in found.setdefault(service, []):
                found[service].append(name)
    return {service: tuple(names) for service, names in found.items()}


def _conditions(observations: Iterable[records.Observation]) -> dict[str, str]:
    """Values that are known by their hash alone tell a reader nothing, and are counted."""
    found: dict[str, list[str]] = {}
    for one in observations:
        for name, value in mapping(one.conditions).items():
            if str(value) not in found.setdefault(name, []):
                found[name].append(str(value))
    told = {
        name: " / ".join(values)
        for name, values in sorted(found.items())
        if not all(value == records.ARM or value.startswith("hash ") for value in values)
    }
    hashed = len(found) - len(told)
    return told | ({f"{hashed} more": "by their hash alone"} if hashed else {})


def _effects(boots: Sequence[records.Boot]) -> tuple[str, ...]:
    """What was proven of the boots, each once; by arm where there are several."""
    told = len({boot.arm for boot in boots}) > 1
    return tuple(
        dict.fromkeys(f"{boot.arm}: {_effect(boot)}" if told else _effect(boot) for boot in boots)
    )


def _effect(boot: records.Boot) -> str:
    if boot.effect is None:
        return "not read"
    reasons = "; ".join(boot.effect_reasons.splitlines())
    return f"{boot.effect}: {reasons}" if reasons else boot.effect


def _restart_faults(cycles: Iterable[records.Cycle]) -> Iterable[str]:
    for cycle in cycles:
        if cycle.killed:
            yield f"killed after its time to stop was over: {', '.join(cycle.killed.split())}"
        if cycle.outcome != "healthy":
            yield f"restart of {', '.join(cycle.services.split())} {cycle.outcome}"


def _compared(
    comparisons: Iterable[records.Comparison], boots: Sequence[records.Boot]
) -> tuple[str, ...]:
    """Each comparison, by its boot where there are several."""
    named = ((boot_name(boots, one.boot), _mismatches(one)) for one in comparisons)
    return tuple(f"{boot}: {text}" if boot else text for boot, text in named)


def _mismatches(found: records.Comparison) -> str:
    """A comparison in one sentence, with the shares of the failing and of the passing trials.

    Where keys are known to be bad the detector is tested, and nothing said about trials.
    """
    parts = (
        (found.matched, "matched"),
        (found.left_only, "only on the left"),
        (found.right_only, "only on the right"),
        (found.duplicate, "twice on a side"),
        (found.known_bad, "known to be bad"),
    )
    others = "".join(f", {count} {what}" for count, what in parts if count)
    lost = f", log lines lost: {found.lost}" if found.lost else ""
    coverage = f"{share_text(found.coverage)} of keys could be compared{lost}"
    trials = "" if found.known_bad else f"; {_two_by_two(found)}"
    return f"{counted(found.mismatched, 'key')} mismatched{others}; {coverage}{trials}"


def _two_by_two(found: records.Comparison) -> str:
    failing = Counts(found.fail_mismatch, found.fail_match)
    passing = Counts(found.pass_mismatch, found.pass_match)
    without = f"; {counted(found.uncovered, 'trial')} without such a key" if found.uncovered else ""
    if not failing.n and not passing.n:
        return f"no trial had a key that could be compared{without}"
    return f"{_share(failing, 'failing')}; {_share(passing, 'passing')}{without}"


def _share(counts: Counts, what: str) -> str:
    """How many trials of one result had a mismatch, and what that allows to say."""
    if not counts.n:
        return f"no {what} trial had a key that could be compared"
    _, _, allowed = rate_text(counts).partition(", ")
    allowed = allowed.replace(" (", ", ").rstrip(")")
    return f"a mismatch in {counts} {what} trials ({allowed})"


def _put_back(
    run: records.Run, edits: Sequence[records.Edit], steps: Sequence[records.Step]
) -> str:
    """Whether what the run changed is as it was before, but for what its operator kept."""
    kept = kept_edits(edits, steps)
    left = _places(edit for edit in edits if edit.put_back_at is None and edit not in kept)
    if run.status == "running":
        return "not yet, the run is still under way"
    if run.state == "dirty":
        return "not everything: 'campaign recover' puts the rest back or says what to do"
    if run.status == "interrupted" and run.ended_at is None:
        return "not known, its process is gone: 'campaign recover' asks the hosts"
    if left and stays(steps):
        return f"kept on purpose: {named(left)}; 'campaign recover {run.id}' puts it back"
    if left:
        return f"not known of {named(left)}: 'campaign recover' asks the hosts"
    if not edits:
        return "no file was changed"
    back = len(_places(edits)) - len(_places(kept))
    said = [f"yes, {counted(back, 'file')}"] if back else []
    return "; ".join([*said, *(f"{place} kept as found (accepted)" for place in _places(kept))])


def _places(edits: Iterable[records.Edit]) -> tuple[str, ...]:
    """Where they are, each once."""
    return tuple(dict.fromkeys(f"{edit.host}:{edit.path}" for edit in edits))


def _status(run: records.Run, steps: Iterable[records.Step], imported_by: str | None) -> str:
    """How the run ended: where, and why, if it did not complete."""
    if imported_by is not None:
        return f"imported by {imported_by}: nothing proves what ran"
    broken = next((step for step in steps if step.status in ("failed", "aborted")), None)
    where = f" at step {broken.position}, {broken.name}" if broken else ""
    error = f": {run.error}" if run.error else ""
    ended = "" if run.ended_at is None else f", ended {time_text(run.ended_at)}"
    if run.status == "interrupted" and run.ended_at is None:
        ended = ", its process is gone"
    dirty = ", dirty" if run.state == "dirty" else ""
    return f"{run.status}{dirty}{where}{error}{ended}"
