"""What a real systemd gives to a service, set by each method; and who wins."""

import os
import zlib
from collections.abc import Callable, Iterator, Mapping

import pytest
from hosts_machine import Machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from systemd_units import TestUnit, unit

from playbooks.agent.envfile import EnvFileError
from playbooks.env import dropins, env_files, methods
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.ssh_config import SshTarget
from playbooks.services import precedence
from playbooks.system import EnvMethod, Service, SystemdSpec

pytestmark = pytest.mark.hosts

Reach = Callable[..., SshTarget]
OpenHost = Callable[..., Host]

ODD = [
    "",
    " ",
    "two  words ",
    "it's",
    'say "hi"',
    "back\\slash \\n \\",
    "$HOME ${HOME} $$ %h %% 100%",
    "`date` $(date)",
    "tab\there",
    "# no comment",
    "; neither",
    "é 火 \U0001f525",
    "a=b=c",
    "-x !y *",
]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
MANY = st.lists(TEXT, min_size=40, max_size=40)
SLOW = settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def svc(alpha: Machine, request: pytest.FixtureRequest) -> Iterator[TestUnit]:
    with unit(alpha, f"env-{zlib.crc32(request.node.name.encode()):x}.service") as made:
        yield made


@pytest.fixture
def host(reach: Reach, open_host: OpenHost) -> Host:
    return open_host(reach("alpha"))


def kept(edit: Callable[[Mapping[str, str]], bytes], values: list[str]) -> dict[str, str]:
    """The variables of these values that the editor does not refuse."""
    found = {}
    for number, value in enumerate(values):
        try:
            edit({f"V{number}": value})
        except EnvFileError:
            continue
        found[f"V{number}"] = value
    return found


def seen(svc: TestUnit, text: str) -> dict[str, str]:
    """The environment of a command that such a unit runs."""
    out = f"/run/{svc.name}.out"
    svc.service(f"{text}Type=oneshot\nExecStart=/bin/sh -c 'cat /proc/self/environ > {out}'\n")
    svc.machine.run("systemctl", "start", svc.name)
    pairs = (svc.machine.root / out.lstrip("/")).read_bytes().decode().split("\0")
    return dict(pair.partition("=")[::2] for pair in pairs if pair)


def through_dropin(svc: TestUnit, values: list[str]) -> None:
    wanted = kept(lambda one: dropins.edit(None, one, ()), values)
    path = f"/etc/systemd/system/{svc.name}.d/{dropins.NAME}"
    text = dropins.edit(None, wanted, ())
    assert dropins.read(text) == wanted
    svc.write(path, text.decode())
    found = seen(svc, "Environment=V0=weaker\n")
    assert {name: found.get(name) for name in wanted} == wanted


def through_env_file(svc: TestUnit, values: list[str]) -> None:
    wanted = kept(lambda one: env_files.edit(None, one, ()), values)
    svc.write(f"/opt/{svc.name}.env", env_files.edit(None, wanted, ()).decode())
    found = seen(svc, f"EnvironmentFile=/opt/{svc.name}.env\n")
    assert {name: found.get(name) for name in wanted} == wanted


def test_odd_values_survive_a_dropin(svc: TestUnit) -> None:
    assert len(kept(lambda one: dropins.edit(None, one, ()), [*ODD, "two\nlines\n"])) == 15
    through_dropin(svc, [*ODD, "two\nlines\n"])


def test_odd_values_survive_an_env_file(svc: TestUnit) -> None:
    assert len(kept(lambda one: env_files.edit(None, one, ()), ODD)) == len(ODD)
    through_env_file(svc, ODD)


@SLOW
@given(values=MANY)
def test_any_text_survives_a_dropin_or_is_refused(svc: TestUnit, values: list[str]) -> None:
    through_dropin(svc, values)


@SLOW
@given(values=MANY)
def test_any_text_survives_an_env_file_or_is_refused(svc: TestUnit, values: list[str]) -> None:
    through_env_file(svc, values)


def test_a_dropin_unsets_what_others_set(svc: TestUnit) -> None:
    path = f"/etc/systemd/system/{svc.name}.d/{dropins.NAME}"
    svc.write(f"/opt/{svc.name}.env", "B=2\n")
    svc.write(path, dropins.edit(None, {"C": "3"}, ["A", "B"]).decode())
    found = seen(svc, f"Environment=A=1\nEnvironmentFile=/opt/{svc.name}.env\n")
    assert ("A" in found, "B" in found, found["C"]) == (False, False, "3")


