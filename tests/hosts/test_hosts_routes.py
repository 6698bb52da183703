"""The operator's configuration leads the way: hops, proxies, agents."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until

from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.ssh import SshChannel
from playbooks.hosts.ssh_config import SshTarget

Reach = Callable[..., SshTarget]
OpenHost = Callable[..., Host]

pytestmark = pytest.mark.hosts


def prepend(config: Path, text: str) -> None:
    """What comes first wins."""
    config.write_text(text + config.read_text())


def test_jumps_through_another_host(
    reach: Reach, ssh_config: Path, alpha: Machine, beta: Machine, open_host: OpenHost
) -> None:
    prepend(ssh_config, f"Host inner\n  HostName {alpha.address}\n  ProxyJump ops@beta\n")
    host = open_host(reach("inner"))
    assert host.greeting.hostname == "alpha"
    assert beta.processes("sshd: ops")
    host.close()
    wait_until(lambda: not beta.processes("sshd: ops"), 60, "the jump to end")


def test_jump_host_that_cannot_reach_it(reach: Reach, ssh_config: Path) -> None:
    prepend(ssh_config, "Host inner\n  HostName 127.0.0.1\n  Port 1\n  ProxyJump beta\n")
    with pytest.raises(HostError) as refused:
        SshChannel(reach("inner"))
    assert refused.value.kind == "unreachable"
    assert "the host before it" in refused.value.message


def test_jump_host_with_another_key(
    reach: Reach, ssh_config: Path, alpha: Machine, beta: Machine
) -> None:
    prepend(ssh_config, f"Host inner\n  HostName {alpha.address}\n  ProxyJump beta\n")
    known = f"{alpha.address} {alpha.host_key}\n{beta.address} {alpha.host_key}\n"
    ssh_config.with_name("known_hosts").write_text(known)
    with pytest.raises(HostError) as refused:
        SshChannel(reach("inner"))
    assert refused.value.kind == "changed-key"
    assert "beta" in refused.value.message


def test_proxy_command(
    reach: Reach, ssh_config: Path, alpha: Machine, tmp_path: Path, open_host: OpenHost
) -> None:
    proxy = tmp_path / "proxy.py"
    proxy.write_text(PROXY)
    prepend(
        ssh_config,
        f"Host behind\n  HostName {alpha.address}\n"
        f"  ProxyCommand /usr/bin/python3 -I -S {proxy} %h %p\n",
    )
    host = open_host(reach("behind"))
    assert host.greeting.hostname == "alpha"
    host.close()


PROXY = """
import os, select, socket, sys
line = socket.create_connection(sys.argv[1:3])
while True:
    for ready in select.select([0, line], [], [])[0]:
        data = os.read(ready if ready == 0 else line.fileno(), 65536)
        if not data:
            sys.exit()
        line.sendall(data) if ready == 0 else os.write(1, data)
