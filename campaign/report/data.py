"""The report as JSON: all that the pages tell, for programs."""

import json

from msgspec import to_builtins

from campaign.report.content import Report

FORMAT = 1
"""Rises when something that programs may rely on is renamed or taken away."""


def page(report: Report) -> str:
    """A report as JSON, with a line break at its end.

    Names are those of the records in campaign.report, times are seconds since the epoch,
    durations seconds, rates shares from 0 to 1.
    """
    return (
        json.dumps(
            {"format": FORMAT, **to_builtins(report, str_keys=True)}, indent=2, ensure_ascii=False
        )
        + "\n"
    )
