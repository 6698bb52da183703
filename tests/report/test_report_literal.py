"""What a Markdown parser makes of literal texts: the same texts."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from campaign.report.layout import bullets, columns, heading, paragraph, table
from campaign.report.literal import REPLACEMENT, cell, code, fenced, prose, visible

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

_BITS = (*"ab1 \n#>-+*=_`~|[]()!<&;:.\\/'\"x\t\r\x1b\x00\u200bé漢", "&amp;", "<b>", "1. ", "---")
NASTY = st.lists(st.sampled_from(_BITS), max_size=30).map("".join)


def parsed(markdown: str) -> list[Token]:
    return [child for token in PARSER.parse(markdown) for child in token.children or ()]


def literal(markdown: str) -> str:
    """The text that a reader of the page sees; any markup in it is an error."""
    texts = []
    for token in parsed(markdown):
        assert token.type in ("text", "text_special", "softbreak"), token
        texts.append(" " if token.type == "softbreak" else token.content)
    return "".join(texts)


def plain(text: str) -> str:
    return " ".join(visible(text).split())


@settings(deadline=None)
@given(NASTY, st.integers(10, 60))
@example("ten long \\ words", 10)
@example("ten words 1. --- # >", 10)
def test_a_paragraph_shows_its_text_as_it_is(text: str, width: int) -> None:
    markdown = paragraph(prose(text), width)
    assert [token.type for token in PARSER.parse(markdown)][1:2] in ([], ["inline"])
    assert literal(markdown) == plain(text)


@settings(deadline=None)
@given(NASTY, st.integers(10, 60))
def test_a_list_item_shows_its_text_as_it_is(text: str, width: int) -> None:
    tokens = PARSER.parse(bullets([prose(text)], width))
    assert {token.type.rpartition("_")[0] or "inline" for token in tokens} <= {
        "bullet_list",
        "list_item",
        "paragraph",
        "inline",
    }
    assert literal(bullets([prose(text)], width)) == plain(text)


@settings(deadline=None)
@given(NASTY)
def test_a_heading_shows_its_text_as_it_is(text: str) -> None:
    markdown = heading(2, prose(text))
    assert PARSER.parse(markdown)[0].type == "heading_open"
    assert literal(markdown) == plain(text)


@settings(deadline=None)
@given(st.lists(NASTY, min_size=4, max_size=4))
def test_a_table_shows_its_cells_as_they_are_and_is_aligned(texts: list[str]) -> None:
    cells = [cell(text) for text in texts]
    markdown = table(cells[:2], [cells[2:]], right=[1])
    assert len({columns(line) for line in markdown.split("\n")}) == 1
    inline = [token for token in PARSER.parse(markdown) if token.type == "inline"]
    assert ["".join(one.content for one in token.children or ()) for token in inline] == [
        plain(text) for text in texts
    ]


@settings(deadline=None)
@given(NASTY)
def test_code_shows_its_text_as_it_is(text: str) -> None:
    found = [token for token in parsed(f"a {code(text)}") if token.type == "code_inline"]
    assert "".join(token.content for token in found) == plain(text)


@settings(deadline=None)
@given(NASTY)
def test_a_fence_is_longer_than_any_inside(text: str) -> None:
    (token,) = PARSER.parse(fenced(text, "diff"))
    assert token.type == "fence"
    assert token.info == "diff"
    assert token.content.rstrip("\n") == visible(text).rstrip("\n")


def test_words_that_mean_nothing_to_markdown_stay_readable() -> None:
    text = "index_k buffer of prefill.py (p < .0001) is 3 - 4 [2.6, 19.9] & more: ~/x, a|b"
    assert prose(text) == text


def test_control_characters_are_replaced() -> None:
    assert visible("a\x1b[31mb\r\nc\td") == f"a{REPLACEMENT}[31mb{REPLACEMENT}\nc\td"


@pytest.mark.parametrize("width", [20, 40, 100])
def test_paragraphs_keep_to_their_width_in_wide_characters_too(width: int) -> None:
    text = " ".join(["漢字の", "word", "longer-word"] * 20)
    lines = bullets([text], width).split("\n")
    assert max(map(columns, lines)) <= width
    assert all(re.match(r"- |  \S", line) for line in lines)
