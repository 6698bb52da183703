"""The report as one HTML file that needs nothing else: styles and plots are in it, no scripts."""

import re
from typing import TYPE_CHECKING

from campaign.report.content import Report
from campaign.report.evidence import chance
from campaign.report.figures import (
    costs_text,
    counted,
    money_text,
    seconds_text,
    time_text,
    trials_text,
)
from campaign.report.literal import visible
from hypotheses.hypothesis import GLYPHS

if TYPE_CHECKING:
    from jinja2 import Environment


def page(report: Report) -> str:
    """A report as HTML 5. Every text is escaped; addresses become links if they are http(s)."""
    from campaign.report.plots import difference_plot, timeline_plot

    return (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            timeline_plot=timeline_plot(report.timeline),
            difference_plot=difference_plot(report.hypotheses),
        )
    )


def anchor(kind: str, name: str) -> str:
    """An id for the page: `kind` and `name`, whatever letters it has; equal only for equals."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9-]', lambda found: f'_{ord(found[0]):x}_', name)}"


def is_link(text: str) -> bool:
    """Whether an address may be followed from the page: a script may not."""
    return re.match(r"https?://", text) is not None


def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("campaign.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else visible(str(value)),
    )
    made.globals.update(
        anchor=anchor,
        chance=chance,
        costs_text=costs_text,
        counted=counted,
        glyphs=GLYPHS,
        is_link=is_link,
        money_text=money_text,
        seconds_text=seconds_text,
        time_text=time_text,
        trials_text=trials_text,
    )
    return made
