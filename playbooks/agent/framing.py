"""Frames: two lengths, a JSON header, raw bytes. Both ends of the pipe speak them."""

import json
import struct
from typing import Any, Callable, Dict, Optional, Tuple

LENGTHS = struct.Struct("!II")
MAX_HEADER = 64 * 1024 * 1024
MAX_BODY = 1024 * 1024 * 1024
CHUNK = 4 * 1024 * 1024

Header = Dict[str, Any]
Frame = Tuple[Header, bytes]


class FrameError(Exception):
    """What came through the pipe is no frame: cut short, too long, or no JSON object."""


def write_frame(write: Callable[[bytes], object], header: Header, body: bytes = b"") -> None:
    """Hands a frame to `write`, which must take all the bytes it is given.

    The body goes in pieces of at most CHUNK bytes. Raises FrameError where a part is too long.
    """
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    if len(text) > MAX_HEADER or len(body) > MAX_BODY:
        raise FrameError(f"a frame of {len(text)} + {len(body)} bytes is too long")
    write(LENGTHS.pack(len(text), len(body)) + text)
    for start in range(0, len(body), CHUNK):
        write(body[start : start + CHUNK])


def read_frame(read: Callable[[int], bytes]) -> Optional[Frame]:
    """The next frame, or None where the pipe ends between two frames.

    `read(n)` returns 1 to n bytes, and none at the end. Raises FrameError.
    """
    lengths = _exactly(read, LENGTHS.size, at_start=True)
    if not lengths:
        return None
    header_length, body_length = LENGTHS.unpack(lengths)
    if header_length > MAX_HEADER or body_length > MAX_BODY:
        raise FrameError(f"a frame of {header_length} + {body_length} bytes is too long")
    header = _header(_exactly(read, header_length))
    return header, _exactly(read, body_length)


def _header(text: bytes) -> Header:
    try:
        header = json.loads(text)
    except ValueError as error:
        raise FrameError(f"a frame's header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise FrameError("a frame's header is not a JSON object")
    return header


def _exactly(read: Callable[[int], bytes], size: int, at_start: bool = False) -> bytes:
    parts = []
    missing = size
    while missing:
        part = read(min(missing, CHUNK))
        if not part:
            if at_start and missing == size:
                return b""
            raise FrameError(f"the pipe ended {missing} bytes before the end of a frame")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
