"""The ledger's rows as frozen structs: one a table, each field a column of that name.

Times are seconds since the epoch (float, UTC); durations are seconds; money is in the campaign's
currency. Ids are texts that stay unique when ledgers are merged.
"""

from msgspec import Struct

ARM = "(the arm's own)"
"""The value of a condition that a boot sets itself: it is compared, not required to be equal."""


class CampaignRecord(Struct, frozen=True):
    """One row: the campaign this ledger belongs to. `hash_key` keys the hashes of env values."""

    name: str
    symptom: str
    currency: str
    created_at: float
    hash_key: str


class HypothesisEvent(Struct, frozen=True):
    """What happened to a hypothesis: `kind` is added, changed, note or standing.

    `by` is "rule" or "operator"; `runs` are the run ids (space separated) a standing rests on.
    """

    id: str
    hypothesis: str
    at: float
    kind: str
    text: str
    standing: str | None = None
    by: str = "operator"
    runs: str = ""


class Run(Struct, frozen=True):
    """One execution of a playbook. `batch` is shared by the runs of one invocation.

    `status`: running, completed, failed, aborted or interrupted; `state`: clean or dirty.
    `owner_*` identify the process that runs it, so that a reader can tell that it is gone.
    `retracted` holds the reason.
    """

    id: str
    batch: str
    playbook: str
    kind: str
    question: str
    if_true: str
    if_false: str
    playbook_text: str
    playbook_sha256: str
    variables: str
    command: str
    status: str
    state: str
    started_at: float
    owner_pid: int
    owner_start: int
    owner_boot: str
    ended_at: float | None = None
    error: str | None = None
    retracted: str | None = None
    retracted_at: float | None = None


class RunTerms(Struct, frozen=True):
    """What is fixed about a run before it begins. A run has one row at most.

    `schedule` is None where the run has no arms; `accepted` names conditions that may differ, one
    a line; `imported_by` says who brought in a result from elsewhere, None where it was run here.
    """

    run: str
    schedule: str | None = None
    blocks: int = 1
    seed: int | None = None
    accepted: str = ""
    imported_by: str | None = None


class KeptRun(Struct, frozen=True):
    """A run that was told to keep what it changed; `put_back_at` is None while that stays."""

    run: str
    kept_at: float
    put_back_at: float | None = None


class Boot(Struct, frozen=True):
    """A configuration the system was brought up in. `run` None: the way back to the base.

    `position` counts from 0 within the batch. `occupied_s` runs from the start of the transition
    to the end of the measures, and `money` is its price. `effect`: effective, unproven or not
    effective. `toggles` names what the boot changed, one a line, as conditions are named.
    """

    id: str
    batch: str
    run: str | None
    position: int
    arm: str
    toggles: str
    started_at: float
    ended_at: float | None = None
    occupied_s: float | None = None
    money: float | None = None
    effect: str | None = None
    effect_reasons: str = ""


class Removal(Struct, frozen=True):
    """A suspected cause (the slug of a hypothesis) that a boot removes."""

    boot: str
    hypothesis: str


class Cycle(Struct, frozen=True):
    """A restart cycle, charged once, to `run`. All times are on the host's clock.

    `down_at` is the stop request or the first failed probe, whichever came first; `drain_s` from
    the stop request until all processes are gone, `down_s` from then to the first start,
    `warmup_s` from there to healthy. `outcome`: healthy, failed or aborted. `money` is the price of
    the downtime; that of the time the system was occupied is the boot's.
    """

    id: str
    boot: str
    run: str
    services: str
    requested_at: float
    down_at: float
    healthy_at: float | None
    downtime_s: float
    drain_s: float
    down_s: float
    warmup_s: float
    killed: str
    outcome: str
    proof: str
    money: float


class Step(Struct, frozen=True):
    """A step of a run, numbered from 1 in the order of execution. `undo` tells how it goes back."""

    id: str
    run: str
    boot: str
    position: int
    name: str
    kind: str
    started_at: float
    ended_at: float | None = None
    status: str = "running"
    undo: str = ""
    detail: str = ""


class Request(Struct, frozen=True):
    """What somebody asks of the runs of a `batch` while they go on: `kind` is pause or abort.

    A pause begins when the boot under way (`boot`) has been measured, and ends when it is called
    off; one that is called off before has no `began_at`.
    """

    id: str
    batch: str
    kind: str
    asked_at: float
    boot: str | None = None
    began_at: float | None = None
    ended_at: float | None = None


