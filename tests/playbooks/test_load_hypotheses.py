"""Files of hypotheses: read, refused, and written so that they are read back."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from load_workspace import said

from hypotheses.hypothesis import Hypothesis, Standing
from playbooks.language.load import LoadError, dump_hypotheses, load_hypotheses

FILE = """\
hypotheses:
  idxk-transfer:
    claim: decode reads the index-K buffer before the transfer has landed
    mechanism: the completion message is sent on submission
    prior: 0.4
    predicts: {if_true: rooms differ, if_false: rooms match}
    assumptions: [one transfer thread]
    links: ["https://example.org/1"]
  mtp: {claim: speculative decoding drops a token}
"""

_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Co", "Cn"]), max_size=20)
_SAID = _TEXT.filter(bool)
_HYPOTHESES = st.lists(
    st.builds(
        Hypothesis,
        slug=st.from_regex(r"[a-z0-9][a-z0-9-]{0,9}", fullmatch=True),
        claim=_SAID,
        mechanism=_TEXT,
        prior=st.none() | st.floats(0, 1, exclude_min=True, exclude_max=True),
        predicts_if_true=_TEXT,
        predicts_if_false=_TEXT,
        assumptions=st.lists(_SAID, max_size=2).map(tuple),
        links=st.lists(_SAID, max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda one: one.slug,
)


def test_hypotheses_are_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "h.yaml"
    path.write_text(FILE)
    assert load_hypotheses(path) == (
        Hypothesis(
            slug="idxk-transfer",
            claim="decode reads the index-K buffer before the transfer has landed",
            mechanism="the completion message is sent on submission",
            prior=0.4,
            predicts_if_true="rooms differ",
            predicts_if_false="rooms match",
            assumptions=("one transfer thread",),
            links=("https://example.org/1",),
        ),
        Hypothesis("mtp", "speculative decoding drops a token"),
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("prior: 0.4", "prior: 0", "5:12: expected a number above 0, not the number 0"),
        ("prior: 0.4", "prior: 1.0", "5:12: expected a number below 1, not the number 1.0"),
        ("prior: 0.4", "prior: .nan", "5:12: expected a finite number, not the number .nan"),
        ("prior: 0.4", "prior: high", "5:12: expected a number, not 'high'"),
        ("prior: 0.4", "piror: 0.4", "5:5: unknown key 'piror' (did you mean 'prior'?)"),
        (
            "[one transfer thread]",
            "one transfer thread",
            "7:18: expected a list of assumptions, not 'one transfer thread'",
        ),
        ("  mtp:", "  m t p:", "9:3: expected a name (letters, digits, '_', '-' and '.', "),
    ],
)
def test_one_mistake(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in FILE
    path = tmp_path / "h.yaml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(LoadError) as caught:
        load_hypotheses(path)
    assert [line[: len(expected)] for line in said(caught.value)] == [expected]


@settings(max_examples=60, deadline=None)
@given(hypotheses=_HYPOTHESES)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, hypotheses: list[Hypothesis]
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.yaml"
    path.write_text(dump_hypotheses(hypotheses), encoding="utf-8")
    assert load_hypotheses(path) == tuple(hypotheses)


def test_texts_that_yaml_would_take_for_something_else_survive(tmp_path: Path) -> None:
    path = tmp_path / "h.yaml"
    odd = Hypothesis(
        "on", "no", "0x1F", None, "2026-01-01", "a: b\n\tc\x85d", ("null", "~"), ("1",)
    )
    path.write_text(dump_hypotheses([odd]), encoding="utf-8")
    assert load_hypotheses(path) == (odd,)


def test_a_standing_is_no_part_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "h.yaml"
    path.write_text(dump_hypotheses([Hypothesis("mtp", "x", standing=Standing.REFUTED)]))
    assert load_hypotheses(path)[0].standing is Standing.OPEN
