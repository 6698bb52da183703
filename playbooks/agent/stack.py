"""The keep stack: what runs left changed on this host on purpose, each to be put back by itself.

A kept run's entries are in the journal beside those of the run under way, and no part of what that
one, or an agent alone, puts back. A run that keeps changes on one host is KEPT there in a single
write. One on several hosts is AGREEING on each of them first, and KEPT once all have agreed; on its
way back it is LEAVING on all of them before the first one is restored. Whoever finds it at another
stage than KEPT brings it to one end on all hosts.
"""

from typing import Any, Dict, List, NamedTuple, Tuple

from playbooks.agent.entries import Entry, entry_json, entry_of

AGREEING, KEPT, LEAVING = "agreeing", "kept", "leaving"


class KeptRun(NamedTuple):
    """What one run has changed here, and all it takes to restart without the ledger.

    `run` is the run as the journal names it; `facts` is what its operator wants to be told of it,
    and by whom it is called. `reloaded` services read the changes while they ran; `kept_at` is in
    seconds since the epoch.
    """

    run: str
    who: str
    stage: str
    kept_at: float
    specs: Any
    facts: Dict[str, Any]
    entries: Tuple[Entry, ...]
    reloaded: Tuple[str, ...]

    def holds(self, where: str) -> bool:
        """Whether a change at `where` would touch what is kept: the path, one above, one below."""
        return any(_overlap(where, entry.where) for entry in self.entries)

    def as_json(self) -> Dict[str, Any]:
        return {**self._asdict(), "entries": [entry_json(one) for one in self.entries]}


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")


def from_json(fields: Dict[str, Any]) -> KeptRun:
    """A kept run from its JSON."""
    entries = tuple(map(entry_of, fields["entries"]))
    reloaded = tuple(fields["reloaded"])
    return KeptRun(**{**fields, "entries": entries, "reloaded": reloaded})


def paths(stack: List[KeptRun]) -> List[str]:
    """Every path that is kept."""
    return [entry.where for one in stack for entry in one.entries]
