"""compare: two logs that are there already, joined by key as a playbook's compare step would."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from campaign.errors import CampaignError, Exit
from campaign.operations.plan import Request, check
from campaign.workspace import Workspace
from hypotheses.comparison import KeyCounts
from playbooks.playbook import Compare, LogSide, RowSpec
from playbooks.unpacked import CannotRead, unpacked

if TYPE_CHECKING:
    from playbooks.join.blocks import Source
    from playbooks.join.joining import Odd

STDIN = "-"


class Asked(Struct, frozen=True):
    """Which files (`-` is standard input, once) are joined how.

    As the compare step of `playbook` has it, where one is named; else by `left_rows` and
    `right_rows`. `known_bad` is the file of the keys that were corrupted on purpose, if any.
    """

    left: str
    right: str
    left_rows: RowSpec
    right_rows: RowSpec
    playbook: str | None = None
    in_order: bool = False
    known_bad: str | None = None
    bad_match: str | None = None


class Found(Struct, frozen=True):
    """How many keys were found how, `coverage` the share that could be compared, 0 to 1.

    `odd` are keys that did not match, with their lines: a bounded number of each state. Of the
    `known_bad` keys (None: none were asked for) `unseen` did not mismatch, and `others` did. `lost`
    are lines of JSON without their end.
    """

    counts: KeyCounts
    coverage: float
    odd: "tuple[Odd, ...]"
    known_bad: int | None = None
    unseen: int = 0
    others: int = 0
    lost: int = 0


def compare(start: Path, asked: Asked) -> Found:
    """Joins the two files. A playbook is one of the workspace that `start` lies in.

    Errors: LoadError, CampaignError (USAGE), OSError where there is no room for what does not
    fit into memory.
    """
    action = _action(start, asked)
    _refuse_unusable(action)
    from playbooks.join.joining import Side, join

    with ExitStack() as stack:
        files = [asked.left, asked.right, *([asked.known_bad] if asked.known_bad else [])]
        specs = (one.rows for one in (action.left, action.right, action.known_bad) if one)
        try:
            sides = [
                Side(_source(stack, file), spec) for file, spec in zip(files, specs, strict=True)
            ]
            joined = join(*sides, in_order=action.in_order)
        except CannotRead as error:
            raise CampaignError(Exit.USAGE, str(error)) from error
    comparison = joined.comparison
    if not comparison.counts.total:
        what = f"no key was found in {asked.left} or {asked.right}"
        raise CampaignError(Exit.USAGE, what, "check the expression, or the names of the fields")
    bad = comparison.known_bad
    return Found(
        comparison.counts,
        comparison.counts.coverage,
        joined.odd,
        len(bad) if asked.known_bad else None,
        len(bad - comparison.mismatched),
        comparison.counts.mismatched - len(bad & comparison.mismatched),
        joined.cut_off,
    )


def _action(start: Path, asked: Asked) -> Compare:
    """How the files are joined; with `known_bad` exactly where a file of it is given."""
    if asked.playbook is None:
        left, right = LogSide("left", asked.left_rows), LogSide("right", asked.right_rows)
        if asked.known_bad is None:
            return Compare(left, right, None, asked.in_order)
        spec = replace(asked.left_rows, match=asked.bad_match, value=())
        return Compare(left, right, LogSide("known bad", spec), asked.in_order)
    action = _of_playbook(start, asked.playbook)
    if asked.known_bad is None:
        return replace(action, known_bad=None)
    if action.known_bad is None:
        what = f"{asked.playbook} compares with no known_bad"
        raise CampaignError(Exit.USAGE, what, "leave the file out, or name a detector")
    return action


def _of_playbook(start: Path, name: str) -> Compare:
    _, (playbook,) = check(Workspace.find(start), Request((name,), {}))
    for step in playbook.steps:
        if isinstance(step.action, Compare):
            return replace(step.action, only_trials=False)
    raise CampaignError(Exit.USAGE, f"{name} has no compare step", "name another, or give --match")


def _refuse_unusable(action: Compare) -> None:
    """Errors: CampaignError (USAGE) for an expression that cannot find what it is to find."""
    from playbooks.join.expression import groups

    left, right, bad = action.left.rows, action.right.rows, action.known_bad
    sides = [
        ("--match", left),
        ("--match" if right.match == left.match else "--right-match", right),
    ]
    sides += [("--bad-match", bad.rows)] if bad is not None else []
    given = [(option, spec.match, (*spec.key, *spec.value)) for option, spec in sides]
    for option, source, names in (*given, ("--skip", left.skip, ())):
        if source is None:
            continue
        try:
            found = groups(source)
        except ValueError as error:
            raise CampaignError(Exit.USAGE, f"{option} '{source}': {error}") from error
        missing = [f"(?P<{name}>...)" for name in names if name not in found]
        if missing:
            what = f"{option} '{source}' needs the named group {' and '.join(missing)}"
            raise CampaignError(Exit.USAGE, what)


def _source(stack: ExitStack, name: str) -> "Source":
    """The file, unpacked, from its start each time; standard input as a copy of it."""
    if name != STDIN:
        return partial(unpacked, Path(name))
    kept = stack.enter_context(TemporaryFile())  # noqa: SIM115 - it is closed with the stack
    shutil.copyfileobj(sys.stdin.buffer, kept)
    return partial(_from_its_start, kept)


@contextmanager
def _from_its_start(kept: IO[bytes]) -> Iterator[BinaryIO]:
    kept.seek(0)
    yield kept  # type: ignore[misc]
