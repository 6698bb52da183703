"""The kinds of values that the files hold: each checks, converts and describes itself."""

import re
import warnings
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import CoreSchema, NullableSchema, WithDefaultSchema

from playbooks.expressions import Expression
from playbooks.language.durations import (
    DURATION,
    DURATION_PATTERN,
    SIZE,
    SIZE_PATTERN,
    seconds,
    size,
)

_T = TypeVar("_T")

NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$"
SERVICE_PATTERN = rf"{NAME_PATTERN[:-1]}(?:@{NAME_PATTERN[1:-1]})?$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
PERCENT_PATTERN = r"^([0-9]{1,3}(?:\.[0-9]{1,6})?)%$"
MODE_PATTERN = r"^0?[0-7]{3,4}$"
UNIT_PATTERN = r"^[A-Za-z0-9:_.\\-]{1,200}(?:@[A-Za-z0-9:_.\\-]{1,200})?\.service$"
ADDRESS_PATTERN = r"^(?:\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):([0-9]{1,5})$"

_PERCENT = "a percentage such as 95%"
_MODE = 'a file mode in quotes, such as "0644"'
_ADDRESS = 'an address such as "127.0.0.1:8080"'
_URL = "a URL such as http://127.0.0.1:8080/health"
_WORDS = "a list of words, or one text for /bin/sh"


def expected(what: str) -> PydanticCustomError:
    """The complaint about a value that is not `what`; the value itself is added to it."""
    return PydanticCustomError("expected", "expected {what}", {"what": what})


def refused(what: str) -> PydanticCustomError:
    """The complaint `what`, said as it is."""
    return PydanticCustomError("refused", "{what}", {"what": what})


def _pattern(pattern: str, what: str) -> tuple[AfterValidator, WithJsonSchema]:
    def check(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise expected(what)
        return text

    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": pattern})


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise expected(what)
    return value


def _seconds(value: object) -> float:
    try:
        return seconds(_text(value, DURATION))
    except ValueError:
        raise expected(DURATION) from None


def _positive(value: _T) -> _T:
    if value == 0:
        raise expected("more than nothing")
    return value


def _size(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    try:
        return size(_text(value, SIZE))
    except ValueError:
        raise expected(SIZE) from None


def _percent(value: object) -> float:
    found = re.fullmatch(PERCENT_PATTERN, _text(value, _PERCENT))
    if found is None or float(found[1]) > 100:
        raise expected(f"{_PERCENT}, from 0% to 100%")
    return float(found[1]) / 100


def _mode(value: object) -> int:
    text = _text(value, _MODE)
    if re.fullmatch(MODE_PATTERN, text) is None:
        raise expected(_MODE)
    return int(text, 8)


def _port(value: int) -> int:
    if not 0 < value < 65536:
        raise expected("a port from 1 to 65535")
    return value


def _address(text: str) -> str:
    found = re.fullmatch(ADDRESS_PATTERN, text)
    if found is None or not 0 < int(found[1]) < 65536:
        raise expected(_ADDRESS)
    return text


def is_url(text: str) -> bool:
    """Whether `text` is an http or https URL with a host and, where given, a valid port."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    fit = text.isascii() and text.isprintable() and " " not in text
    return fit and parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0


def _url(text: str) -> str:
    if not is_url(text):
        raise expected(_URL)
    return text


def _regex(text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise refused(f"not a regular expression: {error}") from None
    return text


def _joined(text: str) -> str:
    from playbooks.join.expression import groups

    try:
        groups(text)
    except ValueError as error:
        raise refused(f"not a regular expression that can be used: {error}") from None
    return text


def _expression(text: str) -> Expression:
    try:
        return Expression(text)
    except ValueError as error:
        raise refused(f"not a regular expression that can be used: {error}") from None


def _searched(text: str) -> str:
    return _expression(text).source


def _outcome(text: str) -> str:
    found = _expression(text).groups
    if "outcome" not in found and not {"fail", "total"} <= found:
        raise refused(
            "the regular expression needs the named group (?P<outcome>...), "
            "or both (?P<fail>...) and (?P<total>...)"
        )
    return text


def _words(value: object) -> object:
    if isinstance(value, str) and value:
        return ["/bin/sh", "-c", value]
    if not isinstance(value, list) or not value or value[0] == "":
        raise expected(_WORDS)
    return value


def _scalar(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise expected("text or a number")
    return str(value)


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Shape(BaseModel):
    """A mapping with known keys only, whose values are not converted by guessing."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        defer_build=True,
        allow_inf_nan=False,
        model_title_generator=lambda model: model.__name__.removesuffix("Shape"),
    )


def entry(title: str, description: str, default: Any = ..., **more: Any) -> Any:
    """An entry of a mapping: `title` names its value in messages, `description` explains it.

    `default` is as a file would say it, "1m30s" for instance.
    """
    return Field(default, title=title, description=description, validate_default=True, **more)


class _WithoutNull(GenerateJsonSchema):
    """Describes what may be written: a key is given a value or left out, there is no null."""

    def nullable_schema(self, schema: NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        described = super().default_schema(schema)
        if "default" in described and described["default"] is None:
            del described["default"]
        return described


def describe(model: type[Shape]) -> dict[str, Any]:
    """The JSON Schema of `model`."""
    return model.model_json_schema(schema_generator=_WithoutNull)


def one_of(*keys: str) -> Discriminator:
    """Chooses among variants by which one of `keys` a mapping holds; their tags are `=KEY`."""

    def tag(value: Any) -> str | None:
        given = [name for name in keys if isinstance(value, dict) and name in value]
        return f"={given[0]}" if len(given) == 1 else None

    return Discriminator(tag, "one_of", "expected exactly one key")


class _AlsoText:
    """Says in the JSON Schema of a mapping that a text may stand in its place."""

    def __init__(self, text: Any) -> None:
        self._text = text

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [TypeAdapter(self._text).json_schema(), handler(schema)]}


def short_for(key: str, text: Any) -> tuple[BeforeValidator, _AlsoText]:
    """Lets a text (of type `text`) stand for the mapping that has it under `key` alone."""

    def expand(value: object) -> object:
        return {key: value} if isinstance(value, str) else value

    return BeforeValidator(expand), _AlsoText(text)


def alone(*keys: str) -> tuple[BeforeValidator, _AlsoText]:
    """Lets each of `keys`, as a text, stand for the mapping that has it with nothing below."""

    def expand(value: object) -> object:
        return {value: {}} if isinstance(value, str) and value in keys else value

    return BeforeValidator(expand), _AlsoText(Literal[keys])


def chosen_by(*words: str) -> Discriminator:
    """Chooses among variants by the word under `by`; their tags are `=WORD`."""

    def tag(value: Any) -> str | None:
        by = value.get("by") if isinstance(value, dict) else None
        return f"={by}" if by in words else None

    return Discriminator(tag, "by", "expected a known word")


def _schema(kind: str, pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": kind, "pattern": pattern, "examples": [example]})


_WORDS_SCHEMA = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ]
}
_NAMES_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": NAME_PATTERN},
        {"type": "array", "items": {"type": "string", "pattern": NAME_PATTERN}},
    ]
}
_REGEX_SCHEMA = {"type": "string", "format": "regex"}
_SIZE_SCHEMA = {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": SIZE_PATTERN}]}
_NAME = "a name (letters, digits, '_', '-' and '.', at most 64)"
_SERVICE = "a service's name, or that of a replica: NAME@HOST"
_UNIT = "the name of a service unit such as sglang-prefill.service"
_VARIABLE = "a variable's name (letters, digits and '_')"

_TEXTS_SCHEMA = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
    ]
}

