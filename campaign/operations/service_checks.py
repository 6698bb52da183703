"""What doctor looks at on a service: what manages it, its environment, its health, its files."""

import os
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from campaign.engine.cycle import way_to_free
from campaign.engine.preflight import foreign_holders
from campaign.engine.proof import vouched_for
from campaign.operations.findings import Finding, State, guarded, listed
from playbooks.env import methods
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.processes import ServiceState
from playbooks.hosts.specs import UnitSpec, spec_of
from playbooks.hosts.unitfacts import HIDDEN, HIDDEN_FIX, UnitFacts
from playbooks.services import precedence
from playbooks.system import Availability, CommandSpec, EnvMethod, LogProbe, Service, SystemdSpec

_NEW_NAME, _VALUE = "CAMPAIGN_DOCTOR", "1"
"""A variable that nothing sets: one that a step sets for the first time fares as it does."""

_TIE_S = 0.01
"""A file and a process whose times differ by less are of one age."""

_SEE_LOG = "see its log: campaign services list says where it is"


class Seen(Struct, frozen=True):
    """A service as its host has it; `facts` for a unit of systemd."""

    service: Service
    host: Host
    facts: UnitFacts | None
    state: ServiceState
    contents: dict[str, bytes | None] = field(default_factory=dict)

    def finding(self, check: str, what: str, state: State = "ok", fix: str = "") -> Finding:
        return Finding(self.service.name, check, what, state, fix)

    def read(self, path: str) -> bytes | None:
        """A file's bytes. What is not the method's own and cannot be read says nothing here."""
        if path not in self.contents:
            self.contents[path] = self._read(path)
        return self.contents[path]

    def _read(self, path: str) -> bytes | None:
        env = self.service.env
        if env is not None and path == env.path:
            return self.host.read(*env.place)[1]
        root, _, name = path.rpartition("/")
        try:
            return self.host.read(root or "/", name)[1]
        except HostError:
            return None


def examine(service: Service, host: Host) -> Iterator[Finding]:
    """What is to be known of a service before the first run. Errors: HostLost."""
    try:
        seen = Seen(service, host, _facts(service, host), host.service_state(spec_of(service)))
    except HostError as error:
        yield Finding(service.name, "service", str(error), "fail")
        return
    for check, look in _LOOKS.items():
        yield from guarded(service.name, check, look(seen))


def _facts(service: Service, host: Host) -> UnitFacts | None:
    spec = spec_of(service)
    return host.unit_facts(spec) if isinstance(spec, UnitSpec) else None


def examine_availability(name: str, asked: Availability, host: Host) -> Iterator[Finding]:
    """Whether the service `name` as a whole is available. Errors: HostError, HostLost."""
    found = host.probe(asked.probe, timeout_s=asked.timeout_s)
    if found.ok:
        yield Finding(name, "availability", f"is available: {found.detail}")
    else:
        what = f"is not available, asked from {asked.on}: {found.detail}"
        yield Finding(name, "availability", what, "warn", "while that is so, restarts are downtime")


def _service(seen: Seen) -> Iterator[Finding]:
    """Whether it runs, by itself, from the files that systemd knows."""
    state = seen.state
    what = f"runs{_word(state)}" if state.running else f"does not run{_word(state)}{_ended(state)}"
    if seen.facts is not None:
        what += f", from {seen.facts.fragment}"
    if not state.running:
        fix = f"start it: campaign services start {seen.service.name}"
        yield seen.finding("service", what, "warn", fix)
    elif state.restarts:
        what += f"; systemd itself restarted it, {state.restarts} times so far"
        yield seen.finding("service", what, "warn", _SEE_LOG)
    else:
        yield seen.finding("service", what)
    spec = spec_of(seen.service)
    if seen.facts is not None and seen.facts.need_reload and isinstance(spec, UnitSpec):
        what = f"the files of {spec.unit} were changed and systemd has not read them again"
        fix = f"see systemctl cat {spec.unit}; then systemctl daemon-reload, and restart it"
        yield seen.finding("service", what, "fail", fix)


def _log(seen: Seen) -> Iterator[Finding]:
    """Whether the log of a unit is where it will be looked for."""
    unit = seen.service.manager
    if seen.facts and seen.facts.log_hidden:
        what = f"{HIDDEN}: no step and no probe will see its log"
        yield seen.finding("log", what, "warn", HIDDEN_FIX)
    elif seen.facts and seen.facts.logs_to_file and isinstance(unit, SystemdSpec) and not unit.log:
        what = "its log goes to a file, and the journal has none of it"
        fix = f"name the file, systemd: {{unit: {unit.unit}, log: PATH}}"
        yield seen.finding("log", what, "warn", fix)


def _word(state: ServiceState) -> str:
    return f", {state.word}" if state.word else ""


def _ended(state: ServiceState) -> str:
    if state.exit_signal is not None:
        return f"; it ended by signal {state.exit_signal}"
    return f"; it ended with exit code {state.exit_code}" if state.exit_code is not None else ""


def _ports(seen: Seen) -> Iterator[Finding]:
    """Whether someone else holds a port that the service needs at its next start."""
    for port, holder in foreign_holders(seen.service, seen.host, seen.state):
        what = f"port {port} is held by {holder}, which is no process of this service"
        yield seen.finding("ports", what, "fail", way_to_free(holder))


