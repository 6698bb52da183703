"""The measures of a boot, by kind; what each found is returned as one line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from campaign.engine.proof import Proof
from campaign.engine.session import Session
from hypotheses.comparison import Comparison, TwoByTwo
from hypotheses.observation import Trial
from playbooks.hosts.logs import Cursor
from playbooks.hosts.processes import Exit
from playbooks.plan import Boot
from playbooks.playbook import Command, Http
from playbooks.system import HttpProbe

CLIPPED = 400


class StepFailed(Exception):  # noqa: N818 - it says what happened
    """A step could not do what it says; one clear line."""


@dataclass
class Seen:
    """What a boot's measures have found so far.

    `arrivals` says when each of `trials` came, `crashed` which services' deaths were counted,
    `sequences` has the trials of each reproduction in the order they began, where that is known.
    """

    trials: list[Trial] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)
    crashed: set[str] = field(default_factory=set)
    comparison: Comparison | None = None
    table: TwoByTwo | None = None
    observations: list[str] = field(default_factory=list)
    sequences: list[tuple[Trial, ...]] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where a measure happens: its run, boot and cycle.

    `cursors` gives, for each service, where its log stood when the boot began; `conditions` are
    those of the services, to which a reproduction adds its own; `proof` is what they run.
    """

    run: str
    boot_id: str
    cycle: str | None
    boot: Boot
    cursors: Mapping[str, Cursor]
    conditions: Mapping[str, str]
    proof: Proof

    @property
    def variables(self) -> Mapping[str, str]:
        return self.boot.playbook.vars if self.boot.playbook else {}

    @property
    def arm(self) -> str:
        """The arm's name; a playbook of one configuration is its own arm."""
        return self.boot.arm or (self.boot.playbook.name if self.boot.playbook else "")


def command(session: Session, step_id: str, action: Command) -> str:
    """Notes the undo in the host's journal, runs `do`, then `check`.

    Errors: StepFailed, Stopped, HostError, HostLost.
    """
    if action.undo is not None:
        if action.check is not None and _run(session, action, action.check)[0].code == 0:
            raise StepFailed("its effect is in place already, so it is not ours to undo")
        session.hosts[action.on].note_command(
            step_id,
            action.do,
            action.undo,
            action.check,
            action.cwd or str(session.workspace.root),
            run=session.batch,
        )
    _succeed(session, action, action.do, "do")
    if action.check is not None:
        _succeed(session, action, action.check, "check")
    return "done and checked" if action.check else "done"


def _succeed(session: Session, action: Command, argv: tuple[str, ...], what: str) -> None:
    ended, output = _run(session, action, argv)
    if ended.code != 0:
        tail = output.decode(errors="replace").strip()[-CLIPPED:]
        how = f"timed out after {action.timeout_s:g} s" if ended.timed_out else _how(ended.code)
        raise StepFailed(session.redactor.text(f"{what} {how}: {tail or 'no output'}"))


def _run(session: Session, action: Command, argv: tuple[str, ...]) -> tuple[Exit, bytes]:
    """How it ended, and the end of what it printed."""
    output: list[bytes] = []

    def keep(_stream: str, chunk: bytes) -> None:
        output.append(chunk)
        del output[:-16]

    ended = session.hosts[action.on].spawn(
        argv,
        cwd=action.cwd or str(session.workspace.root),
        env=session.system.secrets,
        timeout_s=action.timeout_s,
        sink=keep,
        stop=session.stop.event,
    )
    session.stop.check()
    return ended, b"".join(output)


def _how(code: int | None) -> str:
    return "was killed by a signal" if code is None else f"exited {code}"


def http(session: Session, action: Http) -> str:
    """Asks once. Errors: StepFailed, HostError, HostLost."""
    probe = HttpProbe(action.url, action.expect, action.match, action.method, action.body)
    result = session.hosts[action.on].probe(probe, timeout_s=action.timeout_s)
    if not result.ok:
        raise StepFailed(session.redactor.text(f"{action.method} {action.url}: {result.detail}"))
    return session.redactor.text(f"{action.method} {action.url}: {result.detail}")
