"""Which detector a comparison is: what trust in it rests on."""

import hashlib
import json
from collections.abc import Iterable

from msgspec.structs import asdict

from playbooks.playbook import Compare, CompareSide, LogSide, OutputSide, Playbook, RowSpec


def detector_identity(action: Compare, edits: Iterable[tuple[str, str | None]]) -> str:
    """What was compared, as 16 hex digits of a SHA-256: both sides and the edited files.

    `edits` are (path, sha256 after; None where the file is gone) in any order. The same detector
    has the same identity; another expression or another version of the patch has not. What a
    reproducer prints owes nothing to a patch: of outputs alone, no file is part of it.
    """
    printed = isinstance(action.left, OutputSide) and isinstance(action.right, OutputSide)
    files = [] if printed else sorted((path, after or "") for path, after in edits)
    sides, *more = what_is_compared(action)
    return hashlib.sha256(json.dumps([sides, files, *more]).encode()).hexdigest()[:16]


def compared_by(playbook: Playbook) -> list[list[object]]:
    """What is compared by each of its compare steps: that of its detectors is the same."""
    steps = (step.action for step in playbook.steps)
    return [what_is_compared(one) for one in steps if isinstance(one, Compare)]


def what_is_compared(action: Compare) -> list[object]:
    """Both sides, and whether keys are joined in order.

    What is known to be bad, which of the keys are looked at, and which arms printed them is no
    part of it.
    """
    sides = [_side(side) for side in (action.left, action.right)]
    return [sides, "in order"] if action.in_order else [sides]


def _side(side: CompareSide) -> list[object]:
    """Where it is read and how, without what is as usual."""
    usual = RowSpec()
    said = asdict(side.rows)
    more = {name: value for name, value in said.items() if value != getattr(usual, name)}
    where = side.log if isinstance(side, LogSide) else ["output"]
    match = more.pop("match", None)
    return [where, match, more] if more else [where, match]
