"""What `cargo nextest run` prints (to stderr): a line for each attempt, and a summary.

The summary counts a test that failed and passed when tried again among the passed ones; here
each attempt is a trial. What comes after the summary repeats lines from before it.
"""

import re
from collections.abc import Sequence

from hypotheses.observation import Result, Trial
from playbooks.parsers.attempts import OPTIONS, Attempts, Times
from playbooks.parsers.lines import Line
from playbooks.parsers.parser import ExitInfo, Format, Parsed, ParseError, total
from playbooks.system import ParseSpec

__all__ = ["OPTIONS", "USUAL", "NextestFormat"]

USUAL = {
    "passed": Result.PASS,
    "failed": Result.FAIL,
    "crashed": Result.FAIL,
    "timeout": Result.CENSORED,
    "error": None,
    "skipped": None,
}
_WORDS = {
    **dict.fromkeys(("PASS", "LEAK", "TMPASS"), "passed"),
    **dict.fromkeys(("FAIL", "LEAK-FAIL", "LKFAIL", "RETRY"), "failed"),
    **dict.fromkeys(("ABORT", "ABRT"), "crashed"),
    **dict.fromkeys(("TIMEOUT", "TMT"), "timeout"),
    "XFAIL": "error",
}
_ATTEMPT = re.compile(
    r" *(?:TRY [0-9]+ |[0-9]+/[0-9]+ )?([A-Z-]+) \[ *([0-9.]+)s\] (?:\( *[^()]*\) )?(\S+ +\S.*)$"
)
_SUMMARY = re.compile(r" *Summary \[ *[0-9.]+s\] +([0-9]+)(?:/([0-9]+))? tests? run: (.*)$")
_PART = re.compile(r"([0-9]+) (passed|failed|exec failed|timed out|skipped)")
_START = re.compile(r" *Starting [0-9]+ tests? ")


class NextestFormat(Format):
    """Trials as the attempts end; the summary must agree with the last one of each test."""

    expected = "nextest's lines such as PASS [   0.004s] crate tests::name (it prints to stderr)"
    exits = frozenset({100})

    def __init__(self, spec: ParseSpec) -> None:
        self._attempts = Attempts(spec, USUAL)
        self._last: dict[str, str] = {}
        self._began = ""
        self._reading = True
        self._runs = 0
        self._notes: list[str] = []

    def line(self, line: Line) -> Sequence[Trial]:
        if len(line.text) > 4096 or line.cut:
            return ()
        if _START.match(line.text):
            self._start(line)
        summary = _SUMMARY.match(line.text)
        if summary:
            self._close(summary, line)
        attempt = _ATTEMPT.match(line.text) if self._reading else None
        return self._attempt(attempt, line) if attempt else ()

    def end(self, exit: ExitInfo) -> Parsed:
        if self._reading and self._began and not exit.cut_short:
            raise ParseError(
                f"nextest began on {self._began} and printed no summary: is the output cut off?"
            )
        self._attempts.check_exit(exit)
        if self._runs > 1:
            self._notes.append(f"{self._runs} runs of nextest in this output: they are added up")
        return Parsed((), (*self._attempts.warnings(), *self._notes))

    def _start(self, line: Line) -> None:
        if self._reading and self._began:
            raise ParseError(
                f"{line.where}: nextest begins, where the run of {self._began} has no summary: "
                "are two runs mixed in this output?"
            )
        self._began, self._reading = line.where, True
        self._last.clear()

    def _attempt(self, found: re.Match[str], line: Line) -> Sequence[Trial]:
        word, seconds, name = found.groups()
        outcome = "crashed" if word.startswith("SIG") else _WORDS.get(word)
        if outcome is None:
            return ()
        self._began = self._began or line.where
        name = " ".join(name.split())
        if self._last.get(name) == "passed":
            raise ParseError(
                f"{line.where}: {name} had passed already: are there two runs in this output?"
            )
        self._last[name] = outcome
        return self._attempts.take(Times(name, outcome, 1, float(seconds)), line.where)

    def _close(self, summary: re.Match[str], line: Line) -> None:
        said = {word: int(number) for number, word in _PART.findall(summary[3])}
        ran = total(int(summary[1][:12]), line.where)
        passed = sum(outcome == "passed" for outcome in self._last.values())
        if (ran, said.get("passed", 0)) != (len(self._last), passed):
            raise ParseError(
                f"{line.where}: the summary has {said.get('passed', 0)} of {ran} passed, where the "
                f"lines show {passed} of {len(self._last)}: let nextest print each test "
                "(--status-level pass), and each run once"
            )
        if summary[2] and summary[2] != summary[1]:
            self._notes.append(f"{line.where}: only {ran} of {summary[2]} tests were run")
        if said.get("skipped"):
            self._attempts.take(Times("skipped", "skipped", said["skipped"]), line.where)
        self._reading, self._runs = False, self._runs + 1
