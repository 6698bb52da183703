"""Totals: the last line like `counts={"leak": 3, "maxrounds": 32, "done": 5}`."""

import json
import re
from collections.abc import Mapping, Sequence

from hypotheses.observation import Result, Trial
from playbooks.parsers.lines import Line
from playbooks.parsers.outcomes import Outcomes
from playbooks.parsers.parser import ExitInfo, Format, Parsed, ParseError, quoted, total
from playbooks.system import ParseSpec

OPTIONS: frozenset[str] = frozenset()

_COUNTS = re.compile(r"(?<!\w)counts\s*=\s*(?=\{)")
_SESSIONS = re.compile(r"(?<!\w)sessions:\s*([0-9]{1,12})\s*/\s*([0-9]{1,12})(?!\w)")


class Tally:
    """What the `counts=` lines say, and a `sessions: k/n` line after them.

    Several `counts=` lines are progress where each holds all of the one before and more; else
    they are of several runs, which is an error.
    """

    def __init__(self, outcomes: Outcomes) -> None:
        self.totals: Mapping[str, int] | None = None
        self._outcomes = outcomes
        self._seen = 0
        self._number = 0
        self._sessions: tuple[int, int, str] | None = None

    def read(self, line: Line) -> None:
        """Takes note of `line`; one that was cut off says nothing."""
        if line.cut:
            return
        found = _COUNTS.search(line.text)
        if found:
            self._take(_totals(line, found.end()), line)
        sessions = _SESSIONS.search(line.text)
        if sessions and self.totals is not None:
            self._sessions = int(sessions[1]), int(sessions[2]), line.where

    @property
    def where(self) -> str:
        return f"line {self._number}"

    @property
    def warnings(self) -> tuple[str, ...]:
        if self._seen < 2:
            return ()
        return (f"{self._seen} counts= lines, each adding to the one before: the last is used",)

    def results(self) -> dict[str, Result]:
        """What each outcome that occurred means.

        Raises ParseError for one that is not known, and for totals that do not add up.
        """
        totals = self.totals or {}
        results = {
            name: self._outcomes.result(name, self.where) for name, count in totals.items() if count
        }
        self._check_sessions(totals, results)
        return results

    def _check_sessions(self, totals: Mapping[str, int], results: Mapping[str, Result]) -> None:
        if self._sessions is None:
            return
        failing = sum(totals[name] for name, result in results.items() if result is Result.FAIL)
        trials = sum(totals.values())
        *said, where = self._sessions
        if said != [failing, trials]:
            raise ParseError(
                f"{where}: sessions: {said[0]}/{said[1]}, where counts= of {self.where} give "
                f"{failing}/{trials}: they must agree; check which outcomes are under fail"
            )

    def _take(self, totals: Mapping[str, int], line: Line) -> None:
        if self.totals is not None and not _continues(self.totals, totals):
            raise ParseError(
                f"{line.where}: counts= does not add to the one of {self.where}: are there "
                "two runs in this output? expected one run, its totals last"
            )
        self.totals, self._number = totals, line.number
        self._seen += 1
        self._sessions = None


class CountsFormat(Format):
    """As many trials of each outcome as the totals say."""

    expected = 'a line like counts={"leak": 3, "done": 37}'

    def __init__(self, spec: ParseSpec) -> None:
        self._tally = Tally(Outcomes(spec))

    def line(self, line: Line) -> Sequence[Trial]:
        self._tally.read(line)
        return ()

    def end(self, exit: ExitInfo) -> Parsed:
        totals = self._tally.totals
        if totals is None:
            return Parsed()
        results = self._tally.results()
        if not results and not exit.cut_short:
            raise ParseError(f"{self._tally.where}: counts= adds up to 0 trials: did anything run?")
        trials: list[Trial] = []
        for name, result in results.items():
            trials += [Trial(name, result)] * totals[name]
        return Parsed(tuple(trials), self._tally.warnings)


def _totals(line: Line, start: int) -> dict[str, int]:
    """The JSON object at `start` of the line: non-negative whole numbers by outcome."""
    try:
        pairs, _ = json.JSONDecoder(object_pairs_hook=list).raw_decode(line.text, start)
    except (ValueError, RecursionError):
        raise ParseError(
            f"{line.where}: {quoted(line.text[start:])} after counts= is not a JSON object: "
            "is the line cut off? print it with json.dumps or the like"
        ) from None
    if len(dict(pairs)) < len(pairs):
        raise ParseError(f"{line.where}: counts= names an outcome twice: {quoted(line.text)}")
    return whole_numbers(dict(pairs), f"{line.where}: counts=")


def whole_numbers(totals: Mapping[str, object], what: str) -> dict[str, int]:
    """`totals`, each 0 or more. Raises ParseError, naming `what`, for any other."""
    numbers: dict[str, int] = {}
    for name, count in totals.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ParseError(
                f"{what} has {quoted(count)} for {quoted(name)}: expected a whole number, 0 or more"
            )
        numbers[name] = count
    total(sum(numbers.values()), what)
    return numbers


def _continues(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Whether `after` can be `before` and more trials."""
    grown = sum(after.values()) > sum(before.values())
    return grown and all(after.get(name, 0) >= count for name, count in before.items())
