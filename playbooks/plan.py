"""Playbooks become one list of boots, each an overlay on the base, and a forecast of its cost.

N measured boots cost N + 1 restart cycles: each transition undoes the boot before and makes the
next in one restart, and the last one leads back to the base. Where the last measured boot changed
nothing the base is already running, and the way back costs none.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from playbooks.agent.envfile import EnvFileError
from playbooks.edits import EditError, FileEdit, FileState, Overlay, Reader
from playbooks.hosts.unitfacts import UnitFacts
from playbooks.playbook import (
    Collect,
    Command,
    Compare,
    Env,
    Http,
    Patch,
    Playbook,
    Reproduce,
    Restart,
    Step,
    Wait,
)
from playbooks.rollout import Batches, batches, expand, shares
from playbooks.services import precedence
from playbooks.system import Service, System

GUESSED_DOWNTIME_S = 30.0
GUESSED_MEASURE_S = 60.0


class PlanError(Exception):
    """A plan that cannot be made from what the playbooks say and the hosts have; one line."""


class EnvChange(Struct, frozen=True):
    """A variable of a service's env file in a boot; None: not set there."""

    service: str
    name: str
    before: str | None
    after: str | None


class Boot(Struct, frozen=True):
    """One configuration the system is brought up in, and what is measured in it.

    `run` counts the plan's playbooks from 0; `playbook` None: the way back to the base.
    `block` counts from 1. `services` restart on entering, in start order, or are all reloaded
    (`reload`); `before` are commands that run after the edits and before that. With `batch` so many
    replicas restart at a time: `batches` says which, one after the other.
    """

    position: int
    run: int
    playbook: Playbook | None
    arm: str = ""
    edits: tuple[FileEdit, ...] = ()
    env: tuple[EnvChange, ...] = ()
    services: tuple[str, ...] = ()
    before: tuple[Step, ...] = ()
    measures: tuple[Step, ...] = ()
    changes: tuple[Step, ...] = ()
    block: int = 1
    reload: bool = False
    batch: int = 0
    batches: Batches = ()

    @property
    def title(self) -> str:
        if self.playbook is None:
            return "put back"
        arm = f" [{self.arm}]" if self.arm else ""
        blocks = self.playbook.blocks
        return f"{self.playbook.name}{arm}{f' block {self.block}' if blocks > 1 else ''}"

    @property
    def drives(self) -> bool:
        """Whether trials are driven in it."""
        return any(isinstance(step.action, Reproduce) for step in self.measures)

    @property
    def changed(self) -> bool:
        """Whether it leaves anything to put back."""
        return bool(self.edits) or any(
            isinstance(step.action, Command) and step.action.undo
            for step in (*self.before, *self.measures)
        )


class Took(Struct, frozen=True):
    """Seconds that boots like one took: down, and besides that; `guessed` where one is a guess.

    `lost_s` are seconds of the capacity of services with replicas.
    """

    down_s: float
    besides_s: float
    guessed: bool = False
    lost_s: float = 0.0

    @property
    def seconds(self) -> float:
        return self.down_s + self.besides_s


class History(Protocol):
    """What past boots took."""

    def took(self, boot: Boot) -> Took | None:
        """What such a boot takes by the past ones; None where there were none."""


class BootForecast(Struct, frozen=True):
    """Seconds down, measuring, of capacity lost; the money, and whether the figures are guessed."""

    downtime_s: float
    measure_s: float
    money: float
    guessed: bool
    lost_s: float = 0.0


class Plan(Struct, frozen=True):
    """The boots in order, the last of them the base, and a forecast for each.

    `keep`: where all goes well, what the last measured boot has stays, and the way to the base is
    left for later.
    """

    boots: tuple[Boot, ...]
    forecast: tuple[BootForecast, ...] = field(default=())
    keep: bool = False

    @property
    def measured(self) -> tuple[Boot, ...]:
        return tuple(boot for boot in self.boots if boot.playbook is not None)

    @property
    def cycles(self) -> int:
        """How many restart cycles it costs."""
        return sum(1 for boot in self.boots if boot.services)

    @property
    def downtime_s(self) -> float:
        return sum(one.downtime_s for one in self.forecast)

    @property
    def lost_s(self) -> float:
        return sum(one.lost_s for one in self.forecast)

    @property
    def seconds(self) -> float:
        return sum(one.downtime_s + one.measure_s for one in self.forecast)

    @property
    def money(self) -> float:
        return sum(one.money for one in self.forecast)


