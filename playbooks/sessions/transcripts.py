"""Transcripts of sessions, read back from the file that the child wrote: one a line."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from playbooks.sessions.spec import Json

UNDER_WAY = "under way"
"""Stands for the outcome of a session that was cut short."""


class RoundSeen(Struct, frozen=True):
    """One request of a session: seconds to the answer's end and to its first token.

    `status` and `first_s` are None where it never came to that; `fault` says why there is no whole
    answer. `events` (a stream's, as they came) and `body` are kept where the outcome was not one
    of the quiet ones.
    """

    started_at: float
    seconds: float
    first_s: float | None
    status: int | None
    key: str
    finish: str
    reasoning: str
    fault: str
    body: str = ""
    events: tuple[str, ...] = ()


class Transcript(Struct, frozen=True):
    """A session whole. `request` is what all its requests said besides `messages` and the tools."""

    session: int
    outcome: str
    why: str
    seed: int
    started_at: float
    seconds: float
    keys: tuple[str, ...]
    request: dict[str, Json]
    messages: tuple[dict[str, Json], ...]
    rounds: tuple[RoundSeen, ...]


def find(path: Path, number: int) -> Transcript | None:
    """The transcript of session `number`; None where the file has none."""
    start = f'{{"session": {number},'
    line = next((one for one in _lines(path) if one.startswith(start)), None)
    return None if line is None else _transcript(json.loads(line))


def _lines(path: Path) -> Iterator[str]:
    """The whole lines: the last may still be under way, or cut off."""
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from (line for line in file if line.endswith("\n"))


def _transcript(facts: dict[str, Any]) -> Transcript:
    rounds = tuple(
        RoundSeen(**{**one, "events": tuple(one.get("events", ()))}) for one in facts["rounds"]
    )
    lists = {"keys": tuple(facts["keys"]), "messages": tuple(facts["messages"])}
    return Transcript(**{**facts, **lists, "rounds": rounds})


def commonest_why(path: Path, outcome: str) -> str:
    """Why most of the sessions with `outcome` ended so; "" where transcripts tell no reason."""
    found = (json.loads(line) for line in _lines(path))
    reasons = Counter(one["why"] for one in found if one["outcome"] == outcome)
    return next((str(why) for why, _ in reasons.most_common(1)), "")


class Latency(Struct, frozen=True):
    """Seconds that a round took: `n` of them, and percentiles. `what`: "answer", "first token"."""

    round: int
    what: str
    n: int
    p50_s: float
    p90_s: float
    p99_s: float
    max_s: float


def latencies(path: Path) -> tuple[Latency, ...]:
    """How long each round took over all sessions, where it was answered, from their transcripts."""
    found: dict[tuple[int, str], list[float]] = {}
    for number, one in _rounds(path):
        for what, name in (("answer", "seconds"), ("first token", "first_s")):
            if isinstance(seconds := one.get(name), float) and not one["fault"]:
                found.setdefault((number, what), []).append(seconds)
    return tuple(_latency(*place, sorted(some)) for place, some in sorted(found.items()))


def _rounds(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line in _lines(path):
        yield from enumerate(json.loads(line)["rounds"], 1)


def _latency(number: int, what: str, seconds: list[float]) -> Latency:
    """Percentiles by nearest rank (Hyndman and Fan 1996, type 1): each was really seen."""

    def at(share: int) -> float:
        return seconds[-(-share * len(seconds) // 100) - 1]

    return Latency(number, what, len(seconds), at(50), at(90), at(99), seconds[-1])
