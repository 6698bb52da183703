"""Edits the environment that a serve script gives to what it starts.

Wherever the script assigns a variable (`export NAME=...`, `NAME=value command`, `env NAME=...`)
the value is replaced in place, in the quotes it has; where that is not sure to reach what the
script starts, an `export` is put in before it. All else stays byte for byte.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from playbooks.agent.envfile import EnvFileError
from playbooks.env import shell
from playbooks.env.shell import ASSIGNMENT, Command, Script, Word

_SHELL = re.compile(r"#![ \t]*\S*?(?:env[ \t]+(?:-S[ \t]*)?)?(?:ba|da|k|z|a)?sh(?:[ \t].*)?\Z")
_DECLARERS = frozenset(["export", "declare", "typeset", "local", "readonly"])
_CARRIERS = frozenset(["env", "sudo"])
_READERS = frozenset(["read", "mapfile", "readarray", "getopts"])
_SOURCES = frozenset([".", "source", "eval"])
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=-]*")
_SIMPLE = {
    '"': re.compile(r'"(?:[^"\\$`]|\\[\\"$`])*"'),
    "'": re.compile(r"'[^']*'"),
}


class _Assignment(Struct, frozen=True):
    """`lasting`: it holds after its command too; `exported`: it reaches what is started."""

    name: str
    word: Word
    value: str
    command: Command
    lasting: bool
    exported: bool

    @property
    def value_start(self) -> int:
        return self.word.end - len(self.value)


def read(text: bytes) -> dict[str, str]:
    """The variables that a script exports, each with the value that what it starts gets.

    A value with expansions in it is given as it is written. Raises EnvFileError.
    """
    script = _script(text)
    assignments = list(_assignments(script))
    names = {one.name for one in assignments if one.exported} | _exported_by_name(script)
    found = {one.name: _value(one.value) for one in assignments if one.name in names}
    for name in _unset_last(script, assignments):
        found.pop(name, None)
    return found


def _unset_last(script: Script, assignments: list["_Assignment"]) -> Iterator[str]:
    """The names that the script unsets, and assigns no more."""
    last = {one.name: one.word.start for one in assignments}
    for command in script.commands:
        if command.name == "unset":
            for word in command.words[1:]:
                if last.get(word.text, -1) < word.start:
                    yield word.text


def edit(text: bytes | None, set: Mapping[str, str], unset: Collection[str]) -> bytes:
    """The script in which the names of `set` have their values and those of `unset` none.

    `set` and `unset` hold valid names, none in both. Raises EnvFileError for what cannot be
    edited with certainty: a script that is no shell script or cannot be read, a variable that it
    reads, loops over, appends to or makes readonly, a value with a NUL.
    """
    if text is None:
        raise EnvFileError("there is no such script: create it first, or correct path:")
    for name, value in set.items():
        if "\0" in value:
            raise EnvFileError(f"{name}: its value holds a NUL, and no variable can: remove it")
    for name in (*set, *sorted(unset)):
        text = _Edit(_script(text), name, set.get(name)).done()
    return text


class _Edit:
    """The change of one variable; `value` None unsets it."""

    def __init__(self, script: Script, name: str, value: str | None) -> None:
        self._script, self._name, self._value = script, name, value
        self._assignments = [one for one in _assignments(script) if one.name == name]
        self._starter = _starter(script)

    def done(self) -> bytes:
        for at, what in self._obstacles():
            line = self._script.line(at)
            raise EnvFileError(f"line {line} {what}: edit it by hand, or set it another way")
        changes = [
            self._change(one)
            for one in self._assignments
            if self._value is not None or not one.lasting
        ]
        if not self._reaches():
            changes.append(self._insertion())
        text = self._script.text
        for start, end, new in sorted(changes, reverse=True):
            text = text[:start] + new + text[end:]
        return _bytes(text, self._name)

    def _obstacles(self) -> Iterator[tuple[int, str]]:
        """Lines that do to the variable what no edit of ours can answer for."""
        name, script = self._name, self._script
        for loop in script.loops:
            if loop.text == name:
                yield loop.start, f"loops over {name}"
        for command in script.commands:
            words = [word.text for word in command.words]
            if command.name in _READERS and name in words[1:]:
                yield command.start, f"reads {name} from its input"
            if command.name == "unset" and name in words[1:] and not command.alone:
                yield command.start, f"may unset {name}"
            if _makes_readonly(command, name):
                yield command.start, f"makes {name} readonly"
            if _clears(words, name):
                yield command.start, f"starts a command without {name}"
            if any(_is_special(word, name) for word in words):
                yield command.start, f"appends to {name}, or makes it an array"
        if self._value is None:
            yield from self._assigned_later()

    def _assigned_later(self) -> Iterator[tuple[int, str]]:
        for one in self._assignments:
            before = one.command.statement < self._starter and not one.command.function
            if one.lasting and not before:
                yield one.word.start, f"may assign {self._name} again"

    def _change(self, one: _Assignment) -> tuple[int, int, str]:
        """A new value in its place; or an inline assignment taken out, with the blanks behind."""
        if self._value is not None:
            return one.value_start, one.word.end, _quoted(self._value, one.value)
        words = one.command.words
        after = words.index(one.word) + 1
        end = words[after].start if after < len(words) else one.word.end
        return one.word.start, end, ""

    def _reaches(self) -> bool:
        """Whether the last that happens to the variable before the start is ours, for sure."""
        for command in reversed(self._script.commands):
            if command.statement > self._starter or command.function:
                continue
            mine = [one for one in self._assignments if one.command is command]
            if command.statement == self._starter:
                if command.alone and self._value is not None and _is_inline(mine):
                    return True
                continue
            if command.name in _SOURCES:
                return False
            if mine or self._name in [word.text for word in command.words[1:]]:
                return command.alone and self._is_final(command, mine)
        return False

    def _is_final(self, command: Command, mine: list[_Assignment]) -> bool:
        if self._value is None:
            return command.name == "unset"
        return command.name == "export" and bool(mine)

    def _insertion(self) -> tuple[int, int, str]:
        start = self._script.statements[self._starter]
        line = self._script.text.rfind("\n", 0, start) + 1
        indent = self._script.text[line:start]
        said = f"unset {self._name}"
        if self._value is not None:
            said = f"export {self._name}={_quoted(self._value, '')}"
        end = f"\n{indent}" if not indent.strip() else "; "
        return start, start, said + end


def _is_inline(mine: list[_Assignment]) -> bool:
    return any(not one.lasting for one in mine)


def _script(text: bytes) -> Script:
    first = text.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip()
    if first.startswith("#!") and not _SHELL.match(first):
        raise EnvFileError(f"it is no shell script ({first}): use via: env_file or via: dropin")
    if b"\0" in text:
        raise EnvFileError("it is no shell script, but holds NUL bytes")
    if b"\r\n" in text:
        raise EnvFileError("its lines end in CR LF, which no shell reads: convert it first")
    try:
        return shell.read(text.decode("utf-8", "surrogateescape"))
    except shell.ShellError as error:
        raise EnvFileError(f"{error}; it cannot be edited") from None
    except RecursionError:
        raise EnvFileError("it is nested too deeply to be edited") from None


def _bytes(text: str, name: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        what = "its value holds half a surrogate pair: give text that UTF-8 can write"
        raise EnvFileError(f"{name}: {what}") from None


def _assignments(script: Script) -> Iterator[_Assignment]:
    for command in script.commands:
        yield from _assignments_of(command)


def _assignments_of(command: Command) -> Iterator[_Assignment]:
    """What stands before the command's name; and the arguments that declare or carry a value."""
    prefix, lasting = True, all(ASSIGNMENT.match(word.text) for word in command.words)
    carried = declared = False
    previous = ""
    for word in command.words:
        match = ASSIGNMENT.match(word.text)
        prefix = prefix and match is not None
        handed = carried or previous in ("-e", "--env")
        if match and match[2] == "=" and (prefix or declared or handed):
            keeps = lasting or declared
            exported = not lasting and (not declared or _exports(command))
            yield _Assignment(match[1], word, word.text[match.end() :], command, keeps, exported)
        if not prefix and not previous:
            declared = word.text in _DECLARERS
        carried = carried or word.text.rpartition("/")[2] in _CARRIERS
        previous = word.text if not prefix else ""


