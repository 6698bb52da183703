"""What a command did with a secret on another machine is undone with it, whoever does that."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts_machine import Machine
from hosts_toy import PUT_BACK, UnitToy, unit_name, unit_toy
from toy import Toy

pytestmark = pytest.mark.hosts

KEY = {"OPS_KEY": "correct horse battery"}
DRAIN = """\
name: drain
kind: probe
question: Does it fail while it is drained?
vars: {{trials: 40}}
steps:
  - name: drain it
    command:
      on: there
      cwd: {there}
      do: 'echo "$API_KEY" > drained'
      undo: 'echo "it says $API_KEY" >&2; test "$API_KEY" = "$(cat drained)" && rm drained'
  - restart: {{services: [app]}}
  - reproduce: {{use: trials}}
"""


@pytest.fixture
def far(alpha: Machine, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[UnitToy]:
    with unit_toy(alpha, tmp_path / "toy", unit_name(request)) as made:
        with (made.root / "campaign.yaml").open("a") as file:
            file.write("secrets: {API_KEY: {env: OPS_KEY}}\n")
        made.playbook("drain", DRAIN.format(there=f"/srv/{made.unit}"))
        yield made


def test_in_the_run_and_by_whoever_recovers(far: UnitToy, tmp_path: Path) -> None:
    drained = far.there / "drained"
    ran = far.run("run", "drain", "-y", **KEY)
    assert (ran.returncode, drained.exists()) == (0, False), ran.stderr
    far.env.update(KEY)
    running = far.measuring("drain")
    running.kill()
    running.communicate()
    far.env.clear()
    other = Toy(tmp_path / "other", far.port)
    shutil.copytree(far.root, other.root, ignore=shutil.ignore_patterns("campaign.db*"))
    left = other.run("recover")
    assert left.returncode == 5
    assert "was not run without the secret API_KEY, which is not set" in left.stderr + left.stdout
    assert drained.read_text() == KEY["OPS_KEY"] + "\n"
    wrong = other.run("recover", OPS_KEY="tr0ub4dor&3")
    assert wrong.returncode == 5
    assert "exited 1 (it says [redacted])" in wrong.stderr + wrong.stdout
    done = other.run("recover", **KEY)
    assert (done.returncode, drained.exists()) == (0, False)
    assert "undid /bin/sh -c 'echo \"$API_KEY\" > drained'" in done.stdout
    assert PUT_BACK in done.stdout
    far.check_as_before(far.files())
