"""The engine's cycle and its way back, over units of a real systemd."""

import hashlib
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until
from systemd_units import TestUnit, unit

from campaign.engine import cycle
from campaign.engine.hosts import NO_SERVICES
from campaign.engine.lived import CycleFailed
from campaign.engine.putback import put_back
from playbooks.env import dropins, scripts
from playbooks.hosts.host import Change, Host
from playbooks.hosts.ssh_config import SshTarget
from playbooks.services.specs import specs_of
from playbooks.system import (
    EnvMethod,
    HealthCheck,
    Service,
    System,
    SystemdSpec,
    TcpProbe,
)
from playbooks.system import Host as HostOf

pytestmark = pytest.mark.hosts

Reach = Callable[..., SshTarget]
OpenHost = Callable[..., Host]

SERVE = """\
#!/bin/sh
# serves a port
export MODE=slow
exec /usr/bin/python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", {port})); time.sleep(600)'
"""


class OneHost(dict[str, Host]):
    """The hosts of a run: this one, which is never lost."""

    services = NO_SERVICES

    def names(self) -> tuple[str, ...]:
        return tuple(self)


@pytest.fixture
def host(reach: Reach, open_host: OpenHost) -> Host:
    return open_host(reach("alpha"))


@pytest.fixture
def port(request: pytest.FixtureRequest) -> int:
    """The first of two ports that no other test uses."""
    return 31000 + zlib.crc32(request.node.name.encode()) % 500 * 2


@pytest.fixture
def units(alpha: Machine, port: int) -> Iterator[dict[str, TestUnit]]:
    names = f"prefill-{port}.service", f"decode-{port}.service"
    with unit(alpha, names[0]) as prefill, unit(alpha, names[1]) as decode:
        for one, own in ((prefill, port), (decode, port + 1)):
            script = f"/opt/{one.name}.sh"
            one.write(script, SERVE.format(port=own))
            alpha.run("chmod", "755", script)
            one.service(f"ExecStart={script}\n")
        yield {"prefill": prefill, "decode": decode}


@pytest.fixture
def system(units: dict[str, TestUnit], port: int, tmp_path: Path) -> System:
    def service(name: str, env: EnvMethod, own: int) -> Service:
        check = HealthCheck(TcpProbe(f"127.0.0.1:{own}"), timeout_s=20)
        return Service(name, "alpha", SystemdSpec(units[name].name), env, (check,), (own,))

    script = EnvMethod("script", f"/opt/{units['prefill'].name}.sh")
    dropin = EnvMethod("dropin", dropins.default_path(units["decode"].name))
    services = (service("prefill", script, port), service("decode", dropin, port + 1))
    return System(
        "pd", "leaks", tmp_path, {"alpha": HostOf("alpha")},
        {one.name: one for one in services}, (("prefill", "decode"),),
    )  # fmt: skip


def edit(host: Host, system: System) -> None:
    """Sets MODE=fast in the serve script of one, LEVEL=9 in a drop-in of the other."""
    prefill, decode = system.services.values()
    assert prefill.env
    assert decode.env
    _, script = host.read(*prefill.env.place)
    assert script is not None
    scripted = scripts.edit(script, {"MODE": "fast"}, ())
    changes = [
        Change(*prefill.env.place, hashlib.sha256(script).hexdigest(), scripted),
        Change(*decode.env.place, None, dropins.edit(None, {"LEVEL": "9"}, ()), 0o644),
    ]
    specs = specs_of(system, "alpha")
    host.note_restart(list(system.services), run="run-1", specs=specs)
    host.apply(changes, run="run-1", specs=specs)


def test_both_are_restarted_changed_and_put_back(
    host: Host, system: System, units: dict[str, TestUnit], alpha: Machine
) -> None:
    hosts = OneHost(alpha=host)
    services = tuple(system.services.values())
    before = cycle.restart(services, hosts, system.restart_groups, None)  # type: ignore[arg-type]
    host.settle()
    scripts = [alpha.root / "opt" / f"{one.name}.sh" for one in units.values()]
    were = {path: (path.read_bytes(), path.stat()) for path in scripts}
    edit(host, system)
    lived = cycle.restart(services, hosts, system.restart_groups, None)  # type: ignore[arg-type]
    assert lived.killed == []
    assert lived.healthy_at is not None
    assert lived.started["decode"].pid != before.started["decode"].pid
    assert units["prefill"].environ()["MODE"] == "fast"
    assert units["decode"].environ()["LEVEL"] == "9"
    restored = put_back(hosts)  # type: ignore[arg-type]
    assert not restored.dirty
    assert len(restored.paths) == 2
    assert [one.services for one in restored.cycles] == [("prefill", "decode")]
    assert "LEVEL" not in units["decode"].environ()
    assert units["prefill"].environ()["MODE"] == "slow"
    for path, (content, stat) in were.items():
        now = path.stat()
        assert path.read_bytes() == content
        assert (now.st_mode, now.st_mtime_ns) == (stat.st_mode, stat.st_mtime_ns)
    assert not (alpha.root / f"etc/systemd/system/{units['decode'].name}.d").exists()
    assert not host.journal().outstanding
    again = put_back(hosts)  # type: ignore[arg-type]
    assert (again.paths, again.cycles) == ((), ())


def test_an_old_process_that_holds_the_port_is_named(
    host: Host, system: System, alpha: Machine, port: int
) -> None:
    hosts = OneHost(alpha=host)
    services = tuple(system.services.values())
    address = f"('127.0.0.1', {port + 1})"
    code = f"import socket, time; s = socket.create_server({address}); time.sleep(60)"
    alpha.run("systemd-run", "--unit=old-one", "/usr/bin/python3", "-c", code)
    wait_until(lambda: host.listening([port + 1]).get(port + 1), 60, "the old one to listen")
    pid = alpha.run("systemctl", "show", "-P", "MainPID", "old-one.service").strip()
    try:
        with pytest.raises(
            CycleFailed, match=f"port {port + 1} of decode is still held by .*{pid}"
        ):
            cycle.restart(services, hosts, system.restart_groups, None)  # type: ignore[arg-type]
    finally:
        alpha.run("systemctl", "stop", "old-one.service")


def test_a_host_that_has_only_its_journal_recovers(
    host: Host,
    system: System,
    units: dict[str, TestUnit],
    reach: Reach,
    open_host: OpenHost,
) -> None:
    cycle.restart(tuple(system.services.values()), OneHost(alpha=host), (), None)  # type: ignore[arg-type]
    host.settle()
    edit(host, system)
    host.service_stop(units["decode"].spec, 5)
    host.close()
    hosts = OneHost(alpha=open_host(reach("alpha"), run="recover"))
    restored = put_back(hosts)  # type: ignore[arg-type]
    assert not restored.dirty
    assert [one.services for one in restored.cycles] == [("prefill", "decode")]
    assert units["decode"].show("ActiveState") == "active"
    assert "LEVEL" not in units["decode"].environ()
