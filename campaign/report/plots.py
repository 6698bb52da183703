"""The plots of the HTML page, as SVG that stands inside it: text stays text, colours follow it.

Only matplotlib's drawing is used, never its windows. Arms differ by colour and by shape.
"""

import io
import logging
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from campaign.report.literal import visible
from campaign.report.standings import HypothesisPart
from campaign.report.timeline import Mark, Point, Timeline
from hypotheses.rates import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#010203", "#010204"
"""Stand for the page's own colours until the SVG is written."""
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")
COLOURS = tuple(f"#0102{16 + at:02x}" for at in range(len(SHAPES)))
MARKED_AT_MOST = 12
"""More marks than this would cover each other: the table beside the plot has them all."""
NAMED_AT_MOST = 24
"""With more restarts than this only some are named on the axis."""


def timeline_plot(timeline: Timeline) -> str:
    """The rate after each restart with its 95% interval, and below it the spend.

    Filled shapes count as evidence, open ones do not. Failures in an exposure have no such rate
    and are left to the table. Empty where there is nothing to plot.
    """
    points = [one for one in timeline.points if one.counts.n and not one.by_exposure]
    if not points:
        return ""
    figure = _figure(5.6)
    rates, spend = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.1))
    for number, series in enumerate(dict.fromkeys(point.series for point in points)):
        _series(rates, points, series, number % len(SHAPES))
    _marks(rates, points, timeline.marks)
    _rate_axis(rates, max(wilson(one.counts.fail, one.counts.n).high for one in points))
    rates.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, frameon=False)
    _spend(spend, points, timeline)
    what = f"Failure rate after each of {len(points)} restarts, and what was spent by then"
    told = "; ".join(f"{point.run}: {point.trials}" for point in points)
    return _svg(figure, "timeline", what, told)


