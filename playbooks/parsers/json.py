"""One JSON document: a list of trials at `path`, or totals by outcome."""

from collections.abc import Mapping, Sequence

from hypotheses.observation import Trial
from playbooks.parsers.counts import whole_numbers
from playbooks.parsers.document import Documents, Found, only
from playbooks.parsers.fields import MISSING, Fields, find
from playbooks.parsers.fields import OPTIONS as FIELDS
from playbooks.parsers.lines import DOCUMENT_LIMIT, Line, plural
from playbooks.parsers.outcomes import Outcomes
from playbooks.parsers.parser import ExitInfo, Format, Parsed, ParseError, quoted
from playbooks.system import ParseSpec

OPTIONS = frozenset({"path", *FIELDS})


class JsonFormat(Format):
    """The list or the object at the option `path` (`a.b` is `b` within `a`; none: all of it).

    In a list each object is a trial, read by its fields, and each text is an outcome. An object
    holds totals: a whole number for each outcome.
    """

    line_limit = DOCUMENT_LIMIT

    def __init__(self, spec: ParseSpec) -> None:
        self._path = spec.options.get("path", "")
        at = f" at {quoted(self._path)}" if self._path else ""
        self.expected = f"a JSON document with a list of trials, or totals by outcome,{at}"
        self._fields = Fields(spec)
        self._outcomes = Outcomes(spec)
        self._documents = Documents(lists=True)
        self._lacking = 0

    def line(self, line: Line) -> Sequence[Trial]:
        self._documents.add(line)
        return ()

    def end(self, exit: ExitInfo) -> Parsed:
        found = self._documents.found(cut=exit.cut_short)
        document = only(found, "print one, or parse jsonl")
        if document is None:
            return Parsed()
        value = self._value(document)
        if isinstance(value, list):
            trials = [trial for n, one in enumerate(value, 1) for trial in self._item(one, n)]
        elif isinstance(value, dict):
            trials = self._totals(value, document.where)
        else:
            raise ParseError(
                f"{document.where}: {quoted(value)} where {self.expected} was expected"
            )
        return Parsed(tuple(trials), (*self._fields.warnings(), *self._left_out()))

    def _value(self, document: Found) -> object:
        if not self._path:
            return document.value
        value = find(document.value, self._path) if isinstance(document.value, dict) else MISSING
        if value is MISSING:
            raise ParseError(
                f"{document.where}: the JSON document has nothing at path {quoted(self._path)}"
            )
        return value

    def _item(self, item: object, number: int) -> Sequence[Trial]:
        where = f"item {number}"
        if isinstance(item, str):
            return (Trial(item, self._outcomes.result(item, where)),)
        trial = self._fields.trial(item, where) if isinstance(item, dict) else None
        self._lacking += trial is None
        return () if trial is None else (trial,)

    def _totals(self, value: Mapping[str, object], where: str) -> list[Trial]:
        trials: list[Trial] = []
        for outcome, count in whole_numbers(value, f"{where}: the object").items():
            if count:
                trials += [Trial(outcome, self._outcomes.result(outcome, where))] * count
        return trials

    def _left_out(self) -> Sequence[str]:
        if not self._lacking:
            return ()
        items = plural(self._lacking, "item")
        return (f"{items} without a field {quoted(self._fields.outcome)} left out",)
