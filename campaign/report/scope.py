"""Which runs of a campaign a report tells."""

from collections.abc import Sequence

from msgspec import Struct

from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.filtering import RunFilter
from campaign.ledger.reads import Ledger
from campaign.report.figures import time_text


class Scope(Struct, frozen=True):
    """Runs since a time (seconds since the epoch), for a hypothesis, or the one `run` names.

    All that is given must hold; nothing given means all runs.
    """

    since: float | None = None
    hypothesis: str | None = None
    run: str | None = None

    @property
    def is_whole(self) -> bool:
        return self == Scope()

    def places(self, ledger: Ledger) -> Sequence[int]:
        """Where the runs that it takes in are in the ledger, the newest first.

        Errors: CampaignError (USAGE) for a hypothesis or a run that there is not.
        """
        if self.hypothesis is not None:
            _check_hypothesis(ledger, self.hypothesis)
        found = ledger.places(RunFilter(hypothesis=self.hypothesis), since=self.since or 0.0)
        if self.run is None:
            return found
        named = ledger.place_of(ledger.run(self.run).id)
        return [place for place in found if place == named]

    def takes_in(self, ledger: Ledger, run: records.Run) -> bool:
        """Whether it takes in this run. Errors: as `places`."""
        return (
            (self.run is None or ledger.run(self.run).id == run.id)
            and (self.hypothesis is None or self.hypothesis in ledger.hypotheses_of(run.id))
            and run.started_at >= (self.since or 0.0)
        )

    def text(self, told: int, of: int) -> str:
        """What is told as a sentence; empty where that is everything."""
        if self.is_whole:
            return ""
        limits = [
            f"since {time_text(self.since)}" if self.since is not None else "",
            f"for {self.hypothesis}" if self.hypothesis else "",
            f"named {self.run}" if self.run else "",
        ]
        which = ", ".join(limit for limit in limits if limit)
        return f"Only the runs {which}: {told} of {of}. The standings rest on all of them."


def _check_hypothesis(ledger: Ledger, slug: str) -> None:
    from difflib import get_close_matches

    slugs = [one.slug for one in ledger.hypotheses()]
    if slug not in slugs:
        close = get_close_matches(slug, slugs, 1)
        fix = f"did you mean {close[0]!r}?" if close else "`campaign hypothesis list` shows them"
        raise CampaignError(Exit.USAGE, f"there is no hypothesis {slug!r}", fix)
