"""The verdict table: what a reproducer prints, through parser, trials and ledger, to the verdict.

The figures are those of textbooks and of public bug threads; none of them is ours to round.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import engine_printed
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.engine.events import Event
from campaign.engine.hosts import Hosts
from campaign.engine.judge import BootEvidence, judge
from campaign.engine.measure import Seen
from campaign.engine.session import Session
from campaign.engine.stop import Stop
from campaign.ledger import records
from campaign.ledger.recorder import Recorder
from campaign.workspace import Workspace
from hypotheses.by_rate import judge_rate
from hypotheses.observation import Counts, Observation, Trial
from hypotheses.verdict import Effect, Expect, Verdict, Word
from playbooks.parsers import ExitInfo, make
from playbooks.playbook import Kind, Playbook, RateRule
from playbooks.redact import Redactor
from playbooks.system import ParseSpec, System

Rate = tuple[int, int]

SPECS = {
    "counts": ParseSpec("counts", frozenset({"leak"}), frozenset({"done"})),
    "jsonl": ParseSpec("jsonl", frozenset({"leak"}), frozenset({"done"})),
    "regex": ParseSpec(
        "regex",
        frozenset({"leak"}),
        frozenset({"done"}),
        options={"match": r"session \d+: (?P<outcome>\w+)"},
    ),
    **{form: engine_printed.spec(form) for form in engine_printed.FORMATS},
}
OWN = ("counts", "jsonl", "regex")


def printed(form: str, rate: Rate) -> str:
    """What a reproducer in this format prints for k failures in n trials."""
    k, n = rate
    if form in engine_printed.FORMATS:
        return engine_printed.FORMATS[form](k, n)
    outcomes = ["leak"] * k + ["done"] * (n - k)
    if form == "counts":
        share = f"CORRUPTION sessions: {k}/{n} = {k / n:.0%}\n"
        return f"starting\ncounts={json.dumps({'leak': k, 'done': n - k})}\n{share}"
    if form == "jsonl":
        return "".join(json.dumps({"outcome": one}) + "\n" for one in outcomes)
    return "".join(f"session {i}: {one}\r\n" for i, one in enumerate(outcomes))


def parsed(form: str, text: str) -> list[Trial]:
    parser = make(SPECS[form])
    data = text.encode()
    trials = [trial for at in range(0, len(data), 61) for trial in parser.feed(data[at : at + 61])]
    return [*trials, *parser.finish(ExitInfo(code=0)).trials]


@dataclass
class Desk:
    """A ledger, and the engine's judge over it."""

    session: Session
    told: list[Event] = field(default_factory=list)

    def observe(self, playbook: str, kind: Kind, trials: list[Trial], status: str) -> str:
        """A run of one boot, one restart and one observation; returns its id."""
        recorder = self.session.recorder
        run, boot, cycle, step, seen = (recorder.new_id(playbook) for _ in range(5))
        recorder.add_all(
            [
                records.Run(
                    run, run, playbook, kind.value, "", "", "", "", "", "{}", "", status, "clean",
                    1.0, 0, 0, "",
                ),
                records.Boot(boot, run, run, 0, "", "", 1.0),
                records.Cycle(cycle, boot, run, "app", 1, 1, 2, 1, 0, 0, 1, "", "healthy", "{}", 0),
                records.Step(step, run, boot, 1, "drive", "reproduce", 1.0),
                records.Observation(seen, run, boot, cycle, step, "trials", playbook, "{}", 1.0),
            ]
        )  # fmt: skip
        recorder.add_all(
            [
                records.Trial(seen, at, one.outcome, one.result.value, None, "", None, 1.0)
                for at, one in enumerate(trials)
            ]
        )
        return run

    def verdict(
        self, treatment: Rate, control: Rate, form: str = "jsonl",
        expect: Expect = Expect.DROP, effect: Effect = Effect.EFFECTIVE,
    ) -> Verdict:  # fmt: skip
        self.observe("baseline", Kind.BASELINE, parsed(form, printed(form, control)), "completed")
        trials = parsed(form, printed(form, treatment))
        run = self.observe("fix", Kind.FIX, trials, "running")
        playbook = Playbook("fix", Kind.FIX, Path("fix.yaml"), (), verdict=RateRule(expect))
        evidence = BootEvidence("", effect, (), Seen(trials=trials))
        verdict = judge(self.session, run, playbook, [evidence])
        assert verdict is not None
        return verdict


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    workspace = Workspace(tmp_path)
    told: list[Event] = []
    with Recorder.open(workspace.ledger, create=True) as recorder:
        session = Session(
            workspace, System("c", "s", tmp_path, {}, {}), Hosts(workspace, {}, ""), recorder,
            Redactor({}), told.append, Stop(), b"", "batch", "",
        )  # fmt: skip
        yield Desk(session, told)


