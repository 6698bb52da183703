"""What every parser of a reproducer's output has in common, and what it may refuse."""

import json
import math
import re
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hypotheses.observation import Result, Trial
from playbooks.expressions import Expression
from playbooks.parsers.lines import LINE_LIMIT, Line, Lines, plural

MAX_TRIALS = 1_000_000
"""More trials than this in one total are taken for a misread number."""

_UNANSWERED = re.compile(
    r"(?i)connection(?:error:)? (?:was )?(?:refused|reset)|econn(?:refused|reset)"
    r"|no route to host|name or service not known"
)
_STACK_TRACE = re.compile(
    r"\s*(?:Traceback \(most recent call last\)|Fatal Python error|Exception in thread "
    r"|panic: |goroutine [0-9]+ \[|thread '[^']*' .{0,40}panicked at|Segmentation fault)"
)


class ParseError(Exception):
    """The output cannot be counted. One line: what was read, what was expected, what to do."""


class NoResult(ParseError):  # noqa: N818 - it is no fault
    """The reproducer said itself that it has no result (exit 125)."""


class ExitInfo(Struct, frozen=True):
    """How a reproducer ended: by `code`, by `signal`, or because it was ended.

    `timed_out`: its time was over. `stopped`: someone or something else asked for it.
    """

    code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    stopped: bool = False

    @property
    def cut_short(self) -> bool:
        """It did not end by itself."""
        return self.timed_out or self.stopped

    def __str__(self) -> str:
        if self.timed_out:
            return "timed out"
        if self.stopped:
            return "stopped"
        if self.signal is not None:
            return f"killed by {signal_name(self.signal)}"
        return "no exit status" if self.code is None else f"exit {self.code}"


class Parsed(Struct, frozen=True):
    """The trials not handed out before, and what to know about the reading, one line each."""

    trials: tuple[Trial, ...] = ()
    warnings: tuple[str, ...] = ()


class Parser(Protocol):
    """Reads one execution's output as it comes. Any chunk boundaries give the same trials."""

    def feed(self, chunk: bytes) -> list[Trial]:
        """The trials that `chunk` completes.

        Raises ParseError for output that cannot be counted, so that the reproducer can be ended
        at once; where trials came before it in this chunk they are returned, and the next call
        raises.
        """
        ...

    def feed_stderr(self, chunk: bytes) -> None:
        """Looks through what came on another stream: it holds no trials, but tells of a crash."""
        ...

    def finish(self, exit: ExitInfo, planned: int | None = None) -> Parsed:
        """What is left at the end of the output; `planned` is how many trials it should have had.

        Trials that a stop or a timeout kept from completing are not in it (see `unfinished`).
        Raises ParseError where the output, or the way it ended, allows no counts.
        """
        ...


class Format(ABC):
    """What one format makes of the lines.

    `expected` names what gives trials, for messages. `reads_exit`: the exit code is the result;
    for others a failing one is an error, but for `exits`: with these a program says that it ran
    to its end and found failures. `line_limit` is how many bytes of a line it reads.
    """

    expected: str
    reads_exit = False
    exits: frozenset[int] = frozenset()
    line_limit = LINE_LIMIT

    @abstractmethod
    def line(self, line: Line) -> Sequence[Trial]:
        """The trials that this line completes. Raises ParseError."""

    def end(self, exit: ExitInfo) -> Parsed:  # noqa: ARG002 - the lines may have said it all
        """What only the end completes. Raises ParseError."""
        return Parsed()


