"""Observations added up, as one line of text that claims no more than they carry."""

from collections.abc import Iterable

from msgspec import Struct, field

from hypotheses.exposure import Exposure, exposure_text
from hypotheses.observation import Counts, Observation, early_stops
from hypotheses.rates import rate_text


class Tally(Struct, frozen=True):
    """Counts, how rules ended some of them early, and what the trials ran in all, in `unit`.

    `exposure` is None where the trials of none, or not of all, measure any.
    """

    counts: Counts = field(default_factory=Counts)
    stopped: tuple[str, ...] = ()
    exposure: float | None = None
    unit: str = ""

    def __add__(self, other: "Tally") -> "Tally":
        if self == Tally():
            return other
        counts, stopped = self.counts + other.counts, (*self.stopped, *other.stopped)
        if self.exposure is None or other.exposure is None or self.unit != other.unit:
            return Tally(counts, stopped)
        return Tally(counts, stopped, self.exposure + other.exposure, self.unit)

    @property
    def rate(self) -> str:
        """Failures in their exposure, or counts with what they allow.

        Counts that a rule ended early are no rate where all of them failed, as in 1/1.
        """
        if self.exposure:
            return exposure_text(Exposure(self.counts.fail, self.exposure), self.unit)
        bare = self.stopped and self.counts.fail and not self.counts.passed
        return str(self.counts) if bare else rate_text(self.counts)

    def __str__(self) -> str:
        return ", ".join((self.rate, *dict.fromkeys(self.stopped)))


def tally(observations: Iterable[Observation]) -> Tally:
    """The observations added up."""
    each = (Tally(one.counts, early_stops([one]), one.exposure, one.unit) for one in observations)
    return sum(each, Tally())
