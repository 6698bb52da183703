"""What runs keep changed on a host, typed; see playbooks.agent.stack."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, to_builtins

from playbooks.agent.stack import AGREEING, KEPT, LEAVING
from playbooks.hosts.connection import Connection

__all__ = ["AGREEING", "KEPT", "LEAVING", "KeptFacts", "KeptPath", "KeptRun", "StackVerbs"]


class KeptFacts(Struct, frozen=True):
    """What is told of a kept run where no ledger knows it.

    `id` is what it is called by, `removes` the suspected causes that are gone while it is kept,
    `services` those that run its changes, `env` the (service, name) of variables that it sets, and
    `hosts` all hosts where it keeps something.
    """

    id: str
    playbook: str = ""
    hypotheses: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    hosts: tuple[str, ...] = ()


class KeptPath(Struct, frozen=True):
    """A path that is kept changed: hashes of what was kept and what is `found` there now.

    None: no file; `found` is empty where that cannot be read. `changed_at` is on the host's boot
    clock, 0 before this boot; `base_copy` is where the base's bytes lie (None: there was no file).
    """

    path: str
    kept: str | None
    found: str | None
    changed_at: float
    base_copy: str | None

    @property
    def as_kept(self) -> bool:
        return self.found == self.kept


class KeptRun(Struct, frozen=True):
    """What the run that the journal calls `run` keeps on one host.

    `kept_at` is in seconds since the epoch; `reloaded` services read the changes while they ran.
    """

    run: str
    who: str
    stage: str
    kept_at: float
    facts: KeptFacts
    paths: tuple[KeptPath, ...]
    reloaded: tuple[str, ...]


class StackVerbs:
    """The verbs of the keep stack. Each raises HostError and HostLost."""

    connection: Connection

    def keep(self, run: str, stage: str, facts: KeptFacts) -> None:
        """Has all changes of `run` that are outstanding stay, at `stage`; or moves it to `stage`.

        HostError kinds: "unknown-run" (it has none), "outstanding" (a command is to be undone).
        """
        self.connection.call("keep", run=run, stage=stage, facts=to_builtins(facts))

    def release(self, run: str) -> None:
        """Makes what `run` keeps outstanding again, for `put_back`; nothing where it keeps none.

        HostError kind "outstanding" where changes of another run are.
        """
        self.connection.call("release", run=run)

    def stack(self) -> tuple[KeptRun, ...]:
        """What runs keep, the oldest first."""
        return tuple(map(_kept_run, self.connection.call("stack")[0]["stack"]))


def _kept_run(fields: Mapping[str, Any]) -> KeptRun:
    facts = {**fields["facts"]}
    lists = ("hypotheses", "removes", "services", "hosts")
    facts.update((name, tuple(facts[name])) for name in lists)
    facts["env"] = tuple((service, name) for service, name in facts["env"])
    return KeptRun(
        run=fields["run"],
        who=fields["who"],
        stage=fields["stage"],
        kept_at=fields["kept_at"],
        facts=KeptFacts(**facts),
        paths=tuple(KeptPath(**one) for one in fields["paths"]),
        reloaded=tuple(fields["reloaded"]),
    )
