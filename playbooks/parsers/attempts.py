"""Executions of tests that a runner names, as trials: each time that one ran is a trial."""

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from hypotheses.observation import Result, Trial
from playbooks.parsers.lines import plural
from playbooks.parsers.outcomes import meanings
from playbooks.parsers.parser import ExitInfo, ParseError, expression
from playbooks.system import ParseSpec

OPTIONS = frozenset({"match"})

_EXPLAIN = frozenset({"failed", "error", "setup", "timeout", "crashed"})
"""Outcomes after which a runner exits with its code for failing tests."""


class Times(Struct, frozen=True):
    """`count` executions of the test `name` with one outcome; `name` "" where none was told."""

    name: str
    outcome: str
    count: int = 1
    seconds: float | None = None


class Attempts:
    """Which executions count, what they mean, and what was left out.

    `usual` is what the format's outcomes mean where `parse` does not say otherwise; None: no
    trial. The option `match` chooses tests by their names.
    """

    def __init__(self, spec: ParseSpec, usual: Mapping[str, Result | None]) -> None:
        self._meanings = meanings(spec, usual)
        source = spec.options.get("match")
        where = f"parse: {spec.format}: match"
        self._match = None if source is None else expression(source, where)
        self._seen: Counter[str] = Counter()
        self._names: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._others = 0

    def take(self, times: Times, where: str) -> tuple[Trial, ...]:
        """The trials that these executions are. Raises ParseError, naming `where`."""
        self._seen[times.outcome] += times.count
        if not self._chosen(times, where):
            self._others += times.count
            return ()
        result = self._meanings[times.outcome]
        if result is None:
            self._left_out[times.outcome] += times.count
            return ()
        return tuple(
            Trial(times.outcome, result, self._ident(times.name), seconds=times.seconds)
            for _ in range(times.count)
        )

    def seen(self, outcome: str) -> int:
        """How many executions had that outcome, those left out included."""
        return self._seen[outcome]

    def check_exit(self, exit: ExitInfo) -> None:
        """Raises ParseError where the runner says that tests failed and none of those seen did."""
        explained = not self._seen or any(self._seen[one] for one in _EXPLAIN)
        if exit.cut_short or exit.code == 0 or explained:
            return
        raise ParseError(
            f"{exit}, yet none of {plural(self._seen.total(), 'test')} failed: "
            "the runner itself failed; look at its output"
        )

    def warnings(self) -> tuple[str, ...]:
        """What is no trial, and failures that the runner tried again, one line each."""
        said = [
            f"{plural(count, 'test')} left out: {outcome}"
            for outcome, count in self._left_out.items()
        ]
        if self._others:
            said.append(f"{plural(self._others, 'test')} left out: `match` does not find them")
        if self._seen["rerun"]:
            tries = plural(self._seen["rerun"], "failing attempt")
            said.append(f"{tries} that the runner tried again: each is a trial of its own")
        return tuple(said)

    def _chosen(self, times: Times, where: str) -> bool:
        if self._match is None:
            return True
        if not times.name:
            raise ParseError(
                f"{where}: {plural(times.count, 'test')} {times.outcome} without a name, "
                "so that `match` cannot choose: let the runner print each test (pytest -v)"
            )
        return self._match.find(times.name) is not None

    def _ident(self, name: str) -> str | None:
        """The test's name; from its second time on with its number."""
        if not name:
            return None
        self._names[name] += 1
        times = self._names[name]
        return name if times == 1 else f"{name} ({times})"
