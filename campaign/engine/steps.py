"""Steps as the ledger and the watcher see them: numbered, timed, with how they go back."""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from campaign.engine.events import StepEnded, StepStarted
from campaign.engine.session import Session
from campaign.engine.stop import Stopped
from campaign.ledger import records
from playbooks.playbook import Action, Command, Env, Patch


class Doing(Struct):
    """A step under way; `detail` is what it found, filled in by whoever performs it."""

    id: str
    detail: str = ""


class Steps:
    """Numbers and records the steps of one `run`; `failed` is the end of one that did."""

    def __init__(self, session: Session, run: str) -> None:
        self._session = session
        self.run = run
        self._taken: list[records.Step] = []
        self.failed: StepEnded | None = None

    @contextmanager
    def doing(self, boot_id: str, name: str, kind: str, undo: str = "") -> Iterator[Doing]:
        """Records a step around its performance, whichever way that ends."""
        step = self.begin(boot_id, name, kind, undo)
        doing = Doing(step.id)
        try:
            yield doing
        except Stopped as error:
            self.end(step, "aborted", str(error))
            raise
        except Exception as error:
            self.end(step, "failed", str(error))
            raise
        self.end(step, "completed", doing.detail)

    def begin(self, boot_id: str, name: str, kind: str, undo: str = "") -> records.Step:
        """Records that a step begins."""
        step = records.Step(
            self._session.recorder.new_id(),
            self.run,
            boot_id,
            len(self._taken) + 1,
            name,
            kind,
            self._session.clock(),
            undo=undo,
        )
        self._taken.append(step)
        self._session.recorder.add(step)
        self._session.emit(StepStarted(step.position, name, kind))
        return step

    def end(self, step: records.Step, status: str, detail: str) -> None:
        """Records how a step ended: completed, failed or aborted."""
        ended = self._session.clock()
        self._session.recorder.update(
            records.Step, step.id, ended_at=ended, status=status, detail=detail
        )
        shown = self._session.redactor.text(detail)
        told = StepEnded(step.position, step.name, status, ended - step.started_at, shown)
        if status == "failed" and self.failed is None:
            self.failed = told
        self._session.emit(told)

    def taken(self, boot_id: str) -> tuple[records.Step, ...]:
        """The steps of a boot so far, in order."""
        return tuple(step for step in self._taken if step.boot == boot_id)


def kind_of(action: Action) -> str:
    """The action's name in YAML."""
    return type(action).__name__.lower()


def undo_of(action: Action) -> str:
    """How a step goes back, in words; empty where there is nothing to undo."""
    match action:
        case Patch() | Env():
            return "restored from the host's journal"
        case Command(undo=None):
            return "none: this step has no undo"
        case Command():
            return "its undo command"
        case _:
            return ""
