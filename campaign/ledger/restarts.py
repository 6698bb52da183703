"""The restarts of the campaign as the model takes them: what each removed, and its counts."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from sqlite3 import Row
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from campaign.ledger.conditions import ConditionReads
from campaign.ledger.records import ARM

if TYPE_CHECKING:
    from hypotheses.model import Restart


_ANY: Mapping[str, str] = MappingProxyType({})

_OBSERVED = """
SELECT coalesce(observation.cycle, observation.boot) AS restart, observation.run,
       run.kind = 'baseline' AS baseline,
       run.id IN (SELECT run FROM run_terms WHERE imported_by IS NOT NULL) AS imported,
       observation.conditions, rates.fail, rates.n,
       (SELECT accepted FROM run_terms WHERE run_terms.run = run.id) AS accepted,
       (SELECT group_concat(hypothesis, ' ') FROM removal
        WHERE removal.boot = boot.id) AS removes
FROM observation
JOIN run ON run.id = observation.run
JOIN boot ON boot.id = observation.boot
JOIN trial_rates AS rates ON rates.observation = observation.id
WHERE observation.invalid IS NULL AND run.retracted IS NULL
  AND (run.status = 'completed' OR run.id = ?1) AND rates.n > 0
  AND (?2 IS NULL OR observation.started_at <= ?2)
  AND CASE
      WHEN removes IS NOT NULL THEN coalesce(boot.effect, 'effective') = 'effective'
      ELSE boot.toggles = '' AND coalesce(boot.effect, '') <> 'not effective'
          AND (run.kind = 'baseline' OR NOT EXISTS (
              SELECT 1 FROM step WHERE step.boot = boot.id AND step.kind = 'command'))
      END
ORDER BY observation.started_at, observation.rowid
"""


class _Observed(Struct, frozen=True):
    """The trials of one observation after a restart, and the conditions they ran under.

    `accepted` are the patterns of conditions that may differ, by the word of its operator.
    """

    restart: str
    run: str
    baseline: bool
    imported: bool
    removes: frozenset[str]
    conditions: Mapping[str, str]
    accepted: tuple[str, ...]
    fail: int
    n: int

    @property
    def control(self) -> bool:
        return self.baseline and not self.removes

    def comparable(self, other: "_Observed") -> bool:
        """Whether nothing differs but what a boot of either side sets itself, or was accepted."""
        ours, theirs = self.conditions, other.conditions
        own = {name for side in (ours, theirs) for name, value in side.items() if value == ARM}
        names = (ours.keys() | theirs.keys()) - own
        return all(ours.get(name) == theirs.get(name) or self._accepts(name) for name in names)

    def _accepts(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.accepted)


class RestartReads(ConditionReads):
    """Reads for the model. Retracted runs and invalid observations are never in them."""

    def restarts(
        self,
        run: str | None = None,
        alike: Mapping[str, str] = _ANY,
        until: float | None = None,
    ) -> tuple["Restart", ...]:
        """Every restart with trials once, oldest first, under the newest baseline's conditions.

        That is the newest one whose conditions hold what is in `alike` and, where `run` is given,
        with which that run compares; and of a reproducer with which suspects were removed, where
        any were. A restart under others counts where its operator accepted what differs. What began
        after `until` is left out. Imported baselines never set the conditions; of other imported
        results nothing proves what was removed. Of completed runs, and of `run` while it still
        runs. A boot that removes nothing is a control only where it changes nothing either: one
        that is instrumented may fail at a rate of its own. One that removes something must have
        been proven to.
        """
        found = self._observed(run, until)
        observed = [one for one in found if one.baseline or not one.imported]
        own = [one for one in observed if one.run == run][-1:]
        fit = [
            one
            for one in observed
            if alike.items() <= one.conditions.items() and all(mine.comparable(one) for mine in own)
        ]
        here = [one for one in fit if not one.imported]
        controls = [one for one in here if one.control]
        used = {one.conditions.get("reproducer") for one in fit if one.removes}
        suspects = [one for one in controls if one.conditions.get("reproducer") in used]
        newest = (suspects or controls or here or fit)[-1:]
        return _joined(one for one in observed if any(map(one.comparable, newest)))

    def _observed(self, run: str | None, until: float | None) -> list[_Observed]:
        rows = self._rows(_OBSERVED, run, until)
        conditions = self.conditions()
        return [_observed(row, conditions[row["conditions"]]) for row in rows]


def _observed(row: Row, conditions: Mapping[str, str]) -> _Observed:
    return _Observed(
        restart=row["restart"],
        run=row["run"],
        baseline=bool(row["baseline"]),
        imported=bool(row["imported"]),
        removes=frozenset((row["removes"] or "").split()),
        conditions=conditions,
        accepted=tuple((row["accepted"] or "").splitlines()),
        fail=row["fail"],
        n=row["n"],
    )


def _joined(observed: Iterable[_Observed]) -> tuple["Restart", ...]:
    """Observations after one restart are one restart's trials."""
    from hypotheses.model import Restart

    by_restart: dict[str, list[_Observed]] = {}
    for one in observed:
        by_restart.setdefault(one.restart, []).append(one)
    return tuple(
        Restart(
            some[0].removes,
            sum(one.fail for one in some),
            sum(one.n for one in some),
            run=some[0].run,
        )
        for some in by_restart.values()
    )
