"""The kinds of values: each takes what stands at a place of a document, or says what is wrong."""

from collections.abc import Callable, Iterable, Mapping, Sized
from math import isfinite
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from playbooks.language import complaints, shapes
from playbooks.language.complaints import MisfitError, expected
from playbooks.language.marks import Document, Node

MISFIT: Final = object()
"""In place of a value that does not fit, once that is reported."""


class Kind(Struct, frozen=True):
    """What may stand at a place."""

    def take(self, node: Node, document: Document) -> Any:
        """The value at `node`; MISFIT where it does not fit, with the problems reported."""
        try:
            return self.made(node)
        except MisfitError as error:
            document.refuse(node.mark, error.told(node))
            return MISFIT

    def made(self, node: Node) -> Any:
        """The value at `node`, which holds no others. Raises MisfitError."""
        raise NotImplementedError

    def marked(self, mark: object) -> "Kind":
        """This kind with a mark of its annotation or its entry."""
        match mark:
            case shapes.Called():
                return self
            case shapes.Rewrite(written):
                return Rewritten(self, written)
            case shapes.Convert(made):
                return Converted(made)
            case shapes.Check(checked):
                return Checked(self, checked)
            case shapes.Described(schema):
                return Described(self, schema)
            case shapes.AlsoText(text):
                return Described(self, text=text)
        raise TypeError(f"{mark} says nothing of {self}")


class Text(Kind, frozen=True):
    least: int = 0

    def made(self, node: Node) -> str:
        if not isinstance(node.scalar, str) or len(node.scalar) < self.least:
            raise expected("text")
        return node.scalar

    def marked(self, mark: object) -> Kind:
        return Text(mark.length) if isinstance(mark, shapes.Least) else Kind.marked(self, mark)


class Truth(Kind, frozen=True):
    def made(self, node: Node) -> bool:
        if not isinstance(node.scalar, bool):
            raise expected("true or false")
        return node.scalar


class Number(Kind, frozen=True):
    """A number, `whole` or not, within `bounds`."""

    whole: bool
    bounds: shapes.Bounds = shapes.Bounds()

    def made(self, node: Node) -> float:
        kinds = int if self.whole else int | float
        if isinstance(node.scalar, bool) or not isinstance(node.scalar, kinds):
            raise expected("a whole number" if self.whole else "a number")
        value = node.scalar if self.whole else float(node.scalar)
        if not isfinite(value):
            raise expected("a finite number")
        self._hold(value)
        return value

    def marked(self, mark: object) -> Kind:
        if isinstance(mark, shapes.Bounds):
            return replace(self, bounds=mark)
        return Kind.marked(self, mark)

    def _hold(self, value: float) -> None:
        bounds = self.bounds
        if bounds.ge is not None and value < bounds.ge:
            raise expected(f"a number of at least {bounds.ge:g}")
        if bounds.gt is not None and value <= bounds.gt:
            raise expected(f"a number above {bounds.gt:g}")
        if bounds.le is not None and value > bounds.le:
            raise expected(f"a number of at most {bounds.le:g}")
        if bounds.lt is not None and value >= bounds.lt:
            raise expected(f"a number below {bounds.lt:g}")


class Word(Kind, frozen=True):
    """One of fixed words, or of fixed values."""

    words: tuple[object, ...]

    def made(self, node: Node) -> object:
        for word in self.words:
            if type(word) is type(node.scalar) and word == node.scalar:
                return word
        names = [one if isinstance(one, str) else str(one).lower() for one in self.words]
        raise complaints.refused(complaints.no_word(names, node))


class Anything(Kind, frozen=True):
    def made(self, node: Node) -> object:
        return node.plain()


