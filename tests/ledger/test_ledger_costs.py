"""Costs: whatever the runs and whoever shares them, the parts sum to the whole."""

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_builders import make_boot, make_cycle, make_run, observe

from campaign.ledger.costs import Costs, HypothesisCosts
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from hypotheses.hypothesis import Hypothesis

_SLUGS = ("topk-v2", "mtp", "idxk-transfer")
_seconds = st.floats(0, 1e5)


@dataclass(frozen=True)
class _BootCase:
    run: int | None
    occupied: tuple[float, float] | None
    cycles: list[tuple[float, float]]


@dataclass(frozen=True)
class _Batch:
    runs: list[tuple[set[str], bool]]
    boots: list[_BootCase]


_boots = st.builds(
    _BootCase,
    st.none() | st.integers(0, 3),
    st.none() | st.tuples(_seconds, _seconds),
    st.lists(st.tuples(_seconds, _seconds), max_size=2),
)
_batches = st.builds(
    _Batch,
    st.lists(st.tuples(st.sets(st.sampled_from(_SLUGS)), st.booleans()), max_size=3),
    st.lists(_boots, max_size=4),
)


def _store(recorder: Recorder, name: str, batch: _Batch) -> None:
    """Boots whose run the batch lacks become ways back; cycles without a run are left out."""
    runs = [
        make_run(f"{name}-{index}", batch=name, retracted="typo" if retracted else None)
        for index, (_, retracted) in enumerate(batch.runs)
    ]
    recorder.add_all(runs)
    for run, (slugs, _) in zip(runs, batch.runs, strict=True):
        recorder.link_run(run.id, slugs)
    stand_in = runs[-1] if runs else make_run(batch=name)
    for position, case in enumerate(batch.boots):
        owned = case.run is not None and case.run < len(runs)
        run = runs[case.run].id if owned else None
        occupied_s, price = case.occupied or (None, None)
        boot = make_boot(
            f"{name}.{position}", stand_in, run=run, occupied_s=occupied_s, money=price
        )
        recorder.add(boot)
        for index, (downtime_s, money) in enumerate(case.cycles if runs else []):
            id, payer = f"{boot.id}.{index}", run or stand_in.id
            recorder.add(make_cycle(id, boot, payer, downtime_s=downtime_s, money=money))


def _expected(batches: list[_Batch]) -> Costs:
    boots = [boot for batch in batches for boot in batch.boots]
    cycles = [
        cycle for batch in batches if batch.runs for boot in batch.boots for cycle in boot.cycles
    ]
    occupied = [boot.occupied for boot in boots if boot.occupied]
    return Costs(
        len(cycles),
        math.fsum(downtime_s for downtime_s, _ in cycles),
        math.fsum(occupied_s for occupied_s, _ in occupied),
        math.fsum(price for _, price in [*cycles, *occupied]),
    )


@given(st.lists(_batches, max_size=3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_costs_of_all_hypotheses_sum_to_the_campaigns(batches: list[_Batch]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "campaign.db"
        with Recorder.open(path, create=True) as recorder, recorder.transaction():
            for slug in _SLUGS:
                recorder.add_hypothesis(Hypothesis(slug, ""))
            for index, batch in enumerate(batches):
                _store(recorder, f"batch{index}", batch)
        with Ledger.open(path) as ledger:
            total, shares = ledger.total_cost(), ledger.hypothesis_costs()
            expected = _expected(batches)
    assert total.restarts == expected.restarts
    for column in ("downtime_s", "occupied_s", "money"):
        assert getattr(total, column) == pytest.approx(getattr(expected, column))
        summed = math.fsum(getattr(share, column) for share in shares)
        assert summed == pytest.approx(getattr(total, column))
    assert [share.hypothesis for share in shares][:3] == list(_SLUGS)


def test_each_hypothesis_has_its_share(recorder: Recorder, ledger: Ledger) -> None:
    for slug in _SLUGS:
        recorder.add_hypothesis(Hypothesis(slug, ""))
    alone, shared, nobodys, retracted = (
        make_run(f"{name}-aaaaaa") for name in ("alone", "shared", "nobodys", "retracted")
    )
    for run, results in (
        (alone, ["fail", "pass", "censored"]),
        (shared, ["fail"]),
        (nobodys, ["pass"]),
        (retracted, ["fail"] * 5),
    ):
        observe(recorder, run, results)
        boot = make_boot(f"second {run.id}", run, occupied_s=10.0, money=2.0)
        recorder.add_all([boot, make_cycle(f"second {run.id}", boot, run.id, money=4.0)])
    recorder.link_run(alone.id, ["topk-v2"])
    recorder.link_run(shared.id, ["topk-v2", "mtp"])
    recorder.link_run(retracted.id, ["mtp"])
    recorder.retract(retracted.id, "wrong branch")
    topk, mtp, idxk, none = ledger.hypothesis_costs()
    assert topk == HypothesisCosts("topk-v2", "open", 2, 2, 3, 4, 3.0, 15.0, 9.0)
    assert mtp == HypothesisCosts("mtp", "open", 1, 1, 1, 4, 3.0, 15.0, 9.0)
    assert idxk == HypothesisCosts("idxk-transfer", "open", 0, 0, 0, 0, 0.0, 0.0, 0.0)
    assert none == HypothesisCosts("(none)", None, 1, 0, 1, 2, 2.0, 10.0, 6.0)
    assert ledger.total_cost() == Costs(8, 8.0, 40.0, 24.0)
    assert [cost.hypotheses for cost in ledger.run_costs()] == [1, 2, 0, 1]


def test_trials_that_are_no_evidence_are_left_out(recorder: Recorder, ledger: Ledger) -> None:
    recorder.add_hypothesis(Hypothesis("mtp", ""))
    for id, fields in (("a", {"status": "failed"}), ("b", {"status": "running"}), ("c", {})):
        run = make_run(id, **fields)
        observe(recorder, run, ["fail"], invalid="crashed" if id == "c" else None)
        recorder.link_run(id, ["mtp"])
    (mtp,) = ledger.hypothesis_costs()
    assert (mtp.runs, mtp.fail, mtp.n, mtp.restarts) == (3, 0, 0, 3)


def test_the_way_back_is_charged_to_the_last_run(recorder: Recorder, ledger: Ledger) -> None:
    first, last = make_run("a", batch="x"), make_run("b", batch="x")
    back = make_boot("back", last, run=None, occupied_s=5.0)
    recorder.add_all([first, last, back])
    assert [(cost.run, cost.occupied_s) for cost in ledger.run_costs()] == [("a", 0.0), ("b", 5.0)]
