"""Rates as short texts and as bars, and texts cut to the columns of a terminal."""

from rich.cells import cell_len, set_cell_size

from hypotheses.observation import Counts
from hypotheses.rates import wilson

_STEPS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)


def rate_short(counts: Counts) -> str:
    """The rate with its interval in whole percent: "8% (3-20)", "at most 9%"; empty for none."""
    if not counts.n:
        return ""
    interval = wilson(counts.fail, counts.n)
    low, high = _percent(interval.low), _percent(interval.high)
    if counts.fail == 0:
        return f"at most {high}%"
    if counts.passed == 0:
        return f"at least {low}%"
    return f"{_percent(counts.fail / counts.n)}% ({low}-{high})"


def _percent(share: float) -> str:
    """Whole percent; a decimal where a whole one would say none or all of it."""
    return f"{100 * share:.0f}" if 0.005 <= share <= 0.995 or share in (0, 1) else _fine(share)


def _fine(share: float) -> str:
    return f"{100 * share:.1f}"


def top_of(counts: list[Counts]) -> float:
    """The right end of an axis on which the intervals of all `counts` have room, .1 to 1."""
    highest = max((wilson(one.fail, one.n).high for one in counts if one.n), default=1.0)
    return next((step for step in _STEPS if highest <= step), 1.0)


def bar(counts: Counts, width: int, top: float) -> str:
    """The interval of a rate as a line of `width` columns over 0 to `top`, its rate as a dot.

    Where all trials ended the same way there is no dot, since only the bound is known.
    """
    if not counts.n:
        return " " * width
    interval = wilson(counts.fail, counts.n)
    low, high = _column(interval.low, width, top), _column(interval.high, width, top)
    cells = [" "] * low + ["─"] * (high - low + 1) + [" "] * (width - high - 1)
    if counts.fail == 0:
        cells[0] = "├"
    elif counts.passed == 0:
        cells[high] = "┤"
    else:
        cells[_column(counts.fail / counts.n, width, top)] = "●"
    return "".join(cells)


def axis(width: int, top: float) -> str:
    """The ends of the bars' axis, in `width` columns."""
    right = f"{top:.0%}"
    return set_cell_size("0", width - cell_len(right)) + right


def _column(share: float, width: int, top: float) -> int:
    return min(width - 1, round(share / top * (width - 1)))


def cut(text: str, width: int) -> str:
    """`text` in at most `width` columns; an ellipsis stands for what is left out."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)).rstrip() + "…"
