"""What `http_sessions` asks for, as checked text: filled in with variables, handed to the child."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from playbooks.templates import render, uses

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

_Change: TypeAlias = Callable[[str], str]

LIVE = ("session", "round", "tool", "arguments")
"""The names that are filled in anew for each session, in what it says and is told."""

ANY_TOOL = "*"
"""Names, among `tool_results`, what tools without an entry of their own answer."""

MARKUP = (
    r"<\|?/?tool[_▁ ]?calls?",
    r"<｜tool▁|<｜DSML｜",
    r"<\|tool_calls?_(?:section_)?begin\|>",
    r"\[TOOL_CALLS\]",
    r"<\|python_tag\|>",
    r"<\|(?:channel|call|constrain)\|>",
    r"</?(?:function|invoke|parameter|arg_key|arg_value)\b[^>]*>?",
)
"""What the markup of tool calls looks like: DeepSeek, Qwen, Kimi, Mistral, Llama, gpt-oss, GLM."""

INEVITABLE = ("http_error", "timeout", "maxrounds", "done")
"""Outcomes that a session may always have: it could not go on, or came to its end."""

USUAL = ("http_error", "timeout", "leak", "bad_json_args", "schema_mismatch", "no_tool_call")
"""The outcomes that come before the end, in their usual order; own checks follow `leak`."""

OUTCOMES = (*USUAL, "maxrounds", "done")
"""All outcomes that need not be declared."""


class Check(Struct, frozen=True):
    """A user's own outcome: content in which `find` is found, or that is not as it must be.

    Of an answer that calls no tool, `lacks` is not found in its content, or its content is not
    JSON that fits `schema` (JSON text). One of the three is given.
    """

    name: str
    find: str | None = None
    lacks: str | None = None
    schema: str | None = None


class PromptsFile(Struct, frozen=True):
    """A file of one prompt a line, as it was when it was checked."""

    path: str
    sha256: str


class Sessions(Struct, frozen=True):
    """Sessions to drive; `sessions`, `rounds`, `concurrency` and `seed` may be templates.

    `tools` and `extra_body` are JSON text, as requests hold them. `ramp_s` is over how long the
    first sessions start, `think_s` the pause before each further round; `timeout_s` bounds a
    request, `connect_timeout_s` its connection. `api_key` is the name of a secret. A session's key
    is in the response's header `key_header`, or in the field `key_field` of its body. `outcomes`
    are in the order of their claim. `dask` is a scheduler's address.
    """

    url: str
    model: str
    sessions: str
    rounds: str = "1"
    concurrency: str = "1"
    seed: str = "0"
    path: str = "/chat/completions"
    stream: bool = False
    ramp_s: float = 0.0
    think_s: float = 0.0
    timeout_s: float = 120.0
    connect_timeout_s: float = 10.0
    messages: tuple[Mapping[str, str], ...] = ()
    prompts: tuple[str, ...] = ()
    prompts_file: PromptsFile | None = None
    follow_up: str | None = None
    tools: str = "[]"
    tool_results: Mapping[str, str] = field(default_factory=dict)
    api_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    extra_body: str = "{}"
    key_header: str | None = None
    key_field: str | None = None
    leak: tuple[str, ...] = MARKUP
    checks: tuple[Check, ...] = ()
    outcomes: tuple[str, ...] = OUTCOMES
    dask: str | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that its texts name, as often as they do; not those of each session."""
        found: list[str] = []

        def see(text: str) -> str:
            found.extend(uses(text))
            return text

        def see_live(text: str) -> str:
            found.extend(name for name in uses(text) if name not in LIVE)
            return text

        self._with_texts(see, see_live)
        return tuple(found)

    @property
    def told(self) -> str:
        """What is driven, in words that change whenever more than the number of sessions does."""
        file = self.prompts_file and replace(self.prompts_file, path="")
        alike = to_builtins(replace(self, sessions="", prompts_file=file))
        facts = json.dumps(alike, sort_keys=True)
        digest = hashlib.sha256(facts.encode()).hexdigest()[:12]
        return f"http_sessions {self.url} {self.model} {digest}"

    def filled(self, variables: Mapping[str, str], where: str) -> "Sessions":
        """With the values of `variables`; raises TemplateError, which `where` begins."""
        values = {**variables, **{name: f"{{{{ {name} }}}}" for name in LIVE}}
        return self._with_texts(
            lambda text: render(text, variables, where), lambda text: render(text, values, where)
        )

    def _with_texts(self, fixed: _Change, live: _Change) -> "Sessions":
        """With each text changed, `live` those that every session has for itself."""
        return replace(
            self,
            url=fixed(self.url),
            model=fixed(self.model),
            sessions=fixed(self.sessions),
            rounds=fixed(self.rounds),
            concurrency=fixed(self.concurrency),
            seed=fixed(self.seed),
            headers={name: fixed(text) for name, text in self.headers.items()},
            messages=tuple({**one, "content": live(one["content"])} for one in self.messages),
            prompts=tuple(map(live, self.prompts)),
            follow_up=None if self.follow_up is None else live(self.follow_up),
            tool_results={name: live(text) for name, text in self.tool_results.items()},
        )

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Sessions":
        """From its fields as JSON holds them."""
        lists = {name: tuple(facts[name]) for name in ("messages", "prompts", "leak", "outcomes")}
        checks = tuple(Check(**one) for one in facts["checks"])
        file = facts["prompts_file"] and PromptsFile(**facts["prompts_file"])
        return cls(**{**facts, **lists, "checks": checks, "prompts_file": file})
