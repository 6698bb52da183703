"""Logs a checksum of a buffer at a checkpoint, so that two sides of a transfer can be compared.

    from checksum_probe import checkpoint

    checkpoint("idxk", buffer, key=room, side="src")

writes, from a thread of its own,

    checksum_probe name=idxk side=src key=7 crc32=1c291ca3 bytes=4096 seq=0 pid=812 dropped=0

Off unless the environment says otherwise, and then a call costs a look at a variable:

    CHECKSUM_PROBE        0 or unset: off. 1: on, to standard error. Or stdout, or an absolute path
    CHECKSUM_PROBE_LINES  how many checkpoints may wait for the thread (10000)
    CHECKSUM_PROBE_BYTES  how many bytes of buffers may wait for it (268435456)

The caller never waits: a checkpoint that finds no room is dropped and counted, and each line says
how many were dropped so far in its process. A checkpoint never raises: what it cannot read is
dropped too, and the first such error is logged. The buffer is read as it is at the call: `bytes`
by reference, as they cannot change; all else is copied. A tensor on a CUDA device is copied to
pinned memory by `stream` (or its device's current stream), in the order of that stream's work,
and nothing waits for the device but the thread. What a process has not written when it is killed
is lost uncounted; at an ordinary end all is written.

Digests are CRC-32 of the elements in row-major order, whatever the container: of changed buffers
one in 4e9 goes unseen. In names, sides and keys, spaces, quotes, `=`, `%` and all that is not
printable ASCII are written as %XX.

One file, standard library only, Python 3.8 and newer. torch is used only if a tensor is passed.
"""

import atexit
import collections
import contextlib
import ctypes
import itertools
import os
import re
import select
import sys
import threading
import time
import zlib
from typing import Any, Callable, Deque, Dict, Iterator, List, NamedTuple, Optional, Union

VERSION = 1
"""Of the lines: it changes when what they say does."""

_POOLED = 1 << 16  # bytes from which copies are made into memory that is used again
_PIPE_BUF = 4096  # bytes that a pipe takes in one piece
_BATCH = 1 << 20  # bytes that are digested before their lines are written
_LOOK_S = 0.005
_PLAIN = re.compile(r"[!#$&-<>-~]+")


def checkpoint(name: str, buffer: Any, key: object, side: str, stream: Any = None) -> None:
    """Logs the checksum of `buffer` as it is now, for `key`, as `side` of the checkpoint `name`.

    `buffer`: bytes, a memoryview or whatever supports the buffer protocol, a numpy array, or a
    torch tensor on the CPU or on a CUDA device. `stream`: the torch.cuda.Stream, or its handle as
    a number, whose work so far has filled the tensor. Returns at once; never raises.
    """
    if _probe is not None:
        _probe.take(name, buffer, key, side, stream)


def flush(timeout: float = 5.0) -> bool:
    """Waits up to `timeout` seconds until what came so far is written; whether it is."""
    return _probe is None or _probe.flush(timeout)


class _NoRoomError(Exception):
    """The buffers that wait fill the memory that they may take."""


class _Bytes(NamedTuple):
    """Bytes that nobody changes; `memory` is what they lie in, where that is used again."""

    data: Union[bytes, memoryview]
    size: int
    memory: Optional[bytearray] = None

    def crc32(self) -> int:
        return zlib.crc32(self.data)


class _Pinned(NamedTuple):
    """Pinned memory that a CUDA stream fills; it is full once the event `done` has passed."""

    host: Any
    done: Any
    size: int
    memory: Optional[bytearray] = None

    def crc32(self) -> int:
        self.done.synchronize()
        return zlib.crc32(_at(self.host.data_ptr(), self.size))


_Snapshot = Union[_Bytes, _Pinned]


class _Checkpoint(NamedTuple):
    name: str
    side: str
    key: str
    sequence: int
    snapshot: _Snapshot


