"""The regular expressions of a comparison, as the engine that searches the logs takes them."""

import polars as pl


def groups(source: str) -> frozenset[str]:
    """The named groups of `source`. Raises ValueError, with why in one line, where it is refused.

    Look-arounds and back references are: they could take for ever.
    """
    try:
        found = pl.Series([""]).str.extract_groups(source).dtype
    except (pl.exceptions.PolarsError, UnicodeEncodeError) as error:
        raise ValueError(_why(str(error))) from None
    named = {} if not isinstance(found, pl.Struct) else {one.name for one in found.fields}
    return frozenset(name for name in named if not name.isdigit())


def _why(said: str) -> str:
    """The last line of a complaint, which comes with the expression and a caret before it."""
    return said.strip().splitlines()[-1].removeprefix("error: ").strip()