class Listed(Kind, frozen=True):
    item: Kind
    least: int = 0
    called: str = ""

    def take(self, node: Node, document: Document) -> Any:
        if node.kind != "list":
            of = f" of {self.called}" if self.called else ""
            return misfit(node, document, f"a list{of}")
        values = [self.item.take(one, document) for one in node.items]
        return _collected(values, values, self.least, node, document)

    def marked(self, mark: object) -> Kind:
        match mark:
            case shapes.Least(length):
                return replace(self, least=length)
            case shapes.Called(title):
                return replace(self, called=title)
        return Kind.marked(self, mark)


class Named(Kind, frozen=True):
    """A mapping whose keys are free, each of the kind `name`."""

    name: Kind
    value: Kind
    least: int = 0

    def take(self, node: Node, document: Document) -> Any:
        if node.kind != "mapping":
            return misfit(node, document, "a mapping")
        names = [self._named(key, one, document) for key, one in node.entries.items()]
        values = [self.value.take(one, document) for one in node.entries.values()]
        whole = dict(zip(node.entries, values, strict=True))
        return _collected((*names, *values), whole, self.least, node, document)

    def marked(self, mark: object) -> Kind:
        if isinstance(mark, shapes.Least):
            return replace(self, least=mark.length)
        return Kind.marked(self, mark)

    def _named(self, key: str, value: Node, document: Document) -> object:
        name = Node("scalar", value.key, value.key, key, key)
        try:
            return self.name.made(name)
        except MisfitError as error:
            document.report(value.key, error.told(name))
            return MISFIT


class Optional(Kind, frozen=True):
    """`kind`, or nothing where the key is left out."""

    kind: Kind

    def take(self, node: Node, document: Document) -> Any:
        left_out = node.kind == "scalar" and node.scalar is None
        return None if left_out else self.kind.take(node, document)

    def marked(self, mark: object) -> Kind:
        return Optional(self.kind.marked(mark))


class Rewritten(Kind, frozen=True):
    """`kind`, which may be written shorter."""

    kind: Kind
    written: Callable[[Node], Node]

    def take(self, node: Node, document: Document) -> Any:
        try:
            return self.kind.take(self.written(node), document)
        except MisfitError as error:
            document.refuse(node.mark, error.told(node))
            return MISFIT

    def marked(self, mark: object) -> Kind:
        if isinstance(mark, shapes.OF_THE_VALUE):
            return replace(self, kind=self.kind.marked(mark))
        return Kind.marked(self, mark)


class Converted(Kind, frozen=True):
    """What is made of a plain value."""

    converted: Callable[[Any], object]

    def made(self, node: Node) -> object:
        return self.converted(node.plain())


class Checked(Kind, frozen=True):
    """A value of `kind` that more is asked of."""

    kind: Kind
    checked: Callable[[Any], object]

    def made(self, node: Node) -> object:
        return self.checked(self.kind.made(node))


class Described(Kind, frozen=True):
    """`kind`, of which JSON Schema says `schema`; where a text may
    stand there, too, `text` is its annotation.
    """

    kind: Kind
    schema: Mapping[str, Any] | None = None
    text: Any = None

    def take(self, node: Node, document: Document) -> Any:
        return self.kind.take(node, document)

    def made(self, node: Node) -> object:
        return self.kind.made(node)

    def marked(self, mark: object) -> Kind:
        if isinstance(mark, shapes.OF_THE_VALUE):
            return replace(self, kind=self.kind.marked(mark))
        return Kind.marked(self, mark)


def misfit(node: Node, document: Document, what: str) -> object:
    """MISFIT, once it is reported that `what` was expected at `node`."""
    document.refuse(node.mark, complaints.unexpected(what, node))
    return MISFIT


def _collected(
    parts: Iterable[object], whole: Sized, least: int, node: Node, document: Document
) -> object:
    """`whole`, unless it is too short or one of its parts does not fit."""
    if any(one is MISFIT for one in parts):
        return MISFIT
    if len(whole) < least:
        count = "one" if least == 1 else "two"
        document.refuse(node.mark, f"empty: expected at least {count}")
        return MISFIT
    return whole
