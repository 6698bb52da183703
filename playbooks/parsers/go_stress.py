"""golang.org/x/tools/cmd/stress: `10s: 96 runs so far, 2 failures (2.08%)`.

Each line holds all of the one before, so that the last one counts. The percentage it prints is
only checked.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from hypotheses.observation import Result, Trial
from playbooks.parsers.lines import Line
from playbooks.parsers.parser import ExitInfo, Format, Parsed, ParseError, total

OPTIONS: frozenset[str] = frozenset()

_LINE = re.compile(
    r"(?:[0-9.]+[a-zµ]+)+: ([0-9]{1,12}) runs (so far|total), ([0-9]{1,12}) failures?"
    r"(?: \(([0-9.]+)%\))?(?:, [0-9]+ active)?$"
)


class _Totals(Struct, frozen=True):
    runs: int
    failures: int
    final: bool
    where: str


class GoStressFormat(Format):
    """As many trials as the last line says."""

    expected = "a line such as 10s: 96 runs so far, 2 failures (2.08%)"
    exits = frozenset({1})

    def __init__(self) -> None:
        self._last: _Totals | None = None
        self._notes: list[str] = []

    def line(self, line: Line) -> Sequence[Trial]:
        found = None if line.cut else _LINE.match(line.text.strip())
        if found is None:
            return ()
        totals = _Totals(
            total(int(found[1]), line.where), int(found[3]), found[2] == "total", line.where
        )
        self._check(totals, found[4])
        self._last = totals
        return ()

    def end(self, exit: ExitInfo) -> Parsed:
        last = self._last
        if last is None:
            return Parsed()
        if exit.code == 1 and not last.failures:
            raise ParseError(f"{exit}, yet {last.where} has no failure: stress itself failed")
        if not last.final and not exit.cut_short:
            self._notes.append(f"{last.where} is no total: is the output cut off?")
        failed = (Trial("failed", Result.FAIL),) * last.failures
        passed = (Trial("passed", Result.PASS),) * (last.runs - last.failures)
        return Parsed((*failed, *passed), tuple(self._notes))

    def _check(self, totals: _Totals, percentage: str | None) -> None:
        last, where = self._last, totals.where
        if totals.failures > totals.runs:
            raise ParseError(
                f"{where}: {totals.failures} failures in {totals.runs} runs do not add up"
            )
        if last and (last.final or last.runs > totals.runs or last.failures > totals.failures):
            raise ParseError(
                f"{where}: {totals.runs} runs, {totals.failures} failures do not add to those of "
                f"{last.where}: are there two runs in this output?"
            )
        share = 100 * totals.failures / totals.runs if totals.runs else 0.0
        if percentage is not None and abs(float(percentage) - share) > 0.011:
            self._notes.append(
                f"{where}: prints {percentage}%, where {totals.failures}/{totals.runs} "
                f"is {share:.2f}%: the counts are used"
            )
