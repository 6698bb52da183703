"""One JSON object a line, each a trial."""

import json
from collections import Counter
from collections.abc import Mapping

from hypotheses.observation import Trial
from playbooks.parsers.counts import Tally
from playbooks.parsers.lines import LINE_LIMIT, Line, plural
from playbooks.parsers.parser import ExitInfo, Idents, Outcomes, Parsed, ParseError, amount, quoted
from playbooks.system import ParseSpec

OPTIONS = frozenset({"outcome", "id", "key", "seconds", "attempts"})

_MISSING = object()


class JsonlFormat:
    """Lines that start with `{`; options name the fields, `a.b` being `b` within `a`.

    `key` may hold one value or a list. Lines that start otherwise are the reproducer's own
    messages; of them a `counts=` line must agree with the trials.
    """

    reads_exit = False

    def __init__(self, spec: ParseSpec) -> None:
        self._outcome = spec.options.get("outcome", "outcome")
        self._fields = {name: path for name, path in spec.options.items() if name != "outcome"}
        self.expected = f"JSON lines with a field {quoted(self._outcome)}"
        self._outcomes = Outcomes(spec)
        self._tally = Tally(self._outcomes)
        self._seen: Counter[str] = Counter()
        self._idents = Idents()
        self._lacking: Counter[str] = Counter()
        self._others = 0

    def line(self, line: Line) -> Trial | None:
        if not line.text.lstrip().startswith("{"):
            self._tally.read(line)
            return None
        record = _record(line)
        if record is None:
            return None
        outcome = _find(record, self._outcome)
        if outcome is _MISSING:
            self._others += 1
            return None
        return self._trial(record, _text(outcome, line.where), line)

    def end(self, exit: ExitInfo) -> Parsed:
        if not exit.cut_short:
            self._check_totals()
        trials = self._seen.total()
        warnings = [
            f"field {quoted(self._fields[name])} is missing in {count} of {plural(trials, 'trial')}"
            for name, count in self._lacking.items()
        ]
        if self._others:
            objects = plural(self._others, "JSON object")
            warnings.append(f"{objects} without a field {quoted(self._outcome)} left out")
        return Parsed((), (*warnings, *self._tally.warnings))

    def _trial(self, record: Mapping[str, object], outcome: str, line: Line) -> Trial:
        result = self._outcomes.result(outcome, line.where)
        ident = self._value(record, "id")
        keys = _listed(self._value(record, "key"))
        took, tried = self._value(record, "seconds"), self._value(record, "attempts")
        trial = Trial(
            outcome,
            result,
            None if ident is None else self._idents.take(_text(ident, line.where), line),
            tuple(_text(one, line.where) for one in keys),
            None if took is None else amount(took, "seconds", line.where),
            None if tried is None else amount(tried, "attempts", line.where),
        )
        self._seen[outcome] += 1
        return trial

    def _value(self, record: Mapping[str, object], name: str) -> object:
        """The field an option names; None where there is no such option, or no value."""
        path = self._fields.get(name)
        value = None if path is None else _find(record, path)
        if value is _MISSING:
            self._lacking[name] += 1
            return None
        return value

    def _check_totals(self) -> None:
        totals = self._tally.totals
        if totals is None:
            return
        self._tally.results()
        said = {name: count for name, count in totals.items() if count}
        if said != dict(self._seen):
            raise ParseError(
                f"{self._tally.where}: counts={json.dumps(said, sort_keys=True)}, where the lines "
                f"give {json.dumps(self._seen, sort_keys=True)}: are lines missing, or of two runs?"
            )


def _record(line: Line) -> dict[str, object] | None:
    """The object on the line; None for one that a stop cut off."""
    try:
        record: dict[str, object] = json.loads(line.text)
    except (ValueError, RecursionError):
        if line.cut:
            return None
        why = f"longer than {LINE_LIMIT} bytes" if line.capped else "not a whole JSON object"
        raise ParseError(
            f"{line.where}: starts with {{ and is {why}: {quoted(line.text[:80])}; "
            "print each trial as one JSON object on one line"
        ) from None
    return record


def _find(record: Mapping[str, object], path: str) -> object:
    """The value at `path`: a field of that very name, or one level down at each dot."""
    if path in record:
        return record[path]
    name, dot, rest = path.partition(".")
    inner = record.get(name) if dot else None
    return _find(inner, rest) if isinstance(inner, dict) else _MISSING


def _listed(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _text(value: object, where: str) -> str:
    """A JSON scalar as text: strings as they are, the others as JSON writes them."""
    if isinstance(value, dict | list):
        raise ParseError(f"{where}: {quoted(value)} where a text or a number was expected")
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode(errors="replace").decode()
