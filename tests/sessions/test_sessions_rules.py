"""Which outcome an answer gives its session: the declared ones, in their order."""

import json

import pytest
from msgspec.structs import replace

from playbooks.sessions.message import Call, Message
from playbooks.sessions.rules import Answer, Outcome, Rules, Situation
from playbooks.sessions.spec import MARKUP, Check, Sessions

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}
SPEC = Sessions(url="http://h/v1", model="m", sessions="1", tools=json.dumps([TOOL]))
GOOD = Call("1", "weather", '{"city": "Oslo"}')


def outcome(spec: Sessions, *, last: bool = False, fault: str = "", **said: object) -> str | None:
    """The name of the outcome of one answer: one that calls a tool, unless it says otherwise."""
    found = situated(spec, last=last, fault=fault, **said)
    return found.name if found else None


def situated(spec: Sessions, *, last: bool, fault: str, **said: object) -> Outcome | None:
    message = replace(Message(calls=(GOOD,)), **said)  # type: ignore[arg-type]
    called = bool(message.calls)
    return Rules(spec).outcome(Situation(Answer(message, fault, "it broke"), last, called, called))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, None),
        ({"last": True}, "maxrounds"),
        ({"calls": (), "content": "Rain."}, "no_tool_call"),
        ({"content": "<tool_call>"}, "leak"),
        ({"content": "<｜tool▁calls▁begin｜>"}, "leak"),
        ({"content": "a < b, and [tools] call"}, None),
        ({"calls": (Call("1", "weather", '{"city"'),)}, "bad_json_args"),
        ({"calls": (Call("1", "weather", '["Oslo"]'),)}, "bad_json_args"),
        ({"calls": (GOOD, Call("2", "weather", "{}"))}, "schema_mismatch"),
        ({"calls": (Call("1", "whether", "{}"),)}, "schema_mismatch"),
        ({"fault": "timeout"}, "timeout"),
        ({"fault": "http_error", "calls": (Call("1", "weather", '{"ci'),)}, "http_error"),
    ],
)
def test_the_usual_outcomes(said: dict[str, object], expected: str | None) -> None:
    assert outcome(SPEC, **said) == expected  # type: ignore[arg-type]


def test_a_session_without_tools_is_done_with_its_answer() -> None:
    assert outcome(replace(SPEC, tools="[]"), calls=(), content="Rain.") == "done"


@pytest.mark.parametrize(
    ("check", "content", "why"),
    [
        (Check("own", find="(?i)as an ai"), "As an AI I cannot.", "content has (?i)as an ai"),
        (Check("own", lacks=r"\d"), "No number.", r"content lacks \d"),
        (Check("own", schema='{"type": "array"}'), "{}", "content: {} is not of type 'array'"),
        (Check("own", schema="{}"), "no JSON", "content is not JSON: 'no JSON'"),
    ],
)
def test_checks_of_the_users_own(check: Check, content: str, why: str) -> None:
    spec = replace(SPEC, tools="[]", checks=(check,), outcomes=("own",))
    found = situated(spec, last=False, fault="", calls=(), content=content)
    assert found == Outcome("own", why)
    assert outcome(spec, calls=(), content="[1]") == "done"


def test_the_first_declared_outcome_counts_and_a_broken_answer_can_leak() -> None:
    leaking = {"fault": "http_error", "content": "<tool_call>"}
    assert outcome(SPEC, **leaking) == "http_error"  # type: ignore[arg-type]
    first = replace(SPEC, outcomes=("leak", "http_error"))
    assert outcome(first, **leaking) == "leak"  # type: ignore[arg-type]
    undeclared = replace(SPEC, outcomes=("bad_json_args",))
    assert outcome(undeclared, content="<tool_call>", last=True) == "maxrounds"


def test_markup_is_known_in_each_dialect() -> None:
    samples = (
        *("<|tool_call|>", "</tool_calls>", "<|tool_calls_section_begin|>", "[TOOL_CALLS]"),
        *(
            "<|python_tag|>",
            "<|channel|>",
            "<function=weather>",
            "<｜DSML｜invoke",
            "<arg_key>city",
        ),
    )
    for sample in samples:
        assert outcome(SPEC, content=f"Well, {sample}") == "leak", sample
    assert len(MARKUP) <= len(samples)