class Confirmation(Struct, frozen=True):
    """That an operator (`by`) may run a plan of a protected campaign from `given_at` to `until`.

    `plan` is a hash of all that the plan does; it has one for each playbook.
    """

    id: str
    playbook: str
    plan: str
    by: str
    given_at: float
    until: float


class Edit(Struct, frozen=True):
    """A file edit of a boot: the hashes before and after, and the change as a readable diff."""

    id: str
    boot: str
    run: str
    host: str
    path: str
    before_sha256: str | None
    after_sha256: str | None
    diff: str
    steps: str
    put_back_at: float | None = None


class ServiceState(Struct, frozen=True):
    """A service's proof in a boot: `moment` is start or end; `proof` is JSON."""

    id: str
    boot: str
    service: str
    moment: str
    pid: int
    started_at: float
    effect: str
    proof: str


class Observation(Struct, frozen=True):
    """One reproducer execution. `conditions` is a JSON object; `invalid` holds the reason.

    `tail` is the end of its output; `artifact` the path of the whole, below the workspace.
    """

    id: str
    run: str
    boot: str
    cycle: str | None
    step: str
    reproducer: str
    arm: str
    conditions: str
    started_at: float
    ended_at: float | None = None
    exit_code: int | None = None
    stop_reason: str = ""
    invalid: str | None = None
    tail: str = ""
    artifact: str = ""


class ObservationTerms(Struct, frozen=True):
    """What is fixed about an observation before it begins, and how its rule ended it early.

    `stands` is 1 where its counts compare as if their number had been fixed before. `unit`
    (seconds or attempts) is what the exposure of its trials is counted in; None: none is measured.
    """

    observation: str
    rule: str = ""
    stopped: str = ""
    stands: int = 1
    unit: str | None = None


class ObservationPlan(Struct, frozen=True):
    """How many trials an observation is to drive; it has no row where nobody can say."""

    observation: str
    trials: int


class Trial(Struct, frozen=True):
    """A trial of an observation; `position` from 0 in order of arrival, `keys` space separated."""

    observation: str
    position: int
    outcome: str
    result: str
    ident: str | None
    keys: str
    seconds: float | None
    at: float


class TrialExposure(Struct, frozen=True):
    """What a trial ran until it failed or ended, in its observation's unit."""

    observation: str
    position: int
    amount: float


class TrialAttribute(Struct, frozen=True):
    """Something that is known of a trial besides its outcome, to split by."""

    observation: str
    position: int
    name: str
    value: str


class RoundLatency(Struct, frozen=True):
    """Seconds that a round of the sessions of an observation took, by nearest rank.

    `what` is "answer" or "first token", `n` how many rounds were answered.
    """

    observation: str
    round: int
    what: str
    n: int
    p50_s: float
    p90_s: float
    p99_s: float
    max_s: float

    def __str__(self) -> str:
        return (
            f"round {self.round}: {self.what} after {self.p50_s:.3f} s at the median,"
            f" {self.p90_s:.3f} s at p90, {self.p99_s:.3f} s at p99, {self.max_s:.3f} s at most"
            f" ({self.n} answered)"
        )


class Comparison(Struct, frozen=True):
    """A join of two logs, in counts; `fail_mismatch` and its kin are the 2x2 with the trials."""

    id: str
    run: str
    boot: str
    step: str
    detector: str
    matched: int
    mismatched: int
    left_only: int
    right_only: int
    duplicate: int
    lost: int
    known_bad: int
    coverage: float
    fail_mismatch: int
    fail_match: int
    pass_mismatch: int
    pass_match: int
    uncovered: int
    at: float


class ComparisonKey(Struct, frozen=True):
    """A key that did not simply match: `state` is mismatched, left-only, right-only, duplicate."""

    comparison: str
    key: str
    state: str
    left_line: str
    right_line: str


class ComparisonContext(Struct, frozen=True):
    """Where the lines of a key are, from 1, and the lines around them; `differs` names values.

    A number is None where that side has no line; lines, and names, are one a line.
    """

    comparison: str
    key: str
    differs: str
    left_number: int | None
    left_before: str
    left_after: str
    right_number: int | None
    right_before: str
    right_after: str


class Verdict(Struct, frozen=True):
    """A run's verdict for one hypothesis; `reasons` one a line, `numbers` a JSON object."""

    id: str
    run: str
    hypothesis: str | None
    word: str
    qualifier: str
    reasons: str
    numbers: str
    still_needed: str
    at: float


class Artifact(Struct, frozen=True):
    """A file kept for a run: `path` is relative to the workspace."""

    id: str
    run: str
    step: str | None
    name: str
    path: str
    bytes: int
    sha256: str
