"""Templates: names are replaced, and nothing else happens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks.templates import TemplateError, names, render

_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)


def test_names_are_replaced_with_or_without_spaces() -> None:
    variables = {"host": "a", "port": "80"}
    assert render("http://{{ host }}:{{port}}/{{  host  }}", variables, "x:1") == "http://a:80/a"


def test_names_are_listed_once_in_order() -> None:
    assert names("{{ b }} {{ a }} {{ b }}") == ("b", "a")


def test_what_a_variable_holds_is_not_evaluated() -> None:
    assert render("{{ a }}", {"a": "{{ b }}", "b": "no"}, "x:1") == "{{ b }}"


def test_closing_braces_alone_are_text() -> None:
    assert render('{"a": {"b": 1}}', {}, "x:1") == '{"a": {"b": 1}}'


def test_an_unset_name_is_an_error_that_says_where() -> None:
    with pytest.raises(TemplateError) as caught:
        render("{{ sesions }}", {"sessions": "1"}, "p.yaml:3")
    expected = "p.yaml:3: variable 'sesions' is not set (did you mean 'sessions'?)"
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    "text", ["{{ a + 1 }}", "{{ a.b }}", "{{}}", "{{ a", "{{ a | int }}", "{{ a\n}}"]
)
def test_anything_but_a_name_is_refused(text: str) -> None:
    with pytest.raises(TemplateError, match=r"is not a template: only \{\{ name \}\} is"):
        render(text, {"a": "1"}, "p.yaml:3")


@given(st.lists(st.tuples(_NAMES, st.text())), st.text(alphabet=" }x"))
def test_each_name_becomes_its_value(pairs: list[tuple[str, str]], between: str) -> None:
    variables = dict(pairs)
    text = between.join(f"{{{{ {name} }}}}" for name in variables)
    assert render(text, variables, "x:1") == between.join(variables.values())
