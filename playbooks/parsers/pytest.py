"""What pytest prints: its summary line, and with -v a line for each test.

A summary counts a test that failed and was run again by a plugin among the passed ones, and a
test that failed as its author expected (`xfail`) apart from the failed ones. Here each failing
attempt is a failing trial, and a test that failed as expected has failed. A test and its subtests
are one trial, where a summary counts each subtest that failed besides the test.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from hypotheses.observation import Result, Trial
from playbooks.parsers.attempts import OPTIONS, Attempts, Times
from playbooks.parsers.lines import Line, plural
from playbooks.parsers.parser import ExitInfo, Format, Parsed, ParseError, total
from playbooks.system import ParseSpec

__all__ = ["OPTIONS", "USUAL", "PytestFormat"]

USUAL = {
    "passed": Result.PASS,
    "failed": Result.FAIL,
    "rerun": Result.FAIL,
    "xfailed": Result.FAIL,
    "xpassed": Result.PASS,
    "error": None,
    "skipped": None,
}
_LETTERS = {
    "PASSED": "passed",
    "FAILED": "failed",
    "RERUN": "rerun",
    "XFAIL": "xfailed",
    "XPASS": "xpassed",
    "ERROR": "error",
    "SKIPPED": "skipped",
}
_WORD = "|".join(_LETTERS)
_PLAIN = re.compile(rf" ({_WORD})(?: \(.*\))?(?: +\[ *[0-9]+%\])?$")
_WORKER = re.compile(rf"\[gw[0-9]+\] \[ *[0-9]+%\] ({_WORD}) (\S.*)$")
_SUMMARY = re.compile(
    r"(no tests ran|[0-9]+ [a-z ]+(?:, [0-9]+ [a-z ]+)*) in [0-9.]+s(?: \([0-9:, a-z]+\))?$"
)
_NOTICE = re.compile(r"!{3,} (.+?) !{3,}$")
_UNCOUNTED = frozenset({"warning", "warnings", "deselected", "subtests passed"})


class PytestFormat(Format):
    """The summary says how many tests there were; lines of -v give them their names.

    An error is a test that could not be set up or taken down, or a module that could not be
    collected: no trial. Runs after each other are added up.
    """

    expected = "pytest's summary line, such as 2 failed, 38 passed in 1.20s"
    exits = frozenset({1})

    def __init__(self, spec: ParseSpec) -> None:
        self._attempts = Attempts(spec, USUAL)
        self._shown: Counter[str] = Counter()
        self._subtests = 0
        self._late: list[Trial] = []
        self._notes: list[str] = []
        self._open = ""
        self._listing = True
        self._runs = 0

    def line(self, line: Line) -> Sequence[Trial]:
        plain = line.text.strip("= ")
        summary = _SUMMARY.match(plain) if len(plain) < 1000 else None
        if summary:
            self._close(summary[1], line)
        elif line.text.startswith("==="):
            self._heading(plain, line)
        elif notice := _NOTICE.match(line.text):
            self._notes.append(f"{line.where}: {notice[1]}")
        elif line.text.startswith("SUBFAILED"):
            self._subtests += 1
        elif self._listing and not line.cut:
            return self._test(line)
        return ()

    def end(self, exit: ExitInfo) -> Parsed:
        if self._open and not exit.cut_short:
            raise ParseError(
                f"pytest began on {self._open} and printed no summary: is the output cut off? "
                "it prints none with -qq"
            )
        self._attempts.check_exit(exit)
        if self._runs > 1:
            self._notes.append(f"{self._runs} runs of pytest in this output: they are added up")
        return Parsed(tuple(self._late), (*self._attempts.warnings(), *self._notes))

    def _heading(self, text: str, line: Line) -> None:
        self._listing = text == "test session starts"
        if text == "Flaky Test Report":
            self._notes.append(
                f"{line.where}: the plugin flaky ran failing tests again: "
                "those failures are not counted"
            )
        if not self._listing:
            return
        if self._open:
            raise ParseError(
                f"{line.where}: pytest begins, where the run of {self._open} has no summary: "
                "are two runs mixed in this output?"
            )
        self._open = line.where

    def _test(self, line: Line) -> Sequence[Trial]:
        found = _named(line.text)
        if found is None:
            return ()
        name, outcome = found
        self._open = self._open or line.where
        self._shown[outcome] += 1
        return self._attempts.take(Times(name, outcome), line.where)

    def _close(self, summary: str, line: Line) -> None:
        """Sets the tests that were shown against the summary; those without a line come late."""
        said = Counter(dict(self._said(summary, line.where)))
        said["failed"] -= self._subtests
        for outcome in USUAL:
            missing = said[outcome] - self._shown[outcome]
            if missing < 0:
                raise ParseError(
                    f"{line.where}: the summary has {said[outcome]} {outcome}, where the lines "
                    f"before it show {self._shown[outcome]}: are there two runs in this output?"
                )
            if missing:
                self._late += self._attempts.take(Times("", outcome, missing), line.where)
        self._open, self._listing = "", True
        self._shown.clear()
        self._subtests = 0
        self._runs += 1

    def _said(self, summary: str, where: str) -> Iterator[tuple[str, int]]:
        for part in summary.split(", ") if summary != "no tests ran" else ():
            number, _, word = part.partition(" ")
            outcome = "error" if word == "errors" else word
            if outcome in USUAL:
                yield outcome, total(int(number[:12]), where)
            elif outcome not in _UNCOUNTED:
                self._notes.append(f"{where}: {plural(int(number[:12]), word)} not counted")


def _named(text: str) -> tuple[str, str] | None:
    """The test's name and its outcome, where the line tells both."""
    worker = _WORKER.match(text)
    if worker:
        return worker[2].strip(), _LETTERS[worker[1]]
    plain = _PLAIN.search(text.rstrip())
    name = text[: plain.start()] if plain else ""
    if plain is None or "::" not in name or name[0].isspace():
        return None
    return name.strip(), _LETTERS[plain[1]]
