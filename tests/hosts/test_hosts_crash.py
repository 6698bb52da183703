"""Crash enumeration on a real machine: killed at any durable call of the agent there, `recover`

brings back files, journal and service, also with an empty ledger. A spread of the calls, and every
one with CAMPAIGN_CRASH_ALL.
"""

import os
import signal
from collections.abc import Iterator
from itertools import count

import pytest
from hosts_machine import Machine
from hosts_toy import UnitToy, unit_toy

pytestmark = pytest.mark.hosts

STRIDE = 1 if os.environ.get("CAMPAIGN_CRASH_ALL") else 24
OFTEN = "[Unit]\nStartLimitIntervalSec=0\n"


@pytest.fixture(scope="module")
def dying(
    machines: dict[str, Machine], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[UnitToy]:
    """A workspace whose command is crashed over and over; its unit may start as often."""
    folder = tmp_path_factory.mktemp("dying") / "toy"
    with unit_toy(machines["alpha"], folder, f"dying-{os.getpid()}") as toy:
        unit = toy.machine.root / f"etc/systemd/system/{toy.unit}.service"
        unit.write_text(OFTEN + unit.read_text())
        toy.machine.run("systemctl", "daemon-reload")
        yield toy


@pytest.mark.parametrize(("victims", "first"), [("both", 1), ("operator", 13)])
def test_the_operator_dies_at_any_call(dying: UnitToy, victims: str, first: int) -> None:
    """With the agent, or leaving it behind; at every second point its ledger is lost, too."""
    before = dying.files()
    for call in count(min(first, STRIDE), STRIDE):
        dying.arm(f"{victims}:{call}")
        (dying.root / "fatal").touch()
        ended = dying.run("run", "fix", "-y", "-e", "trials=1")
        (dying.root / "fatal").unlink()
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL, (call, ended.stderr)
        if call // STRIDE % 2:
            (dying.root / "campaign.db").unlink()
        dying.check_recovers(before)
        _believe(dying)
    dying.check_as_before(before)
    assert call > 40


def _believe(dying: UnitToy) -> None:
    """Gives a lost ledger its hypotheses again."""
    if not (dying.root / "campaign.db").exists():
        beliefs = str(dying.root / "hypotheses.yaml")
        assert dying.run("hypothesis", "import", beliefs).returncode == 0
