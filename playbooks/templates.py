"""Templates: `{{ name }}` is replaced by a variable's text; nothing else is evaluated.

There is no escape: text that holds `{{` is a template, and must be a well-formed one.
"""

import re
from collections.abc import Mapping

from playbooks.language.problems import shown, suggest

_OPENING = "{{"
_HOST = re.compile(r"\{\{[ \t]*host[ \t]*\}\}")
_TEMPLATE = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}")


class TemplateError(ValueError):
    """A template that is malformed or names a variable that is not set, in one line."""


def names(text: str) -> tuple[str, ...]:
    """The variables that `text` names, each once, in order. Raises as `uses` does."""
    return tuple(dict.fromkeys(uses(text)))


def uses(text: str) -> list[str]:
    """The variables that `text` names, as often as it does, in order.

    Raises TemplateError where `{{` does not open a `{{ name }}`.
    """
    rest = _TEMPLATE.sub("", text)
    if _OPENING in rest:
        broken = rest[rest.index(_OPENING) :]
        raise TemplateError(f"{shown(broken)} is not a template: only {{{{ name }}}} is understood")
    return _TEMPLATE.findall(text)


def render(text: str, variables: Mapping[str, str], where: str) -> str:
    """`text` with each `{{ name }}` replaced; what a variable holds is not looked into again.

    `where` ("file:line") begins the message of the TemplateError for a template that is malformed
    or names a variable that `variables` lacks.
    """
    try:
        for name in names(text):
            if name not in variables:
                raise TemplateError(unset(name, variables))
    except TemplateError as error:
        raise TemplateError(f"{where}: {error}") from None
    return _TEMPLATE.sub(lambda found: variables[found[1]], text)


def on_host(text: str, host: str) -> str:
    """`text` with each `{{ host }}` replaced by the host's name; other templates stay."""
    return _HOST.sub(lambda _: host, text)


def unset(name: str, variables: Mapping[str, str]) -> str:
    """What to say of the name of a variable that is not set."""
    return f"variable {shown(name)} is not set{suggest(name, variables)}"
