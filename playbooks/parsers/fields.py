"""Trials out of JSON objects, by the fields that `parse` names; `a.b` is `b` within `a`."""

import json
from collections import Counter
from collections.abc import Mapping

from hypotheses.observation import Trial
from playbooks.parsers.lines import plural
from playbooks.parsers.outcomes import Idents, Outcomes
from playbooks.parsers.parser import ParseError, amount, quoted
from playbooks.system import ParseSpec

OPTIONS = frozenset({"outcome", "id", "key", "seconds", "attempts"})

MISSING = object()
"""What `find` gives for a field that is not there."""


def find(record: Mapping[str, object], path: str) -> object:
    """The value at `path`: a field of that very name, or one level down at each dot."""
    if path in record:
        return record[path]
    name, dot, rest = path.partition(".")
    inner = record.get(name) if dot else None
    return find(inner, rest) if isinstance(inner, dict) else MISSING


def text_of(value: object, where: str) -> str:
    """A JSON scalar as text: strings as they are, the others as JSON writes them."""
    if isinstance(value, dict | list):
        raise ParseError(f"{where}: {quoted(value)} where a text or a number was expected")
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode(errors="replace").decode()


class Fields:
    """The fields of a trial; what is missing in how many of them is kept to be said.

    `key` may hold one value or a list; `attributes` are kept with the trial by their names.
    """

    def __init__(self, spec: ParseSpec) -> None:
        self.outcome = spec.options.get("outcome", "outcome")
        self.seen: Counter[str] = Counter()
        self._outcomes = Outcomes(spec)
        self._paths = {name: spec.options[name] for name in OPTIONS & spec.options.keys()}
        self._attributes = spec.attributes
        self._idents = Idents()
        self._lacking: Counter[str] = Counter()

    def trial(self, record: Mapping[str, object], where: str) -> Trial | None:
        """The trial that the object is; None where it has no outcome. Raises ParseError."""
        found = find(record, self.outcome)
        if found is MISSING:
            return None
        outcome = text_of(found, where)
        result = self._outcomes.result(outcome, where)
        ident = self._value(record, "id")
        keys = _listed(self._value(record, "key"))
        trial = Trial(
            outcome,
            result,
            None if ident is None else self._idents.take(text_of(ident, where), where),
            tuple(text_of(one, where) for one in keys),
            self._amount(record, "seconds", where),
            self._amount(record, "attempts", where),
            tuple(self._attribute(record, name, where) for name in self._attributes),
        )
        self.seen[outcome] += 1
        return trial

    def warnings(self) -> tuple[str, ...]:
        """The fields that were missing, one line each."""
        trials = plural(self.seen.total(), "trial")
        return tuple(
            f"field {quoted(path)} is missing in {count} of {trials}"
            for path, count in self._lacking.items()
        )

    def _value(self, record: Mapping[str, object], name: str) -> object:
        """The field an option names; None where there is no such option, or no value."""
        path = self._paths.get(name)
        return None if path is None else self._at(record, path)

    def _at(self, record: Mapping[str, object], path: str) -> object:
        value = find(record, path)
        if value is MISSING:
            self._lacking[path] += 1
            return None
        return value

    def _amount(self, record: Mapping[str, object], name: str, where: str) -> float | None:
        value = self._value(record, name)
        return None if value is None else amount(value, name, where)

    def _attribute(self, record: Mapping[str, object], name: str, where: str) -> tuple[str, str]:
        value = self._at(record, name)
        return name, "" if value is None else text_of(value, where)


def _listed(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]
