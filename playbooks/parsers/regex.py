"""Lines found by a regular expression: a trial a line, or a total."""

import re

from hypotheses.observation import Result, Trial
from playbooks.parsers.lines import Line
from playbooks.parsers.parser import (
    ExitInfo,
    Format,
    Idents,
    Outcomes,
    Parsed,
    ParseError,
    amount,
    pattern,
    quoted,
    total,
)
from playbooks.system import ParseSpec

OPTIONS = frozenset({"match"})

_SEPARATORS = re.compile(r"[\s,]+")


def regex_format(spec: ParseSpec) -> Format:
    """By the groups of the option `match`: `outcome`, or `fail` and `total`.

    Raises ParseError for a missing or broken expression, and for one without these groups.
    """
    source = spec.options.get("match")
    if source is None:
        raise ParseError("parse: regex: `match` is missing: give it a regular expression")
    match = pattern(source, "parse: regex: match")
    if "outcome" in match.groupindex:
        return LineFormat(match, Outcomes(spec))
    if {"fail", "total"} <= match.groupindex.keys():
        return TotalFormat(match)
    raise ParseError(
        f"parse: regex: match {quoted(source)} has neither a group (?P<outcome>...) nor both "
        "(?P<fail>...) and (?P<total>...): name one of them"
    )


class LineFormat:
    """Each line that matches is a trial.

    Groups `id`, `key`, `seconds` and `attempts` may say more; several keys in one group are
    separated by commas or blanks.
    """

    reads_exit = False

    def __init__(self, match: re.Pattern[str], outcomes: Outcomes) -> None:
        self.expected = f"lines that match {quoted(match.pattern)}"
        self._match = match
        self._outcomes = outcomes
        self._idents = Idents()

    def line(self, line: Line) -> Trial | None:
        found = None if line.cut else self._match.search(line.text)
        if found is None:
            return None
        groups = found.groupdict()
        outcome = groups["outcome"] or ""
        took, tried = groups.get("seconds"), groups.get("attempts")
        return Trial(
            outcome,
            self._outcomes.result(outcome, line.where),
            self._idents.take(groups.get("id"), line),
            tuple(key for key in _SEPARATORS.split(groups.get("key") or "") if key),
            None if took is None else amount(took, "seconds", line.where),
            None if tried is None else amount(tried, "attempts", line.where),
        )

    def end(self, exit: ExitInfo) -> Parsed:  # noqa: ARG002 - the lines have said it all
        return Parsed()


class TotalFormat:
    """The last line that matches says how many of how many trials failed."""

    reads_exit = False

    def __init__(self, match: re.Pattern[str]) -> None:
        self.expected = f"a line that matches {quoted(match.pattern)}, with a total above 0"
        self._match = match
        self._seen = 0
        self._fail = self._total = 0

    def line(self, line: Line) -> None:
        found = None if line.cut else self._match.search(line.text)
        if found is None:
            return
        self._fail, self._total = (_whole(found[name], line.where) for name in ("fail", "total"))
        self._seen += 1
        if self._fail > self._total:
            raise ParseError(
                f"{line.where}: {self._fail} of {self._total} trials failed, which does not add "
                "up: check what the groups fail and total match"
            )

    def end(self, exit: ExitInfo) -> Parsed:  # noqa: ARG002 - the lines have said it all
        failed = (Trial("fail", Result.FAIL),) * self._fail
        passed = (Trial("pass", Result.PASS),) * (self._total - self._fail)
        said = f"{self._seen} lines match: the last is used, {self._fail}/{self._total}"
        return Parsed((*failed, *passed), (said,) if self._seen > 1 else ())


def _whole(text: str | None, where: str) -> int:
    if text is None or not re.fullmatch(r"[0-9]{1,12}", text):
        raise ParseError(
            f"{where}: {quoted(text)} where a whole number was expected: "
            "check what the groups fail and total match"
        )
    return total(int(text), where)
