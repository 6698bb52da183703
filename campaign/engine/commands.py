"""Commands on a host that can be taken back: the host's journal learns of the undo first."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, field

from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.processes import Exit, Flag

CLIPPED = 400


class CommandFailed(Exception):  # noqa: N818 - it says what happened
    """A command did not do what it is for; one clear line."""


class Undoable(Protocol):
    """`do` runs; `check` exits 0 while its effect is in place; `undo` takes it back."""

    @property
    def do(self) -> tuple[str, ...]: ...

    @property
    def undo(self) -> tuple[str, ...] | None: ...

    @property
    def check(self) -> tuple[str, ...] | None: ...

    @property
    def timeout_s(self) -> float: ...


class Doer(Struct, frozen=True):
    """Runs commands in `cwd` of a host, with the variables `env` besides the agent's own.

    `stop` ends what is under way. Errors of its methods: CommandFailed, HostError, HostLost.
    """

    host: Host
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    stop: Flag | None = None

    def is_in_place(self, command: Undoable) -> bool:
        """Whether its check, where it has one, says that its effect is there."""
        return command.check is not None and self._run(command.check, command)[0].code == 0

    def perform(self, command: Undoable, id: str, run: str) -> str:
        """Notes the undo under `id` for the run `run`, runs `do`, then `check`."""
        if command.undo is not None:
            undo, check = command.undo, command.check
            self.host.note_command(id, command.do, undo, check, self.cwd, run=run, env=self.env)
        try:
            self.succeed(command.do, command, "do")
        except HostError as error:
            if error.kind == "start-failed" and command.undo is not None:
                self.host.close_command(id)  # it never ran
            raise
        if command.check is not None:
            self.succeed(command.check, command, "check")
        return "done and checked" if command.check else "done"

    def succeed(self, argv: tuple[str, ...], command: Undoable, what: str) -> None:
        """Runs `argv`, which must exit 0; `what` names it in the error."""
        ended, output = self._run(argv, command)
        if ended.code != 0:
            tail = output.decode(errors="replace").strip()[-CLIPPED:]
            how = how_ended(ended, command.timeout_s)
            raise CommandFailed(f"{what} {how}: {tail or 'no output'}")

    def _run(self, argv: tuple[str, ...], command: Undoable) -> tuple[Exit, bytes]:
        """How it ended, and the end of what it printed."""
        output: list[bytes] = []

        def keep(_stream: str, chunk: bytes) -> None:
            output.append(chunk)
            del output[:-16]

        ended = self.host.spawn(
            argv,
            cwd=self.cwd,
            env=self.env,
            timeout_s=command.timeout_s,
            sink=keep,
            stop=self.stop,
        )
        return ended, b"".join(output)


def how_ended(ended: Exit, timeout_s: float) -> str:
    """How a command that did not exit 0 ended, in words."""
    if ended.timed_out:
        return f"timed out after {timeout_s:g} s"
    return "was killed by a signal" if ended.code is None else f"exited {ended.code}"
