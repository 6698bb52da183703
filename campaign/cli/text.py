"""Plain text for screens: aligned columns, durations, money, times."""

import time
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from campaign.engine.lapses import HostLapse


def tell(text: str, *, newline: bool = True) -> None:
    """Text on standard error; lost, and nothing more, where nobody is there to read it."""
    with suppress(OSError):
        click.echo(text, err=True, nl=newline)


def width(text: str) -> int:
    """Columns that `text` takes on a terminal: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in text
    )


def shown(text: str) -> str:
    """`text` without control characters, so that nothing from a log or a file drives a terminal."""
    if text.isprintable():
        return text
    return "".join(
        one if one in "\n\t" or unicodedata.category(one)[0] != "C" else "\ufffd" for one in text
    )


def columns(rows: Sequence[Sequence[str]], right: Sequence[int] = (), indent: str = "") -> str:
    """Rows with aligned columns, two blanks apart; those numbered in `right` to the right."""
    rows = [[shown(cell).replace("\n", " ") for cell in row] for row in rows]
    sizes = [[*map(width, row)] for row in rows]
    widths = [*map(max, zip(*sizes, strict=True))]
    lines = []
    for row, own in zip(rows, sizes, strict=True):
        cells = []
        for index, cell in enumerate(row):
            pad = " " * (widths[index] - own[index])
            cells.append(pad + cell if index in right else cell + pad)
        lines.append(indent + "  ".join(cells).rstrip())
    return "\n".join(lines)


def seconds(value: float) -> str:
    """1.2 s, 41 s, 3 m 05 s, 2 h 10 m."""
    if value < 10:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} m"


def count(number: int, noun: str) -> str:
    """1 run, 2 runs."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def money(value: float, currency: str) -> str:
    """Two decimals and the currency; '-' where no rates were given."""
    return f"{value:.2f} {currency}".rstrip() if currency or value else "-"


class Spent(Protocol):
    """What something cost: seconds, and money in the campaign's currency."""

    @property
    def restarts(self) -> int: ...
    @property
    def downtime_s(self) -> float: ...
    @property
    def occupied_s(self) -> float: ...
    @property
    def money(self) -> float: ...
    @property
    def lost_s(self) -> float: ...


def spent(costs: Spent, currency: str) -> str:
    """2 restarts, 1.7 s down, 3.1 s occupied, 1.98 USD."""
    parts = [
        count(costs.restarts, "restart"),
        f"{seconds(costs.downtime_s)} down",
        *([f"{seconds(costs.lost_s)} of capacity lost"] if costs.lost_s else []),
        f"{seconds(costs.occupied_s)} occupied",
    ]
    if currency or costs.money:
        parts.append(money(costs.money, currency))
    return ", ".join(parts)


def when(at: float | None) -> str:
    """Local date and time to the second; '-' for None."""
    return "-" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def lapse_text(one: "HostLapse") -> str:
    """What a host did by itself, in one line."""
    lapse = one.lapse
    gone = f"{lapse.who}, not heard since {when(lapse.heard_at)}"
    if lapse.ended_at is None:
        return f"host {one.host} began to put itself back at {when(lapse.began_at)} ({gone})"
    done = f"host {one.host} put itself back at {when(lapse.ended_at)} ({gone})"
    for cycle in lapse.cycles:
        if cycle.failed:
            return f"{done}; {', '.join(cycle.services)} did not come up: {cycle.failed}"
    return done
