"""A user whom polkit lets restart a unit, without sudo and without the journal."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts_machine import Machine
from hosts_toy import PUT_BACK, UnitToy, access, unit_name, unit_toy

pytestmark = pytest.mark.hosts

RULE = """\
polkit.addRule(function(action, subject) {
  if (action.id == "org.freedesktop.systemd1.manage-units" && subject.user == "ops"
      && action.lookup("unit") == "UNIT") { return polkit.Result.YES; }
});
"""
LOOKED = """\
name: looked
kind: probe
steps:
  - restart: {services: [app]}
  - collect: {services: [app]}
"""


@pytest.fixture
def permitted(alpha: Machine, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[UnitToy]:
    if not (alpha.root / "usr/lib/polkit-1/polkitd").exists():
        lacking = pytest.fail if os.environ.get("CAMPAIGN_REQUIRE_HOSTS") == "1" else pytest.skip
        lacking("it needs the Debian package polkitd")
    with unit_toy(alpha, tmp_path / "toy", unit_name(request)) as made:
        access(made, "user: ops")
        rule = alpha.root / f"etc/polkit-1/rules.d/10-{made.unit}.rules"
        rule.write_text(RULE.replace("UNIT", f"{made.unit}.service"))
        alpha.run("chown", "-R", "ops:", f"/srv/{made.unit}")
        alpha.run("systemctl", "restart", "polkit")
        try:
            yield made
        finally:
            rule.unlink()


def test_what_needs_no_log_runs_and_all_else_is_refused_before_it(permitted: UnitToy) -> None:
    before = permitted.files()
    looked = permitted.run("doctor")
    assert looked.returncode == 0, looked.stdout
    assert "lets only root restart app, unless polkit permits it" in looked.stdout
    assert "the journal is not ours to read: no step and no probe will see its log" in looked.stdout
    ran = permitted.run("run", "baseline", "-y")
    assert (ran.returncode, PUT_BACK in ran.stderr) == (0, True), ran.stderr
    permitted.playbook("looked", LOOKED)
    restarts = permitted.show("InvocationID")
    refused = permitted.run("run", "looked", "-y")
    assert refused.returncode == 6
    assert "the log of app is needed, and the journal is not ours to read" in refused.stderr
    assert "the group systemd-journal" in refused.stderr
    assert permitted.show("InvocationID") == restarts
    permitted.check_as_before(before)
