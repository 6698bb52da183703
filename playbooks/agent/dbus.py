"""Calls over D-Bus, as far as it takes to talk with systemd; nothing is started for it.

See the D-Bus Specification 0.41: Message Protocol, Authentication Protocol.
"""

import os
import socket
import struct
from typing import Any, Dict, List, Tuple

_CALL, _REPLY, _ERROR = 1, 2, 3
_PATH, _INTERFACE, _MEMBER, _ERROR_NAME, _REPLY_TO, _DESTINATION, _SIGNATURE = 1, 2, 3, 4, 5, 6, 8
_FIXED = {
    "y": ("B", 1),
    "b": ("I", 4),
    "n": ("h", 2),
    "q": ("H", 2),
    "i": ("i", 4),
    "u": ("I", 4),
    "x": ("q", 8),
    "t": ("Q", 8),
    "d": ("d", 8),
    "h": ("I", 4),
}
_ALIGNED = {"s": 4, "o": 4, "a": 4, "g": 1, "v": 1, "(": 8, "{": 8}
_LONGEST = 1 << 27
_PIECE = 1 << 16


class CallError(Exception):
    """The other side refused a call: `name` is the error's, the text for people."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name


class Bus:
    """A connection to the socket at `path`, which is a bus, or with `peer` a service's own.

    Raises OSError where nobody listens there, or does not let us in.
    """

    def __init__(self, path: str, *, peer: bool, limit_s: float) -> None:
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._serial = 0
        try:
            self._line.settimeout(limit_s)
            self._line.connect(path)
            self._log_in()
            if not peer:
                own = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
                self.call(*own, "Hello")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._line.close()

    def call(self, service: str, path: str, interface: str, member: str, *texts: str) -> List[Any]:
        """Calls a method whose arguments are strings; what it returns.

        Raises CallError where it refused, OSError where nobody answers.
        """
        self._serial += 1
        fields = [(_PATH, "o", path), (_INTERFACE, "s", interface), (_MEMBER, "s", member)]
        fields.append((_DESTINATION, "s", service))
        if texts:
            fields.append((_SIGNATURE, "g", "s" * len(texts)))
        self._line.sendall(_message(self._serial, fields, texts))
        while True:
            kind, found, body = self._receive()
            if found.get(_REPLY_TO) != self._serial:
                continue
            if kind == _REPLY:
                return body
            text = body[0] if body and isinstance(body[0], str) else ""
            raise CallError(str(found.get(_ERROR_NAME)), text)

    def _log_in(self) -> None:
        """As systemd's own clients do: all at once, then waits for both answers.

        A message that came together with BEGIN would lie there until the next one comes.
        """
        uid = str(os.geteuid()).encode().hex().encode()
        self._line.sendall(b"\0AUTH EXTERNAL " + uid + b"\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n")
        accepted, _ = self._answer(), self._answer()
        if not accepted.startswith(b"OK"):
            raise ConnectionError("it does not let us in")

    def _answer(self) -> bytes:
        """A line of the conversation before the messages."""
        line = b""
        while not line.endswith(b"\r\n"):
            piece = self._line.recv(1)
            if not piece or len(line) > _PIECE:
                raise ConnectionError("it does not let us in")
            line += piece
        return line

    def _receive(self) -> Tuple[int, Dict[int, Any], List[Any]]:
        """The next message: its type, its fields, its arguments."""
        head = self._exactly(16)
        order = "<" if head[:1] == b"l" else ">"
        body_length, _, fields_length = struct.unpack(order + "III", head[4:])
        padded = (fields_length + 7) & ~7
        if padded + body_length > _LONGEST:
            raise ConnectionError("a message of it is too long")
        rest = self._exactly(padded + body_length)
        fields = dict(_Reader(order, head + rest[:fields_length], 12).value("a(yv)"))
        signature = str(fields.get(_SIGNATURE, ""))
        body = _Reader(order, rest[padded:], 0)
        return head[1], fields, [body.value(one) for one in _types(signature)]

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._line.recv(min(size - len(data), _PIECE))
            if not piece:
                raise ConnectionError("it hung up")
            data += piece
        return bytes(data)


def _message(serial: int, fields: List[Tuple[int, str, str]], texts: Tuple[str, ...]) -> bytes:
    body = bytearray()
    for text in texts:
        _put_text(body, text)
    listed = bytearray()
    for code, kind, value in fields:
        listed += bytes(-len(listed) % 8)
        listed += bytes((code, 1)) + kind.encode() + b"\0"
        if kind == "g":
            listed += bytes((len(value),)) + value.encode() + b"\0"
        else:
            _put_text(listed, value)
    head = struct.pack("<cBBBIII", b"l", _CALL, 0, 1, len(body), serial, len(listed))
    return head + bytes(listed) + bytes(-len(listed) % 8) + bytes(body)


def _put_text(data: bytearray, text: str) -> None:
    raw = text.encode()
    data += bytes(-len(data) % 4)
    data += struct.pack("<I", len(raw)) + raw + b"\0"


def _types(signature: str) -> List[str]:
    """The single complete types that a signature is made of."""
    found, start = [], 0
    while start < len(signature):
        end = _end(signature, start)
        found.append(signature[start:end])
        start = end
    return found


def _end(signature: str, start: int) -> int:
    """Where the single complete type that begins at `start` ends."""
    while signature[start] == "a":
        start += 1
    if signature[start] not in "({":
        return start + 1
    depth = 0
    while True:
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(signature[start], 0)
        start += 1
        if depth == 0:
            return start


class _Reader:
    """Reads values from `data` one after another; alignment counts from its beginning."""

    def __init__(self, order: str, data: bytes, at: int) -> None:
        self._order, self._data, self._at = order, data, at

    def value(self, kind: str) -> Any:
        """A value of one type: numbers, texts, lists, tuples; entries of a dict are pairs."""
        first = kind[0]
        if first in _FIXED:
            return self._fixed(first)
        self._align(_ALIGNED[first])
        if first in "so":
            return self._text(self._fixed("u"))
        if first == "g":
            return self._text(self._fixed("y"))
        if first == "v":
            return self.value(self._text(self._fixed("y")))
        if first == "a":
            return self._list(kind[1:])
        return tuple(self.value(one) for one in _types(kind[1:-1]))

    def _align(self, size: int) -> None:
        self._at += -self._at % size

    def _fixed(self, kind: str) -> Any:
        code, size = _FIXED[kind]
        self._align(size)
        (found,) = struct.unpack_from(self._order + code, self._data, self._at)
        self._at += size
        return bool(found) if kind == "b" else found

    def _text(self, size: int) -> str:
        raw = self._data[self._at : self._at + size]
        self._at += size + 1
        return raw.decode("utf-8", "replace")

    def _list(self, kind: str) -> Any:
        size = self._fixed("u")
        self._align(_FIXED[kind[0]][1] if kind[0] in _FIXED else _ALIGNED[kind[0]])
        end = self._at + size
        if kind == "y":
            found, self._at = self._data[self._at : end], end
            return found
        values = []
        while self._at < end:
            values.append(self.value(kind))
        return values
