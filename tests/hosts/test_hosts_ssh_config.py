"""The operator's configuration, as the ssh program reads it."""

import getpass
from pathlib import Path

import pytest

from playbooks.hosts.connection import HostError
from playbooks.hosts.ssh_config import Endpoint, SshTarget, route


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


def routed(config: Path, text: str, name: str = "gpu-a", **fields: object) -> tuple[Endpoint, ...]:
    config.write_text(text)
    return route(SshTarget(name, config=config, **fields))  # type: ignore[arg-type]


def test_nothing_said(config: Path) -> None:
    (last,) = routed(config, "")
    assert (last.address, last.port, last.user) == ("gpu-a", 22, getpass.getuser())
    assert last.key_name == "gpu-a"
    assert last.known_hosts[0] == Path.home() / ".ssh/known_hosts"
    assert Path.home() / ".ssh/id_ed25519" in last.identity_files
    assert last.proxy_command is None


def test_alias(config: Path) -> None:
    text = """
        Include {config}.more
        Host gpu-*
            HostName %h.lab
            Port 2222
            User ops
            IdentityFile ~/keys/%r@%n
            CertificateFile ~/certificates/%r
            IdentitiesOnly yes
            IdentityAgent ~/agent
            UserKnownHostsFile /a ~/b
            GlobalKnownHostsFile none
    """
    config.with_name("config.more").write_text("Match host gpu-a\n  HashKnownHosts yes\n")
    (last,) = routed(config, text.format(config=config))
    home = Path.home()
    assert (last.address, last.port, last.user) == ("gpu-a.lab", 2222, "ops")
    assert last.key_name == "[gpu-a.lab]:2222"
    assert last.identity_files == (home / "keys/ops@gpu-a",)
    assert last.certificates == (home / "certificates/ops", home / "keys/ops@gpu-a-cert.pub")
    assert last.identities_only
    assert last.identity_agent == str(home / "agent")
    assert last.known_hosts == (Path("/a"), home / "b")
    assert last.hash_names
    assert last.where == "ops@gpu-a (gpu-a.lab:2222)"


def test_the_target_beats_the_configuration(config: Path) -> None:
    (last,) = routed(config, "Host *\n  User a\n  Port 1\n", user="b", port=2)
    assert (last.user, last.port) == ("b", 2)


def test_alias_of_the_key_has_no_port(config: Path) -> None:
    (last,) = routed(config, "Host *\n  Port 2222\n  HostKeyAlias farm\n")
    assert last.key_name == "farm"


def test_proxy_command_is_expanded(config: Path) -> None:
    (last,) = routed(config, "Host *\n  HostName a.lab\n  ProxyCommand nc %h %p %% %r %n\n  User u")
    assert last.proxy_command == "nc a.lab 22 % u gpu-a"


def hops(route: tuple[Endpoint, ...]) -> list[tuple[str, str, int]]:
    return [(hop.user, hop.address, hop.port) for hop in route]


def test_jumps(config: Path) -> None:
    text = """
        Host gpu-a
            ProxyJump first@one:1022,[fe80::2]:2022,two
        Host one
            ProxyJump zero
        Host two
            HostName 10.0.0.2
            ProxyJump ignored
        Host *
            User me
    """
    assert hops(routed(config, text, user="ops", port=5)) == [
        ("me", "zero", 22),
        ("first", "one", 1022),
        ("me", "fe80::2", 2022),
        ("me", "10.0.0.2", 22),
        ("ops", "gpu-a", 5),
    ]


def test_first_jump_may_have_a_proxy_command(config: Path) -> None:
    text = "Host gpu-a\n  ProxyJump one\nHost one\n  ProxyCommand nc %h %p\n"
    assert [hop.proxy_command for hop in routed(config, text)] == ["nc one 22", None]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Host *\n  ProxyJump gpu-a\n", "loop via gpu-a"),
        ("Host gpu-a\n  ProxyJump b\nHost b\n  ProxyJump gpu-a\n", "gpu-a -> b -> gpu-a"),
        ("Hots x\n", "Bad configuration option: hots"),
    ],
)
def test_refused(config: Path, text: str, told: str) -> None:
    with pytest.raises(HostError) as refused:
        routed(config, text)
    assert refused.value.kind == "ssh-config"
    assert told in refused.value.message


def test_no_ssh_program(config: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="install openssh-client"):
        routed(config, "")


@pytest.mark.parametrize("name", ["-oProxyCommand=x", "a b"])
def test_a_name_is_never_an_option(config: Path, name: str) -> None:
    with pytest.raises(HostError) as refused:
        routed(config, "", name)
    assert refused.value.kind == "ssh-config"
