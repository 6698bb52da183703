"""What a service itself says of its variables, where campaign.yaml tells how to ask (`proof:`)."""

import re
import time
from collections.abc import Mapping

from msgspec.structs import replace

from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.processes import ProbeResult
from playbooks.hosts.specs import spec_of
from playbooks.system import CommandProbe, HttpProbe, LogProbe, Probe, Service
from playbooks.templates import render

LOGGED_WITHIN_S = 3.0
"""How long a line of the log may take to get there."""

_EVERY_S = 0.1


def asked(service: Service, wanted: Mapping[str, str | None], host: Host) -> dict[str, ProbeResult]:
    """What came of asking for each of the variables `wanted` that has a proof. Errors: HostLost."""
    return {
        name: _ask(service, _filled(service.proof[name], value or ""), host)
        for name, value in wanted.items()
        if name in service.proof
    }


def _ask(service: Service, probe: Probe, host: Host) -> ProbeResult:
    """Asks until it holds, in a log for as long as a line takes to get there."""
    deadline = time.monotonic() + (LOGGED_WITHIN_S if probe.kind == "log" else 0.0)
    while True:
        try:
            found = host.probe(probe, spec_of(service))
        except HostError as error:
            return ProbeResult(False, str(error), 0.0)
        if found.ok or time.monotonic() >= deadline:
            return found
        time.sleep(_EVERY_S)


def _filled(probe: Probe, value: str) -> Probe:
    """The probe that holds where the variable has `value`; "" stands for one that is unset."""
    plain, pattern = {"value": value}, {"value": re.escape(value)}
    match probe:
        case HttpProbe(match=str() as text):
            return replace(probe, match=render(text, pattern, ""))
        case LogProbe(match=text):
            return replace(probe, match=render(text, pattern, ""))
        case CommandProbe(command=words):
            return replace(probe, command=tuple(render(one, plain, "") for one in words))
        case _:
            return probe
