"""The way back as the ledger and the watcher see it: each undo a step, as it happens."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from queue import SimpleQueue

from campaign.engine import putback
from campaign.engine.boot import BootWalk
from campaign.engine.events import Note
from campaign.engine.putback import Restored
from campaign.engine.session import Session
from campaign.engine.steps import Steps
from campaign.engine.stop import Abandoned
from campaign.engine.together import Beside
from campaign.engine.watch import Hooked, Undoing, Watch
from campaign.errors import CampaignError
from campaign.ledger import records
from playbooks.hosts.files import PutBack
from playbooks.plan import Boot
from playbooks.playbook import Command


class RecordedWay(Watch):
    """Records the undo of every step of `walk` that changed something, the last one first.

    The steps go on counting those of the run (`steps`), in the boot `back`. Hosts are put back in
    threads of their own; what they tell is recorded in the run's. The hosts come first: what the
    ledger or the watcher cannot take stops nothing.
    """

    def __init__(self, session: Session, steps: Steps, back: str, walk: BootWalk) -> None:
        super().__init__(session.stop.say)
        self._session = session
        self._steps = steps
        self._back = back
        self._boot = walk.boot
        self._taken = walk.taken[::-1]
        self._hooks = tuple(walk.hooks.standing)
        self._told: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._numbers = count()
        self._open: dict[int, records.Step] = {}

    def put_back(self) -> Restored:
        """Puts everything back, and records what is told until it is over. Errors: Abandoned."""
        with self._session.guards.told_to(self._tripped), Beside(self._put_back) as doing:
            try:
                while (told := self._told.get()) is not None:
                    with suppress(Exception):
                        told()
            except Abandoned:
                with suppress(CampaignError):
                    for number in list(self._open):
                        self._end(number, "failed", "abandoned")
                raise
        return doing.result()

    def _put_back(self) -> Restored:
        try:
            return putback.put_back(self._session.hosts, self)
        finally:
            self._told.put(None)

    def waiting(self, text: str) -> None:
        super().waiting(text)
        self.warn(text)

    def warn(self, text: str) -> None:
        self._told.put(partial(self._session.emit, Note(text, warn=True)))

    @contextmanager
    def restoring(self, host: str) -> Iterator[Undoing]:
        undoing = Undoing()
        taken = [one for one in self._taken if host in self._homes(one)]
        keys = [self._begun(self._named(one, host), "undo") for one in taken]
        try:
            yield undoing
        except BaseException as error:
            undoing.failed = str(error)
            raise
        finally:
            for step, key in zip(taken, keys, strict=True):
                self._ended(key, *_undone(self._boot, step, host, undoing))

    @contextmanager
    def restarting(self, services: Sequence[str], word: str = "restart") -> Iterator[Undoing]:
        undoing = Undoing()
        key = self._begun(f"{word} {', '.join(services)}", word)
        try:
            with self._session.guards.resting():
                yield undoing
        except BaseException as error:
            undoing.failed = str(error)
            raise
        finally:
            detail = undoing.failed or (undoing.lived.told() if undoing.lived else "")
            self._ended(key, "failed" if undoing.failed else "completed", detail)

    @contextmanager
    def hooking(self, name: str, undo: str) -> Iterator[Hooked]:
        hooked = Hooked()
        key, failed = self._begun(name, "hook", undo), ""
        try:
            yield hooked
        except BaseException as error:
            failed = str(error)
            raise
        finally:
            self._ended(key, "failed" if failed else "completed", failed or hooked.detail)

    def _tripped(self, why: str) -> None:
        """A guard that trips now is told, and stops nothing."""
        self._ended(self._begun("a guard does not hold", "guard"), "failed", why)
        self.warn(f"{why}; putting back goes on")

    def _homes(self, step: records.Step) -> frozenset[str]:
        """The hosts where `step` did something that can be taken back."""
        hooked = {one.host for one in self._hooks if one.id == step.id}
        return _homes(self._boot, step.name) | hooked

    def _named(self, step: records.Step, host: str) -> str:
        several = len(self._homes(step)) > 1
        return f"undo: {step.name}{f' on {host}' if several else ''}"

    def _begun(self, name: str, kind: str, undo: str = "") -> int:
        """Tells that a step begins; returns the number by which it is ended."""
        number = next(self._numbers)
        self._told.put(partial(self._begin, number, name, kind, undo))
        return number

    def _ended(self, number: int, status: str, detail: str) -> None:
        self._told.put(partial(self._end, number, status, detail))

    def _begin(self, number: int, name: str, kind: str, undo: str) -> None:
        self._open[number] = self._steps.begin(self._back, name, kind, undo)

    def _end(self, number: int, status: str, detail: str) -> None:
        """Ends a step that could be begun."""
        step = self._open.pop(number, None)
        if step is not None:
            self._steps.end(step, status, detail)


def _homes(boot: Boot, name: str) -> frozenset[str]:
    """The hosts where the step `name` changes something that can be taken back."""
    commands = (one for one in (*boot.before, *boot.measures) if one.name == name)
    ran = {
        one.action.on
        for one in commands
        if isinstance(one.action, Command) and one.action.undo is not None
    }
    return frozenset(ran | {edit.host for edit in boot.edits if name in edit.steps})


def _undone(boot: Boot, step: records.Step, host: str, undoing: Undoing) -> tuple[str, str]:
    """How the undo of `step` ended on `host`, and what came of it."""
    result = undoing.result
    if undoing.failed or result is None:
        return "failed", undoing.failed
    edits = [one for one in boot.edits if one.host == host and step.name in one.steps]
    ours = {one.where for one in edits} | {step.id}
    conflicts = [one.instructions for one in result.conflicts if one.path in ours]
    if conflicts:
        return "failed", "; ".join(conflicts)
    return "completed", _told(
        step, [one.path for one in edits if one.where in result.restored], result
    )


def _told(step: records.Step, restored: Sequence[str], result: PutBack) -> str:
    if step.id in result.undone:
        return "its undo command was run"
    return f"put back {', '.join(restored)}" if restored else "nothing to put back"
