"""What a reader gets, and what it works out by itself: which runs were interrupted."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from ledger_builders import make_boot, make_cycle, make_run, observe

from campaign.errors import CampaignError, Exit
from campaign.ledger.owner import Owner, current_owner, is_alive
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from hypotheses.hypothesis import Hypothesis

_SAY_WHO = """
import time
from campaign.ledger.owner import current_owner
owner = current_owner()
print(owner.pid, owner.start, owner.boot, flush=True)
time.sleep(600)
"""


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _SAY_WHO]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        yield started
        started.kill()


def _owner(process: subprocess.Popen[str]) -> Owner:
    assert process.stdout is not None
    pid, start, boot = process.stdout.readline().split()
    return Owner(int(pid), int(start), boot)


def test_a_run_reads_as_interrupted_once_its_process_is_gone(
    recorder: Recorder, ledger: Ledger, process: subprocess.Popen[str]
) -> None:
    run = make_run("probe-aaaaaa", status="running", owner=_owner(process))
    recorder.add_all([run, make_run("probe-bbbbbb", status="running")])
    assert ledger.run(run.id).status == "running"
    version = ledger.data_version()
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and still a zombie
    assert ledger.run(run.id).status == "interrupted"
    process.wait()
    assert ledger.run(run.id).status == "interrupted"
    assert [one.id for one in ledger.runs(status="interrupted")] == [run.id]
    assert [one.id for one in ledger.runs(status="running")] == ["probe-bbbbbb"]
    assert ledger.data_version() == version


def test_a_finished_run_stays_what_it_was_whoever_is_gone(
    recorder: Recorder, ledger: Ledger
) -> None:
    recorder.add(make_run(status="failed", owner=Owner(2**22 + 1, 1, "another boot")))
    assert ledger.runs()[0].status == "failed"


def test_a_recycled_pid_or_another_boot_is_someone_else() -> None:
    me = current_owner()
    assert is_alive(me)
    assert not is_alive(Owner(me.pid, me.start + 1, me.boot))
    assert not is_alive(Owner(me.pid, me.start, "another boot"))


def test_runs_come_newest_first_and_by_what_is_asked(recorder: Recorder, ledger: Ledger) -> None:
    for slug in ("topk-v2", "mtp"):
        recorder.add_hypothesis(Hypothesis(slug, ""))
    runs = [make_run(f"{name}-{n}aaaaa") for n in range(3) for name in ("base", "probe")]
    recorder.add_all(runs)
    recorder.link_run(runs[1].id, ["topk-v2"])
    recorder.link_run(runs[3].id, ["topk-v2", "mtp"])
    assert ledger.runs() == tuple(reversed(runs))
    assert ledger.runs(limit=2) == (runs[5], runs[4])
    assert ledger.runs(playbook="base", limit=2) == (runs[4], runs[2])
    assert ledger.runs(hypothesis="topk-v2") == (runs[3], runs[1])
    assert ledger.runs(hypothesis="topk-v2", status="completed", limit=1) == (runs[3],)
    assert ledger.runs(status="failed") == ()


@pytest.mark.parametrize(
    ("fragment", "found"),
    [
        ("probe-abcdef", "probe-abcdef"),
        ("probe-abcdefg", "probe-abcdefg"),
        ("base-", "base-abcdef"),
        ("zz", "probe-zzzzzz"),
        ("probe", "probe-zzzzzz"),
    ],
)
def test_a_run_is_found_by_its_playbook_or_a_part_of_its_id(
    fragment: str, found: str, recorder: Recorder, ledger: Ledger
) -> None:
    ids = ("probe-abcdef", "probe-abcdefg", "base-abcdef", "probe-zzzzzz")
    recorder.add_all([make_run(id) for id in ids])
    assert ledger.run(fragment).id == found


@pytest.mark.parametrize(
    ("fragment", "line"),
    [
        ("abcdef", "'abcdef' matches 2 runs: base-abcdef, probe-abcdef; say which"),
        ("probe-abcdfe", "no run matches 'probe-abcdfe'; did you mean probe-abcdef"),
        ("%", "no run matches '%'; `campaign runs list` shows them"),
        ("", "no run matches ''"),
    ],
)
def test_a_part_that_names_no_run_or_several(
    fragment: str, line: str, recorder: Recorder, ledger: Ledger
) -> None:
    recorder.add_all([make_run("probe-abcdef"), make_run("base-abcdef")])
    with pytest.raises(CampaignError) as told:
        ledger.run(fragment)
    assert told.value.exit is Exit.USAGE
    assert str(told.value).startswith(line)


def test_many_matches_are_not_all_listed(recorder: Recorder, ledger: Ledger) -> None:
    recorder.add_all([make_run(f"probe-{n}") for n in range(9)])
    with pytest.raises(CampaignError, match=r"9 runs: probe-8, .*, probe-4, \.\.\.; say"):
        ledger.run("prob")


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("abcdef", "no run matches 'abcdef'; did you mean probe-abcdef?"),
        ("probe", "'probe' matches 2 runs: probe-zzzzzz, probe-abcdef; say which"),
    ],
)
def test_what_changes_a_run_takes_no_mere_part_of_its_id(
    word: str, line: str, recorder: Recorder, ledger: Ledger
) -> None:
    recorder.add_all([make_run("probe-abcdef"), make_run("probe-zzzzzz")])
    assert ledger.run_to_change("probe-a").id == "probe-abcdef"
    with pytest.raises(CampaignError) as told:
        ledger.run_to_change(word)
    assert (told.value.exit, str(told.value)) == (Exit.USAGE, line)


def test_of_a_playbooks_runs_the_one_under_way_is_meant(recorder: Recorder, ledger: Ledger) -> None:
    recorder.add_all([make_run("probe-aaaaaa"), make_run("probe-cccccc")])
    with pytest.raises(CampaignError, match="no run whose id begins with 'probe' is under") as told:
        ledger.run_to_change("probe", under_way=True)
    assert told.value.exit is Exit.REFUSED
    recorder.add(make_run("probe-bbbbbb", status="running", ended_at=None))
    assert ledger.run_to_change("probe", under_way=True).id == "probe-bbbbbb"


def test_the_way_back_belongs_to_the_run_that_pays_for_it(
    recorder: Recorder, ledger: Ledger
) -> None:
    first, last = make_run("probe-aaaaaa", batch="x"), make_run("probe-bbbbbb", batch="x")
    boots = [make_boot("one", first), make_boot("two", last)]
    back = make_boot("back", last, run=None, occupied_s=1.0)
    recorder.add_all([first, last, *boots, back, make_cycle("c", back, last.id)])
    assert ledger.boots(first.id) == (boots[0],)
    assert ledger.boots(last.id) == (boots[1], back)


def test_a_follower_sees_that_something_was_written(recorder: Recorder, ledger: Ledger) -> None:
    before = ledger.data_version()
    assert ledger.data_version() == before
    recorder.add(make_run())
    assert ledger.data_version() != before


def test_counts_while_a_run_goes_on(recorder: Recorder, ledger: Ledger) -> None:
    observation = observe(recorder, make_run(status="running"), [])
    (empty,) = ledger.trial_counts(observation.run).values()
    assert (empty.n, empty.total) == (0, 0)
