"""What changed while nobody changed it: within a restart by position, across time by controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hypotheses.assumptions import DEFAULTS, Settings
from hypotheses.model import Restart, posterior, predictive_p
from hypotheses.observation import Counts, Trial, count
from hypotheses.rates import fisher, p_text, rate_text, separated


@dataclass(frozen=True)
class ByPosition:
    """The first half of a restart's trials against the second, in the order they ran."""

    first: Counts
    second: Counts
    p: float

    @property
    def drifted(self) -> bool:
        """Whether the halves differ by the rule for two counts."""
        return separated(self.first.fail, self.first.n, self.second.fail, self.second.n)

    def __str__(self) -> str:
        return (
            f"first half {rate_text(self.first)}; second half {rate_text(self.second)}"
            f" (Fisher {p_text(self.p)})"
        )


def in_order_of_start(trials: Sequence[Trial], ends: Sequence[float]) -> tuple[Trial, ...]:
    """`trials`, which ended at `ends` (seconds), in the order they began; none where they have no
    order, for they all ran at once.

    Trials that run beside each other end in another order than they began, the short ones first,
    and failing ones are often short. A trial that does not say how long it took counts as one
    that ran alone: those are in order as they came.
    """
    if not all(trial.seconds is not None for trial in trials):
        return tuple(trials)
    starts = [end - (trial.seconds or 0) for trial, end in zip(trials, ends, strict=True)]
    if len(trials) > 1 and max(starts) < min(ends):
        return ()
    by_start = sorted(range(len(trials)), key=starts.__getitem__)
    return tuple(trials[index] for index in by_start)


def by_position(trials: Sequence[Trial]) -> ByPosition:
    """Whether the first half of `trials` failed as often as the second (Fisher's exact test).

    The middle one of an odd number is in the second half.
    """
    half = len(trials) // 2
    first, second = count(trials[:half]), count(trials[half:])
    return ByPosition(first, second, fisher(first.fail, first.n, second.fail, second.n))


def with_epochs(
    causes: Sequence[str],
    weights: Mapping[str, float] | None,
    restarts: Sequence[Restart],
    settings: Settings = DEFAULTS,
) -> tuple[Restart, ...]:
    """The restarts, in the order they happened, each with its epoch.

    A control that is too surprising (`settings.drift`) opens a new epoch. It begins where that
    explains the trials best, after the control before. What the restarts' own epochs were is
    not looked at.
    """
    dated: list[Restart] = []
    quiet_since = epoch = 0
    for restart in restarts:
        dated.append(replace(restart, epoch=epoch))
        if restart.toggles or not restart.n:
            continue
        before = posterior(causes, weights, dated[:-1], settings)
        if quiet_since and predictive_p(before, dated[-1]) < settings.drift:
            start = _best_start(causes, weights, dated, quiet_since, settings)
            epoch += 1
            dated[start:] = [replace(one, epoch=epoch) for one in dated[start:]]
        quiet_since = len(dated)
    return tuple(dated)


def opens_epoch(restarts: Sequence[Restart], run: str) -> bool:
    """Whether a control of `run` is the first one of the newest epoch, and there were others."""
    controls = [one for one in restarts if one.n and not one.toggles]
    newest = [one for one in controls if one.epoch == controls[-1].epoch]
    return len(newest) < len(controls) and newest[0].run == run


def _best_start(
    causes: Sequence[str],
    weights: Mapping[str, float] | None,
    dated: Sequence[Restart],
    earliest: int,
    settings: Settings,
) -> int:
    """Where the new epoch makes all trials most probable; of equal places the latest."""

    def evidence(start: int) -> float:
        epoch = dated[-1].epoch + 1
        split = [*dated[:start], *(replace(one, epoch=epoch) for one in dated[start:])]
        return posterior(causes, weights, split, settings).evidence

    return max(range(len(dated) - 1, earliest - 1, -1), key=evidence)
