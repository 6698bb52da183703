"""The report as JSON: all that the pages tell, for programs."""

import dataclasses
import json
from collections.abc import Mapping

from campaign.report.content import Report

FORMAT = 1
"""Rises when something that programs may rely on is renamed or taken away."""


def page(report: Report) -> str:
    """A report as JSON, with a line break at its end.

    Names are those of the dataclasses in campaign.report, times are seconds since the epoch,
    durations seconds, rates shares from 0 to 1.
    """
    return json.dumps({"format": FORMAT, **_fields(report)}, indent=2, ensure_ascii=False) + "\n"


def _fields(value: object) -> dict[str, object]:
    return {
        field.name: _plain(getattr(value, field.name))
        for field in dataclasses.fields(value)  # type: ignore[arg-type]
    }


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value