Facts = Callable[[Service], UnitFacts | None]
"""What systemd has read of a service's unit; None for a service that is none."""


def make(
    system: System, playbooks: Sequence[Playbook], read: Reader, history: History, facts: Facts
) -> Plan:
    """Plans `playbooks` as one campaign. Nothing is changed anywhere. Errors: PlanError."""
    cached = _Cache(read, facts)
    boots: list[Boot] = []
    for run, playbook in enumerate(playbooks):
        for block, arm in _order(playbook):
            for section in _sections(playbook, arm):
                boot = _boot(system, playbook, arm, section, cached)
                boots.append(replace(boot, position=len(boots), run=run, block=block))
    boots.append(Boot(len(boots), len(playbooks), None))
    linked = tuple(_transitions(system, boots))
    return Plan(linked, tuple(_forecast(system, boot, history) for boot in linked))


def _order(playbook: Playbook) -> Iterator[tuple[int, str]]:
    """Each block's number with each of its arms."""
    for block, arms in enumerate(playbook.order, 1):
        for arm in arms:
            yield block, arm


class _Cache:
    """Each path of a host is read once, so that every boot lies over the same base."""

    def __init__(self, read: Reader, facts: Facts) -> None:
        self._read = read
        self._facts = facts
        self._known: dict[str, UnitFacts | None] = {}
        self._seen: dict[tuple[str, str, str], tuple[FileState, bytes | None]] = {}

    def facts(self, service: Service) -> UnitFacts | None:
        if service.name not in self._known:
            self._known[service.name] = self._facts(service)
        return self._known[service.name]

    def content(self, host: str, root: str, path: str) -> bytes | None:
        return self(host, root, path)[1]

    def __call__(self, host: str, root: str, path: str) -> tuple[FileState, bytes | None]:
        key = (host, root, path)
        if key not in self._seen:
            self._seen[key] = self._read(host, root, path)
        return self._seen[key]


class _Section(Struct):
    """The steps up to one restart and what is measured after it."""

    changes: list[Step] = field(default_factory=list)
    before: list[Step] = field(default_factory=list)
    restart: Restart | None = None
    measures: list[Step] = field(default_factory=list)


def _sections(playbook: Playbook, arm: str) -> Iterator[_Section]:
    """Each restart begins a boot that has all changes made so far."""
    steps = [step for step in playbook.steps if step.when in (None, arm)]
    restarts = sum(isinstance(step.action, Restart) for step in steps)
    current = _Section()
    for step in steps:
        match step.action:
            case Restart() if current.restart is not None:
                yield current
                current = _Section(list(current.changes), [], step.action)
            case Restart():
                current.restart = step.action
            case Patch() | Env() if current.restart is not None:
                yield current
                current = _Section([*current.changes, step])
            case Patch() | Env():
                current.changes.append(step)
            case Reproduce() | Collect() | Compare() if restarts and current.restart is None:
                raise PlanError(
                    f"{step.where}: step {step.name!r} measures before the restart; "
                    "move it behind the restart step"
                )
            case Command() | Http() | Wait() if restarts and current.restart is None:
                current.before.append(step)
            case _:
                current.measures.append(step)
    yield current


def _boot(system: System, playbook: Playbook, arm: str, section: _Section, read: _Cache) -> Boot:
    overlay = Overlay(read)
    for step in section.changes:
        _lay(system, overlay, step)
    wanted = section.restart or Restart(())
    restarted = () if wanted.reload else expand(system, wanted.services)
    reloaded = tuple(one for one in system.services if wanted.reload and one in wanted.services)
    _all_restarted(section.changes, restarted)
    try:
        edits = overlay.edits()
        env = tuple(_env_changes(system, section.changes, overlay, read))
    except (EditError, EnvFileError) as error:
        raise PlanError(f"{playbook.path.name}: {error}") from error
    return Boot(
        0,
        0,
        playbook,
        arm,
        edits,
        env,
        restarted or reloaded,
        tuple(section.before),
        tuple(section.measures),
        tuple(section.changes),
        reload=wanted.reload,
        batch=wanted.batch,
    )


