"""What an endpoint has answered: whole, or put together out of the parts of a stream."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from playbooks.sessions.spec import Json


class Malformed(Exception):  # noqa: N818 - what is malformed is the answer
    """An answer that is none of a chat completion, in one line."""


class Call(Struct, frozen=True):
    """A call of a tool: `arguments` is the text that the model wrote."""

    ident: str
    name: str
    arguments: str


class Message(Struct, frozen=True):
    """The assistant's message; `finish` says why it ended, empty where nothing said so."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""

    def sent_back(self) -> dict[str, Json]:
        """It as the next request repeats it."""
        said: dict[str, Json] = {"role": "assistant", "content": self.content}
        if self.calls:
            said["tool_calls"] = [
                {
                    "id": one.ident,
                    "type": "function",
                    "function": {"name": one.name, "arguments": one.arguments},
                }
                for one in self.calls
            ]
        return said


class _Part(Struct):
    ident: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Assembly:
    """A message as its parts come, in `delta` (streamed) or in `message` (whole).

    `has_choices`: whether any part held one; the last of a stream may hold none.
    """

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _Part] = {}
        self._finish = ""
        self.has_choices = False

    def add(self, answer: object) -> bool:
        """Takes one part of an answer; whether it said anything. Raises Malformed."""
        if not isinstance(answer, dict):
            raise Malformed("the answer is not a JSON object")
        if answer.get("error"):
            raise Malformed(f"the answer is an error: {_error(answer['error'])}")
        choices = answer.get("choices")
        if not isinstance(choices, list):
            raise Malformed("the answer has no list of choices")
        self.has_choices = self.has_choices or bool(choices)
        return bool(choices) and self._choice(choices[0])

    def message(self) -> Message:
        """The message so far."""
        calls = tuple(
            Call(one.ident or f"call_{number}", one.name, "".join(one.arguments))
            for number, one in sorted(self._calls.items())
        )
        return Message("".join(self._content), "".join(self._reasoning), calls, self._finish)

    def _choice(self, choice: object) -> bool:
        said = choice.get("delta") or choice.get("message") if isinstance(choice, dict) else None
        self._finish = _text(choice, "finish_reason") or self._finish
        if not isinstance(said, dict):
            return False
        content = _text(said, "content")
        reasoning = _text(said, "reasoning_content") or _text(said, "reasoning")
        self._content += [content] if content else []
        self._reasoning += [reasoning] if reasoning else []
        calls = said.get("tool_calls") or ()
        for number, call in enumerate(calls if isinstance(calls, list) else ()):
            self._call(number, call)
        return bool(content or reasoning or calls)

    def _call(self, number: int, call: object) -> None:
        if not isinstance(call, dict):
            raise Malformed("a tool call of the answer is not a JSON object")
        index = call.get("index", number)
        part = self._calls.setdefault(index if isinstance(index, int) else number, _Part())
        function = call.get("function")
        part.ident = part.ident or _text(call, "id")
        part.name += _text(function, "name")
        part.arguments.append(_text(function, "arguments"))


def _text(record: object, name: str) -> str:
    value = record.get(name) if isinstance(record, dict) else None
    return value if isinstance(value, str) else ""


def _error(value: object) -> str:
    said = value.get("message", value) if isinstance(value, Mapping) else value
    return str(said)[:200]


def find(record: Any, path: str) -> str:
    """The text or number at `path` (`a.b`) of a JSON value; empty where there is none."""
    for name in path.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return "" if record is None or isinstance(record, dict | list) else str(record)
