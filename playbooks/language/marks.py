"""YAML files as nodes that know where they stand, and the collection of what is wrong with them."""

import functools
import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, cast

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from playbooks.language.problems import LoadError, Problem, shown

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 40

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"

_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_UNFIT = re.compile("[\x00\ud800-\udfff]")


class Mark(NamedTuple):
    """A place in a file: line and column, both from 1."""

    line: int
    column: int


class Node(Struct, frozen=True):
    """A YAML value, where it starts (`mark`) and where its key does (`key`; `mark` without one).

    `text` is a scalar as written and `scalar` what YAML takes it for. What is not there is
    NOTHING, a node without content, so that a search needs no checks on its way.
    """

    kind: Literal["nothing", "scalar", "list", "mapping"]
    mark: Mark
    key: Mark
    text: str = ""
    scalar: str | int | float | bool | None = None
    items: tuple["Node", ...] = ()
    entries: Mapping[str, "Node"] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.kind != "nothing"

    def get(self, *path: str) -> "Node":
        """The value below these keys, or NOTHING."""
        node = self
        for key in path:
            node = node.entries.get(key, NOTHING)
        return node

    def texts(self) -> tuple["Node", ...]:
        """The nodes that hold text: this one, or those of this list."""
        return tuple(one for one in (self.items or (self,)) if isinstance(one.scalar, str))

    def plain(self) -> Plain:
        """The value in plain Python."""
        if self.kind == "mapping":
            return {key: node.plain() for key, node in self.entries.items()}
        if self.kind == "list":
            return [node.plain() for node in self.items]
        return self.scalar


NOTHING = Node("nothing", Mark(0, 0), Mark(0, 0))


class Document(Struct):
    """A file as read: its text, its root node, and the problems found so far."""

    file: str
    raw: bytes
    text: str = ""
    root: Node = NOTHING
    problems: list[Problem] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)
    _seen: set[tuple[Mark, str]] = field(default_factory=set)
    _void: set[Mark] = field(default_factory=set)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()

    def report(self, mark: Mark, what: str) -> None:
        """Adds a problem; one that was said before, or of a value that is void, is not."""
        if mark in self._void or (mark, what) in self._seen:
            return
        self._seen.add((mark, what))
        self.problems.append(
            Problem(self.file, mark.line, mark.column, what, self._line(mark.line))
        )

    def refuse(self, mark: Mark, what: str) -> None:
        """Adds a problem that makes the value at `mark` void: nothing else is said of it."""
        self.report(mark, what)
        self._void.add(mark)

    def finish(self) -> None:
        """Raises LoadError where there are problems."""
        if self.problems:
            raise LoadError(self.problems)

    def _line(self, number: int) -> str:
        self._lines = self._lines or _LINE_END.split(self.text)
        if not 0 < number <= len(self._lines):
            return ""
        line = self._lines[number - 1]
        return "".join(char if char == "\t" or char.isprintable() else "\ufffd" for char in line)


def read(path: Path) -> Document:
    """Reads the one YAML document of the file at `path`.

    Raises LoadError where it cannot be read as YAML at all; what can be read around is in the
    document's `problems` (duplicate keys, aliases, tags).
    """
    found = _composed(str(path), _bytes(path))
    return replace(
        found,
        problems=list(found.problems),
        _seen=set(found._seen),
        _void=set(found._void),
    )


@functools.lru_cache(maxsize=32)
def _composed(file: str, raw: bytes) -> Document:
    """The document before anybody checks it: one command asks for the same file more than once."""
    document = Document(file, raw)
    _decode(document)
    _compose(document)
    return document


