"""JUnit's XML, as pytest, Surefire, Gradle, Jest, gotestsum and others write it.

pytest files a test that failed as expected (`xfail`) under skipped, and Surefire hides an attempt
that failed before one that passed in `flakyFailure`: here both are failing trials. What pytest
could not set up is no trial (`setup`), and a failure to take down is none of the test. Test cases
are counted, never the totals of suites, so that nested suites count once.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from hypotheses.observation import Result, Trial
from playbooks.parsers.attempts import OPTIONS, Attempts, Times
from playbooks.parsers.lines import DOCUMENT_LIMIT, Line
from playbooks.parsers.parser import ExitInfo, Format, Parsed, ParseError, quoted
from playbooks.system import ParseSpec

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element, XMLPullParser

__all__ = ["OPTIONS", "USUAL", "JunitFormat"]

USUAL = {
    "passed": Result.PASS,
    "failed": Result.FAIL,
    "error": Result.FAIL,
    "rerun": Result.FAIL,
    "xfailed": Result.FAIL,
    "setup": None,
    "skipped": None,
}
_AGAIN = frozenset({"flakyFailure", "flakyError", "rerunFailure", "rerunError"})
_NOT_RUN = frozenset({"notrun", "disabled", "skipped", "ignored"})
_NO_SETUP = ("failed on setup", "collection failure")
_NEXT = re.compile(r"(?=<\?xml )")


class _Suite(Struct):
    """The test cases within a suite: its own, and with those of the suites in it."""

    own: int = 0
    whole: int = 0


class JunitFormat(Format):
    """One or more XML documents after each other, such as Surefire's file a class."""

    expected = "JUnit XML with a testcase in it"
    exits = frozenset(range(1, 124))
    line_limit = DOCUMENT_LIMIT

    def __init__(self, spec: ParseSpec) -> None:
        self._attempts = Attempts(spec, USUAL)
        self._xml: XMLPullParser[Element] | None = None
        self._suites: list[_Suite] = []
        self._depth = 0
        self._where = ""
        self._documents: Counter[str] = Counter()
        self._notes: list[str] = []

    def line(self, line: Line) -> Sequence[Trial]:
        trials: list[Trial] = []
        for piece in _NEXT.split(line.text):
            trials += self._piece(piece, line)
        return trials

    def end(self, exit: ExitInfo) -> Parsed:
        if self._xml is not None and not exit.cut_short:
            raise ParseError(f"the XML that begins on {self._where} has no end: is it cut off?")
        self._attempts.check_exit(exit)
        documents = self._documents.total()
        if documents > 1:
            self._notes.append(f"{documents} XML documents in this output: they are added up")
        return Parsed((), (*self._attempts.warnings(), *self._notes))

    def _piece(self, piece: str, line: Line) -> Iterator[Trial]:
        from xml.etree.ElementTree import ParseError as XmlError
        from xml.etree.ElementTree import XMLPullParser

        if self._xml is None:
            if not piece.lstrip().startswith(("<?xml", "<testsuite")):
                return
            self._xml, self._depth, self._where = XMLPullParser(("start", "end")), 0, line.where
            piece = piece.lstrip()
        try:
            self._xml.feed(piece if line.cut else f"{piece}\n")
            events = cast("list[tuple[str, Element]]", list(self._xml.read_events()))
        except XmlError as error:
            raise ParseError(
                f"{line.where}: the XML that begins on {self._where} is broken: {error}; "
                "are two runs mixed in this output?"
            ) from None
        for event, element in events:
            yield from self._event(event, element, line)

    def _event(self, event: str, element: "Element", line: Line) -> Iterator[Trial]:
        name = _local(element.tag)
        self._depth += 1 if event == "start" else -1
        if name == "testsuite":
            self._suite(event, element, line)
        elif name == "testcase" and event == "end":
            self._count()
            yield from self._case(element, line)
            element.clear()
        if event == "end" and self._depth == 0:
            self._finish(element, line)

    def _suite(self, event: str, element: "Element", line: Line) -> None:
        if event == "start":
            self._suites.append(_Suite())
            return
        suite, said = self._suites.pop(), element.get("tests", "")
        if said.isdigit() and int(said) not in (suite.own, suite.whole):
            self._notes.append(
                f"{line.where}: suite {quoted(element.get('name', ''))} says {said} tests and "
                f"holds {suite.whole}: those it holds are counted"
            )

    def _count(self) -> None:
        for suite in self._suites:
            suite.whole += 1
        if self._suites:
            self._suites[-1].own += 1

    def _case(self, case: "Element", line: Line) -> Iterator[Trial]:
        again, outcome = _outcomes(case)
        name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
        for times in (Times(name, "rerun", again), Times(name, outcome, 1, _seconds(case))):
            if times.count:
                yield from self._attempts.take(times, line.where)

    def _finish(self, root: "Element", line: Line) -> None:
        """Ends a document; the same report a second time is two runs of one."""
        suites = root if _local(root.tag) == "testsuites" else (root,)
        stamp = " ".join(f"{one.get('name')} {one.get('timestamp')}" for one in suites)
        if self._documents[stamp] and "None" not in stamp:
            raise ParseError(
                f"{line.where}: this report was in the output already: is it there twice?"
            )
        self._documents[stamp] += 1
        self._xml = None


def _outcomes(case: "Element") -> tuple[int, str]:
    """How many attempts failed before or after the one that counts, and the outcome of that."""
    children = {_local(child.tag): child for child in case}
    again = sum(_local(child.tag) in _AGAIN for child in case)
    if "failure" in children:
        return again, "failed"
    error = children.get("error")
    message = "" if error is None else error.get("message", "")
    if error is not None and not message.startswith("failed on teardown"):
        return again, "setup" if message.startswith(_NO_SETUP) else "error"
    skipped = children.get("skipped")
    if skipped is not None and "xfail" in skipped.get("type", ""):
        return again, "xfailed"
    if skipped is not None or case.get("status", "").lower() in _NOT_RUN:
        return again, "skipped"
    return again, "passed"


def _seconds(case: "Element") -> float | None:
    """Surefire writes 1,234.5 for more than a thousand."""
    try:
        return abs(float(case.get("time", "").replace(",", "")))
    except ValueError:
        return None


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
