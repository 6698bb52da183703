"""A session of a run as text: who said what, and how each request went."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from campaign.cli.text import seconds, when
from campaign.operations.transcripts import SessionShown

if TYPE_CHECKING:
    from playbooks.sessions.transcripts import RoundSeen


def session_lines(one: SessionShown) -> Iterator[str]:
    """The lines that show a session whole."""
    session = one.transcript
    arm = f" [{one.arm}]" if one.arm else ""
    yield f"{one.run}{arm} session {session.session}: {session.outcome}"
    if session.why:
        yield f"  why: {session.why}"
    yield f"  began {when(session.started_at)}, took {seconds(session.seconds)}"
    if session.keys:
        yield f"  keys: {', '.join(session.keys)}"
    yield f"  request: {json.dumps(session.request, ensure_ascii=False)}"
    for number, this in enumerate(session.rounds, 1):
        yield from _round(number, this)
    for message in session.messages:
        yield from _message(message)


def _round(number: int, this: "RoundSeen") -> Iterator[str]:
    status = "no answer" if this.status is None else str(this.status)
    first = "" if this.first_s is None else f", first token after {this.first_s:.3f} s"
    finish = f", finish {this.finish}" if this.finish else ""
    fault = f": {this.fault}" if this.fault else ""
    yield f"  round {number}: {status} after {this.seconds:.3f} s{first}{finish}{fault}"
    yield from (f"    | {line}" for line in this.body.splitlines())
    yield from (f"    data: {event}" for event in this.events)


def _message(message: Mapping[str, object]) -> Iterator[str]:
    content, calls = message.get("content"), message.get("tool_calls")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    yield f"{message['role']}:"
    yield from (f"  {line}" for line in text.splitlines())
    for call in calls if isinstance(calls, list) else ():
        function = call["function"]
        yield f"  calls {function['name']}({function['arguments']})"
