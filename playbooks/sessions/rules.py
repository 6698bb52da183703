"""Which outcome an answer gives its session, if any: the declared ones in their order."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from playbooks.expressions import Expression
from playbooks.language.problems import shown
from playbooks.sessions.message import Call, Message
from playbooks.sessions.spec import INEVITABLE, Check, Sessions

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


class Answer(Struct, frozen=True):
    """What came of one request: the message as far as it came, and why it is not whole.

    `fault` is "", "http_error" or "timeout", `why` that in words.
    """

    message: Message
    fault: str = ""
    why: str = ""


class Situation(Struct, frozen=True):
    """An answer within its session: whether it is the last round's, and a tool was ever called.

    `goes_on`: it calls a tool, or something is to be said to any answer.
    """

    answer: Answer
    last: bool
    called: bool
    goes_on: bool

    @property
    def whole(self) -> bool:
        return not self.answer.fault

    @property
    def over(self) -> bool:
        """Whether the session came to its end."""
        return self.whole and (self.last or not self.goes_on)


class Outcome(Struct, frozen=True):
    """A session's outcome, and what gave it, in words for people."""

    name: str
    why: str = ""


_Rule = Callable[[Situation], str | None]
"""Why the outcome is given; None where it is not."""


class Rules:
    """The outcomes of `spec`, ready to be looked for."""

    def __init__(self, spec: Sessions) -> None:
        known = _built_in(spec) | {one.name: _own(one) for one in spec.checks}
        names = dict.fromkeys((*spec.outcomes, *INEVITABLE))
        self._rules = [(name, known[name]) for name in names]

    def outcome(self, situation: Situation) -> Outcome | None:
        """The first outcome that is given; None: the session goes on."""
        for name, rule in self._rules:
            why = rule(situation)
            if why is not None:
                return Outcome(name, why)
        return None


def _built_in(spec: Sessions) -> dict[str, _Rule]:
    patterns = [Expression(pattern) for pattern in spec.leak]
    any_of_them = Expression("|".join(f"(?:{pattern})" for pattern in spec.leak))
    tools = _Tools(json.loads(spec.tools))

    def fault(name: str) -> _Rule:
        return lambda now: now.answer.why if now.answer.fault == name else None

    def leak(now: Situation) -> str | None:
        content = now.answer.message.content
        if not content or any_of_them.find(content) is None:
            return None
        hit = next(one for one in patterns if one.find(content) is not None)
        return f"content has {hit.source}"

    def no_tool_call(now: Situation) -> str | None:
        return "no tool was called" if tools.names and now.over and not now.called else None

    def maxrounds(now: Situation) -> str | None:
        return "" if now.over and now.goes_on else None

    return {
        "http_error": fault("http_error"),
        "timeout": fault("timeout"),
        "leak": leak,
        "bad_json_args": _of_calls(_bad_json),
        "schema_mismatch": _of_calls(tools.mismatch),
        "no_tool_call": no_tool_call,
        "maxrounds": maxrounds,
        "done": lambda now: "" if now.over else None,
    }


def _of_calls(fault_of: Callable[[Call], str | None]) -> _Rule:
    """The first fault of the calls of a whole answer."""

    def rule(now: Situation) -> str | None:
        faults = (fault_of(call) for call in now.answer.message.calls) if now.whole else iter(())
        return next((fault for fault in faults if fault is not None), None)

    return rule


def _bad_json(call: Call) -> str | None:
    if _object(call.arguments) is not None:
        return None
    return f"arguments of {call.name} are no JSON object: {shown(call.arguments)}"


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class _Tools:
    """The tools of the requests, each with the JSON Schema of its arguments.

    The latest answers are kept: the same question has many sessions make the same call.
    """

    def __init__(self, tools: list[dict[str, Any]]) -> None:
        functions: list[Mapping[str, Any]] = [one["function"] for one in tools]
        self.names = [one["name"] for one in functions]
        self._validators = {
            one["name"]: validator(one["parameters"]) for one in functions if "parameters" in one
        }
        self._known = lru_cache(maxsize=128)(self._mismatch)

    def mismatch(self, call: Call) -> str | None:
        """What does not fit; arguments that are no JSON object are another outcome's."""
        return self._known(call.name, call.arguments)

    def _mismatch(self, name: str, arguments: str) -> str | None:
        if name not in self.names:
            return f"there is no tool {shown(name)}"
        value, check = _object(arguments), self._validators.get(name)
        if value is None or check is None:
            return None
        return next((f"arguments of {name}: {one}" for one in _misfits(check, value)), None)


def _own(check: Check) -> _Rule:
    if check.find is not None:
        found = Expression(check.find)
        return lambda now: (
            f"content has {found.source}"
            if found.find(now.answer.message.content) is not None
            else None
        )
    if check.lacks is not None:
        needed = Expression(check.lacks)
        return _of_answers(
            lambda text: f"content lacks {needed.source}" if needed.find(text) is None else None
        )
    fits = validator(json.loads(check.schema or "true"))
    return _of_answers(lambda text: _content_misfit(fits, text))


def _of_answers(fault_of: Callable[[str], str | None]) -> _Rule:
    """A fault in the content of whole answers that call no tool."""

    def rule(now: Situation) -> str | None:
        message = now.answer.message
        return fault_of(message.content) if now.whole and not message.calls else None

    return rule


def _content_misfit(check: "Validator", text: str) -> str | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return f"content is not JSON: {shown(text)}"
    return next((f"content: {one}" for one in _misfits(check, value)), None)


def _misfits(check: "Validator", value: object) -> Iterator[str]:
    for error in check.iter_errors(value):
        where = ".".join(map(str, error.absolute_path))
        yield f"{f'{where}: ' if where else ''}{error.message[:200]}"


def validator(schema: object) -> "Validator":
    """What checks values against a JSON Schema: by its `$schema`, else draft 2020-12.

    Raises ValueError, with why in one line, for what is no JSON Schema, or is not whole.
    """
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema, format_checker=kind.FORMAT_CHECKER)
    except SchemaError as error:
        where = ".".join(map(str, error.absolute_path))
        raise ValueError(f"{f'{where}: ' if where else ''}{error.message[:200]}") from None
    _resolve_all(schema)
    made: Validator = kind(schema)
    return made


def _resolve_all(schema: object) -> None:
    """Raises ValueError for a `$ref` to what is not in the schema itself."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    root: Any = Registry().with_resource("", DRAFT202012.create_resource(schema)).resolver()
    for reference in _references(schema):
        try:
            root.lookup(reference)
        except Unresolvable:
            raise ValueError(f"$ref {shown(reference)} is not in it: write it out") from None


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        schema = list(schema.values())
    for one in schema if isinstance(schema, list) else ():
        yield from _references(one)
