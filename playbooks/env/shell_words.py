"""Reads the words of shell scripts: quotes, expansions, redirections, here-documents."""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection

from msgspec import Struct

META = frozenset(" \t\n;&|<>()")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_PLAIN = re.compile(r"[^ \t\n;&|<>()\\'\"`$]+")
_RESERVED = re.compile(r"[^ \t\n;&|<>()\\'\"`$]*")
_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=\Z")
_REDIRECTION = re.compile(r"[0-9]*(?:&>>?|<<<|<<-?|<>|<&|>&|>>|>\||<|>)")
_ESCAPED = {mark: re.compile(rf"{mark}(?:[^{mark}\\]|\\.)*{mark}", re.DOTALL) for mark in "'`"}


class ShellError(ValueError):
    """A script that cannot be read: the line and what is wrong there."""


class Word(Struct, frozen=True):
    """A word as written: `text` is the script's [start, end)."""

    text: str
    start: int
    end: int


class Lexer(ABC):
    """Reads `text` from `at` on; `substituted` reads the commands of a $( ) up to its end."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self._heredocs: list[tuple[str, bool]] = []

    @abstractmethod
    def substituted(self) -> None: ...

    def error(self, what: str, at: int | None = None) -> ShellError:
        line = self.text.count("\n", 0, self.at if at is None else at) + 1
        return ShellError(f"line {line}: {what}")

    def at_end(self, ends: Collection[str] = ()) -> bool:
        """Whether the text, or what one of the characters `ends` ends, is over."""
        return self.at >= len(self.text) or self.text[self.at] in ends

    def _redirections(self) -> None:
        while True:
            self._blank()
            if not self._redirection():
                return

    def _redirection(self) -> bool:
        match = _REDIRECTION.match(self.text, self.at)
        if match is None or self._here("<(", ">("):
            return False
        self.at = match.end()
        self._blank()
        target = self._word()
        if match[0].lstrip("0123456789") in ("<<", "<<-"):
            self._heredocs.append((re.sub(r"[\\'\"]", "", target.text), match[0].endswith("-")))
        self._blank()
        return True

    def _word(self) -> Word:
        start = self.at
        while self.at < len(self.text):
            if match := _PLAIN.match(self.text, self.at):
                self.at = match.end()
            elif self._here("("):
                if not _ARRAY.match(self.text[start : self.at]):
                    break
                self._array()
            elif self._here("<(", ">("):
                self.at += 1
                self._substitution()
            elif self.text[self.at] in META:
                break
            else:
                self._quoted_or_expanded()
        if self.at == start:
            raise self.error("a word is missing")
        return Word(self.text[start : self.at], start, self.at)

    def _array(self) -> None:
        self.at += 1
        while True:
            self._blank(newlines=True)
            if self._take(")"):
                return
            self._word()

    def _quoted_or_expanded(self) -> None:
        mark = self.text[self.at]
        if mark == "\\":
            self.at = min(self.at + 2, len(self.text))
        elif mark == "'":
            self._until("'", "a quote")
        elif mark == '"':
            self._double()
        elif mark == "`":
            self._escaped("`", "a backquote")
        else:
            self._dollar()

    def _dollar(self) -> None:
        if self._here("$(("):
            self.at += 1
            self._balanced("((", "))")
        elif self._here("$("):
            self.at += 1
            self._substitution()
        elif self._here("${"):
            self.at += 1
            self._expansion()
        elif self._here("$'"):
            self.at += 1
            self._escaped("'", "a quote")
        else:
            self.at += 1

    def _substitution(self) -> None:
        self.at += 1
        self.substituted()
        self._expect(")")

    def _double(self) -> None:
        start = self.at
        self.at += 1
        while self.at < len(self.text):
            mark = self.text[self.at]
            if mark == '"':
                self.at += 1
                return
            if mark in "\\`" or (mark == "$" and not self._here("$'")):
                self._quoted_or_expanded()
            else:
                self.at += 1
        raise self.error("a quote is never closed", start)

    def _expansion(self) -> None:
        start = self.at
        self.at += 1
        while self.at < len(self.text):
            mark = self.text[self.at]
            if mark == "}":
                self.at += 1
                return
            if mark in "\\'\"`$":
                self._quoted_or_expanded()
            else:
                self.at += 1
        raise self.error("${ is never closed", start)

    def _until(self, mark: str, what: str) -> None:
        end = self.text.find(mark, self.at + 1)
        if end < 0:
            raise self.error(f"{what} is never closed")
        self.at = end + 1

    def _escaped(self, mark: str, what: str) -> None:
        match = _ESCAPED[mark].match(self.text, self.at)
        if match is None:
            raise self.error(f"{what} is never closed")
        self.at = match.end()

    def _balanced(self, opening: str, closing: str) -> None:
        start, depth = self.at, 0
        while self.at < len(self.text):
            mark = self.text[self.at]
            depth += (mark == opening[0]) - (mark == closing[0])
            self.at += 1
            if depth == 0:
                return
        raise self.error(f"{opening} is never closed", start)

    def _blank(self, *, newlines: bool = False) -> bool:
        """Passes blanks and comments, and newlines with the here-documents that they begin."""
        start = self.at
        while self.at < len(self.text):
            if match := _BLANK.match(self.text, self.at):
                self.at = match.end()
            elif self.text[self.at] == "#" and self._begins_word():
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif newlines and self.text[self.at] == "\n":
                self.at += 1
                self._bodies()
            else:
                break
        return self.at > start

    def _begins_word(self) -> bool:
        return self.at == 0 or self.text[self.at - 1] in META

    def _bodies(self) -> None:
        for delimiter, tabs in self._heredocs:
            while True:
                if self.at >= len(self.text):
                    raise self.error(f"the here-document {delimiter} is never closed")
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line, self.at = self.text[self.at : end], min(end + 1, len(self.text))
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self._heredocs.clear()

    def _peek(self) -> str:
        """The reserved word that may stand here: letters and braces up to the word's end."""
        match = _RESERVED.match(self.text, self.at)
        assert match is not None
        after = self.text[match.end() : match.end() + 1]
        return match[0] if not after or after in META else ""

    def _here(self, *texts: str) -> bool:
        return self.text.startswith(texts, self.at)

    def _take(self, text: str) -> bool:
        """Passes an operator, unless it is only the beginning of a longer one."""
        if not self._here(text) or (text == "&" and self._here("&&", "&>")):
            return False
        self.at += len(text)
        return True

    def _expect(self, text: str) -> None:
        self._blank(newlines=True)
        if not self._take(text):
            raise self.error(f"{text} is missing")
