"""An agent whose operator is gone: it waits for the lease, then puts its host back by itself.

Replicas that restarted in batches do so again, in turn (see turns.py).

What the operator had it spawn has ended by then. It still holds the host's lock, and lets it go to
an operator that comes back (see lock.py). Time runs on the monotonic clock: a clock that is set
neither shortens the lease nor makes it longer.
"""

import contextlib
import os
import time
from typing import Callable, Tuple

from playbooks.agent import clock, lock, putback, reserve, restart
from playbooks.agent.journal import Journal, load
from playbooks.agent.lapse import Lapse
from playbooks.agent.session import Session, VerbError
from playbooks.agent.turns import turns
from playbooks.agent.wake import Wake

LOOK_EVERY_S = 5.0
_NOTED = 8
"""As many lapses are kept for an operator to learn of, the newest ones."""


def see_out(session: Session, wake: Wake, let_go: Callable[[], None]) -> None:
    """Returns when nothing is left to do here, or another operator takes the host over.

    `let_go` closes what led to the operator.
    """
    if session.lock is None or not _outstanding(session):
        return
    with contextlib.suppress(PermissionError):  # it leads a session already
        os.setsid()
    let_go()
    if _runs_out(session, wake):
        lock.announce(session, lapsed=True)
        with contextlib.suppress(VerbError, OSError):  # it stays outstanding: recover says why
            put_back(session, wake)
    lock.announce(session, ending=True)


def _runs_out(session: Session, wake: Wake, more_s: float = 0.0) -> bool:
    """Waits for the end of the lease, and `more_s`; False where this agent is to go before."""
    until = session.heard_at + session.lease_s + more_s
    lock.announce(session, waits_until=until)
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return True
        if wake.told_to_end(min(left, LOOK_EVERY_S)) or not _outstanding(session):
            return False


def _outstanding(session: Session) -> bool:
    try:
        return load(session.state_dir).outstanding
    except VerbError:  # nothing that could be put back
        return False


def put_back(session: Session, wake: Wake) -> None:
    """Restores every base, restarts what ran a change, and notes all of it in the journal.

    That it has begun is noted first: an operator that comes back meanwhile must not go on. What
    cannot be done stays outstanding. Errors: VerbError, OSError.
    """
    journal = load(session.state_dir)
    silent_s = time.monotonic() - session.heard_at
    now = clock.now()
    lapse = Lapse(os.getpid(), journal.run, journal.who, now - silent_s, now)
    journal.lapses = [*journal.lapses, lapse][-_NOTED:]
    reserve.release(session.state_dir)
    journal.save()
    answer, _ = putback.put_back(session, {"paths": None}, b"")
    lapse = lapse._replace(restored=tuple(answer["restored"]), undone=tuple(answer["undone"]))
    _replace_last(session, lapse)
    lapse, through = _restart(session, wake, lapse)
    if through:
        failed = bool(answer["conflicts"] or any(one.failed for one in lapse.cycles))
        lapse = lapse._replace(ended_at=clock.now())
        _replace_last(session, lapse, settled=not failed)


def _restart(session: Session, wake: Wake, lapse: Lapse) -> Tuple[Lapse, bool]:
    """The lapse with the restarts that it took, and whether this agent saw all of them to an end.

    That they are due is in the journal first. One that fails is the last one.
    """
    journal = load(session.state_dir)
    due = restart.due(journal)
    journal.restarting = list(dict.fromkeys([*journal.restarting, *(one.name for one in due)]))
    if due:
        journal.save()
    for turn in turns(journal, due):
        if turn.after_s and not _runs_out(session, wake, turn.after_s):
            return lapse, False
        lock.announce(session, lapsed=True)
        cycle = restart.cycle(session, turn.services, turn.batch)
        lapse = lapse._replace(cycles=(*lapse.cycles, cycle))
        _replace_last(session, lapse)
        if cycle.failed:
            break
    return lapse, True


def _replace_last(session: Session, lapse: Lapse, settled: bool = False) -> None:
    journal = load(session.state_dir)
    journal.lapses[-1] = lapse
    if settled and not _reaches_beyond(journal):
        journal.traces, journal.restarting = [], []
    journal.save()


def _reaches_beyond(journal: Journal) -> bool:
    """Whether services of other hosts restart with those here: `recover` looks at all of them."""
    here = {one.name for one in restart.known(journal)}
    groups = restart.groups_here(journal)
    return any(here.intersection(group) and not here.issuperset(group) for group in groups)
