"""Faults on a real machine, under a service that systemd manages.

After each of them the machine is byte for byte as before, or the command ends dirty and says
exactly what to do; following that brings everything back.
"""

import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until
from hosts_toy import NOTHING, PUT_BACK, UnitToy, access, unit_name, unit_toy
from toy import Toy

pytestmark = pytest.mark.hosts

RULE_ONLY = """\
name: {name}
hypothesis: rule
kind: fix
question: Does it fail with this changed?
vars: {{trials: 40}}
steps:
  - name: change one file
    patch: {{host: there, root: "{root}", replace: {{path: {path}, old: "{old}", new: "{new}"}}}}
  - restart: {{services: [app]}}
  - reproduce: {{use: trials}}
verdict: {{by: rate, expect: drop, against: baseline}}
"""


@pytest.fixture
def far(alpha: Machine, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[UnitToy]:
    """The toy workspace, its service a unit of alpha that this test has for itself."""
    with unit_toy(alpha, tmp_path / "toy", unit_name(request)) as made:
        yield made


OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFmvkQH0Yc4bW8rGq7T6WnT5m1ePzE3mLxTgKX0b5u7Y"


def _know(far: UnitToy, key: str) -> None:
    """Has the operator know the machine by this key."""
    (far.root / "known_hosts").write_text(f"{far.machine.address} {key}\n")


class TestConnection:
    def test_cut_while_trials_run(self, far: UnitToy) -> None:
        """Nothing is asked of the machine meanwhile: it is dialled again, and nothing is wasted,

        though the trials take longer than its lease.
        """
        with (far.root / "campaign.yaml").open("a") as file:
            file.write("lease: 9s\n")
        before, running = far.files(), far.trying("fix", trials=1200)
        far.cut()
        _, said = running.communicate(timeout=100)
        assert running.returncode == 0, said
        assert "! the connection to host there was lost: it is dialled again\n" in said
        assert "host there answers again\n" in said
        assert PUT_BACK in said
        far.check_as_before(before)
        assert far.run("recover").stdout == NOTHING

    @pytest.mark.parametrize("crash", ["both:5", "both:11", "both:17", "both:31", "operator:31"])
    def test_cut_while_files_are_written(self, far: UnitToy, crash: str) -> None:
        """With half a base written, half a journal, half a file, and one of two files renamed;

        the agent dies with its connection, or is left behind by it.
        """
        before = far.files()
        far.arm(crash)
        done = far.run("run", "fix", "-y")
        assert done.returncode == 3, done.stderr
        assert "lost the agent" in done.stderr
        assert PUT_BACK in done.stderr
        far.check_as_before(before)
        assert far.run("recover").stdout == NOTHING

    def test_someone_elses_key_answers_when_it_is_redialled(self, far: UnitToy) -> None:
        before, running = far.files(), far.measuring("fix", trials=1000)
        _know(far, OTHER_KEY)
        far.cut()
        _, said = running.communicate(timeout=60)
        assert running.returncode == 5, said
        assert "DIRTY" in said
        assert "ssh-keygen" in said
        assert "run 'campaign recover' when it answers" in said
        _know(far, far.machine.host_key)
        far.check_recovers(before)


COUNTED = """\
name: counted
hypothesis: rule
kind: fix
question: Does it fail with that done?
steps:
  - name: count
    command:
      on: there
      cwd: {there}
      do: [sh, -c, "echo done >> count; exec sleep 4713"]
      undo: [mv, count, undone]
      timeout: 60s
  - restart: {{services: [app]}}
  - reproduce: {{use: trials}}
"""


def test_two_operators_with_two_ledgers(far: UnitToy, tmp_path: Path) -> None:
    """The second learns who works on the machine, and since when; the first goes on."""
    before, running = far.files(), far.measuring("fix")
    shutil.copytree(far.root, tmp_path / "other", ignore=shutil.ignore_patterns("campaign.db*"))
    other = Toy(tmp_path / "other", far.port)
    other.run("hypothesis", "import", str(other.root / "hypotheses.yaml"))
    for command in (["run", "fix", "-y"], ["recover"], ["services", "stop"]):
        refused = other.run(*command)
        assert refused.returncode == 6, refused.stderr
        who = r"host there: \S+@\S+ works on this host for fix \(agent pid \d+, since 20\d\d-"
        assert re.search(who, refused.stderr), refused.stderr
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    far.check_as_before(before)


class TestOnce:
    """What a lost connection cuts off fails, and is taken back; it is never done again."""

    def test_a_command(self, far: UnitToy) -> None:
        before = far.files()
        far.playbook("counted", COUNTED.format(there=f"/srv/{far.unit}"))
        running = far.start("run", "counted", "-y", "-e", "trials=5")
        wait_until((far.there / "count").exists, 60, "the command to be under way")
        far.cut()
        _, said = running.communicate(timeout=60)
        assert running.returncode == 3, said
        assert "count  FAILED" in said
        assert (far.there / "undone").read_text() == "done\n"
        assert not far.machine.processes("sleep 4713")
        far.check_as_before(before)

    def test_a_restart(self, far: UnitToy) -> None:
        """Cut off while the service is not healthy yet: there, and on the way back, one each."""
        before, pid = far.files(), far.show("MainPID")
        (far.there / "may-serve").unlink()
        running = far.start("run", "fix", "-y")
        wait_until(lambda: far.show("MainPID") not in ("0", pid), 60, "the restart")
        far.cut()
        (far.there / "may-serve").touch()
        _, said = running.communicate(timeout=60)
        assert running.returncode == 3, said
        assert "restart app  FAILED" in said
        log = far.machine.run("journalctl", "--output=cat", f"--unit={far.unit}")
        assert log.count("Started ") == 3, log
        far.check_as_before(before)


class TestLease:
    """The operator is gone for good, and with it the connection."""

    def test_the_machine_puts_itself_back(self, far: UnitToy) -> None:
        with (far.root / "campaign.yaml").open("a") as file:
            file.write("lease: 5s\n")
        before, running = far.files(), far.trying("fix", trials=100_000)
        pid = far.show("MainPID")
        running.kill()
        running.communicate()
        wait_until(lambda: far.files() == before, 60, "the files")
        wait_until(lambda: far.show("MainPID") not in ("0", pid), 60, "the restart")
        wait_until(lambda: "host there put itself back" in far.run("status").stdout, 60, "its word")
        far.check_as_before(before)
        assert "was interrupted" not in far.run("status").stdout
        assert far.run("recover").stdout == NOTHING


class TestDisk:
    @pytest.mark.parametrize(
        ("part", "code", "said"),
        [
            ("src", 3, ["No space left on device", "nothing was changed"]),
            (".state", 6, ["no room is left for the journal in /srv/"]),
        ],
    )
    def test_full_before_patching(
        self, far: UnitToy, part: str, code: int, said: list[str]
    ) -> None:
        """Nothing is stopped, and nothing written."""
        before, pid = far.files(), far.show("MainPID")
        with far.small_disk(part) as fill:
            filler = fill()
            done = far.run("run", "fix", "-y")
            assert done.returncode == code, done.stderr
            assert all(one in done.stderr for one in said)
            filler.unlink()
            far.check_as_before(before)
            assert far.show("MainPID") == pid
            assert far.run("recover").stdout == NOTHING

    def test_full_while_putting_back(self, far: UnitToy) -> None:
        _change(far, "rule", "src", "rule.py", "BUG = True", "BUG = False")
        with far.small_disk("src") as fill:
            before, running = far.files(), far.measuring("rule")
            filler = fill()
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=60)
            assert running.returncode == 5, said
            assert f"/srv/{far.unit}/src/rule.py cannot be put back" in said
            assert "Remove the obstacle, then campaign recover" in said
            filler.unlink()
            far.check_recovers(before)


