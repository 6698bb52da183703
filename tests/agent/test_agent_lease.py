"""An agent whose operator is gone: it waits for the lease, then puts its host back by itself."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_trees import write

from playbooks.agent import lock
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.host import Change, Host
from playbooks.hosts.lapse import Lapse
from playbooks.hosts.specs import EmbeddedSpec, spec_of
from playbooks.services.specs import specs_of
from playbooks.system import CommandSpec, ProcessSpec, Service, System
from playbooks.system import Host as Machine

OpenHost = Callable[..., Host]

SHORT_S = 2.0
"""A lease, and longer than a busy machine keeps an operator from saying that it is there."""
PATIENCE_S = 60.0


def await_that(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)


def vanish(host: Host) -> None:
    """The operator is gone without a word, as after SIGKILL."""
    agent = host.connection._channel._agent  # type: ignore[attr-defined]
    host.connection._closing.set()
    agent.stdin.close()


def change(host: Host, tree: Path, specs: object = None) -> None:
    digest = write(tree / "mode", b"plain\n", 0o640)
    assert digest == host.read(str(tree), "mode")[0].sha256
    changes = [Change(str(tree), "mode", digest, b"safe\n"), Change(str(tree), "new", None, b"x")]
    host.apply(changes, run="run-1", specs=specs)


def serving(tree: Path) -> Service:
    """A service that runs what the changed file holds."""
    command = ("/bin/sh", "-c", "echo runs $(cat mode); exec sleep 300")
    return Service("svc", "here", ProcessSpec(command, str(tree)))


def ended(guest: Host) -> Lapse:
    """The lapse that the agent has come to the end of."""
    await_that(lambda: any(one.ended_at for one in guest.journal().lapses), "the lapse")
    await_that(lambda: guest.survey().holder is None, "the lock to be free")
    (lapse,) = guest.journal().lapses
    return lapse


def test_it_puts_back_and_restarts_what_ran_a_change(open_host: OpenHost, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    service = serving(tree)
    system = System("c", "s", tmp_path, {"here": Machine("here")}, {"svc": service})
    spec = spec_of(service)
    first = open_host(lease_s=SHORT_S)
    change(first, tree, specs_of(system, "here"))
    started = first.service_start(spec)
    vanish(first)
    guest = open_host(lock=False)
    lapse = ended(guest)
    assert sorted(lapse.restored) == [str(tree / "mode"), str(tree / "new")]
    assert (lapse.run, lapse.who, lapse.agent) == ("run-1", "tester", first.greeting.pid)
    assert lapse.heard_at < lapse.began_at
    (cycle,) = lapse.cycles
    assert (cycle.failed, cycle.batch) == ("", None)
    assert cycle.healthy.keys() == {"svc"}
    assert [path.name for path in tree.iterdir()] == ["mode"]
    assert (tree / "mode").read_bytes() == b"plain\n"
    state = guest.service_state(spec)
    assert state.running
    assert state.pid == cycle.started["svc"].pid != started.pid
    assert guest.service_last_lines(spec)[-1] == "runs plain"
    check_settled(guest, open_host, spec)


def test_an_undo_has_the_secrets_of_who_is_gone(open_host: OpenHost, tmp_path: Path) -> None:
    first, undo = open_host(lease_s=SHORT_S), ("sh", "-c", 'echo "$KEY" > seen')
    env = {"KEY": "correct horse"}
    first.note_command("1", ["true"], undo, None, str(tmp_path), run="run-1", env=env)
    vanish(first)
    assert ended(open_host(lock=False)).undone == ("1",)
    assert (tmp_path / "seen").read_text() == "correct horse\n"


@pytest.mark.parametrize("cut_off", [False, True])
def test_a_service_without_processes_is_restarted_by_its_own_start(
    open_host: OpenHost, tmp_path: Path, cut_off: bool
) -> None:
    """As for pods and containers: nothing of it is to be seen here. `cut_off`: it came up, and

    the command that started it had not ended when the operator was gone.
    """
    up, seen = tmp_path / "up", tmp_path / "seen"
    wait = f"; test -s {tmp_path}/stop || sleep 600" if cut_off else ""
    sh = "/bin/sh", "-c"
    spec = CommandSpec(
        start=(*sh, f"cat mode > {seen}; touch {up}{wait}"),
        stop=("rm", str(up)),
        status=("test", "-e", str(up)),
        cwd=str(tmp_path / "tree"),
    )
    service = Service("svc", "here", spec)
    system = System("c", "s", tmp_path, {"here": Machine("here")}, {"svc": service})
    first = open_host(lease_s=SHORT_S)
    change(first, tmp_path / "tree", specs_of(system, "here"))
    starting = threading.Thread(target=lambda: _start(first, service), daemon=True)
    starting.start()
    await_that(up.exists, "the service to be up")
    if not cut_off:
        starting.join(PATIENCE_S)
    (tmp_path / "stop").write_text("the next start ends")
    vanish(first)
    lapse = ended(open_host(lock=False))
    (cycle,) = lapse.cycles
    assert cycle.healthy.keys() == {"svc"}
    assert seen.read_text() == "plain\n"


def _start(host: Host, service: Service) -> None:
    with contextlib.suppress(HostError, HostLost):
        host.service_start(spec_of(service))


def check_settled(guest: Host, open_host: OpenHost, spec: EmbeddedSpec) -> None:
    """Nothing is outstanding, and the next operator has the agent's word for it."""
    assert not guest.journal().outstanding
    with open_host(run="run-2") as second:
        assert second.greeting.lapsed_agents
        second.settle()
        assert second.journal().lapses == ()
        second.service_stop(spec, 5)
        assert not list(Path(second.survey().state_dir).glob("journal*"))


