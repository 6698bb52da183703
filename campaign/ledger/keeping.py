"""Changes that were not put back since an operator accepted what was found instead.

Each is a step of its run: a file edit of that path is kept as found from then on.
"""

from collections.abc import Collection, Iterable

from campaign.ledger import records

KEEP = "keep"
"""The kind of such a step."""


def keep_name(host: str, path: str) -> str:
    """The name of the step that keeps a path."""
    return f"keep {host}:{path}"


def kept_edits(
    edits: Iterable[records.Edit], steps: Iterable[records.Step]
) -> tuple[records.Edit, ...]:
    """Those of a run's file edits that were not put back, but kept as found."""
    names = {step.name for step in steps if step.kind == KEEP}
    return tuple(
        edit
        for edit in edits
        if edit.put_back_at is None and keep_name(edit.host, edit.path) in names
    )


def how_back(edit: records.Edit, kept: Collection[records.Edit]) -> str:
    """Whether a file edit was put back, in words; `kept` are those that were kept as found."""
    if edit.put_back_at is not None:
        return "put back"
    return "kept as found (accepted)" if edit in kept else "NOT put back"