class OutputParser:
    """A Parser for any Format: the reading, the exit status and the checks on both."""

    def __init__(self, form: Format) -> None:
        self._form = form
        self._lines = Lines(form.line_limit)
        self._stderr = Lines()
        self._done = 0
        self._error: ParseError | None = None
        self._trace = ""
        self._last = self._last_stderr = ""

    def feed(self, chunk: bytes) -> list[Trial]:
        trials = self._read(self._lines.feed(chunk)) if self._error is None else []
        if self._error is not None and not trials:
            raise self._error
        return trials

    def feed_stderr(self, chunk: bytes) -> None:
        self._watch_stderr(self._stderr.feed(chunk))

    def finish(self, exit: ExitInfo, planned: int | None = None) -> Parsed:
        self._watch_stderr(self._stderr.rest(cut=exit.cut_short))
        trials: list[Trial] = []
        if self._error is None:
            trials = self._read(self._lines.rest(cut=exit.cut_short))
        if not self._form.reads_exit:
            self._check_exit(exit)
        if self._error is not None:
            raise self._error
        ending = self._form.end(exit)
        self._done += len(ending.trials)
        if not self._done and not exit.cut_short:
            raise self._nothing(ending.warnings)
        warnings = (*self._warnings(exit, planned), *ending.warnings)
        return Parsed((*trials, *ending.trials), warnings)

    def _read(self, lines: Iterable[Line]) -> list[Trial]:
        trials: list[Trial] = []
        try:
            for line in lines:
                self._last = self._watch(line, line.where)
                trials += self._form.line(line)
        except ParseError as error:
            self._error = error
        self._done += len(trials)
        return trials

    def _watch_stderr(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._last_stderr = self._watch(line, f"{line.where} of stderr")

    def _watch(self, line: Line, where: str) -> str:
        """Takes note of the first stack trace; the line, to be shown should it be the last."""
        if not self._trace and _STACK_TRACE.match(line.text):
            self._trace = where
        return line.text.strip()[:200]

    def _check_exit(self, exit: ExitInfo) -> None:
        fine = exit.signal is None and (exit.code == 0 or exit.code in self._form.exits)
        if exit.cut_short or fine:
            return
        last = self._last_stderr or self._last
        said = f"; its last line: {quoted(last)}" if last else ""
        what = "the reproducer itself failed"
        advice = f"it must exit {self._codes()} once it ran to its end, whatever it found"
        if _UNANSWERED.search(last):
            what = "nothing answered the reproducer"
            advice = "see that the services run, and that it asks the right address"
        raise ParseError(f"{exit} after {plural(self._done, 'trial')}: {what}{said}; {advice}")

    def _codes(self) -> str:
        codes = sorted({0, *self._form.exits})
        return f"0-{codes[-1]}" if len(codes) > 2 else " or ".join(map(str, codes))

    def _nothing(self, notes: tuple[str, ...]) -> ParseError:
        lines = f"no trials in {plural(self._lines.read, 'line')} of output"
        what = lines if self._lines.read else "no trials, since there was no output"
        noted = f" ({'; '.join(notes)})" if notes else ""
        if self._stderr.read and not self._lines.read:
            noted += f", where {plural(self._stderr.read, 'line')} went to stderr: add 2>&1"
        return ParseError(
            f"{what}{noted}: expected {self._form.expected}; "
            "compare `parse` with what the reproducer prints"
        )

    def _warnings(self, exit: ExitInfo, planned: int | None) -> tuple[str, ...]:
        found = list(self._lines.warnings())
        if self._trace:
            found.append(f"{self._trace}: a stack trace ({exit}): are the trials real?")
        if planned is not None and self._done != planned and not exit.cut_short:
            guess = "is the output cut off" if self._done < planned else "are there two runs in it"
            found.append(f"{plural(self._done, 'trial')} where {planned} were planned: {guess}?")
        if exit.cut_short and not self._done:
            found.append(f"{exit} before any trial was complete")
        return tuple(found)


def unfinished(
    planned: int | None, done: int, on_timeout: Literal["censored", "fail", "pass"]
) -> tuple[Trial, ...]:
    """The trials that a timeout kept from completing, `done` having completed.

    Where the plan is not known there is one of them: the one that hung.
    """
    missing = 1 if planned is None else max(0, planned - done)
    return (Trial("timeout", Result(on_timeout)),) * missing


def total(count: int, where: str) -> int:
    """`count` where so many trials are plausible. Raises ParseError otherwise."""
    if count <= MAX_TRIALS:
        return count
    raise ParseError(f"{where}: more than {MAX_TRIALS} trials: check what the reproducer counts")


def amount(value: object, what: str, where: str) -> float:
    """Seconds or attempts out of a text or a number. Raises ParseError for any other."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number) and number >= 0:
            return number
    raise ParseError(f"{where}: {what} are {quoted(value)}: expected a number, 0 or more")


def expression(source: str, where: str) -> Expression:
    """`source` compiled by RE2. Raises ParseError, naming `where`, for what it cannot take."""
    try:
        return Expression(source)
    except ValueError as error:
        raise ParseError(f"{where}: {quoted(source)} cannot be used: {error}") from None


def pattern(source: str, where: str) -> re.Pattern[str]:
    """`source` compiled. Raises ParseError, naming `where`, when it is no regular expression."""
    try:
        return re.compile(source)
    except (re.error, OverflowError, RecursionError) as error:
        raise ParseError(
            f"{where}: {quoted(source)} is not a regular expression: {error}"
        ) from None


def quoted(value: object) -> str:
    """`value` for a message: in quotes, on one line, at most 200 characters of it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= 200 else f"{text[:197]}..."
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def signal_name(number: int) -> str:
    """ "SIGKILL" for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
