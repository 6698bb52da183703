"""Drives agent sessions against the router, and says in which of them markup leaked.

A session is a chat of some rounds: a question about an order, the model's tool call, the tool's
result and the next question. Prompts and think times vary by session. Each session prints one
JSON line as it ends; the last two lines count them all. Exit 0: every session ran; 1: some ended
in an error.
"""

import argparse
import contextlib
import http.client
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]

MARKUP = "<|tool_call"
TOOL = {
    "type": "function",
    "function": {
        "name": "lookup_order",
        "description": "Where an order is.",
        "parameters": {
            "type": "object",
            "properties": {"order": {"type": "string"}},
            "required": ["order"],
        },
    },
}
WORDS = (
    "parcel depot carrier invoice window driver label return customs night pallet street floor "
    "signature weight voucher morning delay refund account address weekend store damage van"
)
CONTEXT_WORDS = (100, 700)  # retrieved text before the first question
FOLLOW_UP_WORDS = (10, 150)
THINK = (0.2, 0.7)  # seconds between two rounds
RESOLVED = 0.05  # share of lookups after which the customer has no more questions


class SessionError(Exception):
    """The system did not answer as it should: no result, whatever the cause."""


@dataclass
class Session:
    """One session's result, as printed."""

    session: str
    outcome: str = "maxrounds"
    rooms: list[str] = field(default_factory=list)
    rounds: int = 0
    seconds: float = 0.0
    message: str = ""


class Chat:
    """The conversation so far, and the customer who asks."""

    def __init__(self, url: str, name: str, timeout: float) -> None:
        self._host = urlsplit(url).netloc
        self._timeout = timeout
        self._random = random.Random(name)
        self._orders = iter(f'"{name}-{number}"' for number in range(1, sys.maxsize))
        self._messages: list[Json] = []

    def ask(self) -> Json:
        """One round: asks the next question; returns the completion."""
        low, high = FOLLOW_UP_WORDS if self._messages else CONTEXT_WORDS
        context = " ".join(self._random.choices(WORDS.split(), k=self._random.randint(low, high)))
        question = f"{context} . Where is order {next(self._orders)} ?"
        self._messages.append({"role": "user", "content": question})
        return self._complete()

    def tool_result(self, message: Json) -> bool:
        """Feeds back what the tool says to the model's call; True when that settles it all."""
        resolved = self._random.random() < RESOLVED
        result = {"status": "delivered" if resolved else "on its way"}
        call = message["tool_calls"][0]
        answer = {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}
        self._messages += [message, answer]
        return resolved

    def think(self) -> None:
        time.sleep(self._random.uniform(*THINK))

    def _complete(self) -> Json:
        body = json.dumps({"model": "demo-pd", "messages": self._messages, "tools": [TOOL]})
        connection = http.client.HTTPConnection(self._host, timeout=self._timeout)
        with contextlib.closing(connection):
            try:
                connection.request("POST", "/v1/chat/completions", body)
                response = connection.getresponse()
                answer = dict(json.loads(response.read()))
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise SessionError(f"no answer from {self._host}: {error!r}") from error
        if response.status != 200:
            raise SessionError(f"HTTP {response.status} from {self._host}: {answer}")
        return answer


def play(chat: Chat, session: Session, rounds: int) -> str:
    """Plays a session to its end and returns its outcome; a leak ends it at once."""
    for number in range(rounds):
        if number:
            chat.think()
        completion = chat.ask()
        session.rounds += 1
        session.rooms.append(completion["room"])
        message = completion["choices"][0]["message"]
        if MARKUP in (message["content"] or ""):
            return "leak"
        if not message["tool_calls"]:
            raise SessionError(f"no tool call in room {completion['room']}")
        if chat.tool_result(message):
            return "done"
    return "maxrounds"


def run_session(options: argparse.Namespace, name: str) -> Session:
    """One session from start to end. An error is an outcome of its own."""
    session = Session(name)
    started = time.monotonic()
    try:
        session.outcome = play(Chat(options.url, name, options.timeout), session, options.rounds)
    except SessionError as error:
        session.outcome, session.message = "error", str(error)
    session.seconds = round(time.monotonic() - started, 3)
    return session


def drive(options: argparse.Namespace) -> Iterator[Session]:
    """Runs all sessions, at most `concurrency` at a time; yields each as it ends."""
    run = f"{time.time_ns() // 1_000_000:x}"
    with ThreadPoolExecutor(options.concurrency) as threads:
        names = [f"{run}-{number:03d}" for number in range(options.sessions)]
        for session in as_completed([threads.submit(run_session, options, one) for one in names]):
            yield session.result()


def positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def options() -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="the router, http://HOST:PORT")
    parser.add_argument("--sessions", type=positive, default=60)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--concurrency", type=positive, default=60)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a request may take")
    return parser.parse_args()


def main() -> int:
    counts = Counter({"leak": 0, "maxrounds": 0, "done": 0})
    messages = []
    for session in drive(options()):
        counts[session.outcome] += 1
        line = {name: value for name, value in asdict(session).items() if value != ""}
        print(json.dumps(line), flush=True)
        messages += [session.message] if session.message else []
    total = counts.total()
    print(f"counts={json.dumps(counts)}")
    print(f"CORRUPTION sessions: {counts['leak']}/{total} = {counts['leak'] / total:.0%}")
    if messages:
        print(f"{len(messages)} of {total} sessions failed: {messages[0]}", file=sys.stderr)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
