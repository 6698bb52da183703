"""The kinds of values that the files hold: each checks, converts and describes itself."""

import re
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from playbooks.expressions import Expression
from playbooks.language.complaints import expected, refused
from playbooks.language.durations import (
    DURATION,
    DURATION_PATTERN,
    SIZE,
    SIZE_PATTERN,
    seconds,
    size,
)
from playbooks.language.marks import Node
from playbooks.language.shapes import AlsoText, Check, Convert, Described, Least, Rewrite

_T = TypeVar("_T")

NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$"
SERVICE_PATTERN = rf"{NAME_PATTERN[:-1]}(?:@{NAME_PATTERN[1:-1]})?$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
PERCENT_PATTERN = r"^([0-9]{1,3}(?:\.[0-9]{1,6})?)%$"
MODE_PATTERN = r"^0?[0-7]{3,4}$"
UNIT_PATTERN = r"^[A-Za-z0-9:_.\\-]{1,200}(?:@[A-Za-z0-9:_.\\-]{1,200})?\.service$"
ADDRESS_PATTERN = r"^(?:\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):([0-9]{1,5})$"

_HOST = r"\{\{ *host *\}\}"
"""The name of a service's host as files may write it, before it is filled in."""
_UNITS = rf"(?:[A-Za-z0-9:_.\\-]|{_HOST}){{1,200}}"
_UNIT_WRITTEN = rf"^{_UNITS}(?:@{_UNITS})?\.service$"
_ADDRESS_WRITTEN = rf"^(?:\[[0-9A-Fa-f:.]+\]|(?:[^\s:/\[\]]|{_HOST})+):([0-9]{{1,5}})$"

_PERCENT = "a percentage such as 95%"
_MODE = 'a file mode in quotes, such as "0644"'
_ADDRESS = 'an address such as "127.0.0.1:8080"'
_URL = "a URL such as http://127.0.0.1:8080/health"
_WORDS = "a list of words, or one text for /bin/sh"


def _pattern(pattern: str, what: str) -> tuple[Check, Described]:
    def check(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise expected(what)
        return text

    return Check(check), Described({"type": "string", "pattern": pattern})


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


def _words(node: Node) -> Node:
    if isinstance(node.scalar, str) and node.scalar:
        return _list([_text_node("/bin/sh", node), _text_node("-c", node), node], node)
    if node.kind != "list" or not node.items or node.items[0].scalar == "":
        raise expected(_WORDS)
    return node


def _scalar(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise expected("text or a number")
    return str(value)


def _listed(node: Node) -> Node:
    return _list([node], node) if isinstance(node.scalar, str) else node


def _list(items: Sequence[Node], written: Node) -> Node:
    """The list of `items`, where `written` stands for it."""
    return Node("list", written.mark, written.key, items=tuple(items))


def _text_node(text: str, written: Node) -> Node:
    return Node("scalar", written.mark, written.key, text, text)


def short_for(key: str, text: Any) -> tuple[Rewrite, AlsoText]:
    """Lets a text (of type `text`) stand for the mapping that has it under `key` alone."""

    def expand(node: Node) -> Node:
        return _holding(key, node, node) if isinstance(node.scalar, str) else node

    return Rewrite(expand), AlsoText(text)


def alone(*keys: str) -> tuple[Rewrite, AlsoText]:
    """Lets each of `keys`, as a text, stand for the mapping that has it with nothing below."""

    def expand(node: Node) -> Node:
        if node.scalar not in keys or not isinstance(node.scalar, str):
            return node
        return _holding(node.scalar, Node("mapping", node.mark, node.key), node)

    return Rewrite(expand), AlsoText(Literal[keys])


def _holding(key: str, value: Node, written: Node) -> Node:
    """The mapping that has `value` alone, where `written` stands for it."""
    return Node("mapping", written.mark, written.key, entries={key: value})


def _schema(kind: str, pattern: str, example: str) -> Described:
    return Described({"type": kind, "pattern": pattern, "examples": [example]})


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

Text = Annotated[str, Least(1)]
Parts = Annotated[
    list[Text],
    Least(1),
    Rewrite(_listed),
    Described(_TEXTS_SCHEMA),
]
Name = Annotated[str, *_pattern(NAME_PATTERN, _NAME)]
ServiceName = Annotated[str, *_pattern(SERVICE_PATTERN, _SERVICE)]
ServiceKey = Annotated[ServiceName, Described({"type": "string", "pattern": NAME_PATTERN})]
UnitName = Annotated[
    str, *_pattern(UNIT_PATTERN, _UNIT), Described({"type": "string", "pattern": _UNIT_WRITTEN})
]
Variable = Annotated[str, *_pattern(VARIABLE_PATTERN, _VARIABLE)]
Names = Annotated[list[Name], Rewrite(_listed), Described(_NAMES_SCHEMA)]
Scalar = Annotated[str, Convert(_scalar), Described({"type": ["string", "number"]})]
Duration = Annotated[float, Convert(_seconds), _schema("string", DURATION_PATTERN, "1m30s")]
Timeout = Annotated[Duration, Check(_positive)]
Size = Annotated[int, Convert(_size), Check(_positive), Described(_SIZE_SCHEMA)]
Percent = Annotated[float, Convert(_percent), _schema("string", PERCENT_PATTERN, "95%")]
Mode = Annotated[int, Convert(_mode), _schema("string", MODE_PATTERN, "0644")]
Port = Annotated[int, Check(_port), Described({"type": "integer", "minimum": 1})]
Address = Annotated[str, Check(_address), _schema("string", _ADDRESS_WRITTEN, "[::1]:80")]
Url = Annotated[str, Check(_url), Described({"type": "string", "format": "uri"})]
Regex = Annotated[str, Check(_regex), Described({"type": "string", "format": "regex"})]
JoinedRegex = Annotated[str, Check(_joined), Described(_REGEX_SCHEMA)]
SearchedRegex = Annotated[str, Check(_searched), Described(_REGEX_SCHEMA)]
OutcomeRegex = Annotated[str, Check(_outcome), Described(_REGEX_SCHEMA)]
Words = Annotated[list[str], Rewrite(_words), Described(_WORDS_SCHEMA)]