def _exports(command: Command) -> bool:
    words = [word.text for word in command.words]
    return "export" in words or any(re.match(r"-\w*x", word) for word in words)


def _exported_by_name(script: Script) -> set[str]:
    """Names that an `export NAME` marks; all that are assigned where `set -a` stands."""
    found = set()
    for command in script.commands:
        words = [word.text for word in command.words]
        if command.name in _DECLARERS and _exports(command):
            found.update(words[1:])
        if command.name == "set" and ({"-a", "allexport"} & {*words[1:]}):
            found.update(one.name for one in _assignments(script))
    return found


def _makes_readonly(command: Command, name: str) -> bool:
    words = [word.text for word in command.words]
    flagged = command.name in ("declare", "typeset", "local") and any(
        re.match(r"-\w*r", word) for word in words[1:]
    )
    named = any(word == name or word.startswith(f"{name}=") for word in words[1:])
    return named and (command.name == "readonly" or flagged)


def _clears(words: list[str], name: str) -> bool:
    """Whether the command is run by `env` or `exec` with less than the script's environment."""
    if "exec" in words and words[words.index("exec") + 1 :][:1] == ["-c"]:
        return True
    for at, word in enumerate(words):
        if word.rpartition("/")[2] == "env":
            rest = words[at + 1 :]
            dropped = (f"-u{name}", f"--unset={name}")
            given = {*rest[:4]} & {"-i", "-", "--ignore-environment", *dropped}
            return bool(given) or ("-u" in rest and rest[rest.index("-u") + 1 :][:1] == [name])
    return False


