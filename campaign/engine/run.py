"""Walks a plan boot by boot, judges each run as its boots are done, and always puts back."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

from msgspec import Struct, field

from campaign.engine import keeping, standing
from campaign.engine.aftermath import kept_evidence
from campaign.engine.begin import run_row
from campaign.engine.booking import Books
from campaign.engine.boot import BootWalk
from campaign.engine.budget import price_of_boot
from campaign.engine.events import BootStarted, Note, StandingMoved
from campaign.engine.hooks import Hooks
from campaign.engine.judge import BootEvidence, judge
from campaign.engine.measure import StepFailed
from campaign.engine.pause import hold
from campaign.engine.putback import Restored, put_back
from campaign.engine.session import Session
from campaign.engine.steps import Steps
from campaign.engine.stop import Abandoned, Stopped
from campaign.engine.vigil import Vigil
from campaign.engine.watch import Watch
from campaign.engine.wayback import RecordedWay
from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.keeping import KEEP_RUN
from campaign.ledger.reads import Ledger
from hypotheses.verdict import Verdict
from playbooks.hosts.connection import HostError, HostLost
from playbooks.plan import Boot, Plan
from playbooks.playbook import Playbook


class RunResult(Struct, frozen=True):
    """How one playbook's run ended; `uncounted` tells of trials none of which counts."""

    id: str
    playbook: str
    status: str
    verdict: Verdict | None = None
    uncounted: tuple[str, ...] = ()


class Outcome(Struct, frozen=True):
    """How an invocation ended: its runs, its exit code, and what a person must still do.

    `in_short` is the error for who has followed the run: the line of a failed step has told it.
    `kept` says what stays changed; empty where everything was to be put back.
    """

    runs: tuple[RunResult, ...]
    exit: Exit
    error: str = ""
    remaining: tuple[str, ...] = ()
    in_short: str = ""
    kept: str = ""


class _Running(Struct):
    """A run whose changes may still be on the hosts."""

    id: str
    playbook: Playbook
    steps: Steps
    evidence: list[BootEvidence] = field(default_factory=list)
    verdict: Verdict | None = None
    status: str = "running"
    ended: bool = False

    @property
    def result(self) -> RunResult:
        uncounted = dict.fromkeys(text for one in self.evidence for text in one.uncounted)
        name = self.playbook.name
        return RunResult(self.id, name, self.status, self.verdict, tuple(uncounted))

    @property
    def printed(self) -> frozenset[str]:
        """The observations whose outputs were compared."""
        return frozenset[str]().union(*(one.seen.printed for one in self.evidence))


def execute(plan: Plan, session: Session) -> Outcome:
    """Runs the plan. Whatever happens, what was changed is put back before this returns.

    Errors: CampaignError when not even the first run could be recorded.
    """
    with session.guards:
        return _Walk(plan, session).run()


class _Overspent(Exception):  # noqa: N818 - it is no error
    """The budget does not reach for the next boot."""

    def __init__(self, boot: Boot, lacks: str) -> None:
        super().__init__(f"stopped: budget: before {boot.title}: {lacks}")
        self.boot = boot


