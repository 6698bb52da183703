"""Where a hypothesis stands after all its runs: the rules, as far as counts alone go.

Each valid run is a signal or none:

- *seen*: a supported mismatch verdict; *denied*: a refuted one;
- *leading*: rates separated as expected; *contrary*: separated the other way;
- *removed*: a leading drop; *stopped*: one of a playbook none of whose runs left a failure;
- *returned*: a leading rise against a playbook that stopped it.

Denied beside seen or leading, or contrary beside leading without seen, is `open`: the runs
disagree. Otherwise denied is `refuted`; seen is `supported`, and `confirmed` with stopped and
returned beside it and nothing contrary, which takes three runs, hence three restarts in favour;
leading without seen is `leading`. Rates alone never reach further, because one restart a side is
at most leading. That the failure is gone cannot stand in for seen here: counts cannot tell it from
stopped. Detector runs judge the detector and never move a hypothesis; invalid runs are left out.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hypotheses.hypothesis import Standing
from hypotheses.verdict import Expect, Qualifier, Verdict, Word


class Evidence(Struct, frozen=True):
    """A run's verdict on the hypothesis.

    `kind` is the playbook's; `expect` is None for a verdict by mismatch; `against` is what a rate
    was compared with: "baseline", an arm, or a playbook's name.
    """

    run: str
    playbook: str
    kind: str
    verdict: Verdict
    expect: Expect | None = None
    against: str = ""


class Proposal(Struct, frozen=True):
    """A standing, why in one sentence, and the ids of the runs it rests on."""

    standing: Standing
    reason: str
    runs: tuple[str, ...] = ()


class _Signals(Struct, frozen=True):
    """The valid evidence by what it says; a run of one is in the others, too, where it fits."""

    seen: tuple[Evidence, ...]
    denied: tuple[Evidence, ...]
    removed: tuple[Evidence, ...]
    stopped: tuple[Evidence, ...]
    returned: tuple[Evidence, ...]
    leading: tuple[Evidence, ...]
    contrary: tuple[Evidence, ...]


def propose(
    current: Standing, evidence: Sequence[Evidence], *, overruled: bool = False
) -> Proposal:
    """The standing that the evidence allows, from all of it anew.

    What the operator decided stays: `overruled` says that `current` is theirs, and an abandoned
    hypothesis is left alone.
    """
    if overruled or current is Standing.ABANDONED:
        return Proposal(current, f"the operator set {current}, and the rules leave that alone")
    valid = [
        one for one in evidence if one.kind != "detector" and one.verdict.word is not Word.INVALID
    ]
    signals = _signals(valid)
    return _disagreement(signals) or _from_mechanism(signals) or _from_rates(signals, valid)


def _signals(valid: Sequence[Evidence]) -> _Signals:
    by_mismatch = [one for one in valid if one.expect is None]
    leading = tuple(one for one in valid if _is_leading(one))
    removed = tuple(one for one in leading if one.expect is Expect.DROP)
    failed_under = {one.playbook for one in valid if one.expect is Expect.DROP and _failures(one)}
    stopped = tuple(one for one in removed if one.playbook not in failed_under)
    clean = {one.playbook for one in stopped}
    return _Signals(
        seen=tuple(one for one in by_mismatch if one.verdict.word is Word.SUPPORTED),
        denied=tuple(one for one in by_mismatch if one.verdict.word is Word.REFUTED),
        removed=removed,
        stopped=stopped,
        returned=tuple(
            one for one in leading if one.expect is Expect.RISE and one.against in clean
        ),
        leading=leading,
        contrary=tuple(one for one in valid if _is_contrary(one)),
    )


def _is_leading(one: Evidence) -> bool:
    return one.expect is not None and one.verdict.qualifier == Qualifier.LEADING


def _is_contrary(one: Evidence) -> bool:
    """Separated the other way round: the counts speak against what was expected."""
    return one.verdict.qualifier in {Qualifier.WORSE, Qualifier.LOWER}


def _failures(one: Evidence) -> bool:
    """Whether failures were left; a verdict that kept no count is taken to have some."""
    return one.verdict.numbers.get("fail", 1) != 0


def _disagreement(signals: _Signals) -> Proposal | None:
    """Runs for and runs against: neither may be dropped in silence."""
    favour = (*signals.seen, *signals.leading)
    against = signals.denied if signals.seen else (*signals.denied, *signals.contrary)
    if not favour or not against:
        return None
    reason = f"the runs disagree: {_names(favour)} for it, {_names(against)} against it"
    return Proposal(Standing.OPEN, reason, _runs(favour, against))


def _from_mechanism(signals: _Signals) -> Proposal | None:
    if signals.denied:
        where = _names(signals.denied)
        reason = f"its mechanism was looked for in failing trials and not found ({where})"
        return Proposal(Standing.REFUTED, reason, _runs(signals.denied))
    if not signals.seen:
        return None
    seen = f"its mechanism was seen ({_names(signals.seen)})"
    if signals.stopped and signals.returned and not signals.contrary:
        reason = (
            f"{seen}, removing the cause stopped the failure ({_names(signals.stopped)}),"
            f" putting it back brought it back ({_names(signals.returned)})"
        )
        runs = _runs(signals.seen, signals.stopped, signals.returned)
        return Proposal(Standing.CONFIRMED, reason, runs)
    runs = _runs(signals.seen, signals.removed, signals.contrary)
    return Proposal(Standing.SUPPORTED, f"{seen}; {_missing(signals)}", runs)


def _missing(signals: _Signals) -> str:
    """Which of the steps to confirmed are there, and which one comes next."""
    if signals.contrary:
        where = _names(signals.contrary)
        return f"to confirm, explain why the failure rate moved the other way ({where})"
    if signals.stopped:
        there = f"removing the cause stopped the failure ({_names(signals.stopped)})"
        return f"{there}; to confirm, put it back and see the failure return"
    if signals.removed:
        there = f"removing the cause left fewer failures, not none ({_names(signals.removed)})"
        return f"{there}: a mitigation so far; to confirm, stop the failure and bring it back"
    return "to confirm, remove the cause to stop the failure, then put it back"


def _from_rates(signals: _Signals, valid: Sequence[Evidence]) -> Proposal:
    if signals.leading:
        reason = (
            f"the failure rate moved as expected ({_names(signals.leading)}),"
            " but counts alone are at most leading; its mechanism has not been seen"
        )
        return Proposal(Standing.LEADING, reason, _runs(signals.leading))
    if signals.contrary:
        reason = f"the failure rate moved the other way ({_names(signals.contrary)})"
        return Proposal(Standing.OPEN, reason, _runs(signals.contrary))
    if valid:
        return Proposal(Standing.OPEN, f"no run has settled anything yet ({_names(valid)})")
    return Proposal(Standing.OPEN, "no valid run has tested it yet")


def _names(evidence: Iterable[Evidence]) -> str:
    return ", ".join(dict.fromkeys(one.playbook for one in evidence))


def _runs(*groups: Iterable[Evidence]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.run for group in groups for one in group))
