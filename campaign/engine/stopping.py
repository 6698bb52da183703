"""Early stops: the plan's rule is followed trial by trial."""

import math
import threading
import time
from collections.abc import Iterable

from msgspec import Struct

from hypotheses.observation import Result, Trial
from hypotheses.sequential import Failures, Fixed, Rule, Sequential


class RuleEnd(Struct, frozen=True):
    """How a reproduction under a rule ended: `reached` says why it was stopped, None: it was not.

    `trials` is how many there were at that point.
    """

    rule: Rule
    reached: str | None
    trials: int

    @property
    def stopped(self) -> str:
        """How the rule ended it early, briefly; empty where it did not."""
        if self.reached is None:
            return ""
        if isinstance(self.rule, Failures):
            failures = self.rule.failures
            return f"stopped at {'the first failure' if failures == 1 else f'{failures} failures'}"
        return f"stopped early: {self.reached}"

    @property
    def stands(self) -> bool:
        """Whether the trials' number tells nothing of their outcomes, or the rule allows for it."""
        match self.rule:
            case Fixed():
                return True
            case Sequential():
                return self.reached is not None
        return self.reached is None

    def __str__(self) -> str:
        if isinstance(self.rule, Fixed):
            return str(self.rule)
        trials = f"{self.trials} trial{'s' * (self.trials != 1)}"
        return f"{self.rule}; {f'{self.reached} after {trials}' if self.reached else 'not reached'}"


class Watch:
    """Follows a rule; its `is_set` turns true when the rule, or who asked, ends the reproducer.

    So does the first trial that ends after `until`, on the monotonic clock: `spent`.
    """

    def __init__(self, rule: Rule | None, asked: threading.Event, until: float = math.inf) -> None:
        self.rule = rule
        self.spent = False
        self._asked = asked
        self._until = until
        self._outcomes: list[bool] = []
        self._reached: str | None = None

    def see(self, trials: Iterable[Trial]) -> list[Trial]:
        """Takes note of trials, in order, and returns those that count.

        What still comes after the stop does not: whatever ends soonest would come first.
        """
        counting = []
        for trial in trials:
            if self._reached is not None or self.spent:
                break
            self.spent = time.monotonic() > self._until
            counting.append(trial)
            if self.rule is not None and trial.result is not Result.CENSORED:
                self._outcomes.append(trial.result is Result.FAIL)
                if len(self._outcomes) < self.rule.at_most:
                    self._reached = self.rule.stop(self._outcomes)
        return counting

    def is_set(self) -> bool:
        return self._reached is not None or self.spent or self._asked.is_set()

    @property
    def aborted(self) -> bool:
        """Whether somebody asked the run to stop: then the rule has no say."""
        return self._asked.is_set()

    @property
    def end(self) -> RuleEnd | None:
        """How the rule ended it; None where there is none."""
        if self.rule is None:
            return None
        return RuleEnd(self.rule, self._reached, len(self._outcomes))
