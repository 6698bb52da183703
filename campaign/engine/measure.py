"""The measures of a boot, by kind; what each found is returned as one line."""

from collections.abc import Collection, Mapping
from math import inf

from msgspec import Struct, field

from campaign.engine.commands import CommandFailed, Doer
from campaign.engine.proof import Proof
from campaign.engine.session import Session
from hypotheses.comparison import BootCompared
from hypotheses.observation import Trial
from playbooks.hosts.logs import Cursor
from playbooks.plan import Boot
from playbooks.playbook import Command, Http
from playbooks.system import HttpProbe


class StepFailed(Exception):  # noqa: N818 - it says what happened
    """A step could not do what it says; one clear line."""


class Seen(Struct):
    """What a boot's measures have found so far.

    `arrivals` says when each of `trials` came, `crashed` which services' deaths were counted,
    `silent` tells of sides without a checkpoint, `printed` names the run's own observations whose
    outputs were compared, `sequences` has the trials of each reproduction in the order they began,
    where that is known, `uncounted` tells of each that brought none that counts, and `spent` says
    that the budget ended one.
    """

    trials: list[Trial] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)
    crashed: set[str] = field(default_factory=set)
    compared: BootCompared | None = None
    silent: list[str] = field(default_factory=list)
    printed: set[str] = field(default_factory=set)
    observations: list[str] = field(default_factory=list)
    sequences: list[tuple[Trial, ...]] = field(default_factory=list)
    uncounted: list[str] = field(default_factory=list)
    spent: bool = False


class Place(Struct, frozen=True):
    """Where a measure happens: its run, boot and cycle.

    `cursors` gives, for each service, where its log stood when the boot began; `conditions` are
    those of the services, to which a reproduction adds its own; `proof` is what they run.
    `printed` names the observations whose outputs boots before have compared. After `until`, on the
    monotonic clock, the budget reaches for no further trial.
    """

    run: str
    boot_id: str
    cycle: str | None
    boot: Boot
    cursors: Mapping[str, Cursor]
    conditions: Mapping[str, str]
    proof: Proof
    printed: Collection[str] = ()
    until: float = inf

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
    doer = Doer(session.hosts[action.on], action.cwd, session.system.secrets, session.stop.event)
    try:
        if action.undo is not None and doer.is_in_place(action):
            raise StepFailed("its effect is in place already, so it is not ours to undo")
        done = doer.perform(action, step_id, session.batch)
    except CommandFailed as error:
        session.stop.check()
        raise StepFailed(session.redactor.text(str(error))) from error
    session.stop.check()
    return done


def http(session: Session, action: Http) -> str:
    """Asks once. Errors: StepFailed, HostError, HostLost."""
    probe = HttpProbe(action.url, action.expect, action.match, action.method, action.body)
    result = session.hosts[action.on].probe(probe, timeout_s=action.timeout_s)
    if not result.ok:
        raise StepFailed(session.redactor.text(f"{action.method} {action.url}: {result.detail}"))
    return session.redactor.text(f"{action.method} {action.url}: {result.detail}")