def _env(seen: Seen) -> Iterator[Finding]:
    """Whether env steps can be carried out, and for which variables they would be in vain."""
    env = seen.service.env
    if env is None:
        return
    obstacle = seen.host.obstacle(*env.place)
    if obstacle:
        what = f"env steps cannot write {env.path}: {obstacle}"
        fix = "name one in env: that can be, or run the agent as root (sudo: true)"
        yield seen.finding("env", what, "fail", fix)
        return
    try:
        why = precedence.loses(env, _after(seen, env, _NEW_NAME), _NEW_NAME, _VALUE)
    except methods.EnvFileError as error:
        why = f"{env.path} cannot be edited: {error}"
    if why:
        yield seen.finding("env", f"env steps will not work: {why}", "fail")
        return
    losing = tuple(_losing(seen, env))
    what = f"env steps can write {env.path}"
    yield seen.finding("env", what if losing else f"{what}, and nothing beats it")
    yield from losing
    yield from _other_names(seen, env)


def _other_names(seen: Seen, env: EnvMethod) -> Iterator[Finding]:
    others = seen.host.read(*env.place)[0].names - 1
    if others:
        names = "another name" if others == 1 else f"{others} other names"
        what = f"{env.path} has {names} (hard links): env steps leave what stands there as it is"
        yield seen.finding("env", what, "warn", f"see which: find / -xdev -samefile {env.path}")


def _after(seen: Seen, env: EnvMethod, name: str) -> tuple[precedence.Layer, ...]:
    """What would set the environment if a step set `name`. Raises EnvFileError."""
    edited = methods.edit(env, seen.read(env.path), {name: _VALUE}, ())
    return precedence.layers(
        seen.service, seen.facts, lambda path: edited if path == env.path else seen.read(path)
    )


def _losing(seen: Seen, env: EnvMethod) -> Iterator[Finding]:
    """The variables that the method cannot change, by the file that decides them."""
    now = precedence.layers(seen.service, seen.facts, seen.read)
    decided: dict[str, list[str]] = {}
    fixes: dict[str, str] = {}
    for name in sorted({name for layer in now for name in (*layer.values, *layer.unset)}):
        try:
            winner = precedence.origin(_after(seen, env, name), name)
        except methods.EnvFileError as error:
            yield seen.finding("env", f"env steps cannot set {name}: {error}", "warn")
            continue
        if winner.value != _VALUE and winner.layer is not None:
            decided.setdefault(winner.layer.path, []).append(name)
            fixes[winner.layer.path] = precedence.method(winner.layer)
    for path, names in decided.items():
        what = f"{path} beats {env.path} for {listed(names)}: env steps cannot set that"
        yield seen.finding("env", what, "warn", f"use env: {fixes[path]} where they have to")


def _health(seen: Seen) -> Iterator[Finding]:
    if not seen.state.running:
        return
    for check in seen.service.health:
        if isinstance(check.probe, LogProbe):
            what = f"a line that {check.probe.match!r} finds is awaited at each start"
            yield seen.finding("health", what)
            continue
        if check.on not in (None, seen.service.host):
            yield seen.finding("health", f"a probe from {check.on} is made at each start")
            continue
        found = seen.host.probe(check.probe, spec_of(seen.service))
        state: State = "ok" if found.ok else "fail"
        yield seen.finding("health", found.detail, state, "" if found.ok else _SEE_LOG)


def _environ(seen: Seen) -> Iterator[Finding]:
    """Whether a run will be able to prove what environment the service has."""
    processes = {one.pid: one for one in seen.state.processes}
    if not processes:
        if seen.state.running:
            what = "no process of it is known, so nothing can prove what it runs"
            pids = isinstance(seen.service.manager, CommandSpec)
            yield seen.finding("environ", what, "warn", "say which, with pids:" if pids else "")
        return
    environs = {one.pid: one for one in seen.host.environ([*processes], (), os.urandom(16))}
    dark = [one for one in environs.values() if not one.readable]
    alone = [one for one in dark if not vouched_for(processes[one.pid], processes, environs)]
    if alone:
        what = f"the environment of pid {alone[0].pid} cannot be read: {alone[0].reason}"
        if len(alone) > 1:
            what += f"; nor that of {len(alone) - 1} more"
        fix = "env steps stay unproven; as root (sudo: true) more can be read"
        yield seen.finding("environ", what, "warn", fix)
        return
    what = f"the environment of {len(processes) - len(dark)} of {len(processes)} processes is seen"
    yield seen.finding("environ", what + (", and vouches for the rest" if dark else ""))


def _files(seen: Seen) -> Iterator[Finding]:
    """What was written after the service started: what runs is not what it says."""
    started = seen.state.started_at
    if not seen.state.running or started is None:
        return
    written = seen.host.changed(list(dict.fromkeys(_own_files(seen))))
    newer = tuple(path for path, at in written.items() if at > started + _TIE_S)
    if not newer:
        yield seen.finding("files", f"none of its {len(written)} files is newer than it")
        return
    env = seen.service.env
    state: State = "fail" if env is not None and env.path in newer else "warn"
    fix = f"restart it: campaign services restart {seen.service.name}"
    yield seen.finding("files", f"newer than what runs: {listed(newer)}", state, fix)


def _own_files(seen: Seen) -> Iterator[str]:
    if seen.service.env is not None:
        yield seen.service.env.path
    if seen.facts is not None:
        made = (seen.facts.fragment, *seen.facts.dropins)
        yield from (path for path in made if "/systemd/generator" not in path)  # at each reload
        yield from seen.facts.env_files
    yield from precedence.files(seen.service, seen.facts)


_LOOKS: dict[str, Callable[[Seen], Iterator[Finding]]] = {
    "service": _service,
    "log": _log,
    "ports": _ports,
    "env": _env,
    "health": _health,
    "environ": _environ,
    "files": _files,
}
