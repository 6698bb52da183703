"""Whatever a file holds, loading it gives a result or a LoadError that names real places."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from load_workspace import CAMPAIGN, ENVIRON, PLAYBOOK, Workspace

from playbooks.language.load import LoadError, load_hypotheses, load_system

_YAMLISH = st.text(alphabet="ab:-{}[]&*!|>'\"%@`#?,\\ \n\t0x1.~<=\x85\u2028é", max_size=60)
_PIECE = st.one_of(
    _YAMLISH,
    st.sampled_from(["\t", "*a", "&a", "!!int", "{{ x }}", "'", '"\\UFFFFFFFF"', "- ", ": ", "\0"]),
)
_LEAF = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just("9" * 5000)
)
_VALUE = st.recursive(
    _LEAF,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


_TEXTS = ("", "x", "1m", "0s", "5%", "0644", "http://a/", "127.0.0.1:80", "fixed")
_OTHERS = ([], {}, ["x"], [1], {"x": "y"}, {"rule": "fixed"}, {"http": "http://a/"}, {"a b": "x"})
_FIT = st.sampled_from([*_TEXTS, *_OTHERS, 1, 0, -1, 2.5, True])
"""Values that fit somewhere."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("workspace"))


def check(error: LoadError, text: str) -> None:
    lines = re.split("\r\n|[\n\r\x85\u2028\u2029]", text)
    assert error.problems
    for one in error.problems:
        assert 1 <= one.line <= len(lines)
        assert 1 <= one.column <= len(lines[one.line - 1]) + 1
        assert "\n" not in one.what
        assert "Traceback" not in str(one)


@settings(max_examples=150, deadline=None)
@given(content=st.binary(max_size=60) | _YAMLISH.map(str.encode))
def test_any_bytes(workspace: Workspace, content: bytes) -> None:
    path = workspace.root / "any.yaml"
    path.write_bytes(content)
    with pytest.raises(LoadError) as caught:
        load_hypotheses(path)
    assert str(caught.value)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_a_playbook_with_text_put_anywhere(workspace: Workspace, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(PLAYBOOK)))
    until = data.draw(st.integers(at, min(at + 10, len(PLAYBOOK))))
    text = PLAYBOOK[:at] + data.draw(_PIECE) + PLAYBOOK[until:]
    try:
        workspace.playbook(text)
    except LoadError as error:
        check(error, text)


def _places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict | list):
        inner = list(value.items() if isinstance(value, dict) else enumerate(value))
    return [path, *(deeper for key, one in inner for deeper in _places(one, (*path, key)))]


def _replaced(value: object, path: tuple[str | int, ...], new: object) -> object:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(copy[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("which", ["playbook", "campaign"])
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_a_valid_file_with_any_value_anywhere(
    workspace: Workspace, data: st.DataObject, which: str
) -> None:
    text = PLAYBOOK if which == "playbook" else CAMPAIGN
    valid = yaml.safe_load(text.replace(" on:", ' "on":'))
    place = data.draw(st.sampled_from(_places(valid)))
    text = yaml.safe_dump(_replaced(valid, place, data.draw(_VALUE | _FIT)), sort_keys=False)
    try:
        if which == "playbook":
            workspace.playbook(text)
        else:
            workspace.system(text)
    except LoadError as error:
        check(error, text)


def test_a_file_of_many_mistakes_is_still_quick(tmp_path: Path) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_text(CAMPAIGN + "".join(f"key{number}: {number}\n" for number in range(500)))
    with pytest.raises(LoadError) as caught:
        load_system(path, ENVIRON)
    assert len(caught.value.problems) == 500
