"""How the language is written down: shapes of mappings, and what each of their keys means.

A shape is a class whose annotations say what its keys may hold, and whose entries explain them.
What an annotation says beyond its type are the marks below, inside of `Annotated`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Self, get_type_hints

from msgspec import Struct

from playbooks.language.marks import Node

REQUIRED: Any = ...


class Convert(Struct, frozen=True):
    """The value is what `made` makes of the plain one; it raises MisfitError."""

    made: Callable[[Any], object]


class Check(Struct, frozen=True):
    """The value is what `checked` makes of one of the right type; it raises MisfitError."""

    checked: Callable[[Any], object]


class Rewrite(Struct, frozen=True):
    """A value may be written shorter: `written` gives it in full; it raises MisfitError."""

    written: Callable[[Node], Node]


class Least(Struct, frozen=True):
    """How long a text, a list or a mapping is at least."""

    length: int


class Bounds(Struct, frozen=True):
    """The numbers that may be: at least `ge`, above `gt`, at most `le`, below `lt`."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None


class Called(Struct, frozen=True):
    """What messages call the value."""

    title: str


OF_THE_VALUE = (Least, Bounds, Called)
"""Marks that say something of the value itself, however else it may be written."""


class Variant(Struct, frozen=True):
    """One of several shapes, by the word that chooses it."""

    word: str


class Chosen(Struct, frozen=True):
    """Chooses among shapes by the key that a mapping holds; else by the word under its key `by`."""

    by: str = ""


ONE_OF = Chosen()


class Described(Struct, frozen=True, eq=False):
    """What JSON Schema says of the value, in place of what its type would."""

    schema: Mapping[str, Any]


class AlsoText(Struct, frozen=True):
    """JSON Schema says that a text of the type `text` may stand in its place, too."""

    text: Any


class Entry(Struct, frozen=True):
    """A key of a shape: what messages call its value, what it means, its default as written.

    `key` is its name in files where that is no name in Python; `marks` belong to its annotation.
    """

    title: str
    description: str
    default: Any = REQUIRED
    key: str = ""
    marks: tuple[object, ...] = ()


def entry(
    title: str,
    description: str,
    default: Any = REQUIRED,
    *,
    key: str = "",
    least: int = 0,
    **bounds: float,
) -> Any:
    """A key of a shape: `title` names its value in messages, `description` explains it.

    `default` is as a file would say it, "1m30s" for instance, and None where the value is then
    None. `least` is how long it must be, `bounds` are those of Bounds.
    """
    marks: list[object] = [Least(least)] if least else []
    if bounds:
        marks.append(Bounds(**bounds))
    return Entry(title, description, default, key, tuple(marks))


class Shape:
    """A mapping with known keys only, whose values are not converted by guessing."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def make_sense(self) -> Self:
        """The shape, once all its values fit; raises MisfitError where they do not fit together."""
        return self

    def plain(self) -> dict[str, Any]:
        """Its values by their names, shapes inside of it as mappings, without those not given."""
        values = ((name, _plain(value)) for name, value in self.__dict__.items())
        return {name: value for name, value in values if value is not None}


class Declared(Struct, frozen=True):
    """An entry as a shape declares it: its name in Python, in files, and its annotation."""

    name: str
    key: str
    entry: Entry
    annotation: Any


def declared(shape: type[Shape]) -> tuple[Declared, ...]:
    """The entries of a shape, those it inherits first."""
    hints = get_type_hints(shape, include_extras=True)
    found = ((name, getattr(shape, name, None), hint) for name, hint in hints.items())
    return tuple(
        Declared(name, one.key or name, one, hint)
        for name, one, hint in found
        if isinstance(one, Entry)
    )


def _plain(value: object) -> object:
    if isinstance(value, Shape):
        return value.plain()
    return [_plain(one) for one in value] if isinstance(value, list) else value
