"""Which detector a comparison is: what trust in it rests on."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields

from playbooks.playbook import Compare, CompareSide, RowSpec


def detector_identity(action: Compare, edits: Iterable[tuple[str, str | None]]) -> str:
    """What was compared, as 16 hex digits of a SHA-256: both sides and the edited files.

    `edits` are (path, sha256 after; None where the file is gone) in any order. The same detector
    has the same identity; another expression or another version of the patch has not. What is
    known to be bad, and which of the keys are looked at, is no part of it.
    """
    files = sorted((path, after or "") for path, after in edits)
    sides = [_side(side) for side in (action.left, action.right)]
    told: list[object] = [sides, files]
    text = json.dumps([*told, "in order"] if action.in_order else told)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _side(side: CompareSide) -> list[object]:
    """Where it is read and how, without what is as usual."""
    usual = RowSpec()
    said = {one.name: getattr(side.rows, one.name) for one in fields(RowSpec)}
    more = {name: value for name, value in said.items() if value != getattr(usual, name)}
    match = more.pop("match", None)
    return [side.name, match, more] if more else [side.name, match]