def layers(host: Host, svc: TestUnit, env: EnvMethod) -> tuple[precedence.Layer, ...]:
    def read(path: str) -> bytes | None:
        try:
            return host.read(*os.path.split(path))[1]
        except HostError:
            return None

    service = Service("svc", "alpha", SystemdSpec(svc.name), env)
    return precedence.layers(service, host.unit_facts(svc.spec), read)


@pytest.mark.parametrize("linked", [False, True])
def test_who_wins_is_what_systemd_does(host: Host, svc: TestUnit, linked: bool) -> None:
    """`linked`: the unit's paths are links, and a pattern names both files of variables."""
    base = f"/etc/systemd/system/{svc.name}"
    svc.write(f"{base}.d/a.conf", "[Service]\nEnvironment=A=a B=a C=a\n")
    svc.write(f"{base}.d/b.conf", "[Service]\nEnvironment=B=b\nUnsetEnvironment=U\n")
    svc.write(f"/opt/{svc.name}.1", "C=1\nD=1\nU=1\n")
    svc.write(f"/opt/{svc.name}.2", "D=2\nE=2\n")
    script = f"/opt/{svc.name}.sh"
    svc.write(script, "#!/bin/sh\nexport E=script\nexec sleep 600\n")
    svc.machine.run("chmod", "755", script)
    names = ["[12]"] if linked else ["1", "2"]
    files = "".join(f"EnvironmentFile=/opt/{svc.name}.{name}\n" for name in names)
    for path in (f"{base}.d/a.conf", f"/opt/{svc.name}.1", script) if linked else ():
        svc.machine.run("mv", path, f"{path}.real")
        svc.machine.run("ln", "-s", f"{path}.real", path)
    svc.service(f"Environment=A=unit U=unit Z=unit\n{files}ExecStart={script}\n")
    host.service_start(svc.spec)
    found = layers(host, svc, EnvMethod("dropin", f"{base}.d/zz.conf"))
    told = {name: precedence.origin(found, name).value for name in "ABCDEUZ"}
    environ = svc.environ()
    assert told == {name: environ.get(name) for name in told}
    assert told == {"A": "a", "B": "b", "C": "1", "D": "2", "E": "script", "U": None, "Z": "unit"}


@pytest.mark.parametrize(
    ("via", "path", "name", "said"),
    [
        ("dropin", "/etc/systemd/system/{unit}.d/a.conf", "A", "via: dropin, path: /etc"),
        ("dropin", "/etc/systemd/system/{unit}.d/zz.conf", "E", "via: env_file, path: /opt"),
        ("dropin", "/etc/systemd/system/{unit}.d/zz.conf", "S", "via: script, path: /opt"),
        ("env_file", "/opt/{unit}.env", "S", "via: script, path: /opt"),
        ("env_file", "/opt/other.env", "X", "nothing reads /opt/other.env"),
        ("dropin", "/etc/systemd/system/{unit}.d/zz.conf", "A", ""),
        ("env_file", "/opt/{unit}.env", "A", ""),
        ("script", "/opt/{unit}.sh", "E", ""),
    ],
)
def test_a_method_that_loses_is_told_which_wins(
    host: Host, svc: TestUnit, via: str, path: str, name: str, said: str
) -> None:
    base = f"/etc/systemd/system/{svc.name}"
    env = EnvMethod(via, path.format(unit=svc.name))  # type: ignore[arg-type]
    svc.write(f"{base}.d/b.conf", "[Service]\nEnvironment=A=b\n")
    svc.write(f"/opt/{svc.name}.env", "E=1\n")
    svc.write(f"/opt/{svc.name}.sh", "#!/bin/sh\nexport S=1\nexec sleep 600\n")
    svc.service(f"EnvironmentFile=/opt/{svc.name}.env\nExecStart=/opt/{svc.name}.sh\n")
    where = svc.machine.root / env.path.lstrip("/")
    before = where.read_bytes() if where.exists() else None
    svc.write(env.path, methods.edit(env, before, {name: "new"}, ()).decode())
    why = precedence.loses(env, layers(host, svc, env), name, "new")
    assert (said in why) if said else (why == "")
