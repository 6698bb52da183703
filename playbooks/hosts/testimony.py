"""What a service has to say of what it runs, typed."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, to_builtins

from playbooks.hosts.connection import Connection
from playbooks.hosts.processes import Environ, ServiceState, environs_of, state_of
from playbooks.hosts.specs import ServiceSpec


class Testimony(Struct, frozen=True):
    """A service at one moment: its state, the environment of each of its processes, its files.

    `hashes` has the SHA-256 (None: no file) of each (root, path) that was asked for, as the main
    process sees it.
    """

    state: ServiceState
    environs: tuple[Environ, ...]
    hashes: Mapping[tuple[str, str], str | None]


class TestimonyVerbs:
    """The verb that asks for it. It raises HostError and HostLost."""

    connection: Connection

    def testimony(
        self,
        spec: ServiceSpec,
        names: Sequence[str],
        files: Sequence[tuple[str, str]],
        key: bytes,
    ) -> Testimony:
        """The service's own word: plain values of `names`, digests under `key` of all variables."""
        facts, _ = self.connection.call(
            "testimony", key, spec=to_builtins(spec), names=list(names), files=list(files)
        )
        return Testimony(
            state=state_of(facts["state"]),
            environs=environs_of(facts["environs"]),
            hashes=dict(zip(files, facts["hashes"], strict=True)),
        )
