"""The language of `http_sessions`: what is asked of an endpoint, and what its answers mean."""

from typing import Annotated, Literal

from playbooks.language.fieldtypes import Duration, Name, Scalar, SearchedRegex, Text, Timeout
from playbooks.language.shapes import ONE_OF, Described, Shape, Variant, entry
from playbooks.sessions.spec import MARKUP, OUTCOMES

_Mapping = Annotated[dict[str, object], Described({"type": "object"})]


class FunctionShape(Shape):
    name: Text = entry("name", "What the model calls it by.")
    description: str | None = entry("text", "What the model is told of it.", None)
    parameters: _Mapping | None = entry("JSON Schema", "What its arguments must fit.", None)
    strict: bool | None = entry(
        "true or false", "Whether the endpoint is to hold it to that.", None
    )


class ToolShape(Shape):
    type: Literal["function"] = entry("word", "The kind of tool.", "function")
    function: FunctionShape = entry("function", "The function, as requests describe it.")


class MessageShape(Shape):
    role: Literal["system", "developer", "user", "assistant"] = entry("role", "Who says it.")
    content: Text = entry("text", "What is said.")


class KeyShape(Shape):
    header: Text | None = entry("header", "The response's header that holds it.", None)
    field: Text | None = entry(
        "field", "The field of the answer that holds it, such as `meta.room`.", None
    )


class FindShape(Shape):
    find: SearchedRegex = entry("regex", "Given where the content of an answer has this.")


class LacksShape(Shape):
    lacks: SearchedRegex = entry(
        "regex", "Given where the content of an answer that calls no tool lacks this."
    )


class FitsShape(Shape):
    fits: _Mapping = entry(
        "JSON Schema", "Given where the content of an answer that calls no tool does not fit."
    )


CheckShape = Annotated[
    Annotated[FindShape, Variant("find")]
    | Annotated[LacksShape, Variant("lacks")]
    | Annotated[FitsShape, Variant("fits")],
    ONE_OF,
]


class SpreadShape(Shape):
    dask: Text = entry("address", "A Dask scheduler: its workers drive the sessions.")


class SessionsShape(Shape):
    url: Text = entry("URL", "The API's base, such as http://127.0.0.1:30000/v1.")
    path: Text = entry("path", "Where chat completions are, below it.", "/chat/completions")
    model: Text = entry("model", "The model that requests name.")
    sessions: Scalar = entry("number", "How many sessions there are; each is a trial.")
    rounds: Scalar = entry("number", "How many requests a session makes at most.", "1")
    concurrency: Scalar = entry("number", "How many sessions are under way at once.", "1")
    seed: Scalar = entry("number", "Session n, from 1, asks with the seed that is n more.", "0")
    stream: bool = entry("true or false", "Whether answers are streamed.", False)
    ramp: Duration = entry("duration", "Over how long the first sessions start.", "0s")
    think: Duration = entry("duration", "The pause before each further round.", "0s")
    timeout: Timeout = entry("duration", "How long an answer may take, to its end.", "2m")
    connect_timeout: Timeout = entry("duration", "How long connecting may take.", "10s")
    messages: list[MessageShape] = entry("messages", "What every session begins with.", [])
    prompts: list[Text] = entry("texts", "What users then say: sessions take them in turn.", [])
    prompts_file: Text | None = entry(
        "file", "The same from a file of JSON lines, relative to the workspace.", None
    )
    follow_up: Text | None = entry(
        "text", "Said to an answer that calls no tool; without it, that ends the session.", None
    )
    tools: list[ToolShape] = entry("tools", "The tools that requests define.", [])
    tool_results: dict[Text, str] = entry(
        "texts", "What is fed back for a call, by the tool's name; `*` stands for all others.", {}
    )
    api_key: Name | None = entry("secret", "The secret sent as bearer token.", None)
    headers: dict[Text, str] = entry("headers", "Headers of each request.", {})
    extra_body: _Mapping = entry("fields", "More fields of each request, as they are.", {})
    key: KeyShape = entry("place", "Where a session's key is, which joins it to logs.", {})
    leak: list[SearchedRegex] = entry(
        "regexes", "What content must not have: markup of tool calls.", list(MARKUP), least=1
    )
    checks: dict[Name, CheckShape] = entry("checks", "Outcomes of your own.", {})
    classify: list[Name] | None = entry(
        "outcomes",
        "The outcomes that are looked for; the first that is given counts. Else"
        f" {', '.join(OUTCOMES)}, with `checks` after `leak`.",
        None,
        least=1,
    )
    spread: SpreadShape | None = entry("engine", "Whose machines drive the sessions.", None)
