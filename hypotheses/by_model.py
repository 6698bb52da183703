"""The verdict on a cause from all restarts of the campaign, by the posterior.

What the restarts say together, however they were chosen and stopped. A claim needs more than a
probability: a restart with only the cause removed that came out clean, a control after it in which
the failure returned, and counts of the two that are apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, log

from msgspec import Struct
from msgspec.structs import replace

from hypotheses.assumptions import Grid
from hypotheses.model import Posterior, Restart, log_likelihoods, posterior
from hypotheses.observation import Counts
from hypotheses.outlook import MOST, outlook
from hypotheses.planner import trials_to_reproduce
from hypotheses.rates import rate_text, separated
from hypotheses.ratio import Ratio, rate_ratio
from hypotheses.verdict import Effect, Qualifier, Verdict, Word, ineffective, unproven

TELLING = 3.0
"""A restart speaks for one side when its counts are this many times as probable there."""
RESIDUAL = 0.25
"""A removal that leaves more than this share of the rate is a mitigation."""
REFUTING = 2
"""Restarts that must say the same to refute: it stayed with the cause off, or went with it on."""


class Record(Struct, frozen=True):
    """The restarts that speak clearly about a state, in the order they happened.

    `clean` came out clean with exactly its causes removed; `returned` are controls that failed
    after the first of those; `again` came out clean once more after that; `against` contradict it.
    """

    clean: tuple[Restart, ...]
    returned: tuple[Restart, ...]
    again: tuple[Restart, ...]
    against: tuple[Restart, ...]

    @property
    def shows(self) -> bool:
        """Whether these restarts by themselves show it: gone, returned, and counts apart.

        The posterior takes the baseline for settled; where it faded by itself in between, only
        the controls beside the removals can tell.
        """
        return _apart(self.clean, self.returned)

    @property
    def shows_again(self) -> bool:
        """Whether it was gone once more, by counts that are apart from those of its return.

        A few clean trials may each speak for it, and all of them still be luck.
        """
        return _apart(self.again, self.returned)


class _Case(Struct, frozen=True):
    """All that the rules look at.

    `state` is the most probable one that has the cause; in `stayed` the failure was there although
    the cause was off, in `went` it was gone although the cause was on.
    """

    belief: Posterior
    cause: str
    state: frozenset[str]
    record: Record
    stayed: tuple[Restart, ...]
    went: tuple[Restart, ...]
    ratio: Ratio | None
    treated: Counts
    controls: Counts

    @property
    def probability(self) -> float:
        return self.belief.probability(self.state)

    @property
    def others(self) -> str:
        return " and ".join(sorted(self.state - {self.cause}))


def judge(
    belief: Posterior,
    cause: str,
    *,
    effect: Effect = Effect.EFFECTIVE,
    trials: int = 40,
    seconds_per_restart: float | None = None,
    seconds_per_trial: float = 0.0,
) -> Verdict:
    """The verdict on `cause` after all restarts of `belief`, which are in their order.

    `trials` and the seconds are what another restart would have and cost, for what is still
    needed. Raises ValueError where `cause` is not one of the causes.
    """
    case = _case(belief, cause)
    verdict = ineffective(effect) or _unreproduced(case) or _by_rules(case)
    if verdict.word is Word.INVALID:
        return replace(verdict, numbers=_numbers(case))
    needed = verdict.still_needed
    if verdict.word is Word.INCONCLUSIVE and not needed:
        needed = _more_restarts(case, trials, seconds_per_restart, seconds_per_trial)
    reasons = (*verdict.reasons, *_reasons(case))
    verdict = replace(verdict, reasons=reasons, numbers=_numbers(case), still_needed=needed)
    return unproven(verdict) if effect is Effect.UNPROVEN else verdict


def likeliest(belief: Posterior, cause: str) -> frozenset[str]:
    """The most probable state that has `cause`; ValueError where it is not one of the causes."""
    if cause not in belief.causes:
        raise ValueError(f"{cause!r} is not one of the causes: {', '.join(belief.causes)}")
    return max((one for one in belief.states if cause in one), key=belief.probability)


def record(belief: Posterior, state: frozenset[str]) -> Record:
    """What single restarts say of `state`: those whose counts speak clearly for one side."""
    told = _told(belief)
    clean = [at for at, gone in told if gone and belief.restarts[at].toggles == state]
    back = [at for at, gone in told if not gone and not belief.restarts[at].toggles]
    returned = [at for at in back if clean and at > clean[0]]
    again = [at for at in clean if returned and at > returned[0]]
    against = [at for at, gone in told if gone != _removes(belief.restarts[at], state)]
    groups = (clean, returned, again, against)
    return Record(*(tuple(belief.restarts[at] for at in group) for group in groups))


def _told(belief: Posterior) -> list[tuple[int, bool]]:
    """The places of the restarts that speak clearly, and whether the failure was gone there.

    Each is held against the rates of its own epoch.
    """
    epochs = {one.epoch for one in belief.restarts if one.n}
    told: list[tuple[int, bool]] = []
    for epoch in epochs:
        places = [at for at, one in enumerate(belief.restarts) if one.n and one.epoch == epoch]
        some = [belief.restarts[at] for at in places]
        own = belief if len(epochs) == 1 else posterior(belief.causes, None, some, belief.settings)
        for at, factor in zip(places, _log_factors(own, some), strict=True):
            if abs(factor) >= log(TELLING):
                told.append((at, factor > 0))
    return sorted(told)


def _log_factors(belief: Posterior, restarts: Sequence[Restart]) -> list[float]:
    """The log Bayes factor of gone against there for each restart, rates as believed."""
    import numpy as np
    from scipy.special import logsumexp

    fails, trials = np.array([(one.fail, one.n) for one in restarts]).T
    there, gone = log_likelihoods(belief.grid, belief.settings.slip, fails, trials)
    weights = belief.weights.sum(axis=0)
    factors: list[float] = (
        logsumexp(gone, axis=1, b=weights) - logsumexp(there, axis=1, b=weights)
    ).tolist()
    return factors


def _removes(restart: Restart, state: frozenset[str]) -> bool:
    return bool(state) and state <= restart.toggles


def _case(belief: Posterior, cause: str) -> _Case:
    state = likeliest(belief, cause)
    told = [(belief.restarts[at], gone) for at, gone in _told(belief)]
    alone = [one for one in belief.restarts if one.toggles == {cause}]
    controls = [one for one in belief.restarts if not one.toggles]
    return _Case(
        belief=belief,
        cause=cause,
        state=state,
        record=record(belief, state),
        stayed=tuple(one for one, gone in told if not gone and cause in one.toggles),
        went=tuple(one for one, gone in told if gone and cause not in one.toggles),
        ratio=_ratio(alone, controls, belief.grid),
        treated=_pooled(alone),
        controls=_pooled(controls),
    )


def _ratio(alone: Sequence[Restart], controls: Sequence[Restart], grid: Grid) -> Ratio | None:
    """Against the controls of the same epochs: a drifted baseline is not an effect."""
    epochs = {one.epoch for one in alone if one.n} & {one.epoch for one in controls if one.n}
    return rate_ratio(
        [one for one in alone if one.epoch in epochs],
        [one for one in controls if one.epoch in epochs],
        grid,
    )


def _apart(off: Iterable[Restart], on: Iterable[Restart]) -> bool:
    gone, there = _pooled(off), _pooled(on)
    return separated(gone.fail, gone.n, there.fail, there.n)


def _pooled(restarts: Iterable[Restart]) -> Counts:
    counts = (Counts(one.fail, one.n - one.fail) for one in restarts)
    return sum(counts, Counts())


def _unreproduced(case: _Case) -> Verdict | None:
    if case.controls.fail:
        return None
    trials = trials_to_reproduce(case.belief.restarts)
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.REPRODUCE_FIRST,
        (f"baseline {rate_text(case.controls)}: it did not fail, so nothing could vanish",),
        still_needed=f"a failure with nothing switched off: try {trials} trials",
    )


def _by_rules(case: _Case) -> Verdict:
    return _moved(case) or _for_it(case) or _against_it(case) or Verdict(Word.INCONCLUSIVE, "", ())


def _moved(case: _Case) -> Verdict | None:
    """A rate that moved without the failure going: a mitigation, or something new."""
    if case.ratio is None:
        return None
    if case.ratio.low > 1:
        reason = f"with only {case.cause} off it fails more often: {case.ratio}"
        needed = "what switching it off breaks, before it is judged"
        return Verdict(Word.INCONCLUSIVE, Qualifier.WORSE, (reason,), still_needed=needed)
    if case.ratio.low > RESIDUAL and case.ratio.high < 1:
        reason = f"a mitigation, not the cause: with only {case.cause} off {case.ratio}"
        return Verdict(Word.SUPPORTED, Qualifier.PARTIAL, (reason,))
    return None


def _for_it(case: _Case) -> Verdict | None:
    settings = case.belief.settings
    if case.probability < settings.decided:
        return None
    alone = "" if len(case.state) == 1 else Qualifier.NOT_SUFFICIENT
    with_whom = f" together with {case.others}, either of which keeps the failure" if alone else ""
    reason = f"{chance_text(case.probability)} that {case.cause} is the cause{with_whom}"
    if case.probability >= settings.supported and case.record.shows:
        return Verdict(Word.SUPPORTED, alone, (reason, *_shown(case)))
    return Verdict(
        Word.INCONCLUSIVE, Qualifier.LEADING, (reason, *_shown(case)), still_needed=_to_show(case)
    )


def _shown(case: _Case) -> tuple[str, ...]:
    """The restarts that show it, as counts."""
    groups = (
        (f"with only {_named(case.state)} off", case.record.clean),
        ("with it back", case.record.returned),
        ("and speaking against it", case.record.against),
    )
    return tuple(f"{what}: {_counts(some)}" for what, some in groups if some)


def _to_show(case: _Case) -> str:
    """The restart that a claim still lacks; empty where only the probability does."""
    off = f"a restart with only {_named(case.state)} off that comes out clean"
    on = "with nothing off in which the failure returns"
    if not case.record.clean:
        return f"{off}, then one {on}"
    return "" if case.record.returned else f"a restart {on}"


def _against_it(case: _Case) -> Verdict | None:
    return _refuted(case) or _not_sufficient(case)


def _refuted(case: _Case) -> Verdict | None:
    belief, settings = case.belief, case.belief.settings
    part = belief.part(case.cause)
    if part > settings.refuted or max(len(case.stayed), len(case.went)) < REFUTING:
        return None
    speaking = _against(case)
    if belief.none >= settings.supported:
        reason = f"{chance_text(belief.none)} that none of the listed causes is it"
        return Verdict(
            Word.REFUTED,
            Qualifier.NONE_LISTED,
            (reason, *speaking),
            still_needed="new hypotheses: none of these is it",
        )
    reason = f"{chance_text(part)} that {case.cause} is part of the cause"
    return Verdict(Word.REFUTED, "", (reason, *speaking))


def _not_sufficient(case: _Case) -> Verdict | None:
    alone = case.belief.alone(case.cause)
    if alone > case.belief.settings.refuted or not case.stayed:
        return None
    reasons = (
        f"{chance_text(alone)} that removing {case.cause} alone removes the failure;"
        f" {chance_text(case.belief.part(case.cause))} that it is part of the cause",
        *_against(case),
    )
    return Verdict(Word.INCONCLUSIVE, Qualifier.NOT_SUFFICIENT, reasons)


def _against(case: _Case) -> tuple[str, ...]:
    groups = (
        (f"failures although {case.cause} was off", case.stayed),
        (f"none or few although {case.cause} was on", case.went),
    )
    return tuple(f"{what}: {_counts(some)}" for what, some in groups if some)


def _more_restarts(
    case: _Case, trials: int, seconds_per_restart: float | None, seconds_per_trial: float
) -> str:
    """How many more restarts would settle whether the state is it, four times in five."""
    ahead = outlook(case.belief, case.state, trials)
    restarts = ahead.restarts()
    text = _alternating(case, trials, restarts or MOST)
    if restarts is None:
        return f"{text}, would settle it with a chance of {ahead.chances[-1]:.0%} only"
    if seconds_per_restart is not None:
        seconds = restarts * (seconds_per_restart + trials * seconds_per_trial)
        text += f", about {ceil(seconds / 60)} min"
    return f"{text}, would settle it four times in five"


def _alternating(case: _Case, trials: int, restarts: int) -> str:
    restart = "1 more restart" if restarts == 1 else f"{restarts} more restarts"
    off, on = f"only {_named(case.state)} off", "nothing off"
    just_off = bool(case.belief.restarts) and case.belief.restarts[-1].toggles == case.state
    first, second = (on, off) if just_off else (off, on)
    if restarts == 1:
        return f"{restart} with {first}, {trials} trials"
    return f"{restart} alternately with {first} and with {second}, {trials} trials each"


def _reasons(case: _Case) -> tuple[str, ...]:
    if case.ratio is None:
        return ()
    return (
        f"with only {case.cause} off {rate_text(case.treated)};"
        f" baseline {rate_text(case.controls)}; rate {case.ratio}",
    )


def _numbers(case: _Case) -> dict[str, float | int | str]:
    belief = case.belief
    numbers: dict[str, float | int | str] = {
        "alone": belief.alone(case.cause),
        "part": belief.part(case.cause),
        "none": belief.none,
        "state": _named(case.state),
        "state_probability": case.probability,
        "baseline_rate": belief.rate,
        "restarts": sum(1 for one in belief.restarts if one.n),
        "clean": len(case.record.clean),
        "returned": len(case.record.returned),
        "fail": case.treated.fail,
        "n": case.treated.n,
        "control_fail": case.controls.fail,
        "control_n": case.controls.n,
    }
    if case.ratio is not None:
        numbers |= {"ratio_low": case.ratio.low, "ratio_high": case.ratio.high}
    return numbers


def _named(state: frozenset[str]) -> str:
    return " and ".join(sorted(state))


def _counts(restarts: Iterable[Restart]) -> str:
    return ", ".join(f"{one.fail}/{one.n}" for one in restarts)


def chance_text(probability: float) -> str:
    """A posterior as text: never 0% or 100%, which no counts can give."""
    if probability < 0.001:
        return "under 0.1%"
    return "over 99.9%" if probability > 0.999 else f"{100 * probability:.3g}%"
