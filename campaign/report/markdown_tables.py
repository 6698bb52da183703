"""Tables of the Markdown page, from plain cells."""

from collections.abc import Iterable, Sequence

from campaign.report.layout import table
from campaign.report.literal import cell


def plain_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()
) -> str:
    """Plain cells as a table; columns numbered in `right` are aligned to the right."""
    return table([*map(cell, header)], [[*map(cell, row)] for row in rows], right)


def priced_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int], priced: bool
) -> str:
    """A table whose last column is money, without that column where nothing has a price."""
    if priced:
        return plain_table(header, rows, right)
    return plain_table(header[:-1], [row[:-1] for row in rows], right[:-1])
