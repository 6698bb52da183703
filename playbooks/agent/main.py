"""The agent's entry: it takes over the pipe, answers requests, and ends with its operator.

Whoever starts it keeps its standard input open, and is heard now and then; its last word, the end
of that input, silence or SIGTERM end the visit: what was spawned is ended, services go on, the
lock is let go. Where the operator went without a word and changes are outstanding, the agent
stays: see lease.py.
"""

import contextlib
import os
import select
import sys
import time
from typing import Callable, Dict, FrozenSet, Optional, Tuple

from playbooks.agent import (
    apply,
    clock,
    durable,
    files,
    health,
    journal,
    keep,
    lease,
    lock,
    probes,
    processes,
    procfs,
    putback,
    services,
    spawn,
    survey,
    testimony,
)
from playbooks.agent.framing import Frame, FrameError, Header, read_frame
from playbooks.agent.places import as_verb_error
from playbooks.agent.session import Handler, Session, VerbError
from playbooks.agent.wake import Wake

VERSION = 3
"""Of the conversation: raised with every change that an older operator would not understand."""

_PIECE = 65536


def hello(session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: who we are, what is outstanding; with `lock`, takes the host for this operator.

    It may be silent for `lease_s` then. With `takes_over` it comes for what another one left.

    Raises VerbError: "locked", "no-journal", "journal-damaged", "journal-newer".
    """
    reaped = []
    if request["lock"]:
        session.lease_s = request["lease_s"]
        lock.take(session, request["who"], request["run"], request["takes_over"])
        reaped = spawn.reap(session.state_dir)
        session.run_in_thread(probes.load_ahead)
    known = journal.load(session.state_dir)
    header = {
        "version": VERSION,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "hostname": os.uname().nodename,
        "pid": os.getpid(),
        "boot_id": procfs.boot_id(),
        "boot_clock": clock.boot_clock(),
        "clock": clock.now(),
        "reaped": reaped,
        "outstanding": journal.summary(known),
        "lapsed_agents": [one.agent for one in known.lapses],
        "durable_calls": durable.calls(),
    }
    return header, b""


def read_clock(_session: Session, _request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: what time it is here, since the epoch and since boot."""
    return {"clock": clock.now(), "boot_clock": clock.boot_clock()}, b""


_MODULES = (
    apply,
    files,
    health,
    journal,
    keep,
    probes,
    processes,
    putback,
    services,
    spawn,
    survey,
    testimony,
)


def _verbs() -> Dict[str, Handler]:
    verbs: Dict[str, Handler] = {"hello": hello, "clock": read_clock}
    for module in _MODULES:
        verbs.update(module.VERBS)
    return verbs


def _slow_verbs() -> FrozenSet[str]:
    """Verbs that may take long: each runs in a thread of its own."""
    slow = services.SLOW_VERBS | spawn.SLOW_VERBS | processes.SLOW_VERBS
    return slow | probes.SLOW_VERBS | health.SLOW_VERBS | testimony.SLOW_VERBS


def main() -> None:
    """Serves one operator over standard input and output; argument 1 is the state directory."""
    if len(sys.argv) != 2 or not os.path.isabs(sys.argv[1]):
        sys.exit("usage: agent STATE_DIR (an absolute path)")
    durable.arm(os.environ.pop("CAMPAIGN_CRASH", ""))
    wake = Wake()
    incoming, outgoing = _take_pipe()
    session = Session(sys.argv[1], _writer(outgoing, wake))
    _serve_all(session, _reader(session, incoming, wake))
    lock.announce(session, ending=True)
    wake.ring()
    session.close()
    if not (session.left or wake.told_to_end()):
        lease.see_out(session, wake, lambda: _let_go(incoming, outgoing, 1, 2))
    lock.release(session)
    os._exit(0)


def _take_pipe() -> Tuple[int, int]:
    """Moves the pipe away from 0 and 1, so that no print and no child ever disturbs it."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    os.set_blocking(outgoing, False)
    return incoming, outgoing


def _let_go(*descriptors: int) -> None:
    """Puts nothing in their place: what still reads or writes them meets no one else's."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in descriptors:
        os.dup2(nothing, fd)
    os.close(nothing)


def _reader(session: Session, incoming: int, wake: Wake) -> Callable[[int], bytes]:
    """Reads from the operator; nothing more comes of one that is silent beyond its lease."""

    def read(size: int) -> bytes:
        while True:
            left = session.heard_at + session.lease_s - time.monotonic()
            limit = max(left, 0.0) if session.lock is not None else None
            ready, _, _ = select.select([incoming, wake.fd], [], [], limit)
            if wake.fd in ready:
                return b""
            if ready:
                session.heard_at = time.monotonic()
                return os.read(incoming, size)
            if left <= 0:
                _say_silent(session)
                return b""

    return read


def _say_silent(session: Session) -> None:
    what = f"its operator was not heard for {session.lease_s:g} s: the lease is over"
    with contextlib.suppress(OSError):
        print(what, file=sys.stderr, flush=True)


def _writer(outgoing: int, wake: Wake) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            ending, _, _ = select.select([wake.fd], [outgoing], [])
            if ending:
                raise BrokenPipeError
            try:
                rest = rest[os.write(outgoing, rest[:_PIECE]) :]
            except BlockingIOError:
                continue

    return write


def _serve_all(session: Session, read: Callable[[int], bytes]) -> None:
    verbs, slow = _verbs(), _slow_verbs()
    while not session.closing.is_set():
        frame = _next_frame(read)
        if frame is None:
            return
        verb = frame[0].get("verb")
        if verb == "leave":
            session.left = True
            return
        if verb == "alive":
            continue
        if verb == "consumed":
            _consumed(session, frame[0])
        elif verb in slow:
            session.run_in_thread(_serve, session, verbs[verb], frame)
        else:
            _serve(session, verbs.get(str(verb), _unknown), frame)


def _next_frame(read: Callable[[int], bytes]) -> Optional[Frame]:
    try:
        return read_frame(read)
    except (FrameError, OSError):
        return None


def _consumed(session: Session, header: Header) -> None:
    session.consumed(header["sid"], header["count"], header.get("closed", False))


def _unknown(_session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    raise VerbError("unknown-verb", f"this agent does not know the verb {request.get('verb')!r}")


def _serve(session: Session, handler: Handler, frame: Frame) -> None:
    """Answers one request. An agent with a fault in one verb still has bases to put back."""
    request, body = frame
    try:
        answer = handler(session, request, body)
    except (VerbError, OSError) as error:
        session.fail(request["id"], as_verb_error(error))
    except Exception as error:  # noqa: BLE001
        import traceback

        traceback.print_exc()
        session.fail(request["id"], VerbError("fault", f"{request.get('verb')}: {error!r}"))
    else:
        if answer is not None:
            session.reply(request["id"], *answer)
