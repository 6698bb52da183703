"""The agent as it is sent to a host: an archive of its code, named by its hash."""

import functools
import hashlib
import inspect
import io
import zipfile
from pathlib import Path

from msgspec import Struct

import playbooks
from playbooks.agent import boot

_LONG_AGO = (1980, 1, 1, 0, 0, 0)


class Bundle(Struct, frozen=True):
    """The agent's code: a zip archive, and its SHA-256 in hexadecimal."""

    data: bytes
    digest: str

    def program(self, state_dir: str, replaces: int) -> bytes:
        """What starts it: for a Python that reads it from its standard input.

        `state_dir` is the host's state directory; where it is empty, the host decides. `replaces`
        is the pid of an agent there that is to end first, or 0.
        """
        call = f"boot({self.digest!r}, {len(self.data)}, {state_dir!r}, {replaces})\n"
        return (inspect.getsource(boot) + call).encode()


@functools.cache
def bundle() -> Bundle:
    """The agent of this version: the same code makes the same bundle."""
    root = Path(playbooks.__file__).parent
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (root / "__init__.py", *sorted((root / "agent").glob("*.py"))):
            name = path.relative_to(root.parent).as_posix()
            archive.writestr(_entry(name), path.read_bytes())
    data = buffer.getvalue()
    return Bundle(data, hashlib.sha256(data).hexdigest())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry
