"""Lines found by a regular expression: a trial a line, or a total."""

import re
from collections.abc import Mapping, Sequence

from hypotheses.observation import Result, Trial
from playbooks.expressions import Expression
from playbooks.parsers.lines import Line
from playbooks.parsers.outcomes import Idents, Outcomes
from playbooks.parsers.parser import (
    ExitInfo,
    Format,
    Parsed,
    ParseError,
    amount,
    expression,
    quoted,
    total,
)
from playbooks.system import ParseSpec

OPTIONS = frozenset({"match"})

GROUPS = frozenset({"outcome", "id", "key", "seconds", "attempts"})
"""The groups that tell a trial; any other is an attribute of it."""

_SEPARATORS = re.compile(r"[\s,]+")


def regex_format(spec: ParseSpec) -> Format:
    """By the groups of the option `match`: `outcome`, or `fail` and `total`.

    Raises ParseError for a missing or broken expression, and for one without these groups.
    """
    source = spec.options.get("match")
    if source is None:
        raise ParseError("parse: regex: `match` is missing: give it a regular expression")
    match = expression(source, "parse: regex: match")
    if "outcome" in match.groups:
        return LineFormat(match, Outcomes(spec))
    if {"fail", "total"} <= match.groups:
        return TotalFormat(match)
    raise ParseError(
        f"parse: regex: match {quoted(source)} has neither a group (?P<outcome>...) nor both "
        "(?P<fail>...) and (?P<total>...): name one of them"
    )


class LineFormat(Format):
    """Each line that matches is a trial.

    Groups `id`, `key`, `seconds` and `attempts` may say more; several keys in one group are
    separated by commas or blanks. Other named groups are attributes of the trial.
    """

    def __init__(self, match: Expression, outcomes: Outcomes) -> None:
        self.expected = f"lines that match {quoted(match.source)}"
        self._match = match
        self._outcomes = outcomes
        self._idents = Idents()
        self._attributes = sorted(match.groups - GROUPS)

    def line(self, line: Line) -> Sequence[Trial]:
        groups = None if line.cut else self._match.find(line.text)
        if groups is None:
            return ()
        outcome = groups["outcome"] or ""
        trial = Trial(
            outcome,
            self._outcomes.result(outcome, line.where),
            self._idents.take(groups.get("id"), line.where),
            tuple(key for key in _SEPARATORS.split(groups.get("key") or "") if key),
            _amount(groups, "seconds", line.where),
            _amount(groups, "attempts", line.where),
            tuple((name, groups[name] or "") for name in self._attributes),
        )
        return (trial,)


class TotalFormat(Format):
    """The last line that matches says how many of how many trials failed."""

    def __init__(self, match: Expression) -> None:
        self.expected = f"a line that matches {quoted(match.source)}, with a total above 0"
        self._match = match
        self._seen = 0
        self._fail = self._total = 0

    def line(self, line: Line) -> Sequence[Trial]:
        groups = None if line.cut else self._match.find(line.text)
        if groups is None:
            return ()
        self._fail, self._total = (_whole(groups[name], line.where) for name in ("fail", "total"))
        self._seen += 1
        if self._fail > self._total:
            raise ParseError(
                f"{line.where}: {self._fail} of {self._total} trials failed, which does not add "
                "up: check what the groups fail and total match"
            )
        return ()

    def end(self, exit: ExitInfo) -> Parsed:  # noqa: ARG002 - the lines have said it all
        failed = (Trial("fail", Result.FAIL),) * self._fail
        passed = (Trial("pass", Result.PASS),) * (self._total - self._fail)
        said = f"{self._seen} lines match: the last is used, {self._fail}/{self._total}"
        return Parsed((*failed, *passed), (said,) if self._seen > 1 else ())


def _amount(groups: Mapping[str, str | None], name: str, where: str) -> float | None:
    said = groups.get(name)
    return None if said is None else amount(said, name, where)


def _whole(text: str | None, where: str) -> int:
    if text is None or not re.fullmatch(r"[0-9]{1,12}", text):
        raise ParseError(
            f"{where}: {quoted(text)} where a whole number was expected: "
            "check what the groups fail and total match"
        )
    return total(int(text), where)