def test_it_waits_for_its_operator_and_no_one_else(open_host: OpenHost, tmp_path: Path) -> None:
    first = open_host()
    change(first, tmp_path)
    vanish(first)
    os.kill(first.greeting.pid, signal.SIGHUP)
    with pytest.raises(HostError, match="tester worked on this host for run-1 and is gone") as told:
        open_host(run="run-2")
    assert told.value.kind == "locked"
    assert 0 < told.value.detail["waits_until"] - time.time() < 600
    assert open_host(lock=False).survey().holder.waits_until
    back = open_host(takes_over=True)
    assert (tmp_path / "mode").read_bytes() == b"safe\n"
    assert not back.journal().lapses
    assert len(back.put_back().restored) == 2


def test_told_to_end_it_leaves_everything(open_host: OpenHost, tmp_path: Path) -> None:
    first = open_host()
    change(first, tmp_path)
    vanish(first)
    os.kill(first.greeting.pid, signal.SIGTERM)
    second = open_host(run="run-2")
    assert second.greeting.outstanding.entries == 2
    assert (tmp_path / "mode").read_bytes() == b"safe\n"


def test_an_operator_that_takes_leave_is_not_waited_for(
    open_host: OpenHost, tmp_path: Path
) -> None:
    first = open_host()
    change(first, tmp_path)
    first.close()
    assert open_host(run="run-2").greeting.outstanding.entries == 2


def test_silence_is_as_good_as_an_end(open_host: OpenHost, tmp_path: Path) -> None:
    """A laptop asleep keeps its connection."""
    first = open_host(lease_s=SHORT_S)
    change(first, tmp_path)
    first.connection._closing.set()
    lapse = ended(open_host(lock=False))
    assert lapse.agent == first.greeting.pid
    with pytest.raises(
        HostLost, match=f"its operator was not heard for {SHORT_S:g} s: the lease is over"
    ):
        first.clock()
    assert (tmp_path / "mode").read_bytes() == b"plain\n"


def test_what_someone_else_changed_stays_outstanding(open_host: OpenHost, tmp_path: Path) -> None:
    first = open_host(lease_s=SHORT_S)
    change(first, tmp_path)
    (tmp_path / "mode").write_bytes(b"mine\n")
    vanish(first)
    guest = open_host(lock=False)
    assert ended(guest).restored == (str(tmp_path / "new"),)
    assert (tmp_path / "mode").read_bytes() == b"mine\n"
    assert [entry.path for entry in guest.journal().entries] == [str(tmp_path / "mode")]


def test_a_clock_that_is_set_moves_no_lease(
    open_host: OpenHost, tmp_path: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_host()
    change(first, tmp_path)
    vanish(first)
    await_that(lambda: (lock.holder(str(state_dir)) or {}).get("waits_until"), "the wait")
    set_back = time.time() - 86400
    monkeypatch.setattr(time, "time", lambda: set_back)
    holder = lock.holder(str(state_dir))
    assert holder is not None
    assert 0 < float(str(holder["waits_until"])) - set_back < 600
    monkeypatch.undo()
    open_host(takes_over=True).put_back()
