"""Ctrl-C while services restart outside of a run: refused once, since nothing would put back."""

import re
import signal
import subprocess
import time

import pytest
from toy import Toy

GATE = '{command: [sh, -c, "touch ROOT/asked; test -e ROOT/go"], timeout: 60s}'


@pytest.fixture
def gated(toy: Toy) -> Toy:
    """A toy whose service is healthy once there is a file `go`; `asked` shows that it was asked."""
    config = toy.root / "campaign.yaml"
    gate = GATE.replace("ROOT", str(toy.root))
    text = config.read_text("utf-8").replace("settle: 20ms}]", f"settle: 20ms}}, {gate}]")
    config.write_text(text, encoding="utf-8")
    (toy.root / "go").touch()
    assert toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml")).returncode == 0
    process = toy.start("run", "fix", "-y", "-e", "trials=100000")
    assert process.stderr is not None
    assert any("restart app  ok" in line for line in process.stderr)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    return toy


def interrupted(toy: Toy, *words: str) -> subprocess.Popen[str]:
    """The command, which waits for health, after a first Ctrl-C."""
    for name in ("go", "asked"):
        (toy.root / name).unlink(missing_ok=True)
    process = toy.start(*words)
    deadline = time.monotonic() + 60
    while not (toy.root / "asked").exists():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    said = process.stderr.readline()
    assert re.match(
        "not stopped while (restoring|restarting) .*; once more leaves it half done", said
    )
    return process


def test_it_goes_on_at_the_first_and_gives_up_at_the_second(gated: Toy) -> None:
    recovering = interrupted(gated, "recover")
    recovering.send_signal(signal.SIGINT)
    _, said = recovering.communicate(timeout=60)
    assert recovering.returncode == 5
    assert re.search(
        "abandoned while (restoring|restarting) .*; campaign recover finishes it", said
    )
    recovering = interrupted(gated, "recover")
    (gated.root / "go").touch()
    out, _ = recovering.communicate(timeout=60)
    assert (recovering.returncode, "Everything was put back." in out) == (0, True)
    restarting = interrupted(gated, "services", "restart")
    restarting.send_signal(signal.SIGTERM)
    _, said = restarting.communicate(timeout=60)
    assert restarting.returncode == 130
    assert "abandoned while restarting services; campaign services list shows what runs" in said
    restarting = interrupted(gated, "services", "restart")
    (gated.root / "go").touch()
    out, _ = restarting.communicate(timeout=60)
    assert (restarting.returncode, out) == (0, "restarted app\n")
