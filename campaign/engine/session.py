"""What a run works with: the hosts it holds, the ledger it writes, and who watches."""

from collections.abc import Callable

from msgspec import Struct, field

from campaign.engine.budget import NO_LIMITS, Limits
from campaign.engine.events import Emit
from campaign.engine.guards import Guards, no_guards
from campaign.engine.hosts import Hosts
from campaign.engine.kept import Kept
from campaign.engine.stop import Stop
from campaign.ledger.recorder import Recorder
from campaign.workspace import Workspace
from playbooks.agent import clock
from playbooks.redact import Redactor
from playbooks.system import System


class Session(Struct, frozen=True):
    """One invocation of the engine. `clock` gives seconds since the epoch.

    `accepted` names the conditions that may differ in a comparison; `*` stands for anything.
    `limits` are what the ledger's costs may come to; `stack` is what earlier runs keep changed.
    """

    workspace: Workspace
    system: System
    hosts: Hosts
    recorder: Recorder
    redactor: Redactor
    emit: Emit
    stop: Stop
    hash_key: bytes
    batch: str
    command: str
    accepted: tuple[str, ...] = ()
    limits: Limits = NO_LIMITS
    guards: Guards = field(default_factory=no_guards)
    stack: tuple[Kept, ...] = ()
    clock: Callable[[], float] = clock.now
