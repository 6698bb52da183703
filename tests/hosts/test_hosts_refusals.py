"""What keeps an agent from starting: each one clear line, of a stable kind, with what to do."""

import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts_machine import Machine
from msgspec.structs import replace

from playbooks.hosts.connection import HostError
from playbooks.hosts.ssh import SshChannel
from playbooks.hosts.ssh_config import SshTarget

Reach = Callable[..., SshTarget]

pytestmark = pytest.mark.hosts


def refusal(target: SshTarget) -> HostError:
    with pytest.raises(HostError) as refused:
        SshChannel(target)
    assert "\n" not in refused.value.message
    assert "Traceback" not in refused.value.message
    return refused.value


@pytest.fixture
def known_hosts(ssh_config: Path) -> Path:
    return ssh_config.with_name("known_hosts")


def let_in(machine: Machine, user: str, shell: str = "/bin/bash") -> None:
    """Makes a user there who has the key of the tests."""
    machine.run("useradd", "-m", "-s", shell, "-p", "*", user)
    machine.run("cp", "-r", "/home/guest/.ssh", f"/home/{user}/")
    machine.run("chown", "-R", f"{user}:", f"/home/{user}")


class TestHostKeys:
    def test_unknown_is_refused_with_the_line_to_add(
        self, reach: Reach, alpha: Machine, known_hosts: Path
    ) -> None:
        known_hosts.write_text("# nobody\n")
        error = refusal(reach("alpha"))
        assert error.kind == "unknown-key"
        command = re.search("then: (echo .*), or say", error.message)
        assert command
        subprocess.run(command[1], shell=True, check=True)
        assert known_hosts.read_text() == f"# nobody\n{alpha.address} {alpha.host_key}\n"
        SshChannel(reach("alpha")).close()

    def test_a_file_that_keeps_nothing_is_no_advice(
        self, reach: Reach, ssh_config: Path, known_hosts: Path
    ) -> None:
        """Nor a hindrance: whoever says /dev/null and accept_new is let in each time."""
        for nothing in ("/dev/null", "none"):
            text = ssh_config.read_text().replace(str(known_hosts), nothing)
            ssh_config.with_name("keeps_nothing").write_text(text)
            target = reach("alpha", config=ssh_config.with_name("keeps_nothing"))
            error = refusal(target)
            assert error.kind == "unknown-key"
            assert "name a file that keeps it, UserKnownHostsFile" in error.message
            SshChannel(replace(target, accept_new=True)).close()

    def test_accept_new_only_appends(self, reach: Reach, alpha: Machine, known_hosts: Path) -> None:
        known_hosts.write_text("# mine, and no newline")
        SshChannel(reach("alpha", accept_new=True)).close()
        line = f"{alpha.address} {alpha.host_key}\n"
        assert known_hosts.read_text() == f"# mine, and no newline\n{line}"
        SshChannel(reach("alpha", accept_new=True)).close()
        assert known_hosts.read_text().count(line) == 1

    @pytest.mark.parametrize("accept_new", [False, True])
    def test_changed_is_refused(
        self, reach: Reach, alpha: Machine, beta: Machine, known_hosts: Path, accept_new: bool
    ) -> None:
        known_hosts.write_text(f"{alpha.address} {beta.host_key}\n")
        error = refusal(reach("alpha", accept_new=accept_new))
        assert error.kind == "changed-key"
        assert f"{known_hosts}:1" in error.message
        assert f"ssh-keygen -f {known_hosts} -R {alpha.address}" in error.message

    def test_the_host_is_asked_for_a_key_of_the_known_kind(
        self, reach: Reach, alpha: Machine, known_hosts: Path
    ) -> None:
        """It has two; one of another kind than we know would look changed."""
        rsa = (alpha.root / "etc/ssh/campaign_host_key_rsa.pub").read_text()
        known_hosts.write_text(f"{alpha.address} {rsa}")
        SshChannel(reach("alpha")).close()

    def test_revoked_is_refused_though_it_is_known(
        self, reach: Reach, alpha: Machine, known_hosts: Path
    ) -> None:
        with known_hosts.open("a") as file:
            file.write(f"@revoked * {alpha.host_key}\n")
        assert refusal(reach("alpha", accept_new=True)).kind == "revoked-key"
        SshChannel(reach("beta")).close()

    def test_a_certificate_authority_is_no_hindrance(
        self, reach: Reach, beta: Machine, known_hosts: Path
    ) -> None:
        with known_hosts.open("a") as file:
            file.write(f"@cert-authority *.lab {beta.host_key}\n")
        SshChannel(reach("alpha")).close()


