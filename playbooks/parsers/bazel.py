"""What `bazel test` prints (to stderr) of each target, and its line `Executed 2 out of 3 tests`.

A cached result is no trial: nothing ran. With --runs_per_test or --flaky_test_attempts each run
of a target is a trial: `FLAKY, failed in 1 out of 2` is one failure of two. Shards count as runs.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hypotheses.observation import Result, Trial
from playbooks.parsers.attempts import OPTIONS, Attempts, Times
from playbooks.parsers.lines import Line
from playbooks.parsers.parser import ExitInfo, Format, Parsed, ParseError, total
from playbooks.system import ParseSpec

__all__ = ["OPTIONS", "USUAL", "BazelFormat"]

USUAL = {
    "passed": Result.PASS,
    "failed": Result.FAIL,
    "timeout": Result.CENSORED,
    "error": None,
    "cached": None,
    "skipped": None,
}
_TARGET = re.compile(
    r"(@*[\w.+~-]*//\S+) +(?:\((?:([0-9]{1,6})/[0-9]{1,6} )?cached\) )?"
    r"(PASSED|FAILED TO BUILD|FAILED|FLAKY|TIMEOUT|NO STATUS|INCOMPLETE|REMOTE FAILURE|SKIPPED)"
    r"(?:,? failed)?(?: in ([0-9]{1,6}) out of ([0-9]{1,6}))?(?: in ([0-9.]+)s)? *$"
)
_STATS = re.compile(r" +Stats over ([0-9]{1,6}) runs: ")
_EXECUTED = re.compile(r"Executed ([0-9]+) out of ([0-9]+) tests?: ")
_OUTCOMES = {"PASSED": "passed", "TIMEOUT": "timeout", "SKIPPED": "skipped"}


class _Target(Struct, frozen=True):
    """A target's line, until the line after it has told how often it ran."""

    name: str
    word: str
    cached: int
    wholly_cached: bool
    failed: int | None
    runs: int | None
    seconds: float | None
    where: str

    def times(self, runs: int) -> Iterator[Times]:
        """Its executions; `runs` where its own line does not say how many."""
        if self.wholly_cached:
            yield Times(self.name, "cached", runs)
        elif self.word in ("PASSED", "FAILED", "FLAKY", "TIMEOUT"):
            runs = self.runs or runs
            bad = runs if self.failed is None else self.failed
            bad = 0 if self.word == "PASSED" else bad
            outcome = "timeout" if self.word == "TIMEOUT" else "failed"
            took = self.seconds if runs == 1 else None
            yield Times(self.name, outcome, bad, took)
            yield Times(self.name, "cached", self.cached)
            yield Times(self.name, "passed", runs - bad - self.cached, took)
        else:
            yield Times(self.name, _OUTCOMES.get(self.word, "error"))


class BazelFormat(Format):
    """The lines of targets until `Executed`, which must tell of as many."""

    expected = "bazel's lines such as //a:b_test  PASSED in 0.3s (it prints to stderr)"
    exits = frozenset({3})

    def __init__(self, spec: ParseSpec) -> None:
        self._attempts = Attempts(spec, USUAL)
        self._pending: _Target | None = None
        self._names: dict[str, str] = {}
        self._runs = 0
        self._notes: list[str] = []

    def line(self, line: Line) -> Sequence[Trial]:
        if len(line.text) > 4096 or line.cut:
            return ()
        stats = _STATS.match(line.text)
        trials = self._settle(int(stats[1]) if stats else 1)
        found = _TARGET.match(line.text)
        if found:
            self._pending = self._target(found, line)
        executed = _EXECUTED.match(line.text)
        if executed:
            self._close(total(int(executed[2][:12]), line.where), line)
        return trials

    def end(self, exit: ExitInfo) -> Parsed:
        trials = self._settle(1)
        if self._names and not exit.cut_short:
            raise ParseError(
                "there is no line `Executed N out of M tests` after the targets: "
                "is the output cut off?"
            )
        self._attempts.check_exit(exit)
        if self._runs > 1:
            self._notes.append(f"{self._runs} runs of bazel in this output: they are added up")
        return Parsed(tuple(trials), (*self._attempts.warnings(), *self._notes))

    def _target(self, found: re.Match[str], line: Line) -> _Target:
        name, cached, word, failed, runs, seconds = found.groups()
        if name in self._names:
            raise ParseError(
                f"{line.where}: {name} was on {self._names[name]} already: "
                "are there two runs in this output?"
            )
        self._names[name] = line.where
        target = _Target(
            name,
            word,
            int(cached or 0),
            "cached)" in found[0] and cached is None,
            None if failed is None else int(failed),
            None if runs is None else int(runs),
            None if seconds is None else float(seconds),
            line.where,
        )
        if (target.failed or 0) + target.cached > (target.runs or target.failed or 10**6):
            raise ParseError(f"{line.where}: {failed} out of {runs} does not add up")
        return target

    def _settle(self, runs: int) -> list[Trial]:
        target, self._pending = self._pending, None
        if target is None:
            return []
        return [
            trial
            for times in target.times(max(runs, target.cached))
            if times.count
            for trial in self._attempts.take(times, target.where)
        ]

    def _close(self, said: int, line: Line) -> None:
        if said != len(self._names):
            raise ParseError(
                f"{line.where}: bazel tells of {said} tests, where the lines before it show "
                f"{len(self._names)}: are there two runs in this output, or lines missing?"
            )
        self._names.clear()
        self._runs += 1
