"""What all restarts of the ledger together allow one to believe, and to say of a run."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from campaign.ledger.reads import Ledger
from hypotheses.assumptions import Settings
from hypotheses.by_model import chance_text, judge
from hypotheses.by_rate import shared_luck
from hypotheses.drift import with_epochs
from hypotheses.hypothesis import Standing
from hypotheses.model import Posterior, posterior
from hypotheses.verdict import Qualifier, Verdict, Word

MOST_TRIALS = 400
"""As many trials another restart is taken to have at most, for what it would settle."""
_ANY: Mapping[str, str] = MappingProxyType({})
_NOTHING_TO_WEIGH = {Qualifier.REPRODUCE_FIRST, Qualifier.NO_CONTROL, Qualifier.NO_TRIALS}


def load_ahead() -> None:
    """Loads the libraries that weighing takes, so that no verdict has to wait for them."""
    import scipy.special  # noqa: F401


def believe(
    ledger: Ledger,
    settings: Settings,
    run: str | None = None,
    alike: Mapping[str, str] = _ANY,
    until: float | None = None,
) -> Posterior | None:
    """The posterior from the ledger's restarts until then, and those of `run` while it still runs.

    Under the conditions of the newest baseline that has `alike` among its own. An abandoned
    hypothesis is a cause only where a restart removed it. None without hypotheses.
    """
    restarts = ledger.restarts(run, alike, until)
    removed = frozenset[str]().union(*(one.toggles for one in restarts))
    causes = [
        one
        for one in ledger.hypotheses()
        if one.standing is not Standing.ABANDONED or one.slug in removed
    ]
    if not causes:
        return None
    slugs = [one.slug for one in causes]
    weights = {one.slug: one.prior for one in causes if one.prior is not None}
    dated = with_epochs(slugs, weights, restarts, settings)
    return posterior(slugs, weights, dated, settings)


def tested(belief: Posterior | None, slug: str) -> bool:
    """Whether a restart has removed this suspected cause."""
    return belief is not None and any(slug in one.toggles for one in belief.restarts)


def weigh(
    by_rate: Verdict,
    ledger: Ledger,
    settings: Settings,
    run: str,
    slug: str,
    until: float | None = None,
) -> Verdict:
    """A run's verdict by its rate with what all restarts until then say of its hypothesis.

    The same verdict where the run has no restart that removed it, or none that can be weighed.
    """
    if by_rate.word is Word.INVALID or by_rate.qualifier in _NOTHING_TO_WEIGH:
        return by_rate
    belief = believe(ledger, settings, run, until=until)
    own = [one for one in belief.restarts if one.run == run] if belief else []
    trials = max((one.n for one in own if slug in one.toggles), default=0)
    if belief is None or not trials:
        return by_rate
    pace = ledger.pace()
    by_model = judge(
        belief,
        slug,
        trials=min(trials, MOST_TRIALS),
        seconds_per_restart=pace.restart_s if pace else None,
        seconds_per_trial=pace.trial_s if pace else 0.0,
    )
    alone = all(one.toggles <= {slug} for one in own)
    return _together(by_rate, by_model, belief, slug, alone)


def _together(
    by_rate: Verdict, by_model: Verdict, belief: Posterior, slug: str, alone: bool
) -> Verdict:
    """The model's word; where it is open, what the run's counts say by themselves.

    Where the model says more, that counts alone are at most leading is left out. Of suspects that
    counts alone would call leading only the likeliest leads, and only where it
    was removed `alone`.
    """
    said, counted = by_model.reasons, by_rate.reasons
    if not by_model.qualifier and by_model.word is Word.INCONCLUSIVE:
        said = (f"{chance_text(belief.part(slug))} that {slug} is part of the cause", *said)
    if by_model.word is not Word.INCONCLUSIVE:
        luck = shared_luck(by_rate.numbers["restarts"], by_rate.numbers["control_restarts"])
        counted = tuple(one for one in counted if one != luck)
    together = replace(
        by_model,
        reasons=(*counted, *said),
        numbers={**by_model.numbers, **by_rate.numbers},
    )
    if by_model.word is not Word.INCONCLUSIVE:
        return together
    leads = alone and slug in belief.best[0]
    by_counts = by_rate.qualifier if leads or by_rate.qualifier != Qualifier.LEADING else ""
    return replace(
        together,
        qualifier=by_model.qualifier or by_counts,
        still_needed=by_model.still_needed or by_rate.still_needed,
    )