def _bytes(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise LoadError([_whole(path, "is not a regular file: name a YAML file")])
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise LoadError([_whole(path, "there is no such file")]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LoadError([_whole(path, f"cannot be read: {reason}")]) from None
    if len(raw) > MAX_BYTES:
        raise LoadError([_whole(path, "is larger than 1 MiB: this is not a file to write by hand")])
    return raw


def _whole(path: Path, what: str) -> Problem:
    return Problem(str(path), 0, 0, what, "")


def _decode(document: Document) -> None:
    try:
        document.text = document.raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # utf-8-sig counts from behind the byte order mark.
        offset = error.start + len(document.raw) - len(error.object)
        before = document.raw[:offset].decode("utf-8-sig", "replace")
        document.text = document.raw.decode("utf-8-sig", "replace")
        byte = document.raw[offset]
        what = f"not UTF-8: byte 0x{byte:02x} at offset {offset}: save the file as UTF-8"
        document.report(_place(before), what)
        document.finish()


def _place(before: str) -> Mark:
    """The place just behind the text `before`."""
    lines = _LINE_END.split(before)
    return Mark(len(lines), len(lines[-1]) + 1)


def _compose(document: Document) -> None:
    try:
        root = _Composer(document).get_single_node()
    except yaml.reader.ReaderError as error:
        mark = _place(document.text[: error.position])
        code = ord(document.text[error.position])
        document.report(mark, f"character U+{code:04X} is not allowed: remove it")
    except yaml.MarkedYAMLError as error:
        mark = _mark(error.problem_mark or error.context_mark)
        document.report(mark, _syntax(error, document, mark))
    else:
        if root is None or (isinstance(root, yaml.ScalarNode) and not root.value):
            document.report(Mark(1, 1), "the file is empty")
        else:
            document.root = _convert(root, None, document)
            return
    document.finish()


class _Composer(yaml.SafeLoader):
    """Composes nodes without aliases, which can grow without limit, and without tags."""

    def __init__(self, document: Document) -> None:
        super().__init__(document.text)
        self._document = document
        self._depth = 0

    def get_single_node(self) -> yaml.Node | None:
        try:
            return super().get_single_node()
        except (ValueError, OverflowError):
            # An escape such as "\UFFFFFFFF", which PyYAML does not check.
            what = "a character is written here that does not exist"
            raise yaml.composer.ComposerError(None, None, what, self.get_mark()) from None

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        start = cast("yaml.Mark", event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            self.get_event()  # type: ignore[no-untyped-call]
            what = f"alias *{event.anchor} is refused: write its value here"
            self._document.refuse(_mark(start), what)
            return yaml.ScalarNode("tag:yaml.org,2002:null", "", start, start, style="*")
        if event.tag is not None:
            self._document.refuse(_mark(start), "a tag (!name) is refused: write the value alone")
            event.tag = None
        return self._deeper(parent, index, start)

    def _deeper(self, parent: yaml.Node | None, index: int, mark: yaml.Mark) -> yaml.Node | None:
        if self._depth >= MAX_DEPTH:
            what = f"nested deeper than {MAX_DEPTH} levels"
            raise yaml.composer.ComposerError(None, None, what, mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


_SYNTAX = {
    "mapping values are not allowed here": "a ':' is out of place: quote the text that holds it, "
    "or check the indentation",
    "could not find expected ':'": "a key without its ':'",
    "but found another document": "a second YAML document: write one a file",
}


def _syntax(error: yaml.MarkedYAMLError, document: Document, mark: Mark) -> str:
    """The parser's complaint in plain words."""
    line = _LINE_END.split(document.text)[mark.line - 1]
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation or line[mark.column - 1 : mark.column] == "\t":
        return "a tab cannot indent YAML: use spaces"
    problem = error.problem or error.context or "not valid YAML"
    if problem.endswith("but got ':'"):
        problem = "mapping values are not allowed here"
    if problem in _SYNTAX:
        return _SYNTAX[problem]
    context = f" ({error.context})" if error.context and error.problem else ""
    return f"not valid YAML: {problem}{context}"


def _mark(mark: yaml.Mark | None) -> Mark:
    return Mark(mark.line + 1, mark.column + 1) if mark else Mark(1, 1)


def _convert(node: yaml.Node, key: Mark | None, document: Document) -> Node:
    mark = _mark(node.start_mark)
    if isinstance(node, yaml.MappingNode):
        return Node("mapping", mark, key or mark, entries=_entries(node, document))
    if isinstance(node, yaml.SequenceNode):
        items = tuple(_convert(item, None, document) for item in node.value)
        return Node("list", mark, key or mark, items=items)
    assert isinstance(node, yaml.ScalarNode)
    if _UNFIT.search(node.value):
        document.refuse(mark, "text with a NUL or half a surrogate pair: remove it")
    if not node.value and node.style is None:
        mark = key or mark
    scalar = _scalar(node)
    if scalar is None:
        document.refuse(
            mark, "no value here: give one (in quotes where it is text) or leave it out"
        )
    return Node("scalar", mark, key or mark, node.value, scalar)


def _entries(node: yaml.MappingNode, document: Document) -> dict[str, Node]:
    entries: dict[str, Node] = {}
    for key, value in node.value:
        mark = _mark(key.start_mark)
        if not isinstance(key, yaml.ScalarNode):
            document.refuse(_mark(node.start_mark), _not_a_key(node))
        elif key.value in entries:
            first = entries[key.value].key.line
            document.report(
                mark, f"key {shown(key.value)} is written twice (first in line {first})"
            )
        else:
            if _UNFIT.search(key.value):
                document.refuse(mark, "a key with a NUL or half a surrogate pair: remove it")
            entries[key.value] = _convert(value, mark, document)
    return entries


def _not_a_key(node: yaml.MappingNode) -> str:
    key, _ = node.value[0]
    if isinstance(key, yaml.MappingNode) and key.start_mark.index == node.start_mark.index + 1:
        return 'a template must stand in quotes: "{{ name }}"'
    return "a key must be plain text"


def _scalar(node: yaml.ScalarNode) -> str | int | float | bool | None:
    """What YAML 1.1 takes a scalar for; dates and the like stay text."""
    make = _SCALARS.get(node.tag.rpartition(":")[2])
    try:
        return make(node) if make else str(node.value)
    except ValueError:
        return str(node.value)


_VALUES = yaml.constructor.SafeConstructor()
_SCALARS: dict[str, Callable[[yaml.ScalarNode], str | int | float | bool | None]] = {
    "int": _VALUES.construct_yaml_int,
    "float": _VALUES.construct_yaml_float,
    "bool": _VALUES.construct_yaml_bool,
    "null": lambda _node: None,
}
