"""How the report writes numbers: counts, durations, money, dates."""

from collections.abc import Sequence
from datetime import UTC, datetime

from campaign.ledger.costs import Costs
from hypotheses.observation import Counts
from hypotheses.tally import Tally

NAMED_AT_MOST = 6


def seconds_text(seconds: float) -> str:
    """A duration, such as "1.2 s", "41 s", "2 min 3 s" or "1 h 10 min"."""
    if round(seconds, 1) < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"


def money_text(amount: float) -> str:
    """An amount of money to the cent, without its currency."""
    return f"{amount:.2f}"


def time_text(at: float) -> str:
    """A time (seconds since the epoch) as UTC, such as "2026-01-05 09:30:00 UTC"."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def counted(count: int, noun: str) -> str:
    """A number of things, such as "1 restart" or "6 restarts"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def named(names: Sequence[str]) -> str:
    """The first few of `names`; the others are counted."""
    shown = ", ".join(names[:NAMED_AT_MOST])
    more = len(names) - NAMED_AT_MOST
    return f"{shown} and {more} more" if more > 0 else shown


def trials_text(tally: Tally) -> str:
    """Counts with what they allow, how they were stopped early, and the trials cut short."""
    return _with_censored(str(tally), tally.counts)


def trials_in_short(tally: Tally) -> str:
    """Counts with their interval alone: "21/60 (24.2-47.6%)", "0/60 (at most 6.0%)".

    Where a rule stopped them and all of them failed there is none: "1/1". Failures of an exposure
    are told by that: "5 in 10 min".
    """
    counts, told = tally.counts, tally.rate
    if tally.exposure is not None or told == str(counts):
        return _with_censored(told.partition(", ")[0], counts)
    _, _, allowed = told.partition(", ")
    interval = allowed[allowed.index("(") :] if "(" in allowed else f"({allowed})"
    text = f"{counts} {interval}" if counts.n else told
    return _with_censored(text, counts)


def failed_text(tally: Tally) -> str:
    """Counts as the beginning of a sentence, such as "21/60 fail, 35.0% (24.2-47.6%)"."""
    counts = tally.counts
    if tally.exposure is not None:
        return str(tally)
    rest = str(tally).removeprefix(str(counts))
    return f"{counts} fail{rest}" if counts.n else "no trial ended as a pass or a failure"


def costs_text(costs: Costs, currency: str) -> str:
    """Costs as the end of a sentence; money only where there is a currency or an amount."""
    if costs == Costs(0, 0.0, 0.0, 0.0):
        return "nothing"
    restarts = counted(costs.restarts, "restart") if costs.restarts else "no restart"
    parts = [
        restarts,
        f"{seconds_text(costs.downtime_s)} of downtime",
        *([f"{seconds_text(costs.lost_s)} of capacity lost"] if costs.lost_s else []),
        f"{seconds_text(costs.occupied_s)} occupied",
    ]
    if currency or costs.money:
        parts.append(f"{money_text(costs.money)} {currency}".rstrip())
    return ", ".join(parts)


def _with_censored(text: str, counts: Counts) -> str:
    return f"{text}, {counts.censored} censored" if counts.censored else text
