"""Apply and put back: the journal's promises, one by one and at random."""

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_trees import sha256, snapshot, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Change, Host

RUN = "run-1"
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    write(tree / "serve.sh", b"#!/bin/sh\nexec serve\n", 0o4750)
    write(tree / "pkg" / "mod.py", b"x = 1\n")
    return tree


def change(tree: Path, path: str, content: bytes | None, **more: Any) -> Change:
    """A change of what is there now."""
    file = tree / path
    expect = sha256(file.read_bytes()) if file.exists() else None
    return Change(str(tree), path, expect, content, **more)


def refused(call: Callable[[], object]) -> HostError:
    with pytest.raises(HostError) as caught:
        call()
    return caught.value


def test_a_change_keeps_mode_owner_and_attributes(host: Host, tree: Path) -> None:
    os.setxattr(tree / "serve.sh", "user.note", b"kept")
    host.apply([change(tree, "serve.sh", b"new")], run=RUN)
    after = snapshot(tree)["serve.sh"]
    assert (after.data, after.mode & 0o7777) == (b"new", 0o4750)
    assert after.xattrs["user.note"] == b"kept"
    assert after.mtime_ns > 1_700_000_000_000_000_000


def test_everything_comes_back(host: Host, tree: Path) -> None:
    os.setxattr(tree / "serve.sh", "user.note", b"kept")
    before = snapshot(tree)
    changes = [
        change(tree, "serve.sh", b"new", mode=0o600),
        change(tree, "pkg/mod.py", None),
        change(tree, "a/b/c", b"new"),
        change(tree, "a/d", b"new", mode=0o755),
    ]
    host.apply(changes, run=RUN)
    assert (tree / "a/d").stat().st_mode & 0o777 == 0o755
    assert (tree / "a/b/c").stat().st_mode & 0o777 == 0o644
    done = host.put_back()
    assert set(done.restored) == {str(tree / one.path) for one in changes}
    assert snapshot(tree) == before
    assert not host.journal().outstanding
    assert host.put_back().restored == ()


def test_the_base_is_kept_once_and_intentions_add_up(host: Host, tree: Path) -> None:
    before = snapshot(tree)
    host.apply([change(tree, "serve.sh", b"one")], run=RUN)
    host.apply([change(tree, "serve.sh", b"two")], run=RUN)
    (entry,) = host.journal().entries
    assert entry.base.sha256 == sha256(b"#!/bin/sh\nexec serve\n")
    assert entry.intended == (sha256(b"one"), sha256(b"two"))
    assert entry.base_copy
    assert Path(entry.base_copy).read_bytes() == b"#!/bin/sh\nexec serve\n"
    host.put_back()
    assert snapshot(tree) == before


@pytest.mark.parametrize("how", ["as content", "as restore"])
def test_back_at_the_base_the_entry_is_closed(host: Host, tree: Path, how: str) -> None:
    before = snapshot(tree)
    host.apply([change(tree, "serve.sh", b"one"), change(tree, "a/new", b"x")], run=RUN)
    if how == "as content":
        base = change(tree, "serve.sh", b"#!/bin/sh\nexec serve\n")
        host.apply([base, change(tree, "a/new", None)], run=RUN)
    else:
        host.apply([], [(str(tree), "serve.sh"), (str(tree), "a/new")], run=RUN)
    assert snapshot(tree) == before
    assert not host.journal().outstanding


def test_traces_wait_for_the_services(host: Host, tree: Path) -> None:
    started = host.boot_clock()
    host.apply([change(tree, "serve.sh", b"one")], run=RUN, specs={"decode": 1})
    (entry,) = host.journal().entries
    assert started - 0.1 <= entry.changed_at <= host.boot_clock()
    host.put_back()
    journal = host.journal()
    (trace,) = journal.traces
    assert (trace.path, trace.changed_at) == (str(tree / "serve.sh"), entry.changed_at)
    assert trace.changed_at < trace.restored_at <= host.boot_clock()
    assert (journal.outstanding, journal.specs, journal.run) == (True, {"decode": 1}, RUN)
    host.settle()
    journal = host.journal()
    assert (journal.outstanding, journal.specs, journal.run) == (False, None, "")


