"""Checks a document against a model, and says in plain words, at its place, what does not fit."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from msgspec import Struct
from pydantic import Tag, ValidationError
from pydantic_core import ErrorDetails

from playbooks.language.fieldtypes import Shape
from playbooks.language.marks import Document, Node
from playbooks.language.problems import meant, shown, suggest

_S = TypeVar("_S", bound=Shape)
_Location = Sequence[str | int]

_EXPECTED = {
    "string_type": "text",
    "string_too_short": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
}


def check(document: Document, model: type[_S]) -> _S | None:
    """The document as a `model`; None where it does not fit, with the problems reported."""
    _make_ready(model)
    try:
        return model.model_validate(document.root.plain())
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False):
            _complain(document, _walk(model, detail["loc"]), detail)
        return None


def _make_ready(model: type[Shape]) -> None:
    """Builds what checks it, once, without the plugins of pydantic that may be installed here.

    To look for them, pydantic would read what every installed package says of itself.
    """
    if not model.__pydantic_complete__:
        with _environ("PYDANTIC_DISABLE_PLUGINS", "__all__"):
            model.model_rebuild()


@contextmanager
def _environ(name: str, value: str) -> Iterator[None]:
    """A variable of our own environment, inside."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _complain(document: Document, place: "_Place", detail: ErrorDetails) -> None:
    location = detail["loc"]
    node = _find(document.root, location)
    last = str(location[-1]) if location else ""
    match detail["type"]:
        case "missing":
            document.report(node.key, f"missing key '{last}': {place.description}")
        case "extra_forbidden":
            document.report(node.key, _unknown(last, place.siblings))
        case "one_of":
            _choice(document, node, place)
        case "by":
            _by(document, node, place)
        case _ if last == "[key]":
            document.report(node.key, f"{detail['msg']}, not {shown(str(location[-2]))}")
        case _:
            document.refuse(node.mark, _misfit(detail, node, place))


def _unknown(key: str, known: Sequence[str]) -> str:
    return f"unknown key {shown(key)}{suggest(key, known)}"


def _choice(document: Document, node: Node, place: "_Place") -> None:
    """A mapping that holds none, or several, of the keys that choose what it is."""
    choices = ", ".join(place.tags)
    if node.kind != "mapping":
        what = f"expected a mapping with one of the keys {choices}, not {_found(node)}"
        return document.report(node.mark, what)
    given = [key for key in node.entries if key in place.tags]
    for key in given[1:]:
        what = f"'{key}' beside '{given[0]}': exactly one of {choices} may stand here"
        document.report(node.get(key).key, what)
    unknown = [key for key in node.entries if key not in place.keys]
    for key in unknown:
        document.report(node.get(key).key, _unknown(key, place.keys))
    if not given and not unknown:
        document.report(node.mark, f"expected exactly one of the keys {choices}")
    return None


def _by(document: Document, node: Node, place: "_Place") -> None:
    words = _either(place.tags)
    if node.kind != "mapping":
        document.report(node.mark, f"expected a mapping, not {_found(node)}")
    elif not node.get("by"):
        document.report(node.key, f"missing key 'by': {words}")
    else:
        by = node.get("by")
        what = f"expected {words}, not {_found(by)}{meant(by.text, place.tags)}"
        document.report(by.mark, what)


def _misfit(detail: ErrorDetails, node: Node, place: "_Place") -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "refused":
        return detail["msg"]
    if kind == "literal_error":
        return _literal(context["expected"], node)
    if kind == "list_type":
        return f"expected a list{f' of {place.title}' if place.title else ''}, not {_found(node)}"
    if kind == "too_short":
        return "empty: expected at least " + ("one" if context["min_length"] == 1 else "two")
    if kind in _EXPECTED:
        what = _EXPECTED[kind].format(**context)
    else:
        what = context.get("what") or detail["msg"].removeprefix("Input should be ")
    return f"expected {what}, not {_found(node)}{_quoting(node, what)}"


def _literal(expected: str, node: Node) -> str:
    words = re.findall("'([^']*)'", expected) or [expected.lower()]
    return f"expected {_either(words)}, not {_found(node)}{meant(node.text, words)}"


def _either(words: Sequence[str]) -> str:
    """Such as "rate, time or mismatch"."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _found(node: Node) -> str:
    """What stands at a place, in a few words."""
    if node.kind != "scalar":
        return f"a {node.kind}"
    if isinstance(node.scalar, bool):
        return f"the boolean {node.text}"
    if isinstance(node.scalar, str):
        return shown(node.text)
    return f"the number {shown(node.text)[1:-1]}"


def _quoting(node: Node, expected: str) -> str:
    if not expected.startswith("text") or isinstance(node.scalar, str) or node.kind != "scalar":
        return ""
    return f': put it in quotes: "{shown(node.text)[1:-1]}"'


def _find(node: Node, location: _Location) -> Node:
    """The node at `location`, or the last one on the way; tags of variants are passed over."""
    for part in location:
        if isinstance(part, str):
            node = node.get(part) or node
        elif part < len(node.items):
            node = node.items[part]
    return node


class _Place(Struct, frozen=True):
    """A place in a model: what may stand there, and what the language says of it.

    `kinds` are the types with their variants' tags; `siblings` the keys beside it; `title` and
    `description` are those of the key.
    """

    kinds: tuple[tuple[str, Any], ...]
    siblings: tuple[str, ...] = ()
    title: str = ""
    description: str = ""

    @property
    def tags(self) -> tuple[str, ...]:
        """What the tags of its variants stand for."""
        return tuple(tag.removeprefix("=") for tag, _ in self.kinds if tag)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the mappings that may stand here."""
        fields = (_fields(kind) for _, kind in self.kinds)
        return tuple(dict.fromkeys(key for some in fields for key in some))


def _walk(model: type[Shape], location: _Location) -> _Place:
    place = _Place((("", model),))
    for part in location:
        place = _enter(place, part)
    return place


def _enter(place: _Place, part: str | int) -> _Place:
    variant = tuple(("", kind) for tag, kind in place.kinds if tag == part)
    if variant:
        return _Place(variant, place.siblings, place.title, place.description)
    for _, kind in place.kinds:
        field = _fields(kind).get(str(part))
        if field is not None:
            inside = tuple(_variants(field.annotation))
            return _Place(inside, place.keys, field.title or "", field.description or "")
    inner = [get_args(kind)[-1] for _, kind in place.kinds if get_origin(kind) in (list, dict)]
    return _Place(tuple(one for kind in inner for one in _variants(kind)), place.keys)


def _fields(kind: Any) -> dict[str, Any]:
    """The fields of a model by their keys in a file; none for another type."""
    if not (isinstance(kind, type) and issubclass(kind, Shape)):
        return {}
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _variants(annotation: Any) -> Iterator[tuple[str, Any]]:
    """The alternatives of a type, each with its tag ("" without one)."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *extras = get_args(annotation)
        tag = next((extra.tag for extra in extras if isinstance(extra, Tag)), "")
        yield from ((tag or inside, kind) for inside, kind in _variants(inner))
    elif origin in (Union, UnionType):
        for one in get_args(annotation):
            yield from _variants(one)
    else:
        yield "", annotation