def _is_special(word: str, name: str) -> bool:
    match = ASSIGNMENT.match(word)
    if match is None or match[1] != name:
        return False
    return match[2] != "=" or word[match.end() :].startswith("(")


def _starter(script: Script) -> int:
    """The first top-level statement that may start the service: it goes to the background, or

    replaces the shell, or calls a function that does; else the last one.
    """
    starting: set[str] = set()
    while (
        more := {one.function for one in script.commands if one.function and _starts(one, starting)}
        - starting
    ):
        starting |= more
    numbers = [
        one.statement for one in script.commands if not one.function and _starts(one, starting)
    ]
    outside = [one.statement for one in script.commands if not one.function]
    if not outside:
        raise EnvFileError("it starts nothing, so there is no place for a variable")
    return min(numbers, default=max(outside))


def _starts(command: Command, functions: set[str]) -> bool:
    replaces = command.name == "exec" and command.words[-1].text != "exec"
    return command.background or replaces or command.name in functions


def _value(raw: str) -> str:
    """The value that is written so, where it is one piece without expansions."""
    if _SIMPLE["'"].fullmatch(raw):
        return raw[1:-1]
    if _SIMPLE['"'].fullmatch(raw):
        return re.sub(r'\\([\\"$`])', r"\1", raw[1:-1])
    pieces = re.findall(r"'[^']*'|\\'|[A-Za-z0-9_./:@%+,=-]+", raw)
    if "".join(pieces) == raw:
        return "".join("'" if one == "\\'" else one.strip("'") for one in pieces)
    return raw


def _quoted(value: str, old: str) -> str:
    """The value as it is to be written, in the kind of quotes that `old` has where it can be."""
    if old.startswith('"') and old.endswith('"') and "!" not in value:
        return '"' + re.sub(r'([\\"$`])', r"\\\1", value) + '"'
    if _PLAIN.fullmatch(value) and not old.startswith("'"):
        return value
    return "'" + value.replace("'", "'\\''") + "'"