class _Walk:
    def __init__(self, plan: Plan, session: Session) -> None:
        self._plan = plan
        self._session = session
        self._books = Books(session.recorder, session.system.cost)
        self._runs: dict[int, _Running] = {}
        self._hooks = Hooks(session.hosts, session.batch, session.stop)
        self._walks: list[BootWalk] = []
        self._moved: list[Note | StandingMoved] = []
        self._error = ""
        self._kept = ""

    def run(self) -> Outcome:
        code = Exit.COMPLETED
        try:
            with Vigil(self._session.hosts, self._session.emit):
                self._walk()
        except Stopped as error:
            code = self._session.stop.exit or Exit.INTERRUPTED
            self._fail("aborted", str(error))
        except _Overspent as error:
            code = Exit.REFUSED
            self._fail("aborted", str(error), error.boot.run)
        except (StepFailed, HostError, HostLost) as error:
            code = Exit.STEP_FAILED
            self._fail("failed", str(error))
        except CampaignError as error:
            code = error.exit
            self._fail("failed", str(error))
        except BaseException as error:
            self._fail("failed", f"{type(error).__name__}: {error}")
            self._way_back()
            raise
        restored = self._keep() if self._plan.keep and code is Exit.COMPLETED else None
        restored = restored or self._way_back()
        self._tell_moved()
        return self._outcome(Exit.DIRTY if restored.dirty else code, restored)

    def _walk(self) -> None:
        previous: Boot | None = None
        for boot in self._plan.measured:
            self._session.stop.check()
            self._check_budget(boot)
            running = self._runs.get(boot.run) or self._begin(boot)
            self._session.emit(
                BootStarted(boot.position + 1, len(self._plan.boots), boot.title, running.id)
            )
            walk = BootWalk(
                self._session, boot, running.id, running.steps, self._hooks, running.printed
            )
            self._walks.append(walk)
            with _closing(walk), kept_evidence(self._session, walk):
                walk.enter(previous)
                self._close_before(boot.run)
                running.evidence.append(walk.measure())
            previous = boot
            if self._is_last(boot):
                running.verdict = judge(
                    self._session, running.id, running.playbook, running.evidence
                )
            hold(self._session, running.id, walk)

    def _check_budget(self, boot: Boot) -> None:
        """Errors: _Overspent where the boot and the way back from it cannot be paid for.

        The first one was looked at with the plan.
        """
        if not boot.position:
            return
        forecast = self._plan.forecast[boot.position]
        price = price_of_boot(boot, forecast, self._session.system.cost)
        with Ledger.open(self._session.workspace.ledger) as ledger:
            lacks = self._session.limits.after(ledger.total_cost()).lacks(price)
        if lacks:
            raise _Overspent(boot, lacks)

    def _begin(self, boot: Boot) -> _Running:
        playbook = boot.playbook
        assert playbook is not None
        recorder = self._session.recorder
        run = run_row(self._session, playbook, self._session.clock())
        with recorder.transaction():
            recorder.add(run)
            recorder.add(
                records.RunTerms(
                    run.id,
                    playbook.schedule.value if playbook.arms else None,
                    playbook.blocks,
                    playbook.seed,
                    "\n".join(self._session.accepted),
                )
            )
            recorder.link_run(run.id, playbook.hypotheses)
        self._runs[boot.run] = _Running(run.id, playbook, Steps(self._session, run.id))
        return self._runs[boot.run]

    def _is_last(self, boot: Boot) -> bool:
        return all(other.run != boot.run for other in self._plan.boots[boot.position + 1 :])

    def _close_before(self, run: int) -> None:
        """The runs before `run` are over: the transition has put their changes back."""
        for index, running in self._runs.items():
            if index < run and running.status == "running":
                self._close(running, "completed")

    def _close(
        self,
        running: _Running,
        status: str,
        error: str = "",
        state: str = "clean",
        *,
        kept: bool = False,
    ) -> None:
        running.status = status
        running.ended = True
        self._books.close_run(running.id, status, state, self._session.clock(), error, kept=kept)
        if status == "completed":
            self._moved += standing.move(self._session, running.id, running.playbook.hypotheses)

    def _fail(self, status: str, error: str, since: int = 0) -> None:
        """The runs from `since` on, in the plan's order, did not get to their end."""
        self._error = self._session.redactor.text(error)
        for index, running in self._runs.items():
            if index >= since and running.status == "running" and not running.verdict:
                running.status = status

    def _keep(self) -> Restored | None:
        """Has the changes of the run stay; None where they are to be put back all the same."""
        (running,) = self._runs.values()
        stop = self._session.stop
        why = stop.why if stop.event.is_set() else keeping.unfit(running.verdict, running.evidence)
        if not why:
            try:
                with stop.putting_back():
                    return self._stay(running)
            except keeping.NotKept as error:
                why = str(error)
        with suppress(Exception):
            self._session.emit(Note(f"nothing is kept: {why}", warn=True))
        return None

    def _stay(self, running: _Running) -> Restored:
        """The hosts keep what was changed, and then the ledger learns of it. Errors: NotKept."""
        hosts, left = self._session.hosts, ""
        undone = frozenset[str]()
        self._session.stop.say("what it changed is being kept")
        try:
            undone = keeping.undo_commands(hosts)
            keeping.keep(self._session, running.id, self._plan.measured)
        except (keeping.Undecided, Abandoned) as error:
            left = f"{error or 'keeping was abandoned'}; run 'campaign recover' to finish it"
        self._kept = keeping.told(self._plan.measured[-1])
        try:
            self._book_kept(running, undone, left)
        except CampaignError as error:
            self._error = str(error)
        return Restored(remaining=(left,) if left else ())

    def _book_kept(self, running: _Running, undone: Collection[str], left: str) -> None:
        """Errors: CampaignError."""
        walk = self._walks[-1]
        for step in (one for one in walk.taken[::-1] if one.id in undone):
            with walk.doing(f"undo: {step.name}", "undo") as doing:
                doing.detail = "its undo command was run"
        with walk.doing("keep what it changed", KEEP_RUN) as doing:
            doing.detail = self._kept
        self._session.recorder.add(records.KeptRun(running.id, self._session.clock()))
        self._close(running, "completed", left, "dirty" if left else "clean", kept=True)

    def _way_back(self) -> Restored:
        """Puts everything back. The ledger is told as far as it can be; the hosts come first."""
        total = len(self._plan.boots)
        with suppress(Exception):  # whoever watches must not keep us from putting back
            self._session.emit(BootStarted(total, total, "put back", None))
        started = self._session.clock()
        back = self._begin_way_back(started)
        restored = self._put_back(back)
        try:
            self._book(back, restored, started)
        except CampaignError as error:
            if str(error) not in self._error:
                self._error = f"{self._error}; {error}" if self._error else str(error)
        return restored

    def _tell_moved(self) -> None:
        """At the end: a run is over once the next boot is up, and would be told of among that."""
        for event in self._moved:
            with suppress(Exception):  # whoever watches does not change how it ended
                self._session.emit(event)

    def _begin_way_back(self, started: float) -> str | None:
        """The id of its boot; None where there is no run yet, or the ledger cannot take it."""
        with suppress(CampaignError):
            if self._runs:
                return self._books.way_back(self._session.batch, len(self._plan.boots) - 1, started)
        return None

    def _put_back(self, back: str | None) -> Restored:
        stop = self._session.stop
        outstanding = next((walk for walk in reversed(self._walks) if walk.taken), None)
        try:
            with stop.putting_back():
                if back is None or outstanding is None:
                    return put_back(self._session.hosts, Watch(stop.say))
                steps = list(self._runs.values())[-1].steps
                return RecordedWay(self._session, steps, back, outstanding).put_back()
        except Abandoned:
            return Restored(
                remaining=(
                    f"putting back was abandoned while {stop.doing}; "
                    "run 'campaign recover' to finish it",
                )
            )

    def _book(self, back: str | None, restored: Restored, started: float) -> None:
        if not self._runs:
            return
        last = list(self._runs.values())[-1]
        if back is None:
            back = self._books.way_back(self._session.batch, len(self._plan.boots) - 1, started)
        self._books.charge_way_back(back, last.id, restored, started, self._session.clock())
        state = "dirty" if restored.dirty else "clean"
        if restored.dirty:
            self._books.note_back(last.id, restored.at_base, self._session.clock())
        for running in self._runs.values():
            if running.ended:
                continue
            status = "completed" if running.status == "running" else running.status
            error = "" if status == "completed" else self._error
            self._close(running, status, error, state if running is last else "clean")

    def _outcome(self, code: Exit, restored: Restored) -> Outcome:
        runs = tuple(one.result for one in self._runs.values())
        remaining = restored.remaining
        return Outcome(runs, code, self._error, remaining, self._in_short(), self._kept)

    def _in_short(self) -> str:
        for running in self._runs.values():
            step = running.steps.failed
            if step is not None and step.detail and self._error.startswith(step.detail):
                more = self._error.removeprefix(step.detail)
                return f"step {step.position}, {step.name}, failed{more}"
        return self._error


@contextmanager
def _closing(walk: BootWalk) -> Iterator[None]:
    """Books the boot's time also when it failed; a ledger that fails then hides no other error."""
    try:
        yield
    except BaseException:
        with suppress(CampaignError):
            walk.close()
        raise
    walk.close()