def test_another_run_is_refused_until_then(host: Host, tree: Path, open_host: Any) -> None:
    host.apply([change(tree, "serve.sh", b"one")], run=RUN, specs={"decode": 1})
    host.close()
    later = open_host(run="run-2")
    assert later.greeting.outstanding
    assert (later.greeting.outstanding.run, later.greeting.outstanding.entries) == (RUN, 1)
    for _ in ("outstanding", "put back, not settled"):
        error = refused(lambda: later.apply([change(tree, "pkg/mod.py", b"")], run="run-2"))
        assert (error.kind, error.detail["run"]) == ("outstanding", RUN)
        later.put_back()
    later.settle()
    later.apply([change(tree, "pkg/mod.py", b"")], run="run-2")


def test_all_are_looked_at_before_any_is_written(host: Host, tree: Path) -> None:
    before = snapshot(tree)
    wrong = Change(str(tree), "pkg/mod.py", sha256(b"else"), b"new")
    error = refused(lambda: host.apply([change(tree, "serve.sh", b"new"), wrong], run=RUN))
    assert (error.kind, error.detail["path"]) == ("conflict", str(tree / "pkg/mod.py"))
    assert error.detail["expected"] == sha256(b"else")
    assert error.detail["found"] == sha256(b"x = 1\n")
    assert "nothing was written" in str(error)
    assert snapshot(tree) == before
    assert not host.journal().outstanding


def test_a_foreign_change_is_never_the_expected_one(host: Host, tree: Path) -> None:
    host.apply([change(tree, "serve.sh", b"ours")], run=RUN)
    write(tree / "serve.sh", b"theirs")
    assert refused(lambda: host.apply([change(tree, "serve.sh", b"x")], run=RUN)).kind == "conflict"
    restore = [(str(tree), "serve.sh")]
    assert refused(lambda: host.apply([], restore, run=RUN)).kind == "conflict"
    assert (tree / "serve.sh").read_bytes() == b"theirs"


def test_a_path_given_twice(host: Host, tree: Path) -> None:
    twice = [change(tree, "pkg/mod.py", b"a"), change(tree / "pkg", "mod.py", b"b")]
    assert refused(lambda: host.apply(twice, run=RUN)).kind == "twice"


@pytest.mark.parametrize("theirs", [b"theirs", None])
def test_put_back_never_clobbers(host: Host, tree: Path, theirs: bytes | None) -> None:
    host.apply([change(tree, "serve.sh", b"ours"), change(tree, "pkg/mod.py", b"y")], run=RUN)
    (tree / "serve.sh").unlink()
    if theirs is not None:
        write(tree / "serve.sh", theirs)
    seen = snapshot(tree)
    done = host.put_back()
    (conflict,) = done.conflicts
    assert done.restored == (str(tree / "pkg/mod.py"),)
    assert snapshot(tree).get("serve.sh") == seen.get("serve.sh")
    assert conflict.path == str(tree / "serve.sh")
    assert conflict.found == (None if theirs is None else sha256(theirs))
    assert f"campaign recover --accept {tree}/serve.sh" in conflict.instructions
    assert [entry.path for entry in host.journal().entries] == [conflict.path]


def test_the_instructions_of_a_conflict_work(host: Host, tree: Path) -> None:
    before = snapshot(tree)
    host.apply([change(tree, "serve.sh", b"ours"), change(tree, "new", b"ours")], run=RUN)
    write(tree / "serve.sh", b"theirs", 0o600)
    write(tree / "new", b"theirs")
    conflicts = {Path(one.path).name: one for one in host.put_back().conflicts}
    (copy,) = [part for part in conflicts["serve.sh"].instructions.split(": ") if "cp " in part]
    subprocess.run(["sh", "-c", copy.split(", then")[0]], check=True)
    (remove,) = [part for part in conflicts["new"].instructions.split(": ") if "rm " in part]
    subprocess.run(["sh", "-c", remove.split(", then")[0]], check=True)
    done = host.put_back()
    assert (len(done.intact), done.conflicts) == (2, ())
    assert snapshot(tree) == before


