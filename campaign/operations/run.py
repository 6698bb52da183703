"""run: plans under the hosts' locks, then carries the plan out."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from campaign.engine.budget import NO_LIMITS, Limits, allowed, price_of
from campaign.engine.dialling import NOBODY, Ahead
from campaign.engine.events import Emit
from campaign.engine.guards import Guards, broken
from campaign.engine.hosts import Hosts
from campaign.engine.session import Session
from campaign.engine.stop import Stop
from campaign.engine.together import Beside
from campaign.errors import CampaignError, Exit
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.operations.confirmed import Confirmed, as_confirmed, confirmed
from campaign.operations.notify import notify
from campaign.operations.plan import Planned, Request, load, open_hosts, plan_on
from campaign.workspace import Workspace
from playbooks.redact import Redactor

if TYPE_CHECKING:
    from campaign.engine.lapses import HostLapse
    from campaign.engine.run import Outcome


class Ready(Struct, frozen=True):
    """A planned run whose hosts are locked: nobody can change what the plan was made from.

    `lapses` is what hosts had done by themselves since the last run, which the ledger has now.
    """

    workspace: Workspace
    planned: Planned
    hosts: Hosts
    recorder: Recorder
    redactor: Redactor
    hash_key: str
    command: str
    accepted: tuple[str, ...]
    limits: Limits
    lapses: "tuple[HostLapse, ...]" = ()

    def look_again(self) -> None:
        """Plans anew, for a person who took a while to confirm what they saw.

        Errors: CampaignError (REFUSED where the plan is another one now); those of `plan_on`.
        """
        seen = self.planned
        planning = (self.hosts, self.workspace, seen.system, seen.playbooks, self.accepted)
        as_confirmed(confirmed(seen), partial(plan_on, *planning, seen.plan.keep))

    def execute(self, emit: Emit, stop: Stop) -> "Outcome":
        """Carries the plan out; whatever happens, what was changed is put back. Then tells."""
        from campaign.engine.run import execute

        session = Session(
            workspace=self.workspace,
            system=self.planned.system,
            hosts=self.hosts,
            recorder=self.recorder,
            redactor=self.redactor,
            emit=emit,
            stop=stop,
            hash_key=bytes.fromhex(self.hash_key),
            batch=self.recorder.new_id(),
            command=self.command,
            accepted=self.accepted,
            limits=self.limits,
            stack=self.planned.stack,
            guards=Guards(self.planned.system.guards, partial(broken, self.hosts.peek), stop),
        )
        outcome = execute(self.planned.plan, session)
        notify(self.planned.system, outcome, self.redactor, emit)
        return outcome


@contextmanager
def ready(
    workspace: Workspace,
    request: Request,
    command: str,
    limits: Limits = NO_LIMITS,
    ahead: Ahead = NOBODY,
    given: Confirmed | None = None,
) -> Iterator[Ready]:
    """Locks the hosts, opens the ledger and plans. `command` is kept with the runs.

    `limits` hold beside the campaign's budget; `ahead` has the hosts that are dialled already,
    `given` is the plan that was confirmed before. Errors: LoadError; CampaignError (REFUSED where
    another operator holds a host, changes are outstanding, trials could not be compared, the budget
    does not reach or the plan is not the one that was `given`; UNREACHABLE, USAGE).
    """
    system, playbooks = load(workspace, request)
    if given is not None:
        playbooks = tuple(map(given.drawn, playbooks))
    redactor = Redactor(system.secrets)
    with (
        open_hosts(workspace, system, " ".join(request.playbooks), ahead=ahead) as hosts,
        Beside(hosts.hold) as holding,
        Recorder.open(workspace.ledger, create=True, redact=redactor.text) as recorder,
    ):
        _load_ahead()
        from campaign.engine.booking import Books
        from campaign.operations.recover import note_lapses

        holding.result()
        campaign = recorder.set_campaign(system.campaign, system.symptom, system.cost.currency)
        lapses = note_lapses(hosts, Books(recorder, system.cost))
        accepted, keep = request.accepted, request.keep
        make = partial(plan_on, hosts, workspace, system, playbooks, accepted, keep)
        planned = make() if given is None else as_confirmed(given, make)
        _refuse_incomparable(planned)
        own = _affordable(planned, workspace, limits)
        yield Ready(
            workspace, planned, hosts, recorder, redactor, campaign.hash_key,
            redactor.text(command), accepted, own, lapses,
        )  # fmt: skip


def _load_ahead() -> None:
    """Loads what planning and running take, for which the hosts being dialled leave the time."""
    import campaign.engine.preflight
    import campaign.engine.rules
    import campaign.engine.run
    import campaign.operations.recover  # noqa: F401


def _refuse_incomparable(planned: Planned) -> None:
    """A run whose verdict is bound to be invalid costs a restart and tells nothing."""
    for one in planned.unlike:
        raise CampaignError(Exit.REFUSED, one.what, one.fix)


def _affordable(planned: Planned, workspace: Workspace, limits: Limits) -> Limits:
    """`limits` with the campaign's own. Errors: CampaignError (REFUSED) for a plan beyond them."""
    own = limits.within(allowed(planned.system.budget))
    with Ledger.open(workspace.ledger) as ledger:
        lacks = own.after(ledger.total_cost()).lacks(price_of(planned.plan))
    if lacks:
        raise CampaignError(
            Exit.REFUSED,
            f"the budget does not reach for this: {lacks}",
            "run less, or raise `budget:` in campaign.yaml",
        )
    return own