def difference_plot(hypotheses: Sequence[HypothesisPart]) -> str:
    """The differences between each run and what it was held against; empty where there is none."""
    found = [
        (f"{one.run} ({part.hypothesis.slug})", one.figures.span)
        for part in hypotheses
        for one in part.spoken
        if one.figures.span is not None
    ]
    if not found:
        return ""
    figure = _figure(1.0 + 0.32 * len(found))
    axes = figure.subplots()
    for at, (_, (middle, low, high)) in enumerate(found):
        apart = low > 0 or high < 0
        axes.plot([low, high], [at, at], color=INK, linewidth=1.4)
        axes.plot(
            [middle], [at], color=INK, linestyle="none", markersize=7,
            marker="D" if apart else "o", markerfacecolor=INK if apart else "none",
        )  # fmt: skip
    axes.axvline(0, color=FAINT, linewidth=1)
    axes.set_yticks(range(len(found)), [_shortened(name) for name, _ in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(-1.03, 1.03)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["-100", "-50", "0", "+50", "+100"])
    axes.set_xlabel("difference in percentage points, with 95% interval; filled: apart from 0")
    what = f"Difference of {len(found)} runs to what they were held against"
    told = "; ".join(f"{name} {100 * span[0]:+.1f} points" for name, span in found)
    return _svg(figure, "differences", what, told)


def _figure(height: float) -> "Figure":
    """A figure 9 inches wide, drawn without a window; it tells nobody that it looks for fonts."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"font.family": "sans-serif"}):
        return Figure(figsize=(9, height), layout="constrained")


def _series(axes: "Axes", points: Sequence[Point], series: str, number: int) -> None:
    """One series' intervals and rates, filled where they count, at the places of `points`."""
    colour, shape = COLOURS[number], SHAPES[number]
    own = [(at, point) for at, point in enumerate(points) if point.series == series]
    spans = [wilson(point.counts.fail, point.counts.n) for _, point in own]
    axes.vlines(
        [at for at, _ in own], [one.low for one in spans], [one.high for one in spans],
        colors=colour, linewidth=1.6,
    )  # fmt: skip
    label = _literal(series)
    for counts, filled in ((True, colour), (False, "none")):
        told = [(at, point.counts) for at, point in own if point.is_evidence is counts]
        if told:
            axes.plot(
                [at for at, _ in told], [one.fail / one.n for _, one in told],
                color=colour, marker=shape, markersize=8, linestyle="none",
                markerfacecolor=filled, label=label, clip_on=False,
            )  # fmt: skip
            label = "_"


def _rate_axis(axes: "Axes", highest: float) -> None:
    """From 0% to the first fifth at or above the highest interval."""
    top = min(5, int(highest * 5) + 1) / 5
    ticks = [at * top / 4 for at in range(5)]
    axes.set_ylim(-0.03 * top, 1.03 * top)
    axes.set_yticks(ticks, [f"{100 * tick:.0f}%" for tick in ticks])
    axes.set_ylabel("failed, with 95% interval")


def _marks(axes: "Axes", points: Sequence[Point], marks: Sequence[Mark]) -> None:
    """Lines between the restarts that a mark lies between; marks at one place share a line."""
    placed: dict[float, list[str]] = {}
    for mark in marks:
        at = sum(point.at <= mark.at for point in points) - 0.5
        placed.setdefault(at, []).append(mark.text)
    for at, texts in [*placed.items()][-MARKED_AT_MOST:]:
        more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
        axes.axvline(at, color=FAINT, linewidth=1, linestyle=(0, (2, 3)))
        axes.text(
            at, 0.98, _literal(f"{_shortened(texts[0], 26)}{more}"), rotation=90, fontsize=9,
            ha="right", va="top", transform=axes.get_xaxis_transform(),
        )  # fmt: skip


def _spend(axes: "Axes", points: Sequence[Point], timeline: Timeline) -> None:
    """The spend up to each restart, and to the right of the last one all of it."""
    end = len(points) - 0.5
    places = [*range(len(points)), end]
    spent = [*map(timeline.spent, points), timeline.spent(timeline.total)]
    axes.step(places, spent, where="post", color=INK, linewidth=1.4)
    axes.fill_between(places, spent, step="post", color=FAINT, alpha=0.25, linewidth=0)
    axes.set_ylim(0, max(spent) * 1.4 or 1)
    axes.set_ylabel("spent")
    total = timeline.spent_text(timeline.total)
    axes.annotate(
        _literal(total), (end, spent[-1]), (-4, 4),
        textcoords="offset points", ha="right",
    )  # fmt: skip
    every = max(1, -(-len(points) // NAMED_AT_MOST))
    ticks = range(0, len(points), every)
    axes.set_xticks(ticks, [_literal(_shortened(points[at].run)) for at in ticks])
    axes.tick_params(axis="x", rotation=90 if len(points) > 4 else 0, labelsize=9)


def _svg(figure: "Figure", name: str, what: str, told: str) -> str:
    """The figure as SVG with a title and a description, whose ids are its own in the page."""
    from matplotlib import rc_context

    written = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(written, format="svg", metadata={"Date": None}, transparent=True)
    text = written.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", text)
    head = (
        f'<title id="{name}-title">{escape(what)}</title>'
        f'<desc id="{name}-desc">{escape(visible(told))}</desc>'
    )
    opening = f'<svg role="img" aria-labelledby="{name}-title {name}-desc"'
    text = re.sub(r"(<svg[^>]*>)", rf"\1{_escaped(head)}", text, count=1)
    return _coloured(text.replace("<svg", opening, 1))


def _escaped(text: str) -> str:
    """For the replacement of a pattern."""
    return text.replace("\\", r"\\")


def _coloured(svg: str) -> str:
    """The page's colours in the place of those that stood for them; those not set are ink."""
    names = {INK: "ink", FAINT: "faint"} | {
        colour: f"series-{at}" for at, colour in enumerate(COLOURS)
    }
    for colour, name in names.items():
        svg = svg.replace(colour, f"var(--{name})")
    return svg.replace("#000000", "var(--ink)")


def _literal(text: str) -> str:
    """As it is: dollar signs would start a formula, and XML has no control characters."""
    return visible(text).replace("$", r"\$")


def _shortened(text: str, most: int = 30) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
