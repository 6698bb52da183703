"""The check of a document against a shape, by what the shape's annotations say."""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from msgspec import Struct

from playbooks.language import complaints, shapes
from playbooks.language.complaints import MisfitError
from playbooks.language.kinds import (
    MISFIT,
    Anything,
    Kind,
    Listed,
    Named,
    Number,
    Optional,
    Text,
    Truth,
    Word,
    misfit,
)
from playbooks.language.marks import Document, Mark, Node
from playbooks.language.shapes import Shape

_S = TypeVar("_S", bound=Shape)


def check(document: Document, shape: type[_S]) -> _S | None:
    """The document as a `shape`; None where it does not fit, with the problems reported."""
    found = Mapped(shape).take(document.root, document)
    return found if isinstance(found, shape) else None


class Mapped(Kind, frozen=True):
    """A mapping of the keys of a shape."""

    shape: type[Shape]

    def take(self, node: Node, document: Document) -> Any:
        if node.kind != "mapping":
            return misfit(node, document, "a mapping")
        fields = fields_of(self.shape)
        values = {one.name: one.take(node, document) for one in fields.values()}
        strange = [key for key in node.entries if key not in fields]
        for key in strange:
            document.report(node.get(key).key, complaints.unknown(key, [*fields]))
        if strange or any(value is MISFIT for value in values.values()):
            return MISFIT
        try:
            return self.shape(values).make_sense()
        except MisfitError as error:
            document.refuse(node.mark, error.told(node))
            return MISFIT


class Choice(Kind, frozen=True):
    """One of several shapes, by the key that a mapping holds, or by the word under `by`."""

    variants: Mapping[str, type[Shape]]
    by: str = ""

    def take(self, node: Node, document: Document) -> Any:
        words = [*self.variants]
        if self.by:
            chosen = [word for word in words if word == node.get(self.by).scalar]
        else:
            chosen = [word for word in words if word in node.entries]
        if len(chosen) == 1:
            return Mapped(self.variants[chosen[0]]).take(node, document)
        if self.by:
            complaints.no_chosen_word(document, node, self.by, words)
        else:
            known = dict.fromkeys(key for one in self.variants.values() for key in fields_of(one))
            complaints.no_choice(document, node, words, [*known])
        return MISFIT


class Field(Struct, frozen=True):
    """An entry of a shape, and what may stand under its key."""

    name: str
    key: str
    entry: shapes.Entry
    kind: Kind

    @property
    def required(self) -> bool:
        return self.entry.default is shapes.REQUIRED

    def take(self, mapping: Node, document: Document) -> Any:
        """The value of a mapping's entry, or its default; MISFIT with the problems reported."""
        node = mapping.get(self.key)
        if node:
            return self.kind.take(node, document)
        if self.required:
            what = f"missing key '{self.key}': {self.entry.description}"
            document.report(mapping.key, what)
            return MISFIT
        return self.kind.take(_node(self.entry.default), document)


def fields_of(shape: type[Shape]) -> Mapping[str, Field]:
    """The entries of a shape by their keys in a file."""
    if shape not in _FIELDS:
        _FIELDS[shape] = {one.key: _field(one) for one in shapes.declared(shape)}
    return _FIELDS[shape]


_FIELDS: dict[type[Shape], Mapping[str, Field]] = {}


def _field(one: shapes.Declared) -> Field:
    marks = (*one.entry.marks, shapes.Called(one.entry.title))
    kind = reduce(_marked, marks, kind_of(one.annotation))
    return Field(one.name, one.key, one.entry, kind)


def kind_of(annotation: Any) -> Kind:
    """What an annotation of a shape allows."""
    arguments = get_args(annotation)
    match get_origin(annotation):
        case _ if annotation in _PLAIN:
            return _PLAIN[annotation]
        case origin if origin is Annotated:
            return _annotated(*arguments)
        case origin if origin in (Union, UnionType):
            return _optional(arguments)
        case origin if origin is Literal:
            return Word(arguments)
        case origin if origin is list:
            return Listed(kind_of(arguments[0]))
        case origin if origin is dict:
            name, value = map(kind_of, arguments)
            return Named(name, value)
    return Mapped(annotation)


_PLAIN: Mapping[Any, Kind] = {
    str: Text(), bool: Truth(), int: Number(True), float: Number(False), object: Anything(),
}  # fmt: skip


def _annotated(inner: Any, *marks: object) -> Kind:
    first, *more = marks
    if isinstance(first, shapes.Chosen):
        kind: Kind = Choice(dict(_variants(inner)), first.by)
    else:
        kind = kind_of(inner).marked(first)
    return reduce(_marked, more, kind)


def _marked(kind: Kind, mark: object) -> Kind:
    return kind.marked(mark)


def _optional(choices: Sequence[Any]) -> Kind:
    (kind,) = (one for one in choices if one is not NoneType)
    return Optional(kind_of(kind))


def _variants(union: Any) -> Iterator[tuple[str, type[Shape]]]:
    """The shapes of a union, each with the word that chooses it."""
    for one in get_args(union):
        shape, variant = get_args(one)
        yield variant.word, shape


def _node(plain: Any) -> Node:
    """A plain value as if it stood in a file."""
    nowhere = Mark(0, 0)
    if isinstance(plain, dict):
        entries = {key: _node(one) for key, one in plain.items()}
        return Node("mapping", nowhere, nowhere, entries=entries)
    if isinstance(plain, list):
        return Node("list", nowhere, nowhere, items=tuple(map(_node, plain)))
    return Node("scalar", nowhere, nowhere, str(plain), plain)
