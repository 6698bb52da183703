"""Parsers of reproducers' output, one module a format: bytes as they come in, trials out."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from playbooks.parsers import (
    bazel,
    counts,
    exit,
    go_stress,
    go_test_json,
    hyperfine,
    json,
    jsonl,
    junit,
    k6,
    nextest,
    pytest,
    regex,
    serving_bench,
)
from playbooks.parsers.parser import (
    ExitInfo,
    Format,
    NoResult,
    OutputParser,
    Parsed,
    ParseError,
    Parser,
    quoted,
    unfinished,
)
from playbooks.system import ParseSpec

__all__ = [
    "FORMATS",
    "OPTIONS",
    "ExitInfo",
    "NoResult",
    "ParseError",
    "Parsed",
    "Parser",
    "make",
    "unfinished",
]


class _Entry(Struct, frozen=True):
    make: Callable[[ParseSpec], Format]
    options: frozenset[str]
    outcomes: bool = True
    attributes: bool = False


_FORMATS: Mapping[str, _Entry] = {
    "counts": _Entry(counts.CountsFormat, counts.OPTIONS),
    "regex": _Entry(regex.regex_format, regex.OPTIONS),
    "jsonl": _Entry(jsonl.JsonlFormat, jsonl.OPTIONS, attributes=True),
    "json": _Entry(json.JsonFormat, json.OPTIONS, attributes=True),
    "exit": _Entry(lambda _: exit.ExitFormat(), exit.OPTIONS, outcomes=False),
    "pytest": _Entry(pytest.PytestFormat, pytest.OPTIONS),
    "junit": _Entry(junit.JunitFormat, junit.OPTIONS),
    "go_test_json": _Entry(go_test_json.GoTestJsonFormat, go_test_json.OPTIONS),
    "go_stress": _Entry(lambda _: go_stress.GoStressFormat(), go_stress.OPTIONS, outcomes=False),
    "nextest": _Entry(nextest.NextestFormat, nextest.OPTIONS),
    "bazel": _Entry(bazel.BazelFormat, bazel.OPTIONS),
    "hyperfine": _Entry(hyperfine.HyperfineFormat, hyperfine.OPTIONS, outcomes=False),
    "k6": _Entry(k6.K6Format, k6.OPTIONS),
    "serving_bench": _Entry(serving_bench.ServingBenchFormat, serving_bench.OPTIONS),
}

FORMATS = tuple(_FORMATS)
"""The names of all formats."""

OPTIONS: Mapping[str, frozenset[str]] = {name: one.options for name, one in _FORMATS.items()}
"""The options that each format knows."""


def make(spec: ParseSpec) -> Parser:
    """A parser for one execution of a reproducer.

    Raises ParseError for an unknown format or option, an outcome that means two things or that
    the format does not have, and an expression that cannot be used.
    """
    entry = _FORMATS.get(spec.format)
    if entry is None:
        raise ParseError(f"parse: no format {quoted(spec.format)}; known: {', '.join(_FORMATS)}")
    unknown = sorted(spec.options.keys() - entry.options)
    if unknown:
        known = ", ".join(sorted(entry.options)) or "none"
        raise ParseError(
            f"parse: {spec.format}: no option {quoted(unknown[0])}; options of it: {known}"
        )
    if not entry.outcomes and (spec.fail or spec.passed or spec.censored):
        raise ParseError(f"parse: {spec.format}: its outcomes are fixed: name none")
    if not entry.attributes and spec.attributes:
        raise ParseError(f"parse: {spec.format}: has no fields to keep as attributes")
    return OutputParser(entry.make(spec))
