"""What is told of sessions: a line each for the run, and whole in a file of transcripts."""

import json
from pathlib import Path

from playbooks.redact import Redactor
from playbooks.sessions.client import Round
from playbooks.sessions.session import Session
from playbooks.sessions.spec import Json
from playbooks.sessions.transcripts import UNDER_WAY

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_QUIET = ("done", "maxrounds")


def line(session: Session) -> str:
    """The line that makes the session a trial, as JSON."""
    assert session.outcome is not None
    rounds = len(session.rounds)
    return json.dumps(
        {
            "session": session.number,
            "outcome": session.outcome.name,
            "seconds": round(session.seconds, 6),
            "key": session.keys,
            "rounds": rounds,
            "latency": round(session.rounds[0].seconds, 3),
            "prompt": session.prompt,
            **({"why": f"round {rounds}: {session.outcome.why}"} if session.outcome.why else {}),
        }
    )


def transcript(session: Session) -> str:
    """All that was sent and answered, as one line of JSON that begins with the session's number."""
    outcome = session.outcome
    name = UNDER_WAY if outcome is None else outcome.name
    return _ENCODER.encode(
        {
            "session": session.number,
            "outcome": name,
            "why": outcome.why if outcome else "",
            "seed": session.seed,
            "started_at": session.started_at,
            "seconds": session.seconds,
            "keys": session.keys,
            "request": session.request,
            "messages": session.messages,
            "rounds": [_round(one, whole=name not in _QUIET) for one in session.rounds],
        }
    )


def _round(one: Round, whole: bool) -> dict[str, Json]:
    """A round's facts; the stream as it came only where something is to be seen in it."""
    message = one.answer.message
    facts: dict[str, Json] = {
        "started_at": one.started_at,
        "seconds": one.seconds,
        "first_s": one.first_s,
        "status": one.status,
        "key": one.key,
        "finish": message.finish,
        "reasoning": message.reasoning,
        "fault": one.answer.why,
    }
    if whole:
        facts |= {"body": one.body, "events": list(one.events)}
    return facts


class Book:
    """Tells of sessions as they end: each once, whatever tells of it twice."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self._file = path.open("w", encoding="utf-8", errors="replace")
        self._redactor = redactor
        self.told: set[int] = set()
        self.answered = False
        self.last_why = ""

    def close(self) -> None:
        self._file.close()

    def tell(self, number: int, trial: str, whole: str, answered: bool) -> None:
        """Tells of session `number`, unless that was done; its transcript comes before its line."""
        if number in self.told:
            return
        self.told.add(number)
        self.answered = self.answered or answered
        self.last_why = "" if self.answered else str(json.loads(trial).get("why", ""))
        self.keep(whole)
        print(self._redactor.text(trial), flush=True)

    def keep(self, whole: str) -> None:
        """Keeps a transcript alone, that of a session which was cut short."""
        self._file.write(f"{self._redactor.text(whole)}\n")
        self._file.flush()
