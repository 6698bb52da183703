"""Specifications of services as the agent gets them: who manages one, and all that it takes."""

from typing import Literal

from msgspec import Struct

from playbooks.system import CommandSpec, ProcessSpec, Service, SystemdSpec


class EmbeddedSpec(Struct, frozen=True):
    """A process that the agent keeps; `env_file` is read again at each start."""

    name: str
    command: tuple[str, ...]
    cwd: str
    env_file: str | None
    log_max_bytes: int
    log_keep: int
    kind: Literal["process"] = "process"


class UnitSpec(Struct, frozen=True):
    """A unit of systemd, of the system or of the agent's user; its log is the file `log`,

    or in the journal.
    """

    name: str
    unit: str
    user: bool = False
    log: str | None = None
    kind: Literal["systemd"] = "systemd"


class CommandedSpec(Struct, frozen=True):
    """A service that commands manage; they get the variables of `env_file`."""

    name: str
    start: tuple[str, ...]
    stop: tuple[str, ...]
    status: tuple[str, ...]
    cwd: str
    restart: tuple[str, ...] | None = None
    pids: tuple[str, ...] | None = None
    log: str | None = None
    env_file: str | None = None
    kind: Literal["command"] = "command"


ServiceSpec = EmbeddedSpec | UnitSpec | CommandedSpec


def spec_of(service: Service) -> ServiceSpec:
    """The specification of a service of campaign.yaml."""
    env = service.env
    env_file = env.path if env is not None and env.via == "env_file" else None
    match service.manager:
        case SystemdSpec(unit, user, log):
            return UnitSpec(service.name, unit, user, log)
        case ProcessSpec() as one:
            return EmbeddedSpec(
                service.name, one.command, one.cwd, env_file, one.log_max_bytes, one.log_keep
            )
        case CommandSpec() as one:
            return CommandedSpec(
                name=service.name,
                start=one.start,
                stop=one.stop,
                status=one.status,
                cwd=one.cwd,
                restart=one.restart,
                pids=one.pids,
                log=one.log,
                env_file=env_file,
            )
