"""Units of a user's own manager, on a real machine: no root, and no sudo."""

import json
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until
from toy import SOURCE, Toy, make

from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Change, Host
from playbooks.hosts.specs import UnitSpec
from playbooks.hosts.ssh_config import SshTarget
from playbooks.system import HealthCheck, LogProbe

pytestmark = pytest.mark.hosts

Reach = Callable[..., SshTarget]
OpenHost = Callable[..., Host]

USER = "guest"
UNITS = f"/home/{USER}/.config/systemd/user"


@dataclass(frozen=True)
class UserUnit:
    """A unit of the manager of USER."""

    machine: Machine
    name: str

    @property
    def spec(self) -> UnitSpec:
        return UnitSpec("svc", self.name, user=True)

    def service(self, text: str) -> None:
        """Its [Service] section, read at once."""
        self.as_user("mkdir", "-p", UNITS)
        (self.machine.root / f"{UNITS}/{self.name}".lstrip("/")).write_text(f"[Service]\n{text}")
        self.systemctl("daemon-reload")

    def systemctl(self, *words: str, check: bool = True) -> str:
        return self.as_user("systemctl", "--user", *words, check=check)

    def as_user(self, *words: str, check: bool = True) -> str:
        uid = self.machine.run("id", "-u", USER).strip()
        place = f"XDG_RUNTIME_DIR=/run/user/{uid}"
        return self.machine.run("runuser", "-u", USER, "--", "env", place, *words, check=check)

    def show(self, name: str) -> str:
        return self.systemctl("show", "--value", "-p", name, self.name).strip()


@pytest.fixture
def svc(alpha: Machine, request: pytest.FixtureRequest) -> Iterator[UserUnit]:
    """A unit of a user whose manager lingers, and who may read the journal."""
    alpha.run("usermod", "--append", "--groups", "systemd-journal", USER)
    alpha.run("loginctl", "enable-linger", USER)
    made = UserUnit(alpha, f"own-{zlib.crc32(request.node.name.encode()):x}.service")
    is_up = ("is-system-running", "--wait")
    wait_until(lambda: made.systemctl(*is_up, check=False).strip(), 60, "the user's manager")
    try:
        yield made
    finally:
        made.systemctl("stop", made.name, check=False)
        alpha.run("rm", "-rf", f"{UNITS}/{made.name}", f"{UNITS}/{made.name}.d")
        made.systemctl("daemon-reload", check=False)


@pytest.fixture
def host(svc: UserUnit, reach: Reach, open_host: OpenHost) -> Host:
    assert svc.systemctl("show-environment")
    return open_host(reach("alpha", user=USER))


def test_it_is_started_watched_and_stopped(host: Host, svc: UserUnit) -> None:
    """Its processes are those of its own cgroup, below the user's manager."""
    svc.service("ExecStart=/bin/sh -c 'sleep 610 & echo ready; exec sleep 611'\n")
    assert not host.service_state(svc.spec).running
    started = host.service_start(svc.spec)
    host.await_health(svc.spec, [HealthCheck(LogProbe("^ready$"), timeout_s=30)], started)
    state = host.service_state(svc.spec)
    assert (state.running, state.pid) == (True, started.pid)

    def commands() -> list[str]:
        return [one.command for one in host.service_state(svc.spec).processes]

    wait_until(lambda: commands() == ["sleep 611", "sleep 610"], 60, "both programs")
    assert b"ready\n" in b"".join(host.service_log(svc.spec, started.cursor))
    assert not host.service_stop(svc.spec, 10).killed
    assert host.service_state(svc.spec).processes == ()


