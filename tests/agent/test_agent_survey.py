"""What can be seen of a host without taking anything there."""

import os
import pwd
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host

OpenHost = Callable[..., Host]


@pytest.fixture
def guest(open_host: OpenHost) -> Host:
    return open_host(lock=False)


@pytest.fixture
def immutable(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "immutable"
    path.write_bytes(b"base")
    done = subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot make a file immutable: {done.stderr!r}")
    yield path
    subprocess.run(["chattr", "-i", str(path)], check=True)


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(disk)]
    done = subprocess.run(mount, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot mount a disk: {done.stderr!r}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_survey_leaves_nothing_behind(guest: Host, state_dir: Path) -> None:
    seen = guest.survey()
    assert (seen.uid, seen.user) == (os.geteuid(), pwd.getpwuid(os.geteuid()).pw_name)
    assert (seen.holder, seen.obstacle) == (None, "")
    assert seen.state_dir == str(state_dir)
    assert seen.free_bytes > 0
    assert not state_dir.exists()


def test_it_names_the_holder_of_the_lock_and_does_not_take_it(
    guest: Host, open_host: OpenHost
) -> None:
    owner = open_host(run="run-7")
    holder = guest.survey().holder
    assert holder is not None
    assert (holder.who, holder.pid, holder.run) == ("tester", owner.greeting.pid, "run-7")
    assert abs(holder.since - guest.clock()) < 60
    owner.close()
    assert guest.survey().holder is None
    open_host(run="run-8")


def test_a_file_that_can_be_replaced_is_not_touched(guest: Host, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"base")
    os.utime(path, (1, 1))
    assert guest.obstacle(str(tmp_path), "a") == ""
    assert guest.obstacle(str(tmp_path), "new/folder/b") == ""
    assert (path.stat().st_atime, path.stat().st_mtime) == (1, 1)
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_what_stands_in_the_way_is_named(guest: Host, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    assert guest.obstacle(str(tmp_path), "folder") == f"{tmp_path / 'folder'} is no regular file"
    assert guest.obstacle(str(tmp_path), "link") == f"it is a link to {tmp_path / 'folder'}"
    for root, path, kind in ((str(tmp_path), "link/a", "escape"), ("/nowhere", "a", "no-root")):
        with pytest.raises(HostError) as refused:
            guest.obstacle(root, path)
        assert refused.value.kind == kind


def test_an_immutable_file(guest: Host, immutable: Path) -> None:
    said = guest.obstacle(str(immutable.parent), immutable.name)
    assert said == f"{immutable} is immutable (lsattr)"


def test_a_read_only_file_system(guest: Host, read_only: Path) -> None:
    for path in ("new", "folder/new"):
        said = guest.obstacle(str(read_only), path)
        assert said == f"{read_only} is on a read-only file system"


def test_when_files_were_written(guest: Host, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"")
    os.utime(path, (5, 1234.5))
    odd = [str(path), str(tmp_path), str(tmp_path / "none"), "a\0b"]
    assert guest.changed(odd) == {str(path): 1234.5}
