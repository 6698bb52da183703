"""A checked playbook, frozen: what it asks, what it changes, what it measures."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from hypotheses.sequential import Rule
from hypotheses.verdict import Expect
from playbooks.schedule import Schedule, order
from playbooks.templates import on_host


class Kind(StrEnum):
    """What a playbook is for."""

    BASELINE = "baseline"
    TOGGLE = "toggle"
    PROBE = "probe"
    DETECTOR = "detector"
    FIX = "fix"


class Diff(Struct, frozen=True):
    """A unified diff to apply exactly below the patch's root."""

    file: Path
    strip: int = 1


class Upload(Struct, frozen=True):
    """A file of the workspace that becomes `to` below the patch's root."""

    file: Path
    to: str
    mode: int | None = None


class Replace(Struct, frozen=True):
    """Exactly `count` occurrences of `old` in `path` (below the root) become `new`."""

    path: str
    old: str
    new: str
    count: int = 1


class Patch(Struct, frozen=True):
    """A change of files below `root` on each of `hosts`, where `{{ host }}` is that one's name."""

    hosts: tuple[str, ...]
    root: str
    change: Diff | Upload | Replace
    removes: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Each host with the root there."""
        return tuple((host, on_host(self.root, host)) for host in self.hosts)


class Env(Struct, frozen=True):
    """Variables of services: `set` gives values, `unset` takes names away."""

    services: tuple[str, ...]
    set: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()


class Restart(Struct, frozen=True):
    """`reload`: the services read their files again, and go on running.

    `batch`: so many replicas of a service restart at a time; 0: all at once.
    """

    services: tuple[str, ...]
    reload: bool = False
    batch: int = 0


class StopWhen(Struct, frozen=True):
    """When a reproduction stops: after all trials, after `failures`, by a rule fixed in the plan.

    `otherwise_fixed`: after all trials where that rule has nothing to go by.
    """

    kind: Literal["fixed", "failures", "sequential", "when_decided"] = "fixed"
    failures: int = 0
    otherwise_fixed: bool = False


class Reproduce(Struct, frozen=True):
    """`stop` is what the playbook says; `rule` is what the plan makes of it, None for "fixed"."""

    use: str
    vars: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float | None = None
    stop: StopWhen = StopWhen()
    rule: Rule | None = None


class Collect(Struct, frozen=True):
    """The services' logs since the restart, as artifacts; `grep` keeps matching lines."""

    services: tuple[str, ...]
    grep: str | None = None
    max_bytes: int = 256 * 1024 * 1024


class RowSpec(Struct, frozen=True):
    """How the rows of a log are read: a key and a value a line, of one or several parts.

    `key` and `value` name groups of the regex `match`; without it fields of the JSON object that
    a line is, `a.b` for b within a. `field` names the text within such an object that stands for
    the line: MESSAGE in journald's own JSON. Lines in which the regex `skip` is found are no rows.
    """

    match: str | None = None
    key: tuple[str, ...] = ("key",)
    value: tuple[str, ...] = ("value",)
    field: str | None = None
    skip: str | None = None

    @property
    def is_json(self) -> bool:
        """Whether its lines are JSON objects."""
        return self.match is None or self.field is not None


class LogSide(Struct, frozen=True):
    """The log of a service since the restart.

    `replicas` are the services whose logs it is made of, where `log` is a name that they share.
    `probed`: its rows are those of the checksum probe, which tells how many it dropped.
    """

    log: str
    rows: RowSpec
    replicas: tuple[str, ...] = ()
    probed: bool = False

    @property
    def name(self) -> str:
        return self.log

    @property
    def services(self) -> tuple[str, ...]:
        return self.replicas or (self.log,)


class OutputSide(Struct, frozen=True):
    """What a reproducer printed: in the last boot of an arm of this run, or of another playbook.

    Of a playbook the latest completed run counts; its own name is the present boot.
    """

    output: str
    rows: RowSpec

    @property
    def name(self) -> str:
        return f"the output of {self.output}"


CompareSide = LogSide | OutputSide


class Compare(Struct, frozen=True):
    """Joins two logs by key. `known_bad` finds the keys that a detector run corrupted.

    `in_order`: a key that repeats is joined in the order of its lines, not given up as a
    duplicate. `only_trials`: keys that no trial carries are not looked at.
    """

    left: CompareSide
    right: CompareSide
    known_bad: CompareSide | None = None
    in_order: bool = False
    only_trials: bool = False


class Command(Struct, frozen=True):
    """`do` runs; `check` exits 0 while its effect is in place; `undo` takes it back."""

    on: str
    do: tuple[str, ...]
    undo: tuple[str, ...] | None = None
    check: tuple[str, ...] | None = None
    timeout_s: float = 60.0
    cwd: str = "/"


class Wait(Struct, frozen=True):
    seconds: float


class Http(Struct, frozen=True):
    """A request from the host's side; the step fails unless it answers as expected."""

    on: str
    url: str
    expect: int = 200
    match: str | None = None
    method: str = "GET"
    body: str | None = None
    timeout_s: float = 30.0


Change = Patch | Env
Measure = Reproduce | Collect | Compare | Command | Wait | Http
Action = Change | Restart | Measure


def logs_of(action: Action) -> tuple[str, ...]:
    """The services whose logs an action reads."""
    if isinstance(action, Collect):
        return action.services
    if not isinstance(action, Compare):
        return ()
    sides = (action.left, action.right, action.known_bad)
    return tuple(name for side in sides if isinstance(side, LogSide) for name in side.services)


class Step(Struct, frozen=True):
    """One action. `when` limits it to one arm; `where` is its "file:line" for messages."""

    name: str
    action: Action
    when: str | None = None
    where: str = ""


class RateRule(Struct, frozen=True):
    """Judged by failure rates; `against` is "baseline", an arm, or another playbook's name.

    Of trials (`kind` rate), or of the time or attempts that they took (time).
    """

    expect: Expect
    against: str = "baseline"
    kind: Literal["rate", "time"] = "rate"


class MismatchRule(Struct, frozen=True):
    """Judged by mismatching keys; `min_coverage` is a share from 0 to 1."""

    min_coverage: float = 0.95
    kind: Literal["mismatch"] = "mismatch"


class Playbook(Struct, frozen=True):
    """`hypotheses` are slugs; `arms` is empty for a playbook of one configuration.

    Its arms, or its one configuration, are brought up in `blocks` blocks by `schedule`; `seed`
    draws a randomised order (None: not drawn yet). `conflicts_with` names playbooks that share no
    restart with it.

    `text` is the YAML as read and `sha256` its hash: what was run can be looked up later.
    """

    name: str
    kind: Kind
    path: Path
    steps: tuple[Step, ...]
    hypotheses: tuple[str, ...] = ()
    question: str = ""
    if_true: str = ""
    if_false: str = ""
    vars: Mapping[str, str] = field(default_factory=dict)
    arms: tuple[str, ...] = ()
    schedule: Schedule = Schedule.ALTERNATE
    blocks: int = 1
    seed: int | None = None
    verdict: RateRule | MismatchRule | None = None
    conflicts_with: tuple[str, ...] = ()
    text: str = ""
    sha256: str = ""

    @property
    def is_judged(self) -> bool:
        """Whether a run of it is given a verdict."""
        return self.verdict is not None or self.kind is Kind.DETECTOR

    @property
    def order(self) -> tuple[tuple[str, ...], ...]:
        """The arms of each block, in order; "" where it has none."""
        return tuple(order(self.arms or ("",), self.schedule, self.blocks, self.seed))
