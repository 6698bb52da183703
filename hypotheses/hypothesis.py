"""A hypothesis: a falsifiable claim about the cause of the symptom."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Standing(StrEnum):
    """Where a hypothesis stands after all its runs."""

    OPEN = "open"
    LEADING = "leading"
    SUPPORTED = "supported"
    REFUTED = "refuted"
    CONFIRMED = "confirmed"
    ABANDONED = "abandoned"


GLYPHS: Mapping[str, str] = {
    Standing.OPEN: "○",
    Standing.LEADING: "◐",
    Standing.SUPPORTED: "▲",
    Standing.REFUTED: "✗",
    Standing.CONFIRMED: "●",
    Standing.ABANDONED: "–",
}
"""A shape beside each standing's word, so that no colour tells alone."""


class Hypothesis(Struct, frozen=True):
    """A claim, why it would be so, and what would follow from it.

    `prior` is the operator's weight in (0, 1), before any evidence; None where none was given.
    """

    slug: str
    claim: str
    mechanism: str = ""
    prior: float | None = None
    predicts_if_true: str = ""
    predicts_if_false: str = ""
    assumptions: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    standing: Standing = Standing.OPEN