def test_forget_keeps_what_is_there(host: Host, tree: Path) -> None:
    host.apply([change(tree, "serve.sh", b"ours"), change(tree, "pkg/mod.py", b"y")], run=RUN)
    write(tree / "serve.sh", b"theirs")
    host.forget(str(tree / "serve.sh"))
    assert host.put_back().conflicts == ()
    assert (tree / "serve.sh").read_bytes() == b"theirs"
    assert refused(lambda: host.forget("/none")).kind == "unknown-path"


def test_put_back_of_some_paths(host: Host, tree: Path) -> None:
    before = snapshot(tree)
    paths = ["serve.sh", "new/a", "new/b"]
    host.apply([change(tree, path, b"ours") for path in paths], run=RUN)
    assert host.put_back([str(tree / "new/a")]).restored == (str(tree / "new/a"),)
    assert {Path(entry.path).name for entry in host.journal().entries} == {"serve.sh", "b"}
    host.put_back()
    assert snapshot(tree) == before


def test_metadata_is_repaired(host: Host, tree: Path) -> None:
    before = snapshot(tree)
    host.apply([change(tree, "serve.sh", b"ours")], run=RUN)
    write(tree / "serve.sh", b"#!/bin/sh\nexec serve\n", 0o600, mtime_ns=5)
    assert host.put_back().intact == (str(tree / "serve.sh"),)
    assert snapshot(tree) == before


def test_a_directory_that_someone_uses_stays(host: Host, tree: Path) -> None:
    host.apply([change(tree, "a/b/new", b"ours")], run=RUN)
    write(tree / "a" / "theirs", b"theirs")
    assert host.put_back().conflicts == ()
    assert {path for path in snapshot(tree) if path.startswith("a")} == {"a", "a/theirs"}
    assert not host.journal().outstanding


def test_stale_bytecode_goes_both_ways(host: Host, tree: Path) -> None:
    cache = tree / "pkg" / "__pycache__"
    write(cache / "mod.cpython-312.opt-1.pyc", b"stale")
    write(cache / "module.cpython-312.pyc", b"another's")
    host.apply([change(tree, "pkg/mod.py", b"x = 2\n"), change(tree, "n/m.py", b"")], run=RUN)
    assert [path.name for path in cache.iterdir()] == ["module.cpython-312.pyc"]
    write(cache / "mod.cpython-312.pyc", b"stale")
    write(tree / "n" / "__pycache__" / "m.cpython-312.pyc", b"stale")
    host.put_back()
    assert [path.name for path in cache.iterdir()] == ["module.cpython-312.pyc"]
    assert not (tree / "n").exists()


def test_a_link_put_in_the_way_is_not_followed(host: Host, tree: Path, tmp_path: Path) -> None:
    host.apply([change(tree, "pkg/mod.py", b"ours")], run=RUN)
    write(tmp_path / "victim" / "mod.py", b"ours")
    (tree / "pkg").rename(tree / "moved")
    (tree / "pkg").symlink_to(tmp_path / "victim")
    (conflict,) = host.put_back().conflicts
    assert "is a link" in conflict.instructions
    assert (tmp_path / "victim" / "mod.py").read_bytes() == b"ours"


def test_a_damaged_base_is_not_used(host: Host, tree: Path) -> None:
    host.apply([change(tree, "serve.sh", b"ours")], run=RUN)
    base_copy = host.journal().entries[0].base_copy
    assert base_copy
    Path(base_copy).write_bytes(b"#!/bin/sh\n")
    (conflict,) = host.put_back().conflicts
    assert "damaged" in conflict.instructions
    assert (tree / "serve.sh").read_bytes() == b"ours"


