"""Real agents over real pipes, each with a state directory of its own."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from playbooks.hosts.host import Host
from playbooks.hosts.local import LocalChannel

OpenHost = Callable[..., Host]


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return tmp_path / "host"


@pytest.fixture
def open_host(state_dir: Path) -> Iterator[OpenHost]:
    """Opens any number of agents on one state directory; all are closed at the end."""
    with contextlib.ExitStack() as stack:

        def opened(
            *,
            lock: bool = True,
            run: str = "run-1",
            environ: Mapping[str, str] | None = None,
            lease_s: float = 600.0,
            takes_over: bool = False,
        ) -> Host:
            channel = LocalChannel(state_dir, environ=environ)
            stack.callback(channel.close)
            host = Host.open(
                channel, lock=lock, who="tester", run=run, lease_s=lease_s, takes_over=takes_over
            )
            stack.callback(host.close)
            return host

        yield opened


@pytest.fixture
def host(open_host: OpenHost) -> Host:
    """An open agent that holds its host's lock."""
    return open_host()
