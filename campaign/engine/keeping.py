"""The end of a run that keeps what it changed: on all its hosts, or on none.

On one host a single write of its journal decides. On several each has to agree first; once all
have, nothing puts the run back by itself any more, and `campaign recover` finishes what was
interrupted (see playbooks.agent.stack).
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from campaign.engine import transition
from campaign.engine.hosts import Hosts
from campaign.engine.judge import BootEvidence
from campaign.engine.putback import answering
from campaign.engine.session import Session
from campaign.engine.together import all_at_once, by_name
from campaign.engine.watch import Watch
from campaign.errors import CampaignError
from hypotheses.verdict import Effect, Verdict, Word
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.host import Host
from playbooks.hosts.stack import AGREEING, KEPT, KeptFacts
from playbooks.plan import Boot, Plan, PlanError
from playbooks.playbook import Command

TRIES = 3
"""How often a host whose agent was lost meanwhile is asked."""


class NotKept(Exception):  # noqa: N818 - it says what happened
    """Why nothing stays: all that was changed is outstanding, and has to be put back."""


class Undecided(Exception):  # noqa: N818 - it says what happened
    """All hosts have agreed to keep it, and one that has to know does not answer any more."""


def kept_at_the_end(plan: Plan) -> Plan:
    """The plan as one whose changes stay. Errors: PlanError where there is no one configuration."""
    runs = {boot.run: boot.playbook for boot in plan.measured}
    arms = [arm for one in runs.values() if one is not None for arm in one.arms]
    if len(runs) > 1 or arms:
        raise PlanError("--keep keeps one configuration: name one playbook, without arms")
    last = plan.measured[-1]
    if not last.edits:
        raise PlanError(f"{last.title} changes no file: --keep has nothing to keep")
    undone = [step.name for step in last.before if _is_undone(step.action)]
    if undone:
        raise PlanError(
            f"step {undone[0]!r} is undone at the end: --keep cannot keep what was started after it"
        )
    return replace(plan, keep=True)


def _is_undone(action: object) -> bool:
    return isinstance(action, Command) and action.undo is not None


def unfit(verdict: Verdict | None, evidence: Iterable[BootEvidence]) -> str:
    """Why a run that came to its end has nothing that should stay; empty where it may."""
    for one in evidence:
        if one.invalid:
            return "the system changed during the measures"
        if one.effect is Effect.NOT_EFFECTIVE:
            return "what it changed was not effective"
        if one.seen.spent:
            return "its budget ran out"
    return "its verdict is invalid" if verdict and verdict.word is Word.INVALID else ""


def undo_commands(hosts: Hosts) -> frozenset[str]:
    """Undoes commands and hooks, which go with the run; the ids of their steps. Errors: NotKept."""
    try:
        undone = by_name({name: partial(_undo_commands, hosts, name) for name in hosts.names()})
    except (CampaignError, HostError, HostLost) as error:
        raise NotKept(str(error)) from error
    return frozenset(id for ids in undone.values() for id in ids)


def _undo_commands(hosts: Hosts, name: str) -> tuple[str, ...]:
    noted = [one.id for one in hosts[name].journal().commands]
    if not noted:
        return ()
    result = hosts[name].undo_commands(noted)
    for conflict in result.conflicts:
        raise NotKept(conflict.instructions)
    return result.undone


def keep(session: Session, run: str, boots: Sequence[Boot]) -> None:
    """Has what the last of `boots` changed stay for `run`, on every host.

    Errors: NotKept, with nothing kept; Undecided.
    """
    hosts, facts = session.hosts, _facts(run, boots)
    try:
        if len(facts.hosts) > 1:
            _all(hosts, facts.hosts, lambda host: host.keep(session.batch, AGREEING, facts))
        else:
            _all(hosts, facts.hosts, lambda host: host.keep(session.batch, KEPT, facts))
    except (CampaignError, HostError, HostLost) as error:
        _take_back(hosts, facts.hosts, session.batch)
        raise NotKept(str(error)) from error
    try:
        if len(facts.hosts) > 1:
            _all(hosts, facts.hosts, lambda host: host.keep(session.batch, KEPT, facts))
        _all(hosts, hosts.names(), lambda host: host.settle())
    except (CampaignError, HostError, HostLost) as error:
        raise Undecided(str(error)) from error


def told(boot: Boot) -> str:
    """How much of a boot is kept, in words."""
    count, hosts = len(boot.edits), sorted({edit.host for edit in boot.edits})
    return f"{count} file{'s' if count != 1 else ''} on {', '.join(hosts)}"


def _facts(run: str, boots: Sequence[Boot]) -> KeptFacts:
    last, playbook = boots[-1], boots[-1].playbook
    assert playbook is not None
    return KeptFacts(
        id=run,
        playbook=playbook.name,
        hypotheses=playbook.hypotheses,
        removes=transition.removes(last),
        services=tuple(dict.fromkeys(name for boot in boots for name in boot.services)),
        env=tuple((one.service, one.name) for one in last.env),
        hosts=tuple(sorted({edit.host for edit in last.edits})),
    )


def _all(hosts: Hosts, names: Iterable[str], ask: Callable[[Host], None]) -> None:
    all_at_once(partial(_ask, hosts, name, ask) for name in names)


def _ask(hosts: Hosts, name: str, ask: Callable[[Host], None], tries: int = TRIES) -> None:
    """Asks until it is answered: what is asked may be repeated."""
    try:
        ask(hosts[name])
    except HostLost:
        if tries == 1:
            raise
        _ask(hosts, name, ask, tries - 1)


def _take_back(hosts: Hosts, names: Iterable[str], batch: str) -> None:
    """What some have agreed to keep is outstanding again.

    One that does not answer, however long it is waited for, is left to `campaign recover`.
    """
    for name in names:
        with suppress(CampaignError, HostError, HostLost):
            answering(name, hosts, Watch()).release(batch)