class _Probe:
    """A bounded queue of checkpoints, and the thread that digests them and writes the lines.

    The thread looks every few milliseconds by itself: to wake it would cost a caller more than
    all the rest.
    """

    def __init__(self, where: str, lines: int, room: int) -> None:
        self._where = where
        self._lines = lines
        self._memory = _Memory(room)
        self._sequence = itertools.count()
        self._waiting: Deque[_Checkpoint] = collections.deque()
        self._dropped = 0
        self._error = ""
        self._told = 0
        self._error_told = False
        self._busy = False
        self._lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None

    def take(self, name: str, buffer: Any, key: object, side: str, stream: Any) -> None:
        if self._thread is None:
            self._start()
        try:
            if len(self._waiting) >= self._lines:
                raise _NoRoomError
            snapshot = self._memory.snapshot(buffer, stream)
            sequence = next(self._sequence)
            self._waiting.append(_Checkpoint(str(name), str(side), str(key), sequence, snapshot))
        except _NoRoomError:
            self._drop(1)
        except Exception as error:  # noqa: BLE001  # whatever it is, the service goes on
            self._drop(1, repr(error))

    def say(self, text: str) -> None:
        """Writes a line of its own, now."""
        _Out(self._where).write([f"checksum_probe {text} pid={os.getpid()}\n"])

    def flush(self, timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        while self._pending():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        return True

    def _pending(self) -> bool:
        return bool(self._waiting) or self._busy or self._dropped != self._told

    def _drop(self, count: int, error: str = "") -> None:
        with self._lock:
            self._dropped += count
            self._error = self._error or error

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="checksum-probe")
                self._thread.daemon = True
                self._thread.start()

    def _run(self) -> None:
        pid = os.getpid()
        out = _Out(self._where)
        out.write([f"checksum_probe started version={VERSION} pid={pid}\n"])
        while True:
            self._busy = True
            while self._waiting:
                dropped = self._dropped
                self._drop(out.write(self._batch(f"pid={pid} dropped={dropped}")))
                self._told = dropped
            self._tell(out, pid)
            self._busy = False
            time.sleep(_LOOK_S)

    def _tell(self, out: "_Out", pid: int) -> None:
        """Writes the first error, and a number of dropped ones that no line has told."""
        if self._error and not self._error_told:
            self._error_told = True
            out.write([f"checksum_probe error={as_word(self._error)} pid={pid}\n"])
        dropped = self._dropped
        if dropped != self._told:
            out.write([f"checksum_probe pid={pid} dropped={dropped}\n"])
            self._told = dropped

    def _batch(self, ending: str) -> List[str]:
        """The lines of what waits, up to a number of bytes that are digested for them."""
        lines: List[str] = []
        digested = 0
        while self._waiting and digested < _BATCH:
            name, side, key, sequence, snapshot = self._waiting.popleft()
            digested += snapshot.size + 1000
            try:
                crc = snapshot.crc32()
            except Exception as error:  # noqa: BLE001  # of a device, say
                self._drop(1, repr(error))
                continue
            finally:
                self._memory.release(snapshot)
            lines.append(
                f"checksum_probe name={as_word(name)} side={as_word(side)} key={as_word(key)} "
                f"crc32={crc:08x} bytes={snapshot.size} seq={sequence} {ending}\n"
            )
        return lines


