"""Proof that a boot runs what it claims, read at its start and again at its end.

Each process of a service is asked for its environment and its view of the patched files. A
variable is effective, not effective or unreadable; unreadable is accepted under a readable
ancestor of the same service that started after the change, or where the service says so itself
(`proof:` in campaign.yaml); else the effect is unproven.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct, field

from campaign.engine import witness
from campaign.engine.hosts import Hosts
from campaign.engine.together import by_name
from hypotheses.verdict import Effect
from playbooks.env.values import told
from playbooks.hosts.host import Host
from playbooks.hosts.processes import Environ, ProbeResult, Process, ServiceState
from playbooks.hosts.specs import spec_of
from playbooks.hosts.testimony import Testimony
from playbooks.plan import Boot
from playbooks.playbook import Patch
from playbooks.system import Service, System


class ServiceProof(Struct, frozen=True):
    """What a service was found to run. `digests` are keyed hashes of its main process's env."""

    service: str
    pid: int
    start_ticks: int
    started_at: float
    processes: tuple[int, ...]
    effect: Effect
    values: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str | None] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    running: bool = True
    invocation: str = ""
    restarts: int = 0

    @property
    def identity(self) -> tuple[int, int, str, int]:
        """This start of the service: its main process, told from a later one with its pid, and

        what systemd calls it.
        """
        return self.pid, self.start_ticks, self.invocation, self.restarts


class Proof(Struct, frozen=True):
    """The proofs of a boot's services; `effect` is the weakest of theirs."""

    services: tuple[ServiceProof, ...]

    @property
    def effect(self) -> Effect:
        found = {one.effect for one in self.services}
        for effect in (Effect.NOT_EFFECTIVE, Effect.UNPROVEN):
            if effect in found:
                return effect
        return Effect.EFFECTIVE

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(reason for one in self.services for reason in one.reasons)


def read(boot: Boot, system: System, hosts: Hosts, key: bytes, since: float | None) -> Proof:
    """Reads the proof of every service of `boot`.

    `since`, on the host's clock: processes older than this are not of this boot; None where the
    boot restarted nothing. Errors: HostLost.
    """
    services = [system.services[name] for name in boot.services or system.services]
    asked = {
        one.name: partial(_ask, boot, one, hosts[one.host], system.record_env, key)
        for one in services
    }
    said = by_name(asked)
    return Proof(tuple(_service(boot, one, said[one.name], since) for one in services))


_SESSION = frozenset(
    [
        "PATH",
        "HOME",
        "LANG",
        "LANGUAGE",
        "SHELL",
        "USER",
        "LOGNAME",
        "TERM",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "TMPDIR",
        "_",
        "INVOCATION_ID",
        "JOURNAL_STREAM",
        "SYSTEMD_EXEC_PID",
        "MANAGERPID",
        "NOTIFY_SOCKET",
        "WATCHDOG_PID",
        "WATCHDOG_USEC",
    ]
)
_SESSION_STARTS = ("LC_", "XDG_", "SSH_", "SUDO_", "DBUS_", "MEMORY_PRESSURE_", "CAMPAIGN_")


def is_session(name: str) -> bool:
    """Whether a variable comes from whoever started a service, or from that very start."""
    return name in _SESSION or name.startswith(_SESSION_STARTS)


def environments(
    services: Iterable[Service], hosts: Hosts, key: bytes
) -> dict[str, Mapping[str, str]]:
    """The keyed hashes of the variables of each service that runs, by its main process."""
    said = by_name(
        {
            one.name: partial(hosts[one.host].testimony, spec_of(one), (), (), key)
            for one in services
        }
    )
    return {
        name: environ.digest
        for name, one in said.items()
        for environ in one.environs
        if one.state.running and environ.pid == one.state.pid
    }


class _Said(Struct, frozen=True):
    """What was found of a service: by its host, and by variable what it said when asked itself."""

    testimony: Testimony
    witness: Mapping[str, ProbeResult]


def _ask(boot: Boot, service: Service, host: Host, record: Sequence[str], key: bytes) -> _Said:
    """The service's own word on the variables and the files that the boot changes."""
    wanted = _wanted(boot, service)
    files = [(edit.root, edit.path) for edit in boot.edits if edit.host == service.host]
    testimony = host.testimony(spec_of(service), [*wanted, *record], files, key)
    return _Said(testimony, witness.asked(service, wanted, host))


def _wanted(boot: Boot, service: Service) -> dict[str, str | None]:
    return {one.name: one.after for one in boot.env if one.service == service.name}


def _service(boot: Boot, service: Service, said: _Said, since: float | None) -> ServiceProof:
    state, environs = said.testimony.state, said.testimony.environs
    files = {
        edit.where: said.testimony.hashes[edit.root, edit.path]
        for edit in boot.edits
        if edit.host == service.host
    }
    if not state.running or state.pid is None:
        return _no_process(boot, service, said, files)
    by_pid = {one.pid: one for one in environs}
    wanted = _wanted(boot, service)
    findings = [*_age(service, state, since)]
    findings += _variables(service, state, by_pid, wanted, said.witness)
    findings += _reread(boot, service, files)
    findings += [*_contradictions(service, said.witness), *_hashes(boot, service, files)]
    main = by_pid.get(state.pid)
    return ServiceProof(
        service=service.name,
        pid=state.pid,
        start_ticks=_ticks(state),
        started_at=state.started_at or 0.0,
        processes=tuple(one.pid for one in state.processes),
        effect=_weakest(findings),
        values={str(one.pid): dict(one.values) for one in environs if one.readable},
        unreadable=tuple(f"{one.pid}: {one.reason}" for one in environs if not one.readable),
        digests=dict(main.digest) if main else {},
        files=files,
        reasons=tuple(text for _, text in findings),
        invocation=state.invocation,
        restarts=state.restarts,
    )


