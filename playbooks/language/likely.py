"""What campaign.yaml seems to say of its hosts, read before the file is checked.

Checking takes the time in which a host can be dialled. Whoever dials by this compares with the
checked file before anything is asked of a host.
"""

from pathlib import Path
from typing import TypeVar

from playbooks.language.durations import seconds
from playbooks.language.marks import Node, read
from playbooks.language.problems import LoadError
from playbooks.system import Host, Ssh

_T = TypeVar("_T", str, int, bool)


def likely_hosts(path: Path) -> tuple[Host, ...]:
    """The hosts of the campaign.yaml at `path`; none where there is any doubt."""
    try:
        document = read(path)
        if document.problems:
            return ()
        hosts = document.root.get("hosts").entries
        return tuple(_host(name, node, path.parent.resolve()) for name, node in hosts.items())
    except (LoadError, ValueError):
        return ()


def _host(name: str, node: Node, root: Path) -> Host:
    python = _said(node, "python", str)
    address = _said(node, "ssh", str)
    if address is None:
        return Host(name, None, python)
    config = _said(node, "config", str)
    reached = Ssh(
        address,
        user=_said(node, "user", str),
        port=_said(node, "port", int),
        sudo=_said(node, "sudo", bool) or False,
        accept_new=_said(node, "accept_new", bool) or False,
        state_dir=_said(node, "state_dir", str),
        connect_timeout_s=seconds(_said(node, "connect_timeout", str) or "10s"),
        config=root / config if config else None,
    )
    return Host(name, reached, python)


def _said(host: Node, key: str, kind: type[_T]) -> _T | None:
    """What is under `key`; None where nothing is. Raises ValueError where it is of no such kind."""
    value = host.get(key)
    if not value:
        return None
    if type(value.scalar) is not kind:
        raise ValueError(f"{key} is no {kind.__name__}")
    return value.scalar
