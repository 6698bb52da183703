"""Two real machines for the tests of this folder, shared by all of a test run, and ways in."""

import contextlib
import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hosts_machine import Machine, missing, open_room
from msgspec.structs import replace

from playbooks.hosts.host import Host
from playbooks.hosts.ssh import SshChannel
from playbooks.hosts.ssh_config import SshTarget

Reach = Callable[..., SshTarget]
OpenHost = Callable[..., Host]


@pytest.fixture(scope="session")
def machines(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[dict[str, Machine]]:
    """The machines by name: alpha and beta. Skips, or fails where they are required."""
    shared = _shared(tmp_path_factory, pytestconfig)
    _require_machines(pytestconfig, shared)
    with open_room(shared / "machines") as room:
        for machine in room.values():
            _without_generators(machine)
        yield room


@pytest.fixture(scope="session")
def _spare(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[tuple[Machine, int]]:
    """A machine of which nothing is asked but to be broken, and a lock on it."""
    shared = _shared(tmp_path_factory, pytestconfig)
    _require_machines(pytestconfig, shared)
    with open_room(shared / "spare", ("gamma",)) as room:
        lock = os.open(shared / "gamma.lock", os.O_RDWR | os.O_CREAT)
        _without_generators(room["gamma"])
        yield room["gamma"], lock
        os.close(lock)


@pytest.fixture
def gamma(_spare: tuple[Machine, int]) -> Iterator[Machine]:
    """A machine that the test has for itself: it may end its sshd, and boot it again."""
    machine, lock = _spare
    fcntl.flock(lock, fcntl.LOCK_EX)
    yield machine
    fcntl.flock(lock, fcntl.LOCK_UN)


def _without_generators(machine: Machine) -> None:
    """Masks them all: they make no unit that a test needs, at half the time of a daemon-reload."""
    masks = machine.root / "etc/systemd/system-generators"
    masks.mkdir(exist_ok=True)
    for generator in (machine.root / "usr/lib/systemd/system-generators").iterdir():
        with contextlib.suppress(FileExistsError):
            (masks / generator.name).symlink_to("/dev/null")


def _shared(tmp_path_factory: pytest.TempPathFactory, config: pytest.Config) -> Path:
    """The folder of all workers of this test run."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if hasattr(config, "workerinput") else base


def _require_machines(config: pytest.Config, shared: Path) -> None:
    """Skips where no machine can be booted, or fails where they are required."""
    why = missing()
    if why and os.environ.get("CAMPAIGN_REQUIRE_HOSTS") == "1":
        pytest.fail(f"the tests on real machines are required, and {why}")
    if why:
        _say_once(config, shared, f"SKIPPED: all tests on real machines, {why}")
        pytest.skip(why)


def _say_once(config: pytest.Config, shared: Path, line: str) -> None:
    """Past pytest's capture, by the first worker that comes here."""
    with contextlib.suppress(FileExistsError):
        (shared / "said").touch(exist_ok=False)
        capture = config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            sys.stderr.write(f"\n{line}\n")
            sys.stderr.flush()


@pytest.fixture
def alpha(machines: dict[str, Machine]) -> Machine:
    return machines["alpha"]


@pytest.fixture
def beta(machines: dict[str, Machine]) -> Machine:
    return machines["beta"]


@pytest.fixture
def ssh_config(machines: dict[str, Machine], tmp_path: Path) -> Path:
    """An operator's configuration that knows both machines by name, and their keys."""
    known = "".join(f"{each.address} {each.host_key}\n" for each in machines.values())
    (tmp_path / "known_hosts").write_text(known)
    path = tmp_path / "ssh_config"
    aliases = "".join(f"Host {m.name}\n  HostName {m.address}\n" for m in machines.values())
    path.write_text(
        f"{aliases}Host *\n  User root\n  IdentityFile {machines['alpha'].key}\n"
        f"  IdentityAgent none\n  UserKnownHostsFile {tmp_path / 'known_hosts'}\n"
        "  GlobalKnownHostsFile none\n"
    )
    return path


@pytest.fixture
def reach(ssh_config: Path, request: pytest.FixtureRequest) -> Reach:
    """A target by its name; each test has a state directory of its own there."""
    state = f"/var/tmp/{request.node.name.translate(str.maketrans('[]/: ', '-----'))}"

    def target(name: str, **fields: object) -> SshTarget:
        made = SshTarget(name, config=ssh_config, python="/usr/bin/python3", state_dir=state)
        return replace(made, **fields)  # type: ignore[arg-type]

    return target


@pytest.fixture
def open_host() -> Iterator[OpenHost]:
    """Opens any number of agents; all are closed at the end."""
    with contextlib.ExitStack() as stack:

        def opened(
            target: SshTarget,
            *,
            lock: bool = True,
            run: str = "run-1",
            replaces: int = 0,
            takes_over: bool = False,
        ) -> Host:
            channel = SshChannel(target, replaces=replaces)
            stack.callback(channel.close)
            host = Host.open(channel, lock=lock, who="tester", run=run, takes_over=takes_over)
            stack.callback(host.close)
            return host

        yield opened
