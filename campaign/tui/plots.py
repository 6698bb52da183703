"""Plots made of characters: rates with their intervals, and sums that grow."""

from collections.abc import Sequence

from hypotheses.observation import Counts
from hypotheses.rates import wilson

_EIGHTHS = " ▁▂▃▄▅▆▇█"


def rate_plot(points: Sequence[Counts], top: float, width: int, height: int) -> list[str]:
    """One column a point: its 95% interval as a line over 0 to `top` (a share), its rate as a dot.

    Where all trials ended the same way there is no dot, since only the bound is known.

    Points that there is no room for are joined with their neighbours.
    """
    joined = _fitted(points, width)
    grid = [[" "] * len(joined) for _ in range(height)]
    for place, one in enumerate(joined):
        if one.n:
            interval = wilson(one.fail, one.n)
            low, high = (_row(share, top, height) for share in (interval.low, interval.high))
            for row in range(high, low + 1):
                grid[row][place] = "│"
            dot = "┴" if not one.fail else "┬" if not one.passed else "●"
            grid[_row(one.fail / one.n, top, height)][place] = dot
    return ["".join(row) for row in grid]


def sum_plot(values: Sequence[float], width: int, height: int) -> list[str]:
    """What grew, as bars from 0 to the last of `values`, one column each."""
    some = [values[min(len(values) - 1, place * len(values) // width)] for place in range(width)]
    top = max(values, default=0.0) or 1.0
    eighths = [round(8 * height * value / top) for value in some]
    return [
        "".join(_EIGHTHS[max(0, min(8, one - 8 * (height - 1 - row)))] for one in eighths)
        for row in range(height)
    ]


def _fitted(points: Sequence[Counts], width: int) -> list[Counts]:
    together = max(1, -(-len(points) // width))
    groups = (points[start : start + together] for start in range(0, len(points), together))
    return [sum(group, Counts()) for group in groups]


def _row(share: float, top: float, height: int) -> int:
    """The row of a share, counted from the top."""
    return max(0, height - 1 - round(min(share, top) / top * (height - 1)))
