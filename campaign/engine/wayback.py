"""The way back as the ledger and the watcher see it: each undo a step, as it happens."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from campaign.engine.boot import BootWalk
from campaign.engine.putback import Undoing, Watch
from campaign.engine.session import Session
from campaign.engine.steps import Steps
from campaign.ledger import records
from playbooks.hosts.files import PutBack
from playbooks.plan import Boot
from playbooks.playbook import Command


class RecordedWay(Watch):
    """Records the undo of every step of `walk` that changed something, the last one first.

    The steps go on counting those of the run (`steps`), in the boot `back`. The hosts come first:
    what the ledger or the watcher cannot take stops nothing.
    """

    def __init__(self, session: Session, steps: Steps, back: str, walk: BootWalk) -> None:
        super().__init__(session.stop.say)
        self._session = session
        self._steps = steps
        self._back = back
        self._boot = walk.boot
        self._taken = walk.taken[::-1]

    @contextmanager
    def restoring(self, host: str) -> Iterator[Undoing]:
        undoing = Undoing()
        taken = [one for one in self._taken if host in _homes(self._boot, one.name)]
        begun = [(one, self._begin(self._named(one, host), "undo")) for one in taken]
        try:
            yield undoing
        except BaseException as error:
            undoing.failed = str(error) or "abandoned"
            raise
        finally:
            for step, row in begun:
                self._end(row, *_undone(self._boot, step, host, undoing))

    @contextmanager
    def restarting(self, services: Sequence[str]) -> Iterator[Undoing]:
        undoing = Undoing()
        row = self._begin(f"restart {', '.join(services)}", "restart")
        try:
            yield undoing
        except BaseException as error:
            undoing.failed = str(error) or "abandoned"
            raise
        finally:
            detail = undoing.failed or (undoing.lived.told() if undoing.lived else "")
            self._end(row, "failed" if undoing.failed else "completed", detail)

    def _named(self, step: records.Step, host: str) -> str:
        several = len(_homes(self._boot, step.name)) > 1
        return f"undo: {step.name}{f' on {host}' if several else ''}"

    def _begin(self, name: str, kind: str) -> records.Step | None:
        with suppress(Exception):
            return self._steps.begin(self._back, name, kind)
        return None

    def _end(self, step: records.Step | None, status: str, detail: str) -> None:
        if step is not None:
            with suppress(Exception):
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
