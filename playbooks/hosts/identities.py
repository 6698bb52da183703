"""The public halves of an operator's keys, and the certificates that an authority gave them.

Their files are one line: type, base64, comment (sshd(8), AUTHORIZED_KEYS). What the base64 holds is
in PROTOCOL.certkeys of OpenSSH: a certificate is the key's type with a suffix, a nonce, and then
the key's own numbers before all else.
"""

import base64
import binascii
from collections.abc import Iterable
from pathlib import Path

_SUFFIX = b"-cert-v01@openssh.com"


def public(path: Path) -> bytes | None:
    """The public half that lies beside a private key; None where there is none to be read."""
    return _blob(path.with_name(path.name + ".pub"))


def beside(path: Path) -> Path:
    """Where the certificate of a private key lies if nothing else is said."""
    return path.with_name(path.name + "-cert.pub")


def certificate(key: bytes, places: Iterable[Path]) -> Path | None:
    """The first of `places` that holds a certificate of the public half `key`."""
    return next((one for one in places if _certifies(_blob(one), key)), None)


def _certifies(certificate: bytes | None, key: bytes) -> bool:
    if certificate is None:
        return False
    kind, numbers = _string(key)
    given, rest = _string(certificate)
    _, rest = _string(rest)
    return given == kind + _SUFFIX and rest.startswith(numbers)


def _string(data: bytes) -> tuple[bytes, bytes]:
    """The first string of `data`, which its length stands before, and what follows."""
    end = 4 + int.from_bytes(data[:4], "big")
    return data[4:end], data[end:]


def _blob(path: Path) -> bytes | None:
    try:
        words = path.read_bytes().split()
        return base64.b64decode(words[1], validate=True)
    except (OSError, IndexError, binascii.Error):
        return None
