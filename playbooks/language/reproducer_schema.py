"""The language of reproducers: a command of the user's own, or sessions that campaign drives."""

from typing import Annotated, Literal

from playbooks.language.fieldtypes import Name, Scalar, Text, Timeout, Variable, Words
from playbooks.language.parse_schema import OwnOutcomesShape, ParseShape
from playbooks.language.sessions_schema import SessionsShape
from playbooks.language.shapes import ONE_OF, Shape, Variant, entry


class _ReproducerShape(Shape):
    on: Name | None = entry("host", "Where it runs; may be left out for the only host.", None)
    env: dict[Variable, str] = entry("variables", "Its own environment variables.", {})
    timeout: Timeout = entry("duration", "How long one execution may take.")
    on_timeout: Literal["censored", "fail", "pass"] = entry(
        "word",
        "What a trial that the timeout cuts short counts as: censored, fail, or (a soak) pass.",
    )
    exposure: Literal["seconds", "attempts"] | None = entry(
        "word",
        "What failures are counted against: how long trials ran, or how often they tried.",
        None,
    )
    crash_is: Literal["invalid", "fail"] = entry(
        "word", "What a crash of a service under it counts as.", "invalid"
    )


class CommandReproducerShape(_ReproducerShape):
    command: Words = entry("command", "What drives the trials; {{ name }} is filled in.")
    cwd: Text = entry("folder", "Where it runs, relative to the workspace.", ".")
    trials: Scalar | None = entry(
        "number",
        "How many trials an execution plans; where a variable only says that, it may differ.",
        None,
    )
    parse: ParseShape | None = entry("parser", "How its output is read; else by exit code.", None)


class SessionsReproducerShape(_ReproducerShape):
    http_sessions: SessionsShape = entry("sessions", "Sessions over HTTP, driven by campaign.")
    parse: OwnOutcomesShape = entry("outcomes", "What outcomes mean, where not the usual.", {})


ReproducerShape = Annotated[
    Annotated[CommandReproducerShape, Variant("command")]
    | Annotated[SessionsReproducerShape, Variant("http_sessions")],
    ONE_OF,
]