class _Memory:
    """Snapshots of buffers, at most `room` bytes of them, or one that is larger.

    Large copies use old memory again: new pages would take several times as long.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._held = 0
        self._kept = 0
        self._free: Dict[int, List[bytearray]] = collections.defaultdict(list)
        self._lock = threading.Lock()

    def snapshot(self, buffer: Any, stream: Any) -> _Snapshot:
        """What the buffer holds now. Errors: _NoRoomError; whatever a foreign buffer raises."""
        if type(buffer) is bytes:
            size = len(buffer)
            return self._reserved(size, lambda: _Bytes(buffer, size))
        if hasattr(buffer, "data_ptr"):
            return self._of_tensor(buffer, stream)
        view = _view(buffer)
        return self._reserved(view.nbytes, lambda: self._copied(view))

    def release(self, snapshot: _Snapshot) -> None:
        """Gives its room back."""
        memory = snapshot.memory
        with self._lock:
            self._held -= snapshot.size
            if memory is not None and self._kept + len(memory) <= self._room:
                self._kept += len(memory)
                self._free[len(memory)].append(memory)

    def _of_tensor(self, tensor: Any, stream: Any) -> _Snapshot:
        size = tensor.numel() * tensor.element_size()
        if tensor.is_cuda:
            return self._reserved(size, lambda: _pinned(tensor, stream, size))
        if tensor.device.type != "cpu":
            raise TypeError(f"a tensor on {tensor.device} cannot be read")
        flat = tensor.detach().contiguous()
        return self._reserved(size, lambda: self._copied(_at(flat.data_ptr(), size)))

    def _copied(self, view: memoryview) -> _Bytes:
        size = view.nbytes
        if size < _POOLED:
            return _Bytes(bytes(view), size)
        memory = self._old(1 << (size - 1).bit_length())
        data = memoryview(memory)[:size]
        data[:] = view
        return _Bytes(data, size, memory)

    def _old(self, capacity: int) -> bytearray:
        with self._lock:
            if self._free[capacity]:
                self._kept -= capacity
                return self._free[capacity].pop()
        return bytearray(capacity)

    def _reserved(self, size: int, make: Callable[[], _Snapshot]) -> _Snapshot:
        with self._lock:
            if self._held and self._held + size > self._room:
                raise _NoRoomError
            self._held += size
        try:
            return make()
        except BaseException:
            with self._lock:
                self._held -= size
            raise


def _view(buffer: Any) -> memoryview:
    """The buffer's bytes in row-major order, without a copy where they lie so."""
    try:
        view = memoryview(buffer)
    except (TypeError, ValueError):  # numpy has types that the buffer protocol does not know
        view = memoryview(buffer.tobytes())
    if not view.c_contiguous:
        view = memoryview(view.tobytes())
    return view.cast("B") if view.nbytes else memoryview(b"")


def _pinned(tensor: Any, stream: Any, size: int) -> _Pinned:
    """The tensor on its way to pinned memory, behind the work that its stream has so far."""
    torch: Any = sys.modules["torch"]
    if stream is None:
        stream = torch.cuda.current_stream(tensor.device)
    elif isinstance(stream, int):
        stream = torch.cuda.ExternalStream(stream, device=tensor.device)
    with torch.cuda.stream(stream):
        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError("a CUDA graph is being captured: call checkpoint outside of it")
        flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
        host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
        host.copy_(flat, non_blocking=True)
        flat.record_stream(stream)
        done = torch.cuda.Event(blocking=True)
        done.record(stream)
    return _Pinned(host, done, size)


def _at(address: int, size: int) -> memoryview:
    """The bytes at an address, without a copy."""
    if not size:
        return memoryview(b"")
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


def as_word(text: str) -> str:
    """The text as one word of a line."""
    if _PLAIN.fullmatch(text):
        return text
    encoded = text.encode("utf-8", "surrogatepass")
    return "".join(chr(c) if _PLAIN.match(chr(c)) else f"%{c:02X}" for c in encoded)


class _Out:
    """Where lines go: a descriptor to which others may write as well."""

    def __init__(self, where: str) -> None:
        self._fd = 1 if where == "stdout" else 2
        if where.startswith("/"):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            with contextlib.suppress(OSError):
                self._fd = os.open(where, flags, 0o600)

    def write(self, lines: List[str]) -> int:
        """Writes whole lines, in pieces that a pipe takes at once; how many of them were lost."""
        lost = 0
        for piece in _pieces(lines):
            try:
                self._all("".join(piece).encode())
            except OSError:
                lost += len(piece)
        return lost

    def _all(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                select.select([], [self._fd], [])


def _pieces(lines: List[str]) -> Iterator[List[str]]:
    piece: List[str] = []
    size = 0
    for line in lines:
        if piece and size + len(line) > _PIPE_BUF:
            yield piece
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    if piece:
        yield piece


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() and int(text) else default


def _begin() -> None:
    """The probe that the environment asks for; a child process begins one of its own."""
    global _probe  # noqa: PLW0603
    where = os.environ.get("CHECKSUM_PROBE", "")
    lines = _number("CHECKSUM_PROBE_LINES", 10_000)
    room = _number("CHECKSUM_PROBE_BYTES", 256 << 20)
    _probe = _Probe(where, lines, room) if where not in ("", "0") else None


def _say_imported() -> None:
    """So that who reads the log need not wait for the first call to know that we are there."""
    if _probe is not None:
        with contextlib.suppress(Exception):
            _probe.say(f"imported version={VERSION} from={as_word(__file__)}")


_probe: Optional[_Probe] = None
_begin()
_say_imported()
os.register_at_fork(after_in_child=_begin)
atexit.register(flush)
