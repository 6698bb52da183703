"""What one run allows one to say: a word, and what no count can mend.

The rules themselves are in `by_rate`, `by_mismatch` and `by_model`.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace


class Word(StrEnum):
    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


class Qualifier(StrEnum):
    """What narrows a verdict's word down; a verdict with nothing to add has the empty text."""

    NOT_EFFECTIVE = "not effective"
    EFFECT_UNPROVEN = "effect unproven"
    NOT_COMPARABLE = "arms not comparable"
    NO_CONTROL = "nothing to compare with"
    NO_TRIALS = "no trials"
    REPRODUCE_FIRST = "reproduce first"
    LEADING = "leading"
    WORSE = "worse, or a new failure"
    LOWER = "lower, not higher"
    DIFFERS = "differs"
    PARTIAL = "partial"
    NOT_SUFFICIENT = "not sufficient alone"
    NONE_LISTED = "none of the listed"
    COVERAGE_UNKNOWN = "coverage unknown"
    COVERAGE_TOO_LOW = "coverage too low"
    MASKED = "masked"
    UNTRUSTED_YET = "detector not yet trusted"
    ALL_MISMATCH = "every key mismatches"
    NOT_TRUSTED = "detector not trusted"
    SEEN_RIGHT = "detector seen right"


class Effect(StrEnum):
    """Whether the boot was proven to run what it claims."""

    EFFECTIVE = "effective"
    UNPROVEN = "unproven"
    NOT_EFFECTIVE = "not effective"


def weakest(effects: Iterable[Effect]) -> Effect:
    """What holds of several boots together; of none, that they were effective."""
    found = set(effects)
    order = (Effect.NOT_EFFECTIVE, Effect.UNPROVEN)
    return next((one for one in order if one in found), Effect.EFFECTIVE)


class Expect(StrEnum):
    """Which way the failure rate should move if the hypothesis is true."""

    DROP = "drop"
    RISE = "rise"
    SAME = "same"


class Verdict(Struct, frozen=True):
    """A word, what qualifies it, why, with which numbers, and what would settle it."""

    word: Word
    qualifier: str = ""
    reasons: tuple[str, ...] = ()
    numbers: Mapping[str, float | int | str] = field(default_factory=dict)
    still_needed: str = ""

    def __str__(self) -> str:
        return f"{self.word}, {self.qualifier}" if self.qualifier else str(self.word)


def ineffective(effect: Effect) -> Verdict | None:
    """The verdict where the change was not in effect: no count can mend that."""
    if effect is not Effect.NOT_EFFECTIVE:
        return None
    return Verdict(
        Word.INVALID,
        Qualifier.NOT_EFFECTIVE,
        ("the change was not in effect, so the counts say nothing about it",),
        still_needed="the same run with the change in effect in every process",
    )


def unproven(verdict: Verdict) -> Verdict:
    """The same verdict where the effect could not be proven: at most inconclusive."""
    proof = "proof that every process runs the change"
    return replace(
        verdict,
        word=Word.INCONCLUSIVE,
        qualifier=Qualifier.EFFECT_UNPROVEN,
        reasons=("not every process could be shown to run the change", *verdict.reasons),
        still_needed=f"{proof}; then {verdict.still_needed}" if verdict.still_needed else proof,
    )
