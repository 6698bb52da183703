"""k6's end-of-test summary, old and new, as text or as JSON: one rate metric of it.

The tick of `http_req_failed` counts requests that failed, since a rate counts what was true: its
passes are failures. Here `checks` fail where they are false, `http_req_failed` where it is true,
and any other rate as `parse` says: `fail: ["true"]`.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hypotheses.observation import Result, Trial
from playbooks.parsers.document import Documents, Found, only
from playbooks.parsers.lines import DOCUMENT_LIMIT, Line
from playbooks.parsers.outcomes import declared, meanings
from playbooks.parsers.parser import ExitInfo, Format, Parsed, ParseError, quoted, total
from playbooks.system import ParseSpec

OPTIONS = frozenset({"metric"})

USUAL: Mapping[str, Mapping[str, Result | None]] = {
    "checks": {"true": Result.PASS, "false": Result.FAIL},
    "http_req_failed": {"true": Result.FAIL, "false": Result.PASS},
}
_OLD = r"\.*: +([0-9.]+)% +(?:✓ *)?([0-9]{1,12}) +(?:✗ *)?([0-9]{1,12}) *$"
_NEW = r"\.*: +([0-9.]+)% +([0-9]{1,12}) out of ([0-9]{1,12}) *$"


class _Rate(Struct, frozen=True):
    """How often a rate metric was true and false, and the percentage printed beside it."""

    true: int
    false: int
    printed: float | None
    where: str


class K6Format(Format):
    """As many trials as the metric has values; exit 99 says that a threshold was crossed."""

    exits = frozenset({99})
    line_limit = DOCUMENT_LIMIT

    def __init__(self, spec: ParseSpec) -> None:
        self._metric = spec.options.get("metric", "checks")
        self.expected = f"the rate {self._metric} in k6's summary"
        usual = USUAL.get(self._metric)
        if usual is None and not {"true", "false"} == declared(spec).keys():
            raise ParseError(
                f"parse: k6: what is a failure of {self._metric}? say both, such as "
                'fail: ["true"], pass: ["false"]'
            )
        self._meanings = meanings(spec, usual or {"true": None, "false": None})
        name = re.escape(self._metric)
        new = name.replace("checks", "checks_succeeded") if self._metric == "checks" else name
        self._old = re.compile(rf"\s*(?:[✓✗] )?{name}{_OLD}")
        self._new = re.compile(rf"\s*(?:[✓✗] )?{new}{_NEW}")
        self._rate: _Rate | None = None
        self._documents = Documents()
        self._notes: list[str] = []

    def line(self, line: Line) -> Sequence[Trial]:
        self._documents.add(line)
        if len(line.text) > 4096 or line.cut:
            return ()
        old, new = self._old.match(line.text), self._new.match(line.text)
        if old:
            self._take(_Rate(int(old[2]), int(old[3]), float(old[1]), line.where))
        elif new:
            false = int(new[3]) - int(new[2])
            self._take(_Rate(int(new[2]), false, float(new[1]), line.where))
        return ()

    def end(self, exit: ExitInfo) -> Parsed:
        if self._rate is None:
            self._read_document(exit)
        rate = self._rate
        if rate is None:
            return Parsed()
        trials: list[Trial] = []
        for outcome, count in (("true", rate.true), ("false", rate.false)):
            result = self._meanings[outcome]
            assert result is not None
            trials += [Trial(f"{self._metric} {outcome}", result)] * count
        return Parsed(tuple(trials), tuple(self._notes))

    def _take(self, rate: _Rate) -> None:
        if self._rate is not None:
            raise ParseError(
                f"{rate.where}: a second {self._metric}, after that of {self._rate.where}: "
                "are there two runs in this output?"
            )
        count = total(rate.true + rate.false, rate.where)
        if rate.false < 0:
            raise ParseError(f"{rate.where}: {self._metric} does not add up")
        share = 100 * rate.true / count if count else 0.0
        if rate.printed is not None and abs(rate.printed - share) > 0.011:
            self._notes.append(
                f"{rate.where}: prints {rate.printed}%, where {rate.true}/{count} is "
                f"{share:.2f}%: the counts are used"
            )
        self._rate = rate

    def _read_document(self, exit: ExitInfo) -> None:
        document = only(self._documents.found(cut=exit.cut_short), "write one summary a run")
        if document is None:
            return
        metrics = document.value.get("metrics") if isinstance(document.value, dict) else None
        metric = metrics.get(self._metric) if isinstance(metrics, dict) else None
        if isinstance(metric, dict):
            self._take(_json_rate(metric, self._metric, document))


def _json_rate(metric: Mapping[str, object], name: str, document: Found) -> _Rate:
    """By --summary-export the figures are the metric's own, by handleSummary in `values`."""
    values = metric.get("values", metric)
    said = values if isinstance(values, dict) else {}
    true, false, rate = said.get("passes"), said.get("fails"), said.get("rate", said.get("value"))
    if not isinstance(true, int) or not isinstance(false, int) or true < 0:
        raise ParseError(
            f"{document.where}: {name} has no passes and fails but {quoted(metric)}: is it a rate?"
        )
    printed = 100 * rate if isinstance(rate, int | float) else None
    return _Rate(true, false, printed, document.where)
