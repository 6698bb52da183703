"""The versions of services, as their own commands tell: a condition of every observation."""

from collections.abc import Mapping

from campaign.engine.measure import StepFailed
from campaign.engine.session import Session
from playbooks.hosts.connection import HostError

TIMEOUT_S = 60.0
LONGEST = 200


def read(session: Session) -> Mapping[str, str]:
    """The condition `version.SERVICE` of each service that has a command for it.

    Errors: StepFailed, Stopped, HostLost.
    """
    commands = session.system.versions
    return {f"version.{name}": _version(session, name, argv) for name, argv in commands.items()}


def _version(session: Session, name: str, argv: tuple[str, ...]) -> str:
    """The first line that the command prints, on the service's host."""
    host = session.system.services[name].host
    printed: list[bytes] = []

    def keep(stream: str, chunk: bytes) -> None:
        if stream == "stdout" and len(printed) < LONGEST:
            printed.append(chunk)

    local = session.system.hosts[host].local
    try:
        ended = session.hosts[host].spawn(
            argv,
            cwd=str(session.workspace.root) if local else "/",
            timeout_s=TIMEOUT_S,
            sink=keep,
            stop=session.stop.event,
        )
    except HostError as error:
        raise StepFailed(f"versions: {name}: {error}") from error
    session.stop.check()
    lines = b"".join(printed).decode(errors="replace").split("\n")
    version = next((line.strip() for line in lines if line.strip()), "")
    if ended.code != 0 or not version:
        how = "timed out" if ended.timed_out else f"exited {ended.code}"
        said = f"and said {version[:LONGEST]!r}" if version else "and printed nothing"
        raise StepFailed(f"versions: the command of {name} {how} {said}; try it on host {host}")
    return version[:LONGEST]
