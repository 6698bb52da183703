"""Services that die while a boot is measured: found, told, and put down as due for a restart."""

from collections.abc import Iterable, Sequence
from functools import partial

from msgspec import Struct

from campaign.engine.proof import Proof, ServiceProof
from campaign.engine.session import Session
from campaign.engine.together import by_name
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.processes import ServiceState
from playbooks.hosts.specs import ServiceSpec, spec_of
from playbooks.parsers.parser import signal_name
from playbooks.rollout import Batches
from playbooks.services.specs import specs_of

LAST_LINES = 3


class Death(Struct, frozen=True):
    """A service whose main process did not live on. `at` is on its host's clock, where known."""

    service: str
    host: str
    what: str
    at: float | None
    log: tuple[str, ...] = ()

    def told(self, arrivals: Sequence[float]) -> str:
        """One line, with how many of the trials that arrived at `arrivals` came before it."""
        text = f"{self.service} did not live through the measures: {self.what}"
        if self.at is not None:
            before = sum(at <= self.at for at in arrivals)
            text += f", {before} trials before that and {len(arrivals) - before} after"
        return f"{text}; its last log lines: {' | '.join(self.log)}" if self.log else text


def deaths(session: Session, proof: Proof) -> tuple[Death, ...]:
    """The services of `proof` that are not the processes any more that it saw. Errors: HostLost."""
    looks = {one.service: partial(_death, session, one) for one in proof.services if one.running}
    return tuple(one for one in by_name(looks).values() if one is not None)


def _death(session: Session, was: ServiceProof) -> Death | None:
    service = session.system.services[was.service]
    name, spec = service.host, spec_of(service)
    host = session.hosts[name]
    state = host.service_state(spec)
    if not state.running:
        what = f"pid {was.pid} {_how(state)}"
        return Death(was.service, name, what, state.ended_at, _last_lines(host, spec))
    if state.identity != was.identity:
        what = f"pid {was.pid} became pid {state.pid or 0}"
        return Death(was.service, name, what, state.started_at)
    return None


def _how(state: ServiceState) -> str:
    if state.exit_signal is not None:
        return f"was killed by {signal_name(state.exit_signal)}"
    return "is gone" if state.exit_code is None else f"exited {state.exit_code}"


def _last_lines(host: Host, spec: ServiceSpec) -> tuple[str, ...]:
    """The end of its log; none where that cannot be read."""
    try:
        said = host.service_last_lines(spec)
    except HostError:
        return ()
    lines = [line.strip() for line in said if line.strip()]
    return tuple(lines[-LAST_LINES:])


def note(session: Session, found: Iterable[Death], batches: Batches) -> None:
    """Has the way back restart them, also where nothing else was changed. Errors: HostLost.

    `batches` are those of the boot: what else ran a change goes back in them.
    """
    for one in found:
        specs = specs_of(session.system, one.host, batches)
        session.hosts[one.host].note_restart([one.service], run=session.batch, specs=specs)
