"""Texts of the ledger as Markdown that shows them literally, whatever they hold.

Only what would mean something to Markdown is escaped, so that the page reads well raw, too.
"""

import re
import unicodedata

REPLACEMENT = "\ufffd"

_MEANT = re.compile(
    r"""
      \\(?=[!-/:-@\[-`{-~\s]|$)          # a backslash before punctuation or a line's end
    | [*`]
    | (?<![^\W_])_ | _(?![^\W_])         # underscores, but for those inside a word
    | <(?=[A-Za-z/!?])                   # tags, comments, addresses
    | &(?=\#?\w+;)                       # entities
    | (?<=\S)~                           # the end of something struck out
    | \](?=[(\[:])                       # links
    """,
    re.VERBOSE,
)

_BLOCK = re.compile(
    r"""
      (?: \#{1,6}(?=\s|$) | > | [-+](?=\s|$) | -(?=[-\s|:]*$) | =(?=[=\s]*$) | :(?=[-\s|:]*$)
        | \| | ~~~ | \[(?=[ xX]\]) )
    """,
    re.VERBOSE,
)

_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")


def visible(text: str) -> str:
    """`text` without control characters; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(
        one if one in "\n\t" or unicodedata.category(one)[0] != "C" else REPLACEMENT for one in text
    )


def prose(text: str) -> str:
    """`text` on one line, for a paragraph, a list or a heading."""
    return _MEANT.sub(r"\\\g<0>", " ".join(visible(text).split()))


def cell(text: str) -> str:
    """`text` on one line, for a table."""
    return prose(text).replace("|", "\\|")


def line_start(line: str) -> str:
    """A line of prose, escaped where its beginning would start a heading, a list or the like."""
    if _BLOCK.match(line):
        return f"\\{line}"
    return _NUMBERED.sub(r"\1\\\2", line, count=1) if _NUMBERED.match(line) else line


def code(text: str) -> str:
    """`text` on one line, as code."""
    text = " ".join(visible(text).split())
    fence = "`" * (_longest_run(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}" if text else ""


def fenced(text: str, language: str = "") -> str:
    """`text` as a block of code, inside a fence longer than any in it."""
    text = visible(text)
    fence = "`" * max(3, _longest_run(text) + 1)
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}"


def _longest_run(text: str) -> int:
    """The length of the longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)
