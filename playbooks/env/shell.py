"""Reads shell scripts: where their commands and words stand, and what starts at the top level.

The grammar is that of POSIX sh with bash's usual additions (arrays, `[[`, `((`, `<(`, here
strings). Nothing is expanded or run; what cannot be read is refused, never guessed.
(POSIX.1-2017, Shell Command Language, 2.10; bash(1).)
"""

import re
from collections.abc import Collection

from msgspec import Struct, field

from playbooks.env.shell_words import META, Lexer, ShellError, Word

__all__ = ["ASSIGNMENT", "Command", "Script", "ShellError", "Word", "read"]

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=|\[)")
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_ENDS = frozenset(["then", "elif", "else", "fi", "do", "done", "esac", "}"])


class Command(Struct):
    """A simple command; `statement` is the number of the top-level statement that it is in.

    `function` names the function that it is defined in, "" outside of one. `alone`: it is that
    statement, with nothing around it. `background`: it, or what it is part of, ends in `&`.
    """

    words: list[Word]
    statement: int
    function: str
    alone: bool = False
    background: bool = False

    @property
    def start(self) -> int:
        return self.words[0].start

    @property
    def name(self) -> str:
        """What is run: the first word that is no assignment; "" where all are."""
        return next((one.text for one in self.words if not ASSIGNMENT.match(one.text)), "")


class Script(Struct):
    """`statements` are the offsets at which the top level's statements begin.

    `loops` are the variables of `for` and `select` loops.
    """

    text: str
    statements: list[int] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    loops: list[Word] = field(default_factory=list)

    def line(self, offset: int) -> int:
        """The number of the line that the offset is in, from 1."""
        return self.text.count("\n", 0, offset) + 1


def read(text: str) -> Script:
    """Reads a whole script. Raises ShellError."""
    reader = _Reader(text)
    reader.list(top=True)
    if reader.at < len(text):
        raise reader.error(
            f"{text[reader.at : reader.at + 10].split(maxsplit=1)[0]!r} is not expected here"
        )
    return reader.script


class _Reader(Lexer):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.script = Script(text)
        self._function = ""
        self._recorded = True

    def list(self, ends: Collection[str] = (), *, top: bool = False) -> str:
        """Reads commands up to one of the words `ends`, which is taken and returned."""
        while True:
            self._blank(newlines=True)
            word = self._peek()
            if word in ends:
                self.at += len(word)
                return word
            if word in _ENDS or self._here(")", ";;", ";&") or self.at >= len(self.text):
                if not ends:
                    return ""
                raise self.error(f"{' or '.join(sorted(ends))} is missing")
            self._statement(top=top)

    def _statement(self, *, top: bool) -> None:
        """A list of pipelines joined by && and ||, with what ends it."""
        first, start = len(self.script.commands), self.at
        if top:
            self.script.statements.append(start)
        parts = 1
        self._pipeline()
        while self._take("&&") or self._take("||"):
            self._blank(newlines=True)
            self._pipeline()
            parts += 1
        background = self._end_of_statement()
        found = self.script.commands[first:]
        for command in found:
            command.background |= background
        if top and parts == 1 and len(found) == 1 and found[0].start == start:
            found[0].alone = not background

    def _end_of_statement(self) -> bool:
        self._blank()
        if self._here(";;", ";&"):
            return False
        if self._take(";"):
            return False
        if self._take("&"):
            return True
        if self.at < len(self.text) and self.text[self.at] not in "\n)":
            raise self.error(f"{self.text[self.at]!r} is not expected here")
        return False

    def _pipeline(self) -> None:
        self._blank()
        while self._peek() in ("!", "time"):
            self.at += len(self._peek())
            self._blank()
        self._command()
        self._blank()
        while not self._here("||") and (self._take("|&") or self._take("|")):
            self._blank(newlines=True)
            self._command()
            self._blank()

    def _command(self) -> None:
        self._blank()
        word = self._peek()
        compound = {
            "if": self._if,
            "while": self._loop,
            "until": self._loop,
            "for": self._for,
            "select": self._for,
            "case": self._case,
            "{": self._braces,
            "[[": self._test,
            "function": self._function_word,
        }.get(word)
        if compound is not None:
            self.at += len(word)
            compound()
        elif self._here("(("):
            self._balanced("((", "))")
        elif self._take("("):
            self.list()
            self._expect(")")
        else:
            self._simple()
            return
        self._redirections()

    def _if(self) -> None:
        self.list(("then",))
        while (end := self.list(("elif", "else", "fi"))) != "fi":
            if end == "elif":
                self.list(("then",))

    def _loop(self) -> None:
        self.list(("do",))
        self.list(("done",))

    def _for(self) -> None:
        self._blank()
        if self._here("(("):
            self._balanced("((", "))")
        else:
            self.script.loops.append(self._word())
            self._blank(newlines=True)
            if self._peek() == "in":
                self.at += 2
                self._words()
        self._blank()
        self._take(";")
        self._blank(newlines=True)
        self._expect("do")
        self.list(("done",))

    def _case(self) -> None:
        self._blank()
        self._word()
        self._blank(newlines=True)
        self._expect("in")
        while True:
            self._blank(newlines=True)
            if self._peek() == "esac":
                self.at += len("esac")
                return
            self._take("(")
            self._pattern()
            self._branch()

    def _pattern(self) -> None:
        while True:
            self._blank()
            self._word()
            self._blank()
            if self._take(")"):
                return
            if not self._take("|"):
                raise self.error("a pattern of case lacks its )")

    def _branch(self) -> None:
        """The commands of one branch, and the ;; behind them, which the last may lack."""
        while True:
            self._blank(newlines=True)
            if self._take(";;&") or self._take(";;") or self._take(";&"):
                return
            if self._peek() == "esac":
                return
            if self.at_end():
                raise self.error("esac is missing")
            self._statement(top=False)

    def _braces(self) -> None:
        self.list(("}",))

    def _test(self) -> None:
        while True:
            self._blank(newlines=True)
            if self._peek() == "]]":
                self.at += 2
                return
            if self.at >= len(self.text):
                raise self.error("]] is missing")
            if self.text[self.at] in META:
                self.at += 1
            else:
                self._word()

    def _function_word(self) -> None:
        self._blank()
        name = self._word().text
        if match := _FUNCTION.match(self.text, self.at):
            self.at = match.end()
        self._body(name)

    def _body(self, name: str) -> None:
        self._blank(newlines=True)
        outer, self._function = self._function, name
        self._command()
        self._function = outer

    def _simple(self) -> None:
        """Words and redirections; or, where () follows the first word, a function."""
        start, words = self.at, []
        while self._redirection() or not self.at_end(META):
            if self.at_end(META):
                continue
            words.append(self._word())
            if len(words) == 1 and (match := _FUNCTION.match(self.text, self.at)):
                self.at = match.end()
                return self._body(words[0].text)
            self._blank()
        if self.at == start:
            raise self.error("a command is missing")
        if words and self._recorded:
            number = len(self.script.statements) - 1
            self.script.commands.append(Command(words, number, self._function))
        return None

    def _words(self) -> None:
        self._blank()
        while not self.at_end("\n;"):
            self._word()
            self._blank()

    def substituted(self) -> None:
        """A command's own script within a word: it is read, but none of this one's commands."""
        recorded, self._recorded = self._recorded, False
        self.list()
        self._recorded = recorded
