"""Parsers of reproducers' output, one module a format: bytes as they come in, trials out."""

from collections.abc import Callable, Mapping

from playbooks.parsers import counts, exit, jsonl, regex
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
    "OPTIONS",
    "ExitInfo",
    "NoResult",
    "ParseError",
    "Parsed",
    "Parser",
    "make",
    "unfinished",
]

OPTIONS: Mapping[str, frozenset[str]] = {
    "counts": counts.OPTIONS,
    "regex": regex.OPTIONS,
    "jsonl": jsonl.OPTIONS,
    "exit": exit.OPTIONS,
}
"""The options that each format knows."""

_FORMATS: Mapping[str, Callable[[ParseSpec], Format]] = {
    "counts": counts.CountsFormat,
    "regex": regex.regex_format,
    "jsonl": jsonl.JsonlFormat,
    "exit": lambda _: exit.ExitFormat(),
}


def make(spec: ParseSpec) -> Parser:
    """A parser for one execution of a reproducer.

    Raises ParseError for an unknown format or option, an outcome that means two things, and a
    `match` that cannot be used.
    """
    if spec.format not in _FORMATS:
        raise ParseError(f"parse: no format {quoted(spec.format)}; known: {', '.join(_FORMATS)}")
    unknown = sorted(spec.options.keys() - OPTIONS[spec.format])
    if unknown:
        known = ", ".join(sorted(OPTIONS[spec.format])) or "none"
        raise ParseError(
            f"parse: {spec.format}: no option {quoted(unknown[0])}; options of it: {known}"
        )
    return OutputParser(_FORMATS[spec.format](spec))
