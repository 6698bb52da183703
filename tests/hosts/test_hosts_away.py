"""A machine that is away for a while, or its sshd: what a run left there still comes back.

All on the one machine that may be broken, so that no test waits for another one to be done with it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until
from hosts_toy import NOTHING, PUT_BACK, UnitToy, unit_name, unit_toy

pytestmark = [pytest.mark.hosts, pytest.mark.slow]


@pytest.fixture
def lone(gamma: Machine, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[UnitToy]:
    """The toy workspace, its service a unit of a machine that the test has for itself."""
    with unit_toy(gamma, tmp_path / "toy", unit_name(request)) as made:
        yield made


def test_sshd_is_killed_with_all_its_connections(lone: UnitToy) -> None:
    """systemd starts it again, in good time before it is looked for."""
    before, running = lone.files(), lone.trying("fix", trials=1200)
    lone.machine.run("systemctl", "kill", "-s", "KILL", "ssh.service")
    wait_until(lone.machine.greets, 60, "sshd")
    _, said = running.communicate(timeout=100)
    assert running.returncode == 0, said
    assert PUT_BACK in said
    lone.check_as_before(before)


def test_sshd_is_away_when_all_is_to_be_put_back(lone: UnitToy) -> None:
    """It is waited for, and that is said: a few seconds leave nothing dirty."""
    before, running = lone.files(), lone.measuring("fix", trials=1200)
    lone.machine.run("systemctl", "stop", "ssh.service")
    lone.cut()
    lone.until(running, "host there does not answer")
    lone.machine.run("systemctl", "start", "ssh.service")
    _, said = running.communicate(timeout=100)
    assert running.returncode == 3, said
    assert PUT_BACK in said
    lone.check_as_before(before)


def test_the_machine_boots_again_on_the_changed_files(lone: UnitToy) -> None:
    """Its unit comes up by itself, and runs what the run had left there."""
    before, running = lone.files(), lone.measuring("fix")
    lone.machine.reboot()
    _, said = running.communicate(timeout=60)
    assert running.returncode in (3, 5), said
    assert running.returncode == 3 or "campaign recover" in said
    assert lone.run("recover").returncode == 0
    lone.check_as_before(before)
    assert lone.run("recover").stdout == NOTHING


def test_a_machine_that_booted_again_waits_for_recover(lone: UnitToy) -> None:
    before, running = lone.files(), lone.measuring("fix")
    running.kill()
    running.communicate()
    lone.machine.reboot()
    assert lone.files() != before
    lone.check_recovers(before)