def _lay(system: System, overlay: Overlay, step: Step) -> None:
    try:
        if isinstance(step.action, Patch):
            overlay.patch(step.name, step.action)
        elif isinstance(step.action, Env):
            services = [system.services[name] for name in step.action.services]
            overlay.env(step.name, services, step.action)
    except EditError as error:
        raise PlanError(f"{step.where}: {error}") from error


def _all_restarted(changes: Iterable[Step], restarted: Sequence[str]) -> None:
    for step in changes:
        if isinstance(step.action, Env):
            for name in step.action.services:
                if name not in restarted:
                    raise PlanError(
                        f"{step.where}: step {step.name!r} changes the environment of {name!r}, "
                        "which no later step restarts; add it to the restart step"
                    )


def _env_changes(
    system: System, changes: Iterable[Step], overlay: Overlay, read: _Cache
) -> Iterator[EnvChange]:
    """The variables that the steps set, as they are and will be. Errors: PlanError."""
    wanted: dict[tuple[str, str], tuple[Step, str | None]] = {}
    for step in changes:
        if isinstance(step.action, Env):
            for one in step.action.services:
                for name in (*step.action.set, *step.action.unset):
                    wanted[one, name] = step, step.action.set.get(name)
    for (owner, name), (step, value) in wanted.items():
        service = system.services[owner]
        before = _layers(service, read.facts(service), read.content)
        after = _layers(service, read.facts(service), overlay.content)
        if service.env and (why := precedence.loses(service.env, after, name, value)):
            raise PlanError(f"{step.where}: step {step.name!r}, service {owner!r}: {why}")
        was, will = (precedence.origin(one, name).value for one in (before, after))
        yield EnvChange(owner, name, was, will)


def _layers(
    service: Service, facts: UnitFacts | None, content: Callable[[str, str, str], bytes | None]
) -> tuple[precedence.Layer, ...]:
    """What sets the service's environment; a file that cannot be read is left out."""

    def read(path: str) -> bytes | None:
        if service.env is not None and path == service.env.path:
            return content(service.host, *service.env.place)
        root, _, name = path.rpartition("/")
        try:
            return content(service.host, root or "/", name)
        except PlanError:
            return None

    return precedence.layers(service, facts, read)


def _transitions(system: System, boots: Sequence[Boot]) -> Iterator[Boot]:
    """A boot also restarts what would go on running something that is not so in it.

    What was only reloaded since the base is reloaded again, unless anything has to be restarted.
    Where a boot says nothing of a restart, it is in the batches of the one before.
    """
    runs: dict[str, Boot] = {}
    reloaded: set[str] = set()
    batch = 0
    for boot in boots:
        stale = {name for name, started_in in runs.items() if _leaves(started_in, boot)}
        names = {*boot.services, *stale}
        reload = bool(names) and (boot.reload or not boot.services) and stale <= reloaded
        services = tuple(one for one in system.services if one in names)
        if not reload:
            services = expand(system, names)
            batch = boot.batch if boot.services else batch
        turns = batches(services, system.restart_groups, 0 if reload else batch)
        linked = replace(boot, services=services, reload=reload, batch=batch, batches=turns)
        runs.update(dict.fromkeys(linked.services, linked))
        reloaded = {*reloaded, *services} if reload else reloaded - {*linked.services}
        yield linked


def _leaves(started_in: Boot, boot: Boot) -> bool:
    """Whether a process started in `started_in` runs something that is not so in `boot`.

    Commands are undone at the end of their boot.
    """
    if any(isinstance(one.action, Command) and one.action.undo for one in started_in.before):
        return True
    stands = {_made(edit) for edit in boot.edits}
    return any(_made(edit) not in stands for edit in started_in.edits)


def _made(edit: FileEdit) -> tuple[str, str, str | None, int]:
    return edit.host, edit.where, edit.after.sha256, edit.after.mode


def _forecast(system: System, boot: Boot, history: History) -> BootForecast:
    known = history.took(boot) or _guess(system, boot)
    money = system.cost.money(known.down_s, known.seconds)
    return BootForecast(known.down_s, known.besides_s, money, known.guessed, known.lost_s)


def _guess(system: System, boot: Boot) -> Took:
    measure = GUESSED_MEASURE_S if boot.drives else 0.0
    down, lost = shares(boot.services, boot.batches, system.replicas)
    return Took(GUESSED_DOWNTIME_S * down, measure, True, GUESSED_DOWNTIME_S * lost)