def _no_process(
    boot: Boot, service: Service, said: _Said, files: Mapping[str, str | None]
) -> ServiceProof:
    """What can be proven of a service none of whose processes can be seen: what it says itself."""
    state, effect = said.testimony.state, Effect.NOT_EFFECTIVE
    reasons: tuple[str, ...] = (f"{service.name} is not running",)
    if state.running and _says_all(boot, service, said.witness):
        effect, reasons = Effect.EFFECTIVE, ()
    elif state.running:
        effect = Effect.UNPROVEN
        what = f"{service.name} has no process that we can see, so nothing proves what it runs"
        reasons = (what, *(text for _, text in _contradictions(service, said.witness)))
    return ServiceProof(
        service.name, 0, 0, state.started_at or 0.0, (), effect,
        files=files, reasons=reasons, running=state.running,
        invocation=state.invocation, restarts=state.restarts,
    )  # fmt: skip


def _says_all(boot: Boot, service: Service, said: Mapping[str, ProbeResult]) -> bool:
    """Whether the service vouches for all that the boot changes on its host: variables alone."""
    wanted = _wanted(boot, service)
    patches = {one.name for one in boot.changes if isinstance(one.action, Patch)}
    patched = any(edit.host == service.host and patches & {*edit.steps} for edit in boot.edits)
    vouched = all(name in said and said[name].ok for name in wanted)
    return bool(wanted) and vouched and not patched


def _contradictions(service: Service, said: Mapping[str, ProbeResult]) -> Iterator["Finding"]:
    """The variables whose value the service, asked itself, did not confirm."""
    for name, found in said.items():
        if not found.ok:
            what = f"{service.name}: its proof of {name} does not hold: {found.detail}"
            yield Effect.UNPROVEN, what


Finding = tuple[Effect, str]


def _weakest(findings: Iterable[Finding]) -> Effect:
    effects = {effect for effect, _ in findings}
    if Effect.NOT_EFFECTIVE in effects:
        return Effect.NOT_EFFECTIVE
    return Effect.UNPROVEN if Effect.UNPROVEN in effects else Effect.EFFECTIVE


def _ticks(state: ServiceState) -> int:
    return next((one.start_ticks for one in state.processes if one.pid == state.pid), 0)


def _age(service: Service, state: ServiceState, since: float | None) -> Iterator[Finding]:
    if since is None:
        return
    for process in state.processes:
        if process.started_at < since - 0.05:
            yield (
                Effect.NOT_EFFECTIVE,
                f"{service.name}: pid {process.pid} is older than the restart",
            )


def _reread(boot: Boot, service: Service, files: Mapping[str, str | None]) -> Iterator[Finding]:
    """A process that was only reloaded may go on with what it had read before."""
    if boot.reload and files and not (service.reload and service.reload.logged):
        what = f"{service.name} was reloaded, and nothing shows that it has read its files again"
        yield Effect.UNPROVEN, f"{what}: say what it logs then, reload: {{logged: ...}}"


def _variables(
    service: Service,
    state: ServiceState,
    environs: Mapping[int, Environ],
    wanted: Mapping[str, str | None],
    said: Mapping[str, ProbeResult],
) -> Iterator[Finding]:
    parents = {one.pid: one for one in state.processes}
    unsaid = wanted.keys() - said.keys()
    for process in state.processes if wanted else ():
        environ = environs.get(process.pid)
        if environ is None:
            continue
        if environ.readable:
            yield from _wrong_values(service, environ, wanted)
        elif unsaid and not vouched_for(process, parents, environs):
            yield (
                Effect.UNPROVEN,
                f"{service.name}: environment of pid {process.pid} is unreadable "
                f"({environ.reason}) and no readable parent vouches for it",
            )


def _wrong_values(
    service: Service, environ: Environ, wanted: Mapping[str, str | None]
) -> Iterator[Finding]:
    for name, value in wanted.items():
        found = environ.values.get(name)
        if found != value:
            yield (
                Effect.NOT_EFFECTIVE,
                f"{service.name}: pid {environ.pid} has {_shown(name, found)}, "
                f"the boot sets {_shown(name, value)}",
            )


def _shown(name: str, value: str | None) -> str:
    return f"{name} {told(None)}" if value is None else f"{name}={told(value)}"


def vouched_for(
    process: Process, parents: Mapping[int, Process], environs: Mapping[int, Environ]
) -> bool:
    """Whether a process above this one, of the same service, has a readable environment."""
    seen: set[int] = set()
    current = parents.get(process.ppid)
    while current is not None and current.pid not in seen:
        seen.add(current.pid)
        environ = environs.get(current.pid)
        if environ is not None and environ.readable:
            return True
        current = parents.get(current.ppid)
    return False


def _hashes(boot: Boot, service: Service, found: Mapping[str, str | None]) -> Iterator[Finding]:
    for edit in boot.edits:
        if edit.where in found and found[edit.where] != edit.after.sha256:
            yield (
                Effect.NOT_EFFECTIVE,
                f"{service.name}: {edit.where} is not the file that this boot wrote",
            )


def changes(start: Proof, end: Proof) -> tuple[str, ...]:
    """The files that are not at the end of a boot what they were; empty where all are."""
    before = {one.service: one.files for one in start.services}
    found = [
        path
        for after in end.services
        for path, sha in after.files.items()
        if before.get(after.service, {}).get(path, sha) != sha
    ]
    return (f"changed during the measures: {', '.join(dict.fromkeys(found))}",) if found else ()
