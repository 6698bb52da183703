"""The chat template: messages and tools as the prompt's tokens, and the call that answers them.

A token is a word. The template opens with the grammar of a tool call, as the models do that write
their calls as markup.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from service import Json, RequestError

SECTION_BEGIN, SECTION_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
CALL_BEGIN, CALL_END = "<|tool_call_begin|>", "<|tool_call_end|>"
ARGUMENTS = "<|tool_call_argument_begin|>"

MAX_TOKENS = 4096
QUOTED = re.compile(r'"[^"\s]+"')


@dataclass(frozen=True)
class Prompt:
    """A room's tokens by position, the question they end in and the call it asks for, if any."""

    tokens: tuple[str, ...]
    question: str
    call: tuple[str, ...]


def render(body: Json) -> Prompt:
    """The prompt of a chat request. Raises RequestError where the request is not one."""
    messages, tools = _objects(body, "messages"), _objects(body, "tools")
    if not messages:
        raise RequestError(400, "messages is empty: send at least one")
    grammars = [_grammar(tool) for tool in tools]
    words = [word for message in messages for word in _words(message)]
    tokens = tuple([token for grammar in grammars for token in grammar] + words)
    if len(tokens) > MAX_TOKENS:
        raise RequestError(400, f"the prompt has {len(tokens)} tokens: at most {MAX_TOKENS} fit")
    question = str(messages[-1].get("content") or "")
    return Prompt(tokens, question, _call(grammars, question))


def _objects(body: Json, name: str) -> list[Json]:
    found = body.get(name) or []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise RequestError(400, f"{name} is not a list of objects")
    return found


def _grammar(tool: Json) -> tuple[str, ...]:
    """The tokens of a call of `tool`, without the value of its one argument."""
    try:
        function = tool["function"]
        name, argument = function["name"], function["parameters"]["required"][0]
    except (KeyError, IndexError, TypeError) as error:
        raise RequestError(400, "a tool needs function.name and one required parameter") from error
    head = (SECTION_BEGIN, CALL_BEGIN, f"functions.{name}", ARGUMENTS)
    return (*head, f'{{"{argument}":', "}", CALL_END, SECTION_END)


def _words(message: Json) -> Iterator[str]:
    yield f"<|{message.get('role')}|>"
    yield from str(message.get("content") or "").split()
    calls: Any = message.get("tool_calls") or []
    for call in calls:
        yield from str(call).split()


def _call(grammars: Sequence[tuple[str, ...]], question: str) -> tuple[str, ...]:
    """The first tool's call with the last quoted word of `question` as its argument."""
    quoted = QUOTED.findall(question)
    if not grammars or not quoted:
        return ()
    *head, close, end, section_end = grammars[0]
    return (*head, quoted[-1], close, end, section_end)
