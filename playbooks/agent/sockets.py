"""Which TCP sockets listen: asked of the kernel over netlink (sock_diag(7)), or read in /proc.

The kernel walks through its whole table of connections for one reading of /proc/net/tcp. On a
machine with much memory that takes tens of milliseconds; the question over netlink takes none.
"""

import socket
import struct
from typing import Dict, FrozenSet, Iterator, Tuple

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
_ERROR, _DONE = 2, 3
_TCP_LISTEN = 10
_HEADER = struct.Struct("=IHHII")
_QUESTION = struct.Struct("=BBBxI48x")
_ANSWER = struct.Struct("=4xH62xI")
"""Of inet_diag_msg: the port, in the order of the network, and the inode."""
_LIMIT_S = 2.0
_LISTEN_IN_PROC = "0A"


def listening(ports: FrozenSet[int]) -> Dict[str, int]:
    """The inodes of the sockets that listen on one of `ports` over IPv4 or IPv6, with the port."""
    try:
        found = dict(by_netlink())
    except OSError:  # a kernel without it, or one who may not ask
        found = dict(by_proc())
    return {inode: port for inode, port in found.items() if port in ports}


def by_netlink() -> Iterator[Tuple[str, int]]:
    """The inode and the port of each socket that listens. Raises OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(_LIMIT_S)
        for family in (socket.AF_INET, socket.AF_INET6):
            question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 1 << _TCP_LISTEN)
            size = _HEADER.size + len(question)
            kernel.send(_HEADER.pack(size, _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + question)
            yield from _answers(kernel)


def _answers(kernel: socket.socket) -> Iterator[Tuple[str, int]]:
    while True:
        data = kernel.recv(1 << 16)
        while data:
            size, kind, _, _, _ = _HEADER.unpack_from(data)
            if kind == _DONE:
                return
            if kind == _ERROR:
                raise OSError("the kernel does not say which sockets listen")
            port, inode = _ANSWER.unpack_from(data, _HEADER.size)
            yield str(inode), socket.ntohs(port)
            data = data[size:]


def by_proc() -> Iterator[Tuple[str, int]]:
    """The same, out of /proc/net."""
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{name}", encoding="ascii") as file:
                rows = [line.split() for line in file][1:]
        except FileNotFoundError:  # a kernel without IPv6
            continue
        for row in rows:
            if row[3] == _LISTEN_IN_PROC:
                yield row[9], int(row[1].rpartition(":")[2], 16)
