"""What a failed run leaves to be looked at: captures, logs, and the system held as it is."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from campaign.engine.artifacts import ArtifactFile
from campaign.engine.boot import BootWalk
from campaign.engine.commands import how_ended
from campaign.engine.events import Note
from campaign.engine.measure import StepFailed
from campaign.engine.pause import POLL_S
from campaign.engine.session import Session
from campaign.engine.stop import ASKED, Stop, Stopped
from campaign.errors import CampaignError
from campaign.ledger import records
from campaign.ledger.reads import Ledger
from playbooks.ending import Capture
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.specs import spec_of


@contextmanager
def kept_evidence(session: Session, walk: BootWalk) -> Iterator[None]:
    """Around a boot: where a step fails or a guard trips, keeps evidence before all is put back.

    What campaign.yaml says under `on_failure` is done; none of it can fail the run any more.
    """
    try:
        yield
    except (StepFailed, Stopped) as error:
        if not (isinstance(error, Stopped) and session.stop.why == ASKED):
            _keep(session, walk, str(error))
        raise


def _keep(session: Session, walk: BootWalk, why: str) -> None:
    wanted = session.system.on_failure
    with suppress(CampaignError):  # the ledger's failure is told by the way back
        if session.stop.why != ASKED:
            _attempt(walk, "a guard does not hold", "guard", partial(_fail, why))
        for one in wanted.capture:
            _attempt(walk, f"capture {one.name}", "capture", partial(_capture, session, walk, one))
        if wanted.collect:
            _attempt(walk, f"collect {', '.join(wanted.collect)}", "collect", walk.collect)
        if wanted.hold_s:
            _hold(session, walk, wanted.hold_s)


def _attempt(walk: BootWalk, name: str, kind: str, work: Callable[[str], str]) -> None:
    """Does something as a step, `work` with its id; a failure is recorded, and that is all."""
    with suppress(StepFailed, HostError, HostLost), walk.doing(name, kind) as doing:
        doing.detail = work(doing.id)


def _fail(why: str, _step_id: str) -> str:
    raise StepFailed(why)


def _capture(session: Session, walk: BootWalk, capture: Capture, step_id: str) -> str:
    """Runs a capture and keeps what it prints. Errors: StepFailed, HostError, HostLost."""
    host, env = session.hosts[capture.on], {}
    if capture.service is not None:
        state = host.service_state(spec_of(session.system.services[capture.service]))
        env = {"MAINPID": str(state.pid or "")}
    with ArtifactFile(session, walk.run, step_id, f"{capture.name}.txt") as artifact:
        ended = host.spawn(
            capture.do,
            cwd=capture.cwd,
            env=env,
            timeout_s=capture.timeout_s,
            sink=lambda _stream, chunk: artifact.write(chunk),
        )
    if ended.code != 0:
        raise StepFailed(f"{how_ended(ended, capture.timeout_s)}: {_last_line(artifact.tail)}")
    return f"{artifact.size} bytes"


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no output"


def _hold(session: Session, walk: BootWalk, seconds: float) -> None:
    """Keeps everything as it is, at most so long; the time is the boot's, which is paid for.

    Going on with the run, or asking it to stop, ends it: then everything is put back.
    """
    asked = records.Request(
        session.recorder.new_id(), session.batch, "pause", session.clock(), walk.id, session.clock()
    )
    session.recorder.add(asked)
    try:
        with (
            Ledger.open(session.recorder.path) as ledger,
            session.stop.holding() as released,
            walk.doing("hold", "hold") as doing,
        ):
            text = f"held as it is for {seconds:g} s at most; campaign runs resume {walk.run}"
            session.emit(Note(f"{text}, or Ctrl-C, puts everything back", warn=True))
            deadline = time.monotonic() + seconds
            while ledger.pause(session.batch) is not None and not _is_asked(session.stop):
                if time.monotonic() >= deadline or released.wait(POLL_S):
                    break
            doing.detail = "everything stayed as it was"
    finally:
        session.recorder.update(records.Request, asked.id, ended_at=session.clock())


def _is_asked(stop: Stop) -> bool:
    """Whether somebody, and no guard, asked the run to stop before it was held."""
    return stop.event.is_set() and stop.why == ASKED
