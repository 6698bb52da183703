"""The operator's known_hosts files: whether a host's key is the one it had.

Read here and not by the SSH library, which gives up on a whole file for one line with a marker.
See "SSH_KNOWN_HOSTS FILE FORMAT" in sshd(8).
"""

import base64
import fnmatch
import hashlib
import hmac
import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from playbooks.hosts.connection import HostError

_AUTHORITY, _REVOKED = "@cert-authority", "@revoked"


class HostKey(Struct, frozen=True):
    """A public host key: its type, as in "ssh-ed25519", and its bytes."""

    kind: str
    blob: bytes

    @property
    def text(self) -> str:
        """As it stands in a file."""
        return f"{self.kind} {base64.b64encode(self.blob).decode()}"

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it."""
        digest = base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")
        return f"{self.kind} SHA256:{digest}"


class Line(Struct, frozen=True):
    """A line that speaks of the host: `marker` is empty for a plain one."""

    where: Path
    number: int
    marker: str
    key: HostKey

    def __str__(self) -> str:
        return f"{self.where}:{self.number}"


class KnownHosts:
    """What the files say of the host `name`, which has its port where that is not 22.

    A missing file says nothing; one that cannot be read raises HostError("ssh-config").
    """

    def __init__(self, files: Sequence[Path], name: str) -> None:
        self._files = files
        self._name = name
        self._lines = [line for file in files for line in _lines_about(file, name)]
        self._plain = [line for line in self._lines if not line.marker]

    def kinds(self) -> tuple[str, ...]:
        """The types of the keys that are known: ask the host for one of these first."""
        return tuple(dict.fromkeys(line.key.kind for line in self._plain))

    def check(self, key: HostKey, asked: str) -> None:
        """Accept the key that the host presents; `asked` is the operator's name for it.

        Raises HostError: "revoked-key", "changed-key", "unknown-key", with what to do about it.
        """
        for line in self._lines:
            if line.marker == _REVOKED and line.key == key:
                raise HostError("revoked-key", _revoked(asked, key, line), line=str(line))
        if any(line.key == key for line in self._plain):
            return
        if self._plain:
            raise HostError("changed-key", self._changed(asked, key), line=str(self._plain[0]))
        raise HostError("unknown-key", self._unknown(asked, key))

    def add(self, key: HostKey, *, hash_name: bool) -> None:
        """Append the host's key to the first file, with its name hashed on demand.

        Raises HostError("ssh-config") where that cannot be written.
        """
        name = _hashed(self._name, os.urandom(20)) if hash_name else self._name
        path = self._files[0]
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _append(path, f"{name} {key.text}\n".encode())
        except OSError as error:
            fix = (
                "name a file that you may write to, UserKnownHostsFile in the configuration of ssh"
            )
            what = f"cannot add its key to {path}: {error.strerror}; {fix}"
            raise HostError("ssh-config", what) from None

    def _changed(self, asked: str, key: HostKey) -> str:
        line = self._plain[0]
        remove = shlex.join(["ssh-keygen", "-f", str(line.where), "-R", self._name])
        return (
            f"{asked} presents the key {key.fingerprint}, but {line} has {line.key.fingerprint}: "
            "someone may be in between, or it was installed anew. If you know that it was: "
            f"{remove}, then add the new key: {self._how_to_add(key)}"
        )

    def _unknown(self, asked: str, key: HostKey) -> str:
        authority = next((line for line in self._lines if line.marker == _AUTHORITY), None)
        by = f" ({authority} trusts an authority; certificates are not read)" if authority else ""
        return (
            f"{asked} presents the key {key.fingerprint}, which is not known{by}. Compare it with "
            "the host's own (there: ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub), then: "
            f"{self._how_to_add(key)}, or say accept_new: true"
        )

    def _how_to_add(self, key: HostKey) -> str:
        if self._files[0] == Path(os.devnull):
            return "name a file that keeps it, UserKnownHostsFile in the configuration of ssh"
        line = shlex.quote(f"{self._name} {key.text}")
        return f"echo {line} >> {shlex.quote(str(self._files[0]))}"


def _revoked(asked: str, key: HostKey, line: Line) -> str:
    return (
        f"{asked} presents the key {key.fingerprint}, which {line} says is revoked: do not connect "
        "before whoever runs it has given it a new one"
    )


def _lines_about(path: Path, name: str) -> Iterator[Line]:
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return
    except OSError as error:
        raise HostError("ssh-config", f"cannot read {path}: {error.strerror}") from None
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.split()
        marker = fields.pop(0) if fields and fields[0].startswith("@") else ""
        if len(fields) >= 3 and not fields[0].startswith("#") and _is_about(fields[0], name):
            key = _key(fields[1], fields[2])
            if key:
                yield Line(path, number, marker, key)


def _key(kind: str, text: str) -> HostKey | None:
    try:
        return HostKey(kind, base64.b64decode(text, validate=True))
    except ValueError:  # a damaged line vouches for nothing
        return None


def _is_about(patterns: str, name: str) -> bool:
    """Whether the first field of a line means the host: a hashed name, or patterns with `!`."""
    if patterns.startswith("|1|"):
        return _is_hash_of(patterns, name)
    hit = False
    for pattern in patterns.lower().split(","):
        if fnmatch.fnmatchcase(name.lower(), _escaped(pattern.removeprefix("!"))):
            if pattern.startswith("!"):
                return False
            hit = True
    return hit


def _escaped(pattern: str) -> str:
    """For fnmatch: brackets are part of names here, as in [host]:port."""
    return pattern.replace("[", "[[]")


def _is_hash_of(field: str, name: str) -> bool:
    try:
        salt = base64.b64decode(field.split("|")[2], validate=True)
    except ValueError:
        return False
    return hmac.compare_digest(_hashed(name, salt).encode(), field.encode(errors="replace"))


def _hashed(name: str, salt: bytes) -> str:
    digest = hmac.digest(salt, name.encode(), "sha1")
    return "|1|{}|{}".format(*(base64.b64encode(part).decode() for part in (salt, digest)))


def _append(path: Path, line: bytes) -> None:
    """In one write, on a line of its own, whatever the file ends with."""
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(fd).st_size
        torn = size and os.pread(fd, 1, size - 1) != b"\n"
        os.write(fd, b"\n" + line if torn else line)
        if stat.S_ISREG(os.fstat(fd).st_mode):
            os.fsync(fd)
    finally:
        os.close(fd)
