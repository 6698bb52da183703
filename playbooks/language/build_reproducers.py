"""From checked shapes of reproducers to frozen records."""

import json
from pathlib import Path

from playbooks.language import parse_schema, reproducer_schema, sessions_schema
from playbooks.language.build_services import Place, below
from playbooks.language.marks import Node
from playbooks.sessions import prompts
from playbooks.sessions.spec import USUAL, Check, PromptsFile, Sessions
from playbooks.system import ParseSpec, Reproducer


def reproducer(
    name: str, shape: reproducer_schema.ReproducerShape, place: Place, node: Node
) -> Reproducer:
    """The reproducer that a checked shape describes; `node` has its numbers as they are written."""
    if isinstance(shape, reproducer_schema.SessionsReproducerShape):
        return _sessions_reproducer(name, shape, place, node.get("http_sessions"))
    return Reproducer(
        name=name,
        command=tuple(shape.command),
        on=shape.on or place.only,
        parse=_parse(shape.parse),
        timeout_s=shape.timeout,
        on_timeout=shape.on_timeout,
        cwd=below(place.root, shape.cwd),
        env=dict(shape.env),
        trials=node.get("trials").text or None,
        crash_is=shape.crash_is,
        exposure=shape.exposure,
    )


def _sessions_reproducer(
    name: str, shape: reproducer_schema.SessionsReproducerShape, place: Place, node: Node
) -> Reproducer:
    sessions = _sessions(shape.http_sessions, place.root, node)
    return Reproducer(
        name=name,
        command=(),
        on=shape.on or place.only,
        parse=_outcomes(shape, sessions),
        timeout_s=shape.timeout,
        on_timeout=shape.on_timeout,
        cwd=str(place.root),
        env=dict(shape.env),
        trials=sessions.sessions,
        crash_is=shape.crash_is,
        exposure=shape.exposure,
        sessions=sessions,
    )


def _sessions(shape: sessions_schema.SessionsShape, root: Path, node: Node) -> Sessions:
    file = root / shape.prompts_file if shape.prompts_file else None
    tools = [one.plain() for one in shape.tools]
    return Sessions(
        url=shape.url,
        path=shape.path,
        model=shape.model,
        sessions=node.get("sessions").text,
        rounds=node.get("rounds").text or shape.rounds,
        concurrency=node.get("concurrency").text or shape.concurrency,
        seed=node.get("seed").text or shape.seed,
        stream=shape.stream,
        ramp_s=shape.ramp,
        think_s=shape.think,
        timeout_s=shape.timeout,
        connect_timeout_s=shape.connect_timeout,
        messages=tuple({"role": one.role, "content": one.content} for one in shape.messages),
        prompts=tuple(shape.prompts),
        prompts_file=PromptsFile(str(file), prompts.read(file)[1]) if file else None,
        follow_up=shape.follow_up,
        tools=json.dumps(tools, ensure_ascii=False),
        tool_results=dict(shape.tool_results),
        api_key=shape.api_key,
        headers=dict(shape.headers),
        extra_body=json.dumps(shape.extra_body, ensure_ascii=False),
        key_header=shape.key.header,
        key_field=shape.key.field,
        leak=tuple(shape.leak),
        checks=tuple(_check(name, one) for name, one in shape.checks.items()),
        outcomes=tuple(shape.classify or _usual(shape)),
        dask=shape.spread.dask if shape.spread else None,
    )


def _check(name: str, shape: sessions_schema.CheckShape) -> Check:
    match shape:
        case sessions_schema.FindShape():
            return Check(name, find=shape.find)
        case sessions_schema.LacksShape():
            return Check(name, lacks=shape.lacks)
        case sessions_schema.FitsShape():
            return Check(name, schema=json.dumps(shape.fits, ensure_ascii=False))


def _usual(shape: sessions_schema.SessionsShape) -> list[str]:
    """The usual outcomes, own ones right after the leak."""
    after = USUAL.index("leak") + 1
    return [*USUAL[:after], *shape.checks, *USUAL[after:]]


def _outcomes(shape: reproducer_schema.SessionsReproducerShape, sessions: Sessions) -> ParseSpec:
    """How the child's lines are read. What is not said of an outcome is as it usually means."""
    hang = "fail" if shape.on_timeout == "fail" else "censored"
    own = [one.name for one in sessions.checks]
    meanings = {
        **dict.fromkeys(("leak", "bad_json_args", "schema_mismatch", *own), "fail"),
        **dict.fromkeys(("http_error", "no_tool_call"), "censored"),
        **{"timeout": hang, "maxrounds": "pass", "done": "pass"},
        **dict.fromkeys(shape.parse.fail, "fail"),
        **dict.fromkeys(shape.parse.passed, "pass"),
        **dict.fromkeys(shape.parse.censored, "censored"),
    }
    fail, passed, censored = (
        frozenset(name for name, meaning in meanings.items() if meaning == result)
        for result in ("fail", "pass", "censored")
    )
    fields = {"outcome": "outcome", "id": "session", "seconds": "seconds", "attempts": "rounds"}
    keyed = {"key": "key"} if sessions.key_header or sessions.key_field else {}
    return ParseSpec("jsonl", fail, passed, censored, {**fields, **keyed}, ("latency", "prompt"))


def _parse(shape: parse_schema.AnyParseShape | None) -> ParseSpec:
    """A shape's one field is the format; what is no outcome below it is an option of that."""
    if shape is None:
        return ParseSpec("exit")
    ((form, below),) = vars(shape).items()
    said = vars(below).items()
    options = {
        name: "true" if value is True else value
        for name, value in said
        if isinstance(value, str) or value is True
    }
    lists = {name: value for name, value in said if isinstance(value, list)}
    return ParseSpec(
        form.removesuffix("_"),
        frozenset(lists.get("fail", ())),
        frozenset(lists.get("passed", ())),
        frozenset(lists.get("censored", ())),
        options,
        tuple(lists.get("attributes", ())),
    )
