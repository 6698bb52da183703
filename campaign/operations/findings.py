"""What a look at hosts and services found, and how that ends."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from campaign.errors import Exit
from playbooks.hosts.connection import HostError

State = Literal["ok", "warn", "fail"]


class Finding(Struct, frozen=True):
    """What was found at `place`, a host or a service, by the look that `check` names.

    "fail" stops a run or makes it fail; "warn" costs a surprise or a weaker verdict. `fix` is
    what to do; it is empty where all is well, and where `what` has it already.
    """

    place: str
    check: str
    what: str
    state: State = "ok"
    fix: str = ""


class Checkup(Struct, frozen=True):
    """All findings, in the order of campaign.yaml; `unreached` are the hosts that we cannot use."""

    findings: tuple[Finding, ...]
    unreached: tuple[str, ...] = ()

    @property
    def exit(self) -> Exit:
        """UNREACHABLE where a host is, else REFUSED where something fails."""
        if self.unreached:
            return Exit.UNREACHABLE
        failed = any(one.state == "fail" for one in self.findings)
        return Exit.REFUSED if failed else Exit.COMPLETED


def guarded(place: str, check: str, found: Iterator[Finding]) -> Iterator[Finding]:
    """What is found, and what the host refuses meanwhile as a finding too."""
    try:
        yield from found
    except HostError as error:
        yield Finding(place, check, str(error), "fail")


def listed(names: Sequence[str], most: int = 4) -> str:
    """a, b, c and 7 more."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