class TestSomeoneElse:
    def test_changes_a_file_between_patch_and_undo(self, far: UnitToy) -> None:
        before, running = far.files(), far.measuring("fix")
        far.rule.write_text("BUG = False  # mine\n")
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
        assert running.returncode == 5, said
        assert far.rule.read_text() == "BUG = False  # mine\n"
        advised = re.search(r"To bring the original back: (cp \S+ \S+), then", said)
        assert advised, said
        far.machine.run(*advised[1].split())
        far.check_recovers(before)

    def test_changes_the_same_path_on_two_hosts(self, far: UnitToy) -> None:
        """Each is kept by itself, under its run and its host, and told so."""
        note = far.root / "note"
        note.write_text("old here\n")
        for command in (f"mkdir -p {far.root}", f"echo old there > {note}"):
            far.machine.run("sh", "-c", command)
        both = BOTH.format(root=far.root).replace("rule.py", "note").replace("True", "old")
        far.playbook("both", both.replace("False", "new"))
        assert far.run("services", "restart").returncode == 0
        running = far.measuring("both")
        note.write_text("mine here\n")
        far.machine.run("sh", "-c", f"echo mine there > {note}")
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
        assert running.returncode == 5, said
        assert all(f"campaign recover --accept {host}:{note}" in said for host in ("here", "there"))
        first = far.run("recover", "--accept", f"there:{note}")
        assert first.returncode == 5, first.stderr
        assert f"kept there:{note} as it is now\n" in first.stdout
        second = far.run("recover", "--accept", str(note))
        assert second.returncode == 0, second.stderr
        assert f"kept here:{note} as it is now\n" in second.stdout
        kept = [re.search("its original: (.*)", done.stdout) for done in (first, second)]
        originals = [Path(found[1]).read_text() for found in kept if found]
        assert originals == ["old there\n", "old here\n"]
        (compare,) = re.findall("to see: (.*)", first.stdout)
        shown = subprocess.run(compare, shell=True, capture_output=True, text=True, check=False)
        assert "> mine there" in shown.stdout, shown.stderr
        assert far.run("runs", "show", "both").stdout.count("kept as found (accepted)") == 2