Text = Annotated[str, Field(min_length=1)]
Parts = Annotated[
    list[Text],
    Field(min_length=1),
    BeforeValidator(_listed),
    WithJsonSchema(_TEXTS_SCHEMA),
]
Name = Annotated[str, *_pattern(NAME_PATTERN, _NAME)]
ServiceName = Annotated[str, *_pattern(SERVICE_PATTERN, _SERVICE)]
ServiceKey = Annotated[ServiceName, WithJsonSchema({"type": "string", "pattern": NAME_PATTERN})]
UnitName = Annotated[str, *_pattern(UNIT_PATTERN, _UNIT)]
Variable = Annotated[str, *_pattern(VARIABLE_PATTERN, _VARIABLE)]
Names = Annotated[list[Name], BeforeValidator(_listed), WithJsonSchema(_NAMES_SCHEMA)]
Scalar = Annotated[str, BeforeValidator(_scalar), WithJsonSchema({"type": ["string", "number"]})]
Duration = Annotated[float, BeforeValidator(_seconds), _schema("string", DURATION_PATTERN, "1m30s")]
Timeout = Annotated[Duration, AfterValidator(_positive)]
Size = Annotated[
    int, BeforeValidator(_size), AfterValidator(_positive), WithJsonSchema(_SIZE_SCHEMA)
]
Percent = Annotated[float, BeforeValidator(_percent), _schema("string", PERCENT_PATTERN, "95%")]
Mode = Annotated[int, BeforeValidator(_mode), _schema("string", MODE_PATTERN, "0644")]
Port = Annotated[int, AfterValidator(_port), WithJsonSchema({"type": "integer", "minimum": 1})]
Address = Annotated[str, AfterValidator(_address), _schema("string", ADDRESS_PATTERN, "[::1]:80")]
Url = Annotated[str, AfterValidator(_url), WithJsonSchema({"type": "string", "format": "uri"})]
Regex = Annotated[
    str, AfterValidator(_regex), WithJsonSchema({"type": "string", "format": "regex"})
]
JoinedRegex = Annotated[str, AfterValidator(_joined), WithJsonSchema(_REGEX_SCHEMA)]
SearchedRegex = Annotated[str, AfterValidator(_searched), WithJsonSchema(_REGEX_SCHEMA)]
OutcomeRegex = Annotated[str, AfterValidator(_outcome), WithJsonSchema(_REGEX_SCHEMA)]
Words = Annotated[list[str], BeforeValidator(_words), WithJsonSchema(_WORDS_SCHEMA)]
