"""Ports for what tests start: none is given to two tests at once."""

import os
import socket
import weakref


def free_port(owner: object) -> int:
    """A port, on all addresses, that nobody else is given as a free one while `owner` lives.

    A socket that does not listen keeps it. Servers say SO_REUSEADDR, so they may listen all the
    same, and again after a restart; a service that is down does not lose it to another test.
    """
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind(("", 0))
        port: int = keeper.getsockname()[1]
        weakref.finalize(owner, os.close, keeper.detach())
    return port