class TestLogin:
    def test_wrong_user(self, reach: Reach, ssh_config: Path) -> None:
        error = refusal(reach("alpha", user="nobody"))
        assert error.kind == "auth"
        assert "client_key" in error.message
        assert f"ssh -F {ssh_config} nobody@alpha true" in error.message

    def test_a_user_without_a_shell(self, reach: Reach, beta: Machine) -> None:
        let_in(beta, "mute", "/usr/sbin/nologin")
        error = refusal(reach("beta", user="mute"))
        assert error.kind == "start-failed"
        assert "This account is currently not available" in error.message

    def test_no_key_to_try(self, reach: Reach, ssh_config: Path) -> None:
        text = re.sub("IdentityFile .*", f"IdentityFile {ssh_config}.none", ssh_config.read_text())
        ssh_config.write_text(text)
        assert "ssh-keygen" in refusal(reach("alpha")).message

    def test_a_key_with_a_passphrase(self, reach: Reach, ssh_config: Path, tmp_path: Path) -> None:
        key = tmp_path / "locked"
        run = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(key)]
        subprocess.run(run, check=True)
        ssh_config.write_text(
            re.sub("IdentityFile .*", f"IdentityFile {key}", ssh_config.read_text())
        )
        error = refusal(reach("alpha"))
        assert error.kind == "auth"
        assert f"ssh-add {key}" in error.message


class TestSudo:
    @pytest.mark.parametrize("user", ["guest", "typist"])
    def test_wants_a_password(self, reach: Reach, user: str) -> None:
        error = refusal(reach("alpha", user=user, sudo=True))
        assert error.kind == "sudo-password"
        assert f"{user} ALL=(root) NOPASSWD: ALL" in error.message

    @pytest.mark.parametrize(
        ("rule", "kind", "fix"),
        [
            ("Defaults:t1 requiretty", "sudo-refused", "Defaults:t1 !requiretty"),
            ("t2 ALL=(root) NOPASSWD: /bin/true", "sudo-password", "t2 ALL=(root) NOPASSWD: ALL"),
            ("Defaults:t3 !authenticate", "sudo-refused", "t3 ALL=(root) NOPASSWD: ALL"),
        ],
    )
    def test_is_limited(self, reach: Reach, beta: Machine, rule: str, kind: str, fix: str) -> None:
        """The line of sudoers that is told mends it, beside what lets the user run anything."""
        user = fix.replace(":", " ").split()[fix.startswith("Defaults")]
        let_in(beta, user)
        sudoers = beta.root / f"etc/sudoers.d/{user}"
        sudoers.write_text(f"{rule}\n{user} ALL=(root) /bin/true\n")
        error = refusal(reach("beta", user=user, sudo=True))
        assert error.kind == kind
        assert f"with the line `{fix}`" in error.message
        sudoers.write_text(f"{rule}\n{user} ALL=(root) NOPASSWD: ALL\n{fix}\n")
        SshChannel(reach("beta", user=user, sudo=True)).close()

    def test_is_not_installed(self, reach: Reach, beta: Machine) -> None:
        """Nowhere where this user's shell looks: others need it at the same time."""
        let_in(beta, "poor")
        (beta.root / "home/poor/.bashrc").write_text("PATH=/nowhere\n")
        assert refusal(reach("beta", user="poor", sudo=True)).kind == "no-sudo"


class TestPython:
    @pytest.mark.parametrize("sudo", [False, True])
    def test_is_not_there(self, reach: Reach, sudo: bool) -> None:
        error = refusal(reach("alpha", user="ops", sudo=sudo, python="/opt/python9"))
        assert error.kind == "no-python"
        assert "/opt/python9" in error.message

    def test_is_no_python(self, reach: Reach) -> None:
        error = refusal(reach("alpha", python="/bin/false"))
        assert (error.kind, "exit status 1" in error.message) == ("start-failed", True)

    def test_is_too_old(self, reach: Reach) -> None:
        old = next(Path.home().glob(".pyenv/versions/3.[67].*/bin/python"), None)
        if old is None:
            pytest.skip("there is no Python 3.6 or 3.7 here")
        error = refusal(reach("alpha", python=str(old)))
        assert (error.kind, "Python 3." in error.message) == ("no-python", True)


class TestReaching:
    def test_nobody_listens(self, reach: Reach) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        error = refusal(reach("127.0.0.1", port=port))
        assert (error.kind, "Connection refused" in error.message) == ("unreachable", True)

    def test_name_is_not_known(self, reach: Reach) -> None:
        error = refusal(reach("nowhere.invalid"))
        assert (error.kind, "its name nowhere.invalid" in error.message) == ("unreachable", True)

    def test_someone_listens_and_says_nothing(self, reach: Reach) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            error = refusal(reach("127.0.0.1", port=port, connect_timeout_s=0.3))
        assert error.kind == "unreachable"

    def test_configuration_is_not_readable(self, reach: Reach, ssh_config: Path) -> None:
        ssh_config.write_text("Hosst x\n")
        error = refusal(reach("alpha"))
        assert (error.kind, "hosst" in error.message) == ("ssh-config", True)
