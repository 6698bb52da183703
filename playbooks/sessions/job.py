"""What the child is given: the sessions, and which variables of its environment are secrets."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct, to_builtins

from playbooks.sessions.spec import Sessions


class Fault(Exception):  # noqa: N818 - it ends the child
    """Sessions cannot be driven at all: why, and what to do, in one line."""


class Job(Struct, frozen=True):
    """`secrets` are names of environment variables, whose values are never written anywhere."""

    sessions: Sessions
    secrets: tuple[str, ...]

    def to_json(self) -> str:
        return json.dumps(to_builtins(self), ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Job":
        """What `to_json` wrote."""
        facts = json.loads(text)
        return cls(Sessions.of(facts["sessions"]), tuple(facts["secrets"]))


class Missing(Struct, frozen=True):
    """What sessions need and is not installed here, and what to do."""

    what: str
    fix: str


def lacking(sessions: Sessions) -> Missing | None:
    """What driving them needs that is not here; None where nothing is."""
    if sessions.dask is None or find_spec("distributed") is not None:
        return None
    what = "is spread by Dask, and the package 'distributed' is not installed here"
    return Missing(what, "install the extra: pip install 'debug-campaign[dask]'")


def program(job: Path, transcripts: Path) -> tuple[str, ...]:
    """The command that drives the job in the file `job`, from this very code."""
    root = str(Path(__file__).resolve().parents[2])
    start = f"import sys; sys.path.insert(0, {root!r}); "
    run = "from playbooks.sessions.__main__ import main; main()"
    return (sys.executable, "-P", "-c", start + run, str(job), str(transcripts))
