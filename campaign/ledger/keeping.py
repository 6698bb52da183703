"""Changes that were not put back, on purpose.

Where an operator accepted what was found instead, that is a step of its run: a file edit of that
path is kept as found from then on. Where a run was told to keep all that it changed, so is that.
"""

from collections.abc import Collection, Iterable

from campaign.ledger import records

KEEP = "keep"
"""The kind of the step by which a path is kept as found."""

KEEP_RUN = "keep run"
"""The kind of the step by which a run keeps what it changed."""


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


def stays(steps: Iterable[records.Step]) -> bool:
    """Whether a run's steps say that it keeps what it changed, until that is put back."""
    return any(step.kind == KEEP_RUN for step in steps)


def how_back(
    edit: records.Edit, kept: Collection[records.Edit], steps: Iterable[records.Step]
) -> str:
    """Whether a file edit of a run with these steps was put back, in words.

    `kept` are those that were kept as found.
    """
    if edit.put_back_at is not None:
        return "put back"
    if edit in kept:
        return "kept as found (accepted)"
    return f"kept, until campaign recover {edit.run}" if stays(steps) else "NOT put back"
