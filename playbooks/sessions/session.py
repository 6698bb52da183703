"""One session: rounds of requests, tool results fed back, until an outcome is given."""

import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from playbooks.sessions.client import Client, Round
from playbooks.sessions.message import Call
from playbooks.sessions.prompts import BadPrompts, Messages, read
from playbooks.sessions.rules import Outcome, Rules, Situation
from playbooks.sessions.spec import ANY_TOOL, LIVE, Json, Sessions

_PLACE = re.compile(r"\{\{[ \t]*(" + "|".join(LIVE) + r")[ \t]*\}\}")


class Script:
    """What sessions say, the same for all but for their numbers; `prompts` are of `prompts_of`."""

    def __init__(self, spec: Sessions, prompts: Sequence[Messages]) -> None:
        self.spec = spec
        self.rounds = int(spec.rounds)
        self._seed = int(spec.seed)
        self._prompts = prompts
        # Definitions of tools are long, and the same in every request: they are encoded once.
        self._end = f', "tools": {spec.tools}}}' if json.loads(spec.tools) else "}"
        self._extra: dict[str, Json] = json.loads(spec.extra_body)

    def seed(self, number: int) -> int:
        return self._seed + number

    def request(self, number: int) -> dict[str, Json]:
        """The body of a session's requests, but for its messages and tools."""
        stream: dict[str, Json] = {"stream": True} if self.spec.stream else {}
        own: dict[str, Json] = {"model": self.spec.model, "seed": self.seed(number)}
        return {**own, **stream, **self._extra}

    def body(self, request: Mapping[str, Json], messages: Sequence[Json]) -> bytes:
        """A request's whole body, as JSON."""
        text = f'{json.dumps(request)[:-1]}, "messages": {json.dumps(messages)}{self._end}'
        return text.encode()

    def opening(self, number: int) -> list[Json]:
        """The messages that session `number` begins with."""
        now = {"session": str(number), "round": "1"}
        said = [*self.spec.messages, *self._prompts[self.prompt(number) - 1]]
        return [{**one, "content": _lively(one.get("content"), now)} for one in said]

    def prompt(self, number: int) -> int:
        """Which of the prompts it begins with, the first being 1: they take turns."""
        return (number - 1) % len(self._prompts) + 1

    def reply(self, calls: Sequence[Call], number: int, done: int) -> list[Json]:
        """What is sent back to an answer: the results of its calls, else the follow-up."""
        now = {"session": str(number), "round": str(done + 1)}
        if not calls and self.spec.follow_up is not None:
            return [{"role": "user", "content": _live(self.spec.follow_up, now)}]
        return [
            {"role": "tool", "tool_call_id": one.ident, "content": self._result(one, now)}
            for one in calls
        ]

    def _result(self, call: Call, now: Mapping[str, str]) -> str:
        results = self.spec.tool_results
        text = results.get(call.name, results.get(ANY_TOOL, "ok"))
        return _live(text, {**now, "tool": call.name, "arguments": call.arguments})


def prompts_of(spec: Sessions) -> Sequence[Messages]:
    """The prompts that sessions take in turn: never none, but one may say nothing.

    Raises BadPrompts where the file of prompts is not the one that was checked.
    """
    file = spec.prompts_file
    if file is None:
        return [[{"role": "user", "content": text}] for text in spec.prompts] or [[]]
    found, sha256 = read(Path(file.path))
    if sha256 != file.sha256:
        raise BadPrompts("has changed since it was checked")
    return found


def _lively(content: Json, values: Mapping[str, str]) -> Json:
    """A message's content; one in parts, for models that see, stays as it is."""
    return _live(content, values) if isinstance(content, str) else content


def _live(text: str, values: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda found: values.get(found[1], ""), text)


class Session(Struct):
    """A session under way or over; `outcome` is None while it is under way.

    `prompt` is which of the prompts it began with, from 1.
    """

    number: int
    seed: int
    prompt: int
    started_at: float
    request: dict[str, Json]
    messages: list[Json]
    rounds: list[Round] = field(default_factory=list)
    outcome: Outcome | None = None
    seconds: float = 0.0

    @property
    def keys(self) -> list[str]:
        """What joins it to log lines, each once."""
        return list(dict.fromkeys(one.key for one in self.rounds if one.key))

    @property
    def answered(self) -> bool:
        """Whether the endpoint has answered anything."""
        return any(one.status is not None for one in self.rounds)


def begin(script: Script, number: int) -> Session:
    """Session `number`, before its first request."""
    return Session(
        number,
        script.seed(number),
        script.prompt(number),
        time.time(),
        script.request(number),
        script.opening(number),
    )


async def drive(session: Session, script: Script, rules: Rules, client: Client) -> None:
    """Drives a session to its outcome."""
    start = time.monotonic()
    called = False
    for done in range(1, script.rounds + 1):
        if done > 1 and script.spec.think_s:
            await asyncio.sleep(script.spec.think_s)
        this = await client.ask(script.body(session.request, session.messages))
        session.rounds.append(this)
        message = this.answer.message
        session.messages.append(message.sent_back())
        called = called or bool(message.calls)
        goes_on = bool(message.calls) or script.spec.follow_up is not None
        now = Situation(this.answer, done == script.rounds, called, goes_on)
        session.outcome = rules.outcome(now)
        if session.outcome is not None:
            break
        session.messages += script.reply(message.calls, session.number, done)
    session.seconds = time.monotonic() - start