def test_a_drop_in_takes_effect_at_the_next_start(host: Host, svc: UserUnit) -> None:
    svc.service("ExecStart=/bin/sh -c 'echo MODE=$MODE; exec sleep 612'\n")
    root, path = f"/home/{USER}", f".config/systemd/user/{svc.name}.d/zz-campaign.conf"
    host.apply([Change(root, path, None, b"[Service]\nEnvironment=MODE=safe\n")], run="run-1")
    started = host.service_start(svc.spec)
    assert host.environ([started.pid or 0], ("MODE",), b"key")[0].values == {"MODE": "safe"}
    facts = host.unit_facts(svc.spec)
    assert facts.fragment == f"{UNITS}/{svc.name}"
    assert facts.dropins == (f"{root}/{path}",)
    host.put_back()
    host.service_stop(svc.spec, 10)
    again = host.service_start(svc.spec)
    assert host.environ([again.pid or 0], ("MODE",), b"key")[0].values == {"MODE": None}


def test_why_it_does_not_run(host: Host, svc: UserUnit) -> None:
    """journald asks whose a line is when it reads it: the process has to be there still."""
    svc.service("ExecStart=/bin/sh -c 'echo no GPU; sleep 1; exit 3'\n")
    started, never = host.service_start(svc.spec), HealthCheck(LogProbe("serving"))
    with pytest.raises(HostError) as refused:
        host.await_health(svc.spec, [never], started)
    assert (refused.value.kind, "exit code 3" in refused.value.message) == ("crashed", True)
    assert "no GPU" in refused.value.detail["log"]


def test_a_user_without_a_manager_is_told(svc: UserUnit, reach: Reach, open_host: OpenHost) -> None:
    host = open_host(reach("alpha", user="typist"))
    with pytest.raises(HostError, match="loginctl enable-linger") as refused:
        host.service_state(svc.spec)
    assert refused.value.kind == "no-systemd"


CAMPAIGN = """\
campaign: own
symptom: every fifth trial fails while the bug is in
hosts:
  here: {{local: true}}
  there: {{ssh: alpha, config: {config}, user: guest, python: /usr/bin/python3}}
services:
  app:
    host: there
    systemd: {{unit: {unit}, user: true}}
    env: {{via: dropin, path: {units}/{unit}.d/zz-campaign.conf}}
    health: [{{http: "http://127.0.0.1:{port}/health", timeout: 20s, settle: 20ms}}]
    ports: [{port}]
reproducers:
  trials:
    command: [{python}, -S, repro.py, "{port}", "{{{{ trials }}}}"]
    on: here
    timeout: 2m
    on_timeout: censored
    parse: {{jsonl: {{outcome: outcome, key: key, fail: [bad], pass: [good]}}}}
"""


@pytest.fixture
def own(svc: UserUnit, ssh_config: Path, tmp_path: Path) -> Toy:
    """The toy workspace, its service a unit of the user's manager, and up."""
    toy = make(tmp_path / "toy")
    there = f"/home/{USER}/{svc.name}.src"
    shutil.copytree(SOURCE / "src", svc.machine.root / there[1:])
    svc.machine.run("chown", "-R", f"{USER}:", there)
    python = f"/usr/bin/python3 -S -B {there}/app.py"
    svc.service(f"ExecStart={python}\nEnvironment=PORT={toy.port} MODE=plain\n")
    words = {"config": ssh_config, "unit": svc.name, "units": UNITS, "port": toy.port}
    config = CAMPAIGN.format(**words, python=sys.executable)
    (toy.root / "campaign.yaml").write_text(config)
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    assert toy.run("services", "start").stdout == "started app\n"
    return toy


def test_a_campaign_on_it(own: Toy, svc: UserUnit) -> None:
    """Its environment is changed by a drop-in of the user's, proven, and put back."""
    before = svc.show("InvocationID")
    done = own.run("run", "baseline", "safe-mode", "-y", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(own.run("runs", "show", "safe-mode", "--json").stdout)
    assert {one["effect"] for one in shown["states"]} == {"effective"}
    assert own.ask("/env") == "plain"
    assert svc.show("InvocationID") != before
    assert svc.show("DropInPaths") == ""
    assert own.run("recover").stdout == "Nothing to recover.\n"