class TestService:
    def test_never_becomes_healthy(self, far: UnitToy) -> None:
        _change(far, "sick", "src", "app.py", "return f", "raise OSError or f")
        before = far.files()
        done = far.run("run", "sick", "-y")
        assert done.returncode == 3, done.stderr
        assert "not healthy within 6 s" in done.stderr
        far.check_as_before(before)
        assert far.run("recover").stdout == NOTHING

    def test_is_healthy_there_but_not_as_seen_from_here(self, far: UnitToy) -> None:
        config, seen = far.root / "campaign.yaml", far.root / "seen"
        there = f"{{command: [test, -e, /srv/{far.unit}/may-serve], timeout: 6s}}"
        here = f"{{command: [test, -e, {seen}], on: here, timeout: 2s, settle: 100ms}}"
        text = config.read_text()
        assert there in text
        config.write_text(text.replace(there, here))
        before = far.files()
        done = far.run("run", "fix", "-y")
        assert done.returncode == 5, done.stderr
        assert "app was not healthy within 2 s, asked from here: test -e " in done.stderr
        assert far.files() == before
        seen.touch()
        far.check_recovers(before)
        assert far.run("run", "fix", "-y").returncode == 0

    def test_is_not_healthy_either_as_it_was(self, far: UnitToy) -> None:
        before, running = far.files(), far.measuring("fix")
        (far.there / "may-serve").unlink()
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
        assert running.returncode == 5, said
        assert "the files are as they were, but app did not become healthy" in said
        assert far.files() == before
        assert far.run("recover").returncode == 5, "it runs, but is not healthy yet"
        (far.there / "may-serve").touch()
        far.check_recovers(before)

    def test_crashes_in_a_loop(self, far: UnitToy) -> None:
        """systemd starts it over and over, up to its own limit of starts."""
        _change(far, "broken", "src", "app.py", "import rule", "import no_such_thing")
        before = far.files()
        done = far.run("run", "broken", "-y")
        assert done.returncode == 3, done.stderr
        assert "crash loop" in done.stderr
        assert "No module named 'no_such_thing'" in done.stderr
        far.check_as_before(before)
        assert far.run("recover").stdout == NOTHING


def _change(far: UnitToy, name: str, folder: str, path: str, old: str, new: str) -> None:
    """A playbook that replaces a text of one file."""
    root = f"/srv/{far.unit}/{folder}"
    far.playbook(name, RULE_ONLY.format(name=name, root=root, path=path, old=old, new=new))


BOTH = """\
name: both
hypothesis: rule
kind: fix
question: Does it fail with both changed?
steps:
  - name: change a file here
    patch: {{host: here, root: ".", replace: {{path: note, old: "old", new: "new"}}}}
  - name: and one there
    patch: {{host: there, root: "{root}", replace: {{path: rule.py, old: "True", new: "False"}}}}
  - restart: {{services: [app]}}
  - reproduce: {{use: trials}}
verdict: {{by: rate, expect: drop, against: baseline}}
"""


class TestUnreachable:
    def test_the_others_are_recovered(self, far: UnitToy) -> None:
        """One host is out of reach after a crash of the command: it is named, with what is there,

        and waited for; without anything outstanding it is only told.
        """
        before, note = far.files(), far.root / "note"
        note.write_text("old\n")
        far.playbook("both", BOTH.format(root=f"/srv/{far.unit}/src"))
        running = far.measuring("both")
        running.kill()
        running.communicate(timeout=60)
        assert note.read_text() == "new\n"
        _know(far, OTHER_KEY)
        recovered = far.run("recover")
        assert recovered.returncode == 5, recovered.stderr
        assert note.read_text() == "old\n"
        assert f"restored {note}" in recovered.stdout
        assert f"outstanding there: /srv/{far.unit}/src/rule.py; run " in recovered.stdout
        assert "! host there: root@" in far.run("status").stdout
        shown = far.run("runs", "show", "both").stdout
        assert f"here:{note}  put back" in shown
        assert f"there:/srv/{far.unit}/src/rule.py  NOT put back" in shown
        _know(far, far.machine.host_key)
        far.check_recovers(before)
        _know(far, OTHER_KEY)
        nothing = far.run("recover")
        assert (nothing.returncode, nothing.stdout) == (4, "Nothing to recover elsewhere.\n")


class TestRefused:
    """A machine that is not ours to use is left alone."""

    @pytest.mark.parametrize(
        ("spoil", "said"),
        [
            (lambda far: (far.root / "known_hosts").write_text("# nobody\n"), "is not known"),
            (lambda far: _know(far, OTHER_KEY), "ssh-keygen -f"),
            (lambda far: access(far, "user: nobody"), "does not let nobody in"),
            (lambda far: access(far, "user: guest, sudo: true"), "NOPASSWD"),
        ],
        ids=["unknown key", "changed key", "wrong user", "no sudo"],
    )
    def test_is_one_line(self, far: UnitToy, spoil: Callable[[UnitToy], None], said: str) -> None:
        before = far.files()
        spoil(far)
        for command in (["run", "fix", "-y"], ["recover"]):
            done = far.run(*command)
            assert done.returncode == 4, done.stderr
            assert said in done.stderr
            assert done.stderr.count("\n") == 1
        assert far.files() == before
        assert far.journal() == []
