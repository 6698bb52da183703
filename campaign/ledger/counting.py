"""The counts of each observation's trials, kept beside them: readers never count a million."""

from collections.abc import Iterable

from msgspec import Struct

from campaign.ledger.records import Trial, TrialExposure
from campaign.ledger.tables import OBSERVATION_COUNT, Record

ADD_COUNTED = f"""
INSERT INTO {OBSERVATION_COUNT.name} (observation, fail, passed, censored, exposure)
VALUES (:observation, :fail, :passed, :censored, :exposure)
ON CONFLICT (observation) DO UPDATE SET
    fail = fail + excluded.fail, passed = passed + excluded.passed,
    censored = censored + excluded.censored, exposure = exposure + excluded.exposure
"""
"""Adds a `Counted` to what is counted already."""


class Counted(Struct):
    """What new rows add to the counts of an observation."""

    observation: str
    fail: int = 0
    passed: int = 0
    censored: int = 0
    exposure: float = 0.0


def counted(rows: Iterable[Record]) -> Iterable[Counted]:
    """What `rows` add, by observation; nothing where they are no trials."""
    found: dict[str, Counted] = {}
    for row in rows:
        if not isinstance(row, Trial | TrialExposure):
            continue
        one = found.setdefault(row.observation, Counted(row.observation))
        if isinstance(row, TrialExposure):
            one.exposure += row.amount
        elif row.result == "fail":
            one.fail += 1
        elif row.result == "pass":
            one.passed += 1
        else:
            one.censored += 1
    return found.values()
