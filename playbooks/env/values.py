"""The value of a variable for people: one line, as a shell takes it where it is quoted."""

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def told(value: str | None) -> str:
    """A value that can be told from any other one; `unset` for None.

    A plain one is shown as it is. One that is empty, has blanks at its ends or could be taken for
    something else here is quoted. Newlines and all that a terminal does not show stand in bash's
    $'...' (bash(1), QUOTING).
    """
    if value is None:
        return "unset"
    inner = escaped(value)
    if not value.isprintable():
        return f"$'{inner}'"
    if value in ("", "unset") or value != value.strip() or value.startswith(("'", "$'")):
        return f"'{value}'" if inner == value else f"$'{inner}'"
    return value


def escaped(value: str) -> str:
    """What stands between the quotes of $'...'; a byte that is no UTF-8 as that byte."""
    return "".join(map(_escaped, value))


def _escaped(one: str) -> str:
    if one in _ESCAPES or one.isprintable():
        return _ESCAPES.get(one, one)
    return "".join(f"\\x{byte:02x}" for byte in one.encode("utf-8", "surrogateescape"))
