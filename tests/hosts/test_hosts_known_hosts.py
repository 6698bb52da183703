"""Reading and adding to known_hosts: here against what ssh-keygen says of the same file."""

import base64
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playbooks.hosts.connection import HostError
from playbooks.hosts.known_hosts import HostKey, KnownHosts


def key(number: int, kind: str = "ssh-ed25519") -> HostKey:
    """An Ed25519 public key as it is on the wire, or something as long."""
    name = kind.encode()
    blob = len(name).to_bytes(4, "big") + name + (32).to_bytes(4, "big") + bytes([number]) * 32
    return HostKey(kind, blob)


def verdict(path: Path, name: str, presented: HostKey) -> str:
    try:
        KnownHosts([path], name).check(presented, name)
    except HostError as error:
        return error.kind
    return "known"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ssh/known_hosts"


def written(path: Path, *lines: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


ONE, TWO = key(1), key(2)


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        (f"gpu-a {ONE.text}", "gpu-a", "known"),
        (f"gpu-a {ONE.text} a comment", "gpu-a", "known"),
        (f"GPU-A {ONE.text}", "gpu-a", "known"),
        (f"gpu-b,gpu-a,10.0.0.1 {ONE.text}", "gpu-a", "known"),
        (f"gpu-* {ONE.text}", "gpu-a", "known"),
        (f"gpu-? {ONE.text}", "gpu-a", "known"),
        (f"gpu-*,!gpu-a {ONE.text}", "gpu-a", "unknown-key"),
        (f"[gpu-a]:2222 {ONE.text}", "[gpu-a]:2222", "known"),
        (f"[gpu-a]:2222 {ONE.text}", "gpu-a", "unknown-key"),
        (f"gpu-a {ONE.text}", "[gpu-a]:2222", "unknown-key"),
        (f"gpu-a {TWO.text}", "gpu-a", "changed-key"),
        (f"gpu-a {key(1, 'ssh-rsa').text}", "gpu-a", "changed-key"),
        (f"# gpu-a {ONE.text}", "gpu-a", "unknown-key"),
        ("gpu-a ssh-ed25519 not*base64", "gpu-a", "unknown-key"),
        ("gpu-a", "gpu-a", "unknown-key"),
        (f"@cert-authority gpu-* {ONE.text}", "gpu-a", "unknown-key"),
        (f"@revoked * {ONE.text}", "gpu-a", "revoked-key"),
        (f"@revoked * {TWO.text}", "gpu-a", "unknown-key"),
        (f"@revoked gpu-b {ONE.text}", "gpu-a", "unknown-key"),
        (f"|1|damaged {ONE.text}", "gpu-a", "unknown-key"),
        (f"|1|*|* {ONE.text}", "gpu-a", "unknown-key"),
    ],
)
def test_one_line(path: Path, line: str, name: str, expected: str) -> None:
    assert verdict(written(path, line), name, ONE) == expected


def test_revoked_beats_known_whatever_comes_first(path: Path) -> None:
    written(path, f"gpu-a {ONE.text}", f"@revoked gpu-a {ONE.text}")
    assert verdict(path, "gpu-a", ONE) == "revoked-key"


def test_missing_file_knows_nobody(path: Path) -> None:
    assert verdict(path, "gpu-a", ONE) == "unknown-key"


def test_unreadable_file_is_refused(path: Path) -> None:
    path.mkdir(parents=True)
    assert verdict(path, "gpu-a", ONE) == "ssh-config"


def test_bytes_that_are_no_text_are_no_hindrance(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe |1|\xff ssh-rsa AAAA\n|1|\xff|x ssh-rsa AAAA\n")
    assert verdict(path, "gpu-a", ONE) == "unknown-key"


def test_authority_is_named_where_it_is_all_there_is(path: Path) -> None:
    written(path, f"@cert-authority *.lab {TWO.text}")
    with pytest.raises(HostError, match=f"{path}:1 trusts an authority"):
        KnownHosts([path], "gpu-a.lab").check(ONE, "gpu-a")


def test_kinds_are_those_of_plain_lines(path: Path) -> None:
    rsa = key(3, "ssh-rsa")
    written(path, f"a {rsa.text}", f"a {ONE.text}", f"@revoked a {key(1, 'ssh-dss').text}")
    assert KnownHosts([path], "a").kinds() == ("ssh-rsa", "ssh-ed25519")


def test_added_with_a_private_file(path: Path) -> None:
    KnownHosts([path], "gpu-a").add(ONE, hash_name=False)
    assert path.read_text() == f"gpu-a {ONE.text}\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_cannot_be_added(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError) as refused:
        KnownHosts([tmp_path / "file/known_hosts"], "gpu-a").add(ONE, hash_name=False)
    assert refused.value.kind == "ssh-config"


def test_fingerprint_is_that_of_ssh_keygen(path: Path) -> None:
    written(path, f"gpu-a {ONE.text}")
    told = subprocess.run(
        ["ssh-keygen", "-lf", str(path)], capture_output=True, text=True, check=True
    )
    assert told.stdout.split()[1] == ONE.fingerprint.split()[1]


NAMES = st.text("abc.-0123456789", min_size=1, max_size=12).map(lambda text: f"h{text}")


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=NAMES, other=NAMES, port=st.sampled_from([22, 2222]), hashed=st.booleans())
def test_what_we_add_ssh_keygen_finds(
    path: Path, name: str, other: str, port: int, hashed: bool
) -> None:
    full = name if port == 22 else f"[{name}]:{port}"
    path.unlink(missing_ok=True)
    KnownHosts([path], other).add(TWO, hash_name=hashed)
    KnownHosts([path], full).add(ONE, hash_name=hashed)
    assert verdict(path, full, ONE) == "known"
    told = subprocess.run(
        ["ssh-keygen", "-F", full, "-f", str(path)], capture_output=True, text=True, check=True
    )
    assert base64.b64encode(ONE.blob).decode() in told.stdout
    plainly = {line.split()[0] for line in path.read_text().splitlines()}
    assert (full in plainly) != hashed
