"""Markdown that reads well raw: paragraphs and lists of a given width, aligned tables."""

import unicodedata
from collections.abc import Iterable, Sequence

from campaign.report.literal import line_start


def columns(text: str) -> int:
    """Columns that `text` takes on a terminal: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in text
    )


def paragraph(text: str, width: int, first: str = "", rest: str = "") -> str:
    """Escaped `text` in lines of at most `width` columns; words longer than that stay whole.

    `first` goes before the first line and `rest` before the others.
    """
    lines: list[str] = []
    line = ""
    for word in text.split():
        room = width - columns(first if not lines else rest)
        if line and columns(line) + 1 + columns(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    lines.append(line)
    return "\n".join(
        f"{rest if index else first}{line_start(line)}".rstrip() for index, line in enumerate(lines)
    )


def bullets(items: Iterable[str], width: int, indent: str = "") -> str:
    """Escaped texts as a list."""
    return "\n".join(paragraph(item, width, f"{indent}- ", f"{indent}  ") for item in items)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Escaped cells as a table; columns numbered in `right` are aligned to the right.

    Every line takes the same columns on a terminal.
    """
    widths = [max(3, *map(columns, column)) for column in zip(header, *rows, strict=True)]
    rule = ["-" * (width - 1) + (":" if at in right else "-") for at, width in enumerate(widths)]
    return "\n".join(_row(cells, widths, right) for cells in (header, rule, *rows))


def _row(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    padded = []
    for at, (text, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (width - columns(text))
        padded.append(f"{space}{text}" if at in right else f"{text}{space}")
    return f"| {' | '.join(padded)} |"


def heading(level: int, text: str) -> str:
    """Escaped text as a heading; a number sign at its end would not be shown as it is."""
    shown = f"{text[:-1]}\\#" if text.endswith("#") else text
    return f"{'#' * level} {shown}"