# (treatment, control, Fisher's p, whether the two are separated)
TABLE: list[tuple[Rate, Rate, float, bool]] = [
    ((3, 40), (7, 40), 0.311, False),
    ((9, 40), (7, 40), 0.781, False),
    ((0, 40), (7, 40), 0.0117, True),
    ((0, 5), (3, 5), 0.167, False),
    ((0, 3), (12, 13), 0.0071, True),
    ((5, 6), (7, 7), 0.46, False),
    ((0, 1544), (7, 593), 0.00012, True),
    ((0, 2), (7, 7), 0.0278, True),
    ((0, 80), (4, 80), 0.120, False),
    ((0, 300), (157, 157), 1e-100, True),
    ((0, 100), (65, 100), 1e-20, True),
    ((3, 12), (5, 20), 1.0, False),
    ((0, 15), (1, 10), 0.4, False),
    ((1, 10), (2, 10), 1.0, False),
    ((0, 20), (5, 20), 0.047, True),
    ((0, 19), (6, 11), 0.00078, True),
]


ON_THE_LINE = TABLE.index(((0, 20), (5, 20), 0.047, True))
CASES = [(form, *row) for form in OWN for row in TABLE] + [
    (form, *row) for form in engine_printed.FORMATS for row in (TABLE[ON_THE_LINE], TABLE[0])
]


@pytest.mark.parametrize(("form", "treatment", "control", "p", "separated"), CASES)
def test_table(
    desk: Desk, form: str, treatment: Rate, control: Rate, p: float, separated: bool
) -> None:
    verdict = desk.verdict(treatment, control, form)
    numbers = verdict.numbers
    assert (numbers["fail"], numbers["n"]) == treatment
    assert (numbers["control_fail"], numbers["control_n"]) == control
    found = float(numbers["fisher_p"])
    assert found == pytest.approx(p, rel=0.06) or found < p < 1e-9
    assert str(verdict) == ("inconclusive, leading" if separated else "inconclusive")
    assert verdict.still_needed


@pytest.mark.parametrize(("treatment", "control", "_p", "_separated"), TABLE)
def test_an_ineffective_toggle_beats_any_count(
    desk: Desk, treatment: Rate, control: Rate, _p: float, _separated: bool
) -> None:
    verdict = desk.verdict(treatment, control, effect=Effect.NOT_EFFECTIVE)
    assert str(verdict) == "invalid, not effective"


@pytest.mark.parametrize(
    ("rate", "low", "high"),
    [
        ((3, 40), 2.6, 19.9),
        ((7, 40), 8.7, 31.9),
        ((9, 40), 12.3, 37.5),
        ((0, 40), 0.0, 8.8),
        ((0, 3), 0.0, 56.2),
        ((40, 40), 91.2, 100.0),
        ((1, 8), 2.2, 47.1),
    ],
)
def test_intervals(desk: Desk, rate: Rate, low: float, high: float) -> None:
    numbers = desk.verdict(rate, (7, 40)).numbers
    assert 100 * float(numbers["rate_low"]) == pytest.approx(low, abs=0.06)
    assert 100 * float(numbers["rate_high"]) == pytest.approx(high, abs=0.06)


@pytest.mark.parametrize(
    ("treatment", "low", "high"),
    [((3, 40), -25.3, 5.1), ((9, 40), -12.7, 22.4), ((0, 40), -31.9, -5.1)],
)
def test_differences(desk: Desk, treatment: Rate, low: float, high: float) -> None:
    numbers = desk.verdict(treatment, (7, 40)).numbers
    assert 100 * float(numbers["difference_low"]) == pytest.approx(low, abs=0.06)
    assert 100 * float(numbers["difference_high"]) == pytest.approx(high, abs=0.06)


def test_what_would_settle_it_is_said(desk: Desk) -> None:
    verdict = desk.verdict((3, 40), (7, 40), "counts")
    assert "about 165 trials an arm" in verdict.still_needed
    assert "more restarts" in verdict.still_needed


def test_a_baseline_without_failures_judges_nothing(desk: Desk) -> None:
    assert str(desk.verdict((0, 40), (0, 40))) == "inconclusive, reproduce first"


@pytest.mark.parametrize(
    ("expect", "treatment", "said"),
    [
        (Expect.RISE, (20, 40), "inconclusive, leading"),
        (Expect.DROP, (20, 40), "inconclusive, worse, or a new failure"),
        (Expect.SAME, (0, 40), "inconclusive, differs"),
    ],
)
def test_directions(desk: Desk, expect: Expect, treatment: Rate, said: str) -> None:
    assert str(desk.verdict(treatment, (7, 40), expect=expect)) == said


COUNTS = st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(deadline=None, max_examples=150, derandomize=True)
@given(COUNTS, COUNTS, st.integers(1, 4), st.integers(1, 4), st.sampled_from(Expect))
def test_dropping_a_restart_never_strengthens(
    treatment: Rate, control: Rate, restarts: int, controls: int, expect: Expect
) -> None:
    """Of restarts that agree: one fewer, on either side, never makes a verdict stronger."""

    def strength(left: int, right: int) -> int:
        sides = [
            [Observation(Counts(k, n - k), f"{name}{at}") for at in range(number)]
            for name, (k, n), number in (("t", treatment, left), ("c", control, right))
        ]
        verdict = judge_rate(*sides, expect=expect, effect=Effect.EFFECTIVE, against="baseline")
        assert verdict.word in (Word.INCONCLUSIVE, Word.INVALID)
        return int(verdict.qualifier == "leading")

    whole = strength(restarts, controls)
    assert strength(restarts - 1, controls) <= whole
    assert strength(restarts, controls - 1) <= whole
