"""Reading files: what they hold, and no way out of their root."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_trees import sha256, write

from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Change, Host


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    write(tree / "etc" / "serve.env", b"A=1\r\n\xff", mode=0o640)
    return tree


def kind_of(call: Callable[[], object]) -> str:
    with pytest.raises(HostError) as caught:
        call()
    return caught.value.kind


def test_content_and_state(host: Host, tree: Path) -> None:
    state, content = host.read(str(tree), "etc/serve.env")
    info = (tree / "etc" / "serve.env").stat()
    assert content == b"A=1\r\n\xff"
    assert state.sha256 == sha256(content)
    assert (state.mode, state.mtime_ns) == (0o640, info.st_mtime_ns)
    assert (state.uid, state.gid) == (info.st_uid, info.st_gid)


@pytest.mark.parametrize("path", ["etc/none", "no/such/dir/file"])
def test_an_absent_file_is_not_an_error(host: Host, tree: Path, path: str) -> None:
    state, content = host.read(str(tree), path)
    assert state.sha256 is None
    assert content is None


def test_an_empty_file_is_not_absent(host: Host, tree: Path) -> None:
    write(tree / "empty", b"")
    state, content = host.read(str(tree), "empty")
    assert (state.sha256, content) == (sha256(b""), b"")


def test_names_of_any_bytes(host: Host, tree: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \n\"'")
    write(tree / name, b"x")
    assert host.read(str(tree), name)[1] == b"x"


@pytest.mark.parametrize(
    "path", ["../etc/passwd", "etc/../../x", "/etc/passwd", "", ".", "a\0b", "out/passwd", "file"]
)
def test_no_path_leaves_its_root(host: Host, tree: Path, path: str) -> None:
    (tree / "out").symlink_to("/etc")
    (tree / "file").symlink_to(tree / "etc" / "serve.env")
    assert kind_of(lambda: host.read(str(tree), path)) == "escape"
    change = Change(str(tree), path, None, b"x")
    assert kind_of(lambda: host.apply([change], run="run-1")) == "escape"


def test_the_root_itself_may_be_a_link(host: Host, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("tree/../tree/etc")
    host.apply([Change(str(tmp_path / "link"), "new", None, b"x")], run="run-1")
    assert [entry.path for entry in host.journal().entries] == [str(tree / "etc" / "new")]


def test_a_root_must_be_a_directory(host: Host, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for root in (tree / "none", tree / "etc" / "serve.env", tmp_path / "loop"):
        assert kind_of(lambda root=root: host.read(str(root), "x")) == "no-root"
    assert kind_of(lambda: host.read("relative", "x")) == "escape"


def test_only_regular_files(host: Host, tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    for path in ("pipe", "etc", "etc/serve.env/x"):
        assert kind_of(lambda path=path: host.read(str(tree), path)) == "not-a-file"


def test_as_a_process_sees_it(host: Host, tree: Path) -> None:
    assert host.read(str(tree), "etc/serve.env", pid=os.getpid())[1] == b"A=1\r\n\xff"
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    assert kind_of(lambda: host.read(str(tree), "x", pid=ended.pid)) == "no-process"


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_as_a_process_in_another_root_sees_it(host: Host, tree: Path) -> None:
    (tree / "absolute").symlink_to("/etc")
    code = "import os, sys; os.chroot(sys.argv[1]); print(flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, str(tree)], **pipes) as jailed:
        assert jailed.stdout
        jailed.stdout.readline()
        for root in ("/etc", "/absolute"):
            assert host.read(root, "serve.env", pid=jailed.pid)[1] == b"A=1\r\n\xff"


def test_tail(host: Host, tree: Path) -> None:
    write(tree / "log", b"0123456789")
    assert host.tail(str(tree), "log", 2, 3).data == b"234"
    assert host.tail(str(tree), "log", -4, 100).data == b"6789"
    end = host.tail(str(tree), "log", 50, 100)
    assert (end.data, end.next_offset, end.size) == (b"", 10, 10)
    assert kind_of(lambda: host.tail(str(tree), "none", 0, 1)) == "no-file"
    assert kind_of(lambda: host.tail(str(tree), "no/none", 0, 1)) == "no-file"
