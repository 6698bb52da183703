"""What `hyperfine --ignore-failure --export-json` writes: each measured run is a trial.

Runs are read by the exit contract. Up to version 1 a result has `exit_codes` and `times`, from 2
on `measurements`; old versions kept no exit codes, so that no run of theirs can be judged.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from hypotheses.observation import Trial
from playbooks.parsers import exit as contract
from playbooks.parsers.document import Documents, Found, only
from playbooks.parsers.lines import DOCUMENT_LIMIT, Line, plural
from playbooks.parsers.parser import (
    ExitInfo,
    Format,
    NoResult,
    Parsed,
    ParseError,
    amount,
    expression,
    quoted,
)
from playbooks.system import ParseSpec

OPTIONS = frozenset({"match"})

_Run = tuple[object, object]
"""An exit code, None for a run that a signal ended, and seconds."""


class HyperfineFormat(Format):
    """The runs of the benchmarks whose command the option `match` finds; it is an attribute."""

    expected = "the JSON of hyperfine --export-json, with results"
    line_limit = DOCUMENT_LIMIT

    def __init__(self, spec: ParseSpec) -> None:
        source = spec.options.get("match")
        self._match = None if source is None else expression(source, "parse: hyperfine: match")
        self._documents = Documents()
        self._no_result = self._others = 0

    def line(self, line: Line) -> Sequence[Trial]:
        self._documents.add(line)
        return ()

    def end(self, exit: ExitInfo) -> Parsed:
        found = self._documents.found(cut=exit.cut_short)
        document = only(found, "export each benchmark into a file of its own")
        trials = tuple(self._trials(document)) if document else ()
        notes = []
        if self._no_result:
            notes.append(f"{plural(self._no_result, 'run')} without a result (exit 125) left out")
        if self._others:
            notes.append(
                f"{plural(self._others, 'benchmark')} left out: `match` does not find them"
            )
        return Parsed(trials, tuple(notes))

    def _trials(self, document: Found) -> Iterator[Trial]:
        value = document.value
        results = value.get("results") if isinstance(value, dict) else None
        if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
            raise ParseError(f"{document.where}: JSON without results: expected {self.expected}")
        for number, result in enumerate(results, 1):
            command = str(result.get("command", ""))
            if self._match is not None and self._match.find(command) is None:
                self._others += 1
                continue
            for run in _runs(result, f"result {number} ({quoted(command)})"):
                yield from self._trial(run, command)

    def _trial(self, run: _Run, command: str) -> Iterator[Trial]:
        code, took = run
        seconds = None if took is None else amount(took, "seconds", quoted(command))
        try:
            trial = contract.trial(ExitInfo(code if isinstance(code, int) else None))
        except NoResult:
            self._no_result += 1
            return
        yield replace(trial, seconds=seconds, attributes=(("command", command),))


def _runs(result: Mapping[str, object], where: str) -> list[_Run]:
    measurements = result.get("measurements")
    if isinstance(measurements, list):
        return [_measurement(one, where) for one in measurements]
    codes, times = result.get("exit_codes"), result.get("times")
    if not isinstance(codes, list):
        raise ParseError(
            f"{where} has no exit codes, so that failed runs cannot be told: use a newer hyperfine"
        )
    if not isinstance(times, list):
        return [(code, None) for code in codes]
    if len(times) != len(codes):
        raise ParseError(
            f"{where} has {len(codes)} exit codes and {len(times)} times: is the file damaged?"
        )
    return list(zip(codes, times, strict=True))


def _measurement(one: object, where: str) -> _Run:
    if not isinstance(one, dict) or "exit_code" not in one:
        raise ParseError(f"{where} has a measurement without exit_code: is the file damaged?")
    took = one.get("time_wall_clock")
    return one["exit_code"], took.get("value") if isinstance(took, dict) else None