@pytest.mark.parametrize(
    ("text", "kind"), [(b"{", "journal-damaged"), (b'{"version": 99}', "journal-newer")]
)
def test_a_journal_that_cannot_be_read(
    host: Host, tree: Path, state_dir: Path, text: bytes, kind: str
) -> None:
    (state_dir / "journal.json").write_bytes(text)
    for call in (
        host.journal,
        host.put_back,
        lambda: host.apply([change(tree, "serve.sh", b"x")], run=RUN),
    ):
        assert refused(call).kind == kind


def limit_files(host: Host, size: int) -> None:
    """From now on the agent fails to write files beyond `size` bytes, as on a full disk."""
    resource.prlimit(host.greeting.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.mark.parametrize("size", [0, 10, 3000])
def test_a_full_disk_changes_nothing(host: Host, tree: Path, size: int) -> None:
    """At 0 and 10 bytes the journal fails, at 3000 the second file."""
    before = snapshot(tree)
    limit_files(host, size)
    changes = [change(tree, "serve.sh", b"new"), change(tree, "d/big", b"x" * 4000)]
    error = refused(lambda: host.apply(changes, run=RUN))
    assert (error.kind, error.detail["changed"]) == ("disk-full", [])
    assert "nothing was changed" in str(error)
    assert snapshot(tree) == before
    limit_files(host, resource.RLIM_INFINITY)
    assert not host.journal().outstanding
    assert host.put_back().conflicts == ()


def test_put_back_on_a_full_disk_goes_on_later(host: Host, tree: Path) -> None:
    write(tree / "big", b"b" * 5000)
    before = snapshot(tree)
    host.apply([change(tree, "big", b"x"), change(tree, "serve.sh", b"x")], run=RUN)
    limit_files(host, 4000)
    done = host.put_back()
    assert done.restored == (str(tree / "serve.sh"),)
    assert [Path(one.path).name for one in done.conflicts] == ["big"]
    assert "File too large" in done.conflicts[0].instructions
    limit_files(host, resource.RLIM_INFINITY)
    assert host.put_back().restored == (str(tree / "big"),)
    assert snapshot(tree) == before


@contextlib.contextmanager
def undone(do: list[str], undo: list[str]) -> Iterator[None]:
    if subprocess.run(do, capture_output=True, check=False).returncode:
        pytest.skip(f"cannot {do[0]} here")
    try:
        yield
    finally:
        subprocess.run(undo, check=True)


@root_only
def test_an_immutable_file_is_found_in_time(host: Host, tree: Path) -> None:
    before, target = snapshot(tree), str(tree / "pkg" / "mod.py")
    with undone(["chattr", "+i", target], ["chattr", "-i", target]):
        changes = [change(tree, "serve.sh", b"x"), change(tree, "pkg/mod.py", b"x")]
        error = refused(lambda: host.apply(changes, run=RUN))
    assert (error.kind, error.detail["path"]) == ("denied", target)
    assert snapshot(tree) == before
    assert not host.journal().outstanding


@root_only
def test_a_read_only_file_system(host: Host, tree: Path, tmp_path: Path) -> None:
    mount = str(tmp_path / "mount")
    Path(mount).mkdir()
    with undone(["mount", "-t", "tmpfs", "-o", "ro", "none", mount], ["umount", mount]):
        changes = [change(tree, "serve.sh", b"x"), change(Path(mount), "x", b"x")]
        assert refused(lambda: host.apply(changes, run=RUN)).kind == "read-only"
    assert not host.journal().outstanding


@root_only
def test_a_failure_midway_says_what_was_changed(host: Host, tree: Path) -> None:
    before, target = snapshot(tree), str(tree / "pkg" / "mod.py")
    with undone(["mount", "--bind", target, target], ["umount", target]):
        changes = [change(tree, "serve.sh", b"x"), change(tree, "pkg/mod.py", b"x")]
        error = refused(lambda: host.apply(changes, run=RUN))
        assert error.detail["changed"] == [str(tree / "serve.sh")]
        assert "1 of 2 files had been changed; putting back restores them" in str(error)
        assert [entry.path for entry in host.journal().entries] == error.detail["changed"]
        host.put_back()
    assert snapshot(tree) == before


@root_only
def test_new_files_belong_to_whom_their_directory_belongs(host: Host, tree: Path) -> None:
    os.chown(tree / "pkg", 1234, 1235)
    host.apply([change(tree, "pkg/sub/new", b"x")], run=RUN)
    owners = {path: seen.owner for path, seen in snapshot(tree).items()}
    assert owners["pkg/sub"] == owners["pkg/sub/new"] == (1234, 1235)


def shell(code: str) -> list[str]:
    return ["sh", "-c", code]


def test_commands_are_undone_last_first(host: Host, tmp_path: Path) -> None:
    folder = str(tmp_path)
    for name in ("one", "two"):
        undo = shell(f"rm {name}; echo {name} >> log")
        host.note_command(name, ["touch", name], undo, ["test", "-e", name], folder, run=RUN)
        (tmp_path / name).touch()
    host.note_command("never ran", ["true"], shell("echo never >> log"), ["false"], "/", run=RUN)
    assert [one.id for one in host.journal().commands] == ["one", "two", "never ran"]
    assert host.put_back().undone == ("never ran", "two", "one")
    assert (tmp_path / "log").read_text() == "two\none\n"
    assert not host.journal().outstanding


@pytest.mark.parametrize(
    ("undo", "check", "said"),
    [
        (["true"], ["true"], "exited 0"),
        (shell("echo no such queue >&2; exit 3"), None, "exited 3 (no such queue)"),
        (["/no/such/program"], None, "could not be started: No such file"),
    ],
)
def test_an_undo_that_does_not_help(
    host: Host, tmp_path: Path, undo: list[str], check: list[str] | None, said: str
) -> None:
    host.note_command("drain", ["drain", "it all"], undo, check, str(tmp_path), run=RUN)
    (conflict,) = host.put_back().conflicts
    assert conflict.path == "drain"
    assert said in conflict.instructions
    assert "the effect of `drain 'it all'` is still there" in conflict.instructions
    assert [one.id for one in host.journal().commands] == ["drain"]
    host.forget("drain")
    assert not host.journal().outstanding


OpenHost = Callable[..., Host]
KEY = {"KEY": "correct horse", "OTHER": "battery staple"}


def test_an_undo_has_the_secrets_and_says_none(
    open_host: OpenHost, state_dir: Path, tmp_path: Path
) -> None:
    """They are nowhere on the disk: another agent has to be given them."""
    noting, undo = open_host(), shell("test ${#KEY} = 13 -a -e up && rm up || ! echo no $OTHER >&2")
    noting.note_command("up", ["touch", "up"], undo, None, str(tmp_path), run=RUN, env=KEY)
    (conflict,) = noting.put_back().conflicts
    assert "exited 1 (no [redacted])" in conflict.instructions
    (tmp_path / "up").touch()
    noting.close()
    kept = b"".join(path.read_bytes() for path in state_dir.rglob("*") if path.is_file())
    assert b"OTHER" in kept
    assert not any(value.encode() in kept for value in KEY.values())
    again = open_host()
    (conflict,) = again.put_back().conflicts
    assert "was not run without the secrets KEY, OTHER, which are not set" in conflict.instructions
    again.entrust(KEY)
    assert again.put_back().undone == ("up",)


@pytest.mark.parametrize(
    ("undo", "check", "said"),
    [
        ("exit 3", None, "exited 3, without the secret KEY, which is not set: set what secrets:"),
        ("true", "test -n $KEY", "was not run without the secret KEY, which is not set"),
        ("rm $KEY", "false", ""),
        ("true", None, ""),
    ],
)
def test_a_secret_that_is_not_known(
    open_host: OpenHost, undo: str, check: str | None, said: str
) -> None:
    """It keeps from being undone what may need it, and nothing that is gone or needs none."""
    noting, checks = open_host(), shell(check) if check else None
    noting.note_command("up", ["true"], shell(undo), checks, "/", run=RUN, env={"KEY": "x" * 8})
    noting.close()
    result = open_host().put_back()
    assert [said in one.instructions for one in result.conflicts] == [True] * bool(said)
    assert result.undone == (() if said else ("up",))


def test_an_undo_may_start_a_daemon(host: Host, tmp_path: Path) -> None:
    daemon = shell(f"{sys.executable} -c 'import time; time.sleep(60)' & echo $! > pid")
    host.note_command("stop", ["true"], daemon, None, str(tmp_path), run=RUN)
    assert host.put_back().undone == ("stop",)
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_a_restart_is_outstanding_until_settled(host: Host) -> None:
    host.note_restart(["prefill"], run=RUN, specs={"prefill": 1})
    host.note_restart(["decode", "prefill"], run=RUN, specs={"prefill": 1})
    journal = host.journal()
    assert (journal.restarting, journal.outstanding) == (("prefill", "decode"), True)
    assert host.put_back().restored == ()
    assert host.journal().specs == {"prefill": 1}
    host.settle()
    assert not host.journal().outstanding


def test_commands_may_be_undone_alone(host: Host, tree: Path) -> None:
    host.apply([change(tree, "serve.sh", b"ours")], run=RUN)
    host.note_command("one", ["true"], ["true"], None, "/", run=RUN)
    assert host.undo_commands(["one"]).undone == ("one",)
    assert (tree / "serve.sh").read_bytes() == b"ours"
    assert len(host.journal().entries) == 1


def test_close_command(host: Host) -> None:
    host.note_command("one", ["true"], ["false"], None, "/", run=RUN)
    host.close_command("one")
    assert not host.journal().outstanding


PATHS = ("a.py", "b", "d/c", "d/e/f", "g/h")
CONTENTS = st.none() | st.binary(max_size=3)
MODES = st.sampled_from([0o600, 0o644, 0o755])
FILES = st.none() | st.tuples(st.binary(max_size=3), MODES)
TREES = st.fixed_dictionaries(dict.fromkeys(PATHS, FILES))
ROUNDS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(PATHS), CONTENTS, max_size=4),
        st.sets(st.sampled_from(PATHS), max_size=2),
    ),
    max_size=4,
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(start=TREES, rounds=ROUNDS)
def test_any_rounds_of_changes_come_back(
    host: Host,
    start: dict[str, tuple[bytes, int] | None],
    rounds: list[tuple[dict[str, bytes | None], set[str]]],
) -> None:
    for entry in host.journal().entries:
        host.forget(entry.path)  # an example that failed must not spoil the next
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for path, file in start.items():
            if file:
                write(tree / path, *file)
        before = snapshot(tree)
        bases = {path: file and file[0] for path, file in start.items()}
        now = dict(bases)
        for edits, restored in rounds:
            back = restored - set(edits)
            changes = [change(tree, path, content) for path, content in edits.items()]
            host.apply(changes, [(folder, path) for path in back], run=RUN)
            now.update(edits, **{path: bases[path] for path in back})
            files = {path: (tree / path).read_bytes() for path in PATHS if (tree / path).exists()}
            assert files == {path: data for path, data in now.items() if data is not None}
            outstanding = {entry.path for entry in host.journal().entries}
            assert outstanding == {str(tree / path) for path in PATHS if now[path] != bases[path]}
        assert host.put_back().conflicts == ()
        assert snapshot(tree) == before
        assert not host.journal().outstanding