"""


def test_proxy_command_that_fails(reach: Reach, ssh_config: Path) -> None:
    command = "echo no route to %h:%p >&2; exit 3"
    prepend(ssh_config, f"Host behind\n  HostName h\n  ProxyCommand sh -c '{command}'\n")
    with pytest.raises(HostError) as refused:
        SshChannel(reach("behind"))
    assert refused.value.kind == "unreachable"
    assert "its ProxyCommand ended with 3: no route to h:22" in refused.value.message


@pytest.fixture
def key_agent(alpha: Machine, tmp_path: Path) -> Iterator[Path]:
    """The socket of a key agent that holds the key."""
    path = tmp_path / "agent"
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], **silent) as agent:
        try:
            wait_until(path.exists, 60, "the key agent")
            own = {**os.environ, "SSH_AUTH_SOCK": str(path)}
            subprocess.run(["ssh-add", str(alpha.key)], env=own, check=True, **silent)
            yield path
        finally:
            agent.terminate()


@pytest.mark.parametrize("named", [True, False])
def test_key_agent(
    reach: Reach,
    ssh_config: Path,
    key_agent: Path,
    monkeypatch: pytest.MonkeyPatch,
    named: bool,
) -> None:
    """Named by the configuration or by the environment; there is no file to fall back on."""
    text = re.sub("IdentityFile .*", f"IdentityFile {ssh_config}.none", ssh_config.read_text())
    where = str(key_agent) if named else "SSH_AUTH_SOCK"
    ssh_config.write_text(text.replace("IdentityAgent none", f"IdentityAgent {where}"))
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nowhere" if named else str(key_agent))
    SshChannel(reach("alpha")).close()


@pytest.mark.parametrize("held", [False, True])
def test_a_certificate_of_an_authority(
    reach: Reach,
    gamma: Machine,
    ssh_config: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    held: bool,
) -> None:
    """The host knows no key, but the authority; the key is in a file, or in the key agent only."""
    key, authority = tmp_path / "id", tmp_path / "authority"
    for path in (key, authority):
        _keygen("-q", "-t", "ed25519", "-N", "", "-f", str(path))
    _keygen("-q", "-s", str(authority), "-I", "operator", "-n", "root", f"{key}.pub")
    trusted = gamma.root / "root/.ssh/authorized_keys"
    known = trusted.read_text()
    request.addfinalizer(lambda: trusted.write_text(known))
    trusted.write_text(f"{known}cert-authority {authority.with_suffix('.pub').read_text()}")
    agent = request.getfixturevalue("key_agent") if held else None
    by_key = f"IdentityFile {key}\n  IdentitiesOnly yes\n  IdentityAgent {agent or 'none'}"
    prepend(ssh_config, f"Host certified\n  HostName {gamma.address}\n  {by_key}\n")
    ssh_config.write_text(ssh_config.read_text().replace(f"  IdentityFile {gamma.key}\n", ""))
    with ssh_config.with_name("known_hosts").open("a") as file:
        file.write(f"{gamma.address} {gamma.host_key}\n")
    if agent:
        own = {**os.environ, "SSH_AUTH_SOCK": str(agent)}
        subprocess.run(["ssh-add", "-q", str(key)], env=own, check=True)
        key.unlink()
    SshChannel(reach("certified")).close()
    key.with_name("id-cert.pub").unlink()
    if not agent:
        with pytest.raises(HostError, match="does not let root in"):
            SshChannel(reach("certified"))


def _keygen(*arguments: str) -> None:
    subprocess.run(["ssh-keygen", *arguments], check=True)


def test_the_key_agent_may_be_refused(reach: Reach, ssh_config: Path, key_agent: Path) -> None:
    """IdentitiesOnly: a key that the agent holds and no file names is not offered."""
    text = re.sub("IdentityFile .*", f"IdentityFile {ssh_config}.none", ssh_config.read_text())
    text = text.replace("IdentityAgent none", f"IdentityAgent {key_agent}\n  IdentitiesOnly yes")
    ssh_config.write_text(text)
    with pytest.raises(HostError) as refused:
        SshChannel(reach("alpha"))
    assert refused.value.kind == "auth"


def test_a_key_that_only_the_key_agent_can_open(
    reach: Reach, ssh_config: Path, key_agent: Path, alpha: Machine, tmp_path: Path
) -> None:
    """The file has a passphrase, and its public half tells which of the agent's keys it is."""
    named = tmp_path / "named"
    named.write_bytes(alpha.key.read_bytes())
    named.chmod(0o600)
    named.with_suffix(".pub").write_bytes(alpha.key.with_suffix(".pub").read_bytes())
    subprocess.run(
        ["ssh-keygen", "-q", "-p", "-N", "secret", "-f", str(named)],
        check=True,
        capture_output=True,
    )
    text = re.sub("IdentityFile .*", f"IdentityFile {named}", ssh_config.read_text())
    text = text.replace("IdentityAgent none", f"IdentityAgent {key_agent}\n  IdentitiesOnly yes")
    ssh_config.write_text(text)
    SshChannel(reach("alpha")).close()


def test_a_file_that_is_no_key(reach: Reach, ssh_config: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no key")
    text = re.sub("IdentityFile .*", f"IdentityFile {tmp_path / 'text'}", ssh_config.read_text())
    ssh_config.write_text(text)
    with pytest.raises(HostError, match="text cannot be used"):
        SshChannel(reach("alpha"))
