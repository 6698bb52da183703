"""run: plans under the hosts' locks, then carries the plan out."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from campaign.engine.events import Emit
from campaign.engine.run import Outcome, execute
from campaign.engine.session import Hosts, Session
from campaign.engine.stop import Stop
from campaign.errors import CampaignError, Exit
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.operations.budget import Price, left
from campaign.operations.plan import Planned, Request, load, open_hosts, plan
from campaign.redact import Redactor
from campaign.workspace import Workspace


@dataclass(frozen=True)
class Ready:
    """A planned run whose hosts are locked: nobody can change what the plan was made from."""

    workspace: Workspace
    planned: Planned
    hosts: Hosts
    recorder: Recorder
    redactor: Redactor
    hash_key: str
    command: str
    accepted: tuple[str, ...]

    def execute(self, emit: Emit, stop: Stop) -> Outcome:
        """Carries the plan out; whatever happens, what was changed is put back."""
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
        )
        return execute(self.planned.plan, session)


@contextmanager
def ready(workspace: Workspace, request: Request, command: str) -> Iterator[Ready]:
    """Locks the hosts, opens the ledger and plans. `command` is kept with the runs.

    Errors: LoadError; CampaignError (REFUSED where another operator holds a host, changes are
    outstanding or the budget does not reach, UNREACHABLE, USAGE).
    """
    system, _ = load(workspace, request)
    redactor = Redactor(system.secrets)
    with (
        open_hosts(workspace, system, " ".join(request.playbooks)) as hosts,
        Recorder.open(workspace.ledger, create=True, redact=redactor.text) as recorder,
    ):
        for name in hosts.names():
            hosts[name]
        campaign = recorder.set_campaign(system.campaign, system.symptom, system.cost.currency)
        planned = plan(workspace, request, hosts)
        _refuse_overspending(workspace, planned)
        yield Ready(
            workspace, planned, hosts, recorder, redactor, campaign.hash_key,
            redactor.text(command), request.accepted,
        )  # fmt: skip


def _refuse_overspending(workspace: Workspace, planned: Planned) -> None:
    made = planned.plan
    guessed = any(one.guessed for one in made.forecast)
    price = Price(made.cycles, made.seconds, made.downtime_s, made.money, guessed)
    with Ledger.open(workspace.ledger) as ledger:
        lacks = left(planned.system.budget, ledger.total_cost()).lacks(price)
    if lacks:
        raise CampaignError(
            Exit.REFUSED,
            f"the campaign's budget does not reach for this: {lacks}",
            "run less, or raise `budget:` in campaign.yaml",
        )
