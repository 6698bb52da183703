"""The numbers that a verdict rests on, as a table's cells."""

from collections.abc import Mapping

from msgspec import Struct

from campaign.ledger import records
from campaign.ledger.query import mapping
from campaign.report.figures import trials_in_short
from hypotheses.observation import Counts
from hypotheses.rates import p_text
from hypotheses.tally import Tally


class Figures(Struct, frozen=True):
    """What a run shows of a hypothesis, each as short as a table wants it, empty where unknown.

    `trials` and `control` are counts with their intervals, `difference` is in percentage points
    with its interval and Fisher's p, `posterior` the probability to be part of the cause,
    `restarts` how many were weighed, `mismatches` the shares of failing and passing trials.
    """

    trials: str = ""
    against: str = ""
    control: str = ""
    difference: str = ""
    posterior: str = ""
    restarts: str = ""
    mismatches: str = ""
    span: tuple[float, float, float] | None = None
    """The difference and its interval, as shares, for a plot."""


NO_FIGURES = Figures()


def collect_figures(verdict: records.Verdict) -> Figures:
    """The figures of one stored verdict, whatever rule gave it."""
    numbers = mapping(verdict.numbers)
    span = _span(numbers)
    control = _counts(numbers, "control_") if "against" in numbers else None
    if numbers.get("by") == "time":
        return _by_time(numbers)
    return Figures(
        trials=_short(_counts(numbers, "")),
        against=str(numbers.get("against", "")),
        control=_short(control),
        difference=_difference(span, numbers.get("fisher_p")),
        posterior=_chance(numbers.get("part")),
        restarts=str(numbers.get("restarts", "")),
        mismatches=_mismatches(numbers),
        span=span,
    )


def _by_time(numbers: Mapping[str, object]) -> Figures:
    """Failures in what the trials ran on both sides, and the ratio of the two rates."""
    low, high, p = (numbers.get(name) for name in ("ratio_low", "ratio_high", "p"))
    ratio = ""
    if isinstance(low, float) and isinstance(p, float):
        upper = f"to {high:.2g}" if isinstance(high, float) else "or more"
        ratio = f"rate ratio {low:.2g} {upper}, {p_text(p)}"
    return Figures(
        trials=_ran(numbers, ""),
        against=str(numbers.get("against", "")),
        control=_ran(numbers, "control_"),
        difference=ratio,
        restarts=str(numbers.get("restarts", "")),
    )


def _ran(numbers: Mapping[str, object], prefix: str) -> str:
    fail, ran = numbers.get(f"{prefix}fail"), numbers.get(f"{prefix}exposure")
    if not (isinstance(fail, int) and isinstance(ran, float)):
        return ""
    return trials_in_short(Tally(Counts(fail), (), ran, str(numbers.get("unit", ""))))


def chance(probability: float) -> str:
    """A posterior as text: never 0% or 100%, which no counts can give."""
    from hypotheses.by_model import chance_text  # loads numpy, which not every report needs

    return chance_text(probability)


def _chance(part: object) -> str:
    return chance(part) if isinstance(part, float) else ""


def _counts(numbers: Mapping[str, object], prefix: str) -> Counts | None:
    fail, n = numbers.get(f"{prefix}fail"), numbers.get(f"{prefix}n")
    censored = numbers.get(f"{prefix}censored", 0)
    if not (isinstance(fail, int) and isinstance(n, int) and isinstance(censored, int)):
        return None
    return Counts(fail, n - fail, censored)


def _short(counts: Counts | None) -> str:
    return trials_in_short(Tally(counts)) if counts is not None and counts.total else ""


def _span(numbers: Mapping[str, object]) -> tuple[float, float, float] | None:
    low, high = numbers.get("difference_low"), numbers.get("difference_high")
    ours, theirs = _counts(numbers, ""), _counts(numbers, "control_")
    if not (isinstance(low, float) and isinstance(high, float) and ours and theirs):
        return None
    if not (ours.n and theirs.n):
        return None
    return ours.fail / ours.n - theirs.fail / theirs.n, low, high


def _difference(span: tuple[float, float, float] | None, p: object) -> str:
    if span is None:
        return ""
    middle, low, high = (100 * share for share in span)
    told = f", {p_text(p)}" if isinstance(p, float) else ""
    return f"{middle:+.1f} points ({low:+.1f} to {high:+.1f}{told})"


def _mismatches(numbers: Mapping[str, object]) -> str:
    names = ("fail_mismatch", "fail_match", "pass_mismatch", "pass_match")
    found = [numbers.get(name) for name in names]
    counts = [one for one in found if isinstance(one, int)]
    if len(counts) < len(names):
        return f"{numbers['mismatched']} keys" if "mismatched" in numbers else ""
    bad, good, wrong, right = counts
    return f"{bad}/{bad + good} failing, {wrong}/{wrong + right} passing"
