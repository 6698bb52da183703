"""Verbs that look at processes: their effective environment, and who listens on a port."""

import hashlib
import hmac
import os
import re
from typing import Any, Dict, FrozenSet, Iterable, List, Optional, Set, Tuple

from playbooks.agent import procfs, sockets
from playbooks.agent.session import Handler, Session

_ASSIGNMENT = re.compile(rb"[^=\0]+=")
_DIGEST_HEX = 16

Reply = Tuple[Dict[str, Any], bytes]


def environ(_session: Session, request: Dict[str, Any], body: bytes) -> Reply:
    """The environment of each of `pids` as it was at its exec; `body` keys the digests.

    Plain values only of `names` (None: not set), digests (HMAC-SHA256, 16 hex digits) of all.
    """
    names = request["names"]
    return {"processes": [environ_of(pid, names, body) for pid in request["pids"]]}, b""


def environ_of(pid: int, names: List[str], key: bytes) -> Dict[str, Any]:
    """One process's environment, as the operator learns of it."""
    variables, reason = read_environ(pid)
    plain = {name: variables.get(name.encode()) for name in names} if not reason else {}
    return {
        "pid": pid,
        "readable": not reason,
        "reason": reason,
        "values": {name: _text(value) for name, value in plain.items()},
        "digest": {_text(name): _digest(key, value) for name, value in variables.items()},
    }


def _text(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode("utf-8", "backslashreplace")


def _digest(key: bytes, value: bytes) -> str:
    return hmac.new(key, value, hashlib.sha256).hexdigest()[:_DIGEST_HEX]


def read_environ(pid: int) -> Tuple[Dict[bytes, bytes], str]:
    """A process's variables, or none and the reason why they cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            data = file.read()
    except PermissionError:
        return {}, "not permitted: it belongs to another user"
    except (FileNotFoundError, ProcessLookupError):
        return {}, "there is no such process"
    if is_blanked(data):
        return {}, "blanked: the process wrote over it (setproctitle does) or has ended"
    # As getenv(3) does, take the first of two assignments of one name.
    pairs = (entry.partition(b"=")[::2] for entry in reversed(data.split(b"\0")) if entry)
    return dict(pairs), ""


def is_blanked(data: bytes) -> bool:
    """Whether /proc/PID/environ no longer holds what the process was started with.

    A process title is written over the environment: text that assigns nothing, then mostly
    NULs or blanks.
    """
    entries = [entry for entry in data.split(b"\0") if entry]
    if not entries or not all(_ASSIGNMENT.match(entry) for entry in entries):
        return True
    return 2 * sum(map(data.count, (b"\0", b" "))) > len(data)


def listening(_session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Who listens on each of `ports` (TCP over IPv4 and IPv6): [port, pids]; pid 0: unknown."""
    held = sockets.listening(frozenset(request["ports"]))
    owners = _owners(held) if held else {}
    found: Dict[int, Set[int]] = {}
    for inode, port in held.items():
        found.setdefault(port, set()).update(owners.get(inode, {0}))
    return {"ports": [[port, sorted(pids)] for port, pids in sorted(found.items())]}, b""


def _owners(inodes: Iterable[str]) -> Dict[str, Set[int]]:
    """The pids that hold these sockets open, as far as we may look."""
    links = {f"socket:[{inode}]": inode for inode in inodes}
    owners: Dict[str, Set[int]] = {}
    for pid in procfs.table():
        for link in _open_files(pid):
            if link in links:
                owners.setdefault(links[link], set()).add(pid)
    return owners


def _open_files(pid: int) -> List[str]:
    folder, found = f"/proc/{pid}/fd", []
    try:
        for name in os.listdir(folder):
            found.append(os.readlink(f"{folder}/{name}"))
    except OSError:  # not ours to look at, or gone, or closed in between
        pass
    return found


VERBS: Dict[str, Handler] = {"environ": environ, "listening": listening}
SLOW_VERBS: FrozenSet[str] = frozenset()
