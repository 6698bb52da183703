"""Whether services have the checksum probe that their checkpoints are to come from."""

from collections.abc import Iterator

from campaign.engine.measure import Place
from campaign.engine.session import Session
from campaign.engine.sides import ServiceLog
from playbooks.playbook import Compare, LogSide
from playbooks.probes.lines import IMPORTED

SEE = (
    "see that CHECKSUM_PROBE is set for it, and that it imports from the folder that `into:` names"
)


def without_probe(session: Session, place: Place) -> Iterator[str]:
    """The services that are to log checkpoints, and did not import the probe since the boot began.

    Errors: HostError, HostLost.
    """
    steps = (step.action for step in place.boot.measures)
    both = (side for one in steps if isinstance(one, Compare) for side in (one.left, one.right))
    asked = [side for side in both if isinstance(side, LogSide) and side.probed]
    for name in dict.fromkeys(service for side in asked for service in side.services):
        if not any(ServiceLog(session, place, name, IMPORTED).chunks()):
            yield name
