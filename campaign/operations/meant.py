"""What a person may have meant by a name that is not there."""

from collections.abc import Collection


def meant(name: str, known: Collection[str], listing: str) -> str:
    """The advice that ends an error: the closest of `known`, else the command that lists them."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1)
    return f"did you mean {close[0]!r}?" if close else f"campaign {listing} shows what there is"
