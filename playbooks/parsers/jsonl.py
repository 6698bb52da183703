"""One JSON object a line, each a trial."""

import json
from collections.abc import Sequence

from hypotheses.observation import Trial
from playbooks.parsers.counts import Tally
from playbooks.parsers.fields import OPTIONS, Fields
from playbooks.parsers.lines import LINE_LIMIT, Line, plural
from playbooks.parsers.outcomes import Outcomes
from playbooks.parsers.parser import ExitInfo, Format, Parsed, ParseError, quoted
from playbooks.system import ParseSpec

__all__ = ["OPTIONS", "JsonlFormat", "record_of"]


class JsonlFormat(Format):
    """Lines that start with `{`; options name the fields.

    Lines that start otherwise are the reproducer's own messages; of them a `counts=` line must
    agree with the trials.
    """

    def __init__(self, spec: ParseSpec) -> None:
        self._fields = Fields(spec)
        self.expected = f"JSON lines with a field {quoted(self._fields.outcome)}"
        self._tally = Tally(Outcomes(spec))
        self._others = 0

    def line(self, line: Line) -> Sequence[Trial]:
        if not line.text.lstrip().startswith("{"):
            self._tally.read(line)
            return ()
        record = record_of(line)
        if record is None:
            return ()
        trial = self._fields.trial(record, line.where)
        self._others += trial is None
        return () if trial is None else (trial,)

    def end(self, exit: ExitInfo) -> Parsed:
        if not exit.cut_short:
            self._check_totals()
        warnings = [*self._fields.warnings()]
        if self._others:
            objects = plural(self._others, "JSON object")
            warnings.append(f"{objects} without a field {quoted(self._fields.outcome)} left out")
        return Parsed((), (*warnings, *self._tally.warnings))

    def _check_totals(self) -> None:
        totals = self._tally.totals
        if totals is None:
            return
        self._tally.results()
        seen = self._fields.seen
        said = {name: count for name, count in totals.items() if count}
        if said != dict(seen):
            raise ParseError(
                f"{self._tally.where}: counts={json.dumps(said, sort_keys=True)}, where the lines "
                f"give {json.dumps(seen, sort_keys=True)}: are lines missing, or of two runs?"
            )


def record_of(line: Line) -> dict[str, object] | None:
    """The JSON object on the line; None for one that a stop cut off. Raises ParseError."""
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
