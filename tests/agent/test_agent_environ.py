"""Effective environments and the owners of ports."""

import hashlib
import hmac
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from playbooks.agent import sockets
from playbooks.agent.processes import is_blanked
from playbooks.hosts.host import Host

BLANK = """
import ctypes, sys
fields = open("/proc/self/stat", "rb").read().rpartition(b")")[2].split()
start, end = int(fields[47]), int(fields[48])
title = {title!r}
ctypes.memset(start, 0, end - start)
ctypes.memmove(start, title, len(title))
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def running(code: str, env: dict[str, str]) -> Iterator[int]:
    """A process that has said it is ready, ended with the block."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child.pid
        child.send_signal(signal.SIGKILL)


def test_values_of_the_names_asked_for_and_digests_of_all(host: Host) -> None:
    env = {"MODE": "one=1", "EMPTY": "", "SECRET": "hush"}
    with running("print(1, flush=True); input()", env) as pid:
        (seen,) = host.environ([pid], ["MODE", "EMPTY", "MISSING"], b"key")
    assert (seen.pid, seen.readable, seen.reason) == (pid, True, "")
    assert seen.values == {"MODE": "one=1", "EMPTY": "", "MISSING": None}
    expected = hmac.new(b"key", b"hush", hashlib.sha256).hexdigest()[:16]
    assert seen.digest.keys() == env.keys()
    assert seen.digest["SECRET"] == expected


@pytest.mark.parametrize("title", [b"", b"worker: ready", b"sglang::scheduler"])
def test_a_blanked_environment_is_unreadable(host: Host, title: bytes) -> None:
    with running(BLANK.format(title=title), {"MODE": "one", "LONG": "x" * 100}) as pid:
        (seen,) = host.environ([pid], ["MODE"], b"key")
    assert not seen.readable
    assert "setproctitle" in seen.reason
    assert (seen.values, seen.digest) == ({}, {})


@pytest.mark.parametrize(
    ("data", "blanked"),
    [
        (b"", True),
        (b"\0\0\0", True),
        (b"MODE=one\0", False),
        (b"A=\0B=\0", False),
        (b"TEXT=many words with blanks in between\0", False),
        (b"worker: title\0MODE=one\0", True),
        (b"title=odd" + b"\0" * 40, True),
        (b"postgres: writer" + b" " * 40, True),
        (b"=odd\0", True),
    ],
)
def test_what_counts_as_blanked(data: bytes, blanked: bool) -> None:
    assert is_blanked(data) is blanked


def test_a_process_that_is_gone(host: Host) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    (seen,) = host.environ([child.pid], [], b"key")
    assert (seen.readable, seen.reason) == (False, "there is no such process")


@pytest.mark.parametrize(
    ("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_who_listens(host: Host, family: socket.AddressFamily, address: str) -> None:
    with socket.socket(family) as listener, socket.socket(family) as deaf:
        try:
            listener.bind((address, 0))
        except OSError:
            pytest.skip(f"no {address} on this machine")
        deaf.bind((address, 0))
        listener.listen()
        port, other = listener.getsockname()[1], deaf.getsockname()[1]
        found = host.listening([port, other])
        assert list(found) == [port]
        assert os.getpid() in found[port]  # a child between its fork and its exec holds it, too
    assert host.listening([port]) == {}


@pytest.mark.parametrize("way", [sockets.by_netlink, sockets.by_proc])
def test_the_kernel_and_proc_tell_of_the_same_sockets(
    way: Callable[[], Iterator[tuple[str, int]]],
) -> None:
    def inode(one: socket.socket) -> str:
        return str(os.fstat(one.fileno()).st_ino)

    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        with socket.create_connection(listener.getsockname()) as connected:
            found, others = dict(way()), {inode(deaf), inode(connected)}
        assert found[inode(listener)] == listener.getsockname()[1]
        assert not others & found.keys()


def test_sockets_are_read_in_proc_where_the_kernel_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused() -> Iterator[tuple[str, int]]:
        raise PermissionError

    monkeypatch.setattr(sockets, "by_netlink", refused)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert list(sockets.listening(frozenset([port])).values()) == [port]
