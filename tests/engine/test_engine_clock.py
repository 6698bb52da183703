"""A clock that is set back while a run goes on: what the run took is told as it was."""

import os
import subprocess
import sys
from pathlib import Path

from engine_stage import Stage

BACK = """
import time
read, readings = time.time, []
def back():
    readings.append(1)
    return read() - 86400 * (len(readings) > 3)
time.time = back
"""

OPERATOR = f"""
import sys
{BACK}
sys.executable = sys.argv.pop(1)
from campaign.cli.main import main
main()
"""


def agent_python(folder: Path) -> Path:
    """An interpreter in whose programs the clock is set back by a day at its fourth reading."""
    python = folder / "python"
    python.write_text(
        f"#!{sys.executable} -IS\n"
        "import os, sys\n"
        "words = sys.argv[1:]\n"
        "if '-c' in words:\n"
        f"    words[words.index('-c') + 1] = {BACK!r} + words[words.index('-c') + 1]\n"
        f"os.execv({sys.executable!r}, [{sys.executable!r}, *words])\n"
    )
    python.chmod(0o755)
    return python


def test_a_clock_set_back_on_both_sides(stage: Stage, tmp_path: Path) -> None:
    words = [str(agent_python(tmp_path)), "--workspace", str(stage.root), "run", "fix", "-y"]
    done = subprocess.run(
        [sys.executable, "-c", OPERATOR, *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **stage.toy.env},
    )
    assert done.returncode == 0, done.stderr
    spans = {
        "run": "SELECT ended_at - started_at AS s FROM run",
        "step": "SELECT ended_at - started_at AS s FROM step",
        "observation": "SELECT ended_at - started_at AS s FROM observation",
        "boot": "SELECT ended_at - started_at AS s FROM boot",
        "occupied": "SELECT occupied_s AS s FROM boot",
        "cycle": "SELECT healthy_at - down_at AS s FROM cycle",
        "downtime": "SELECT downtime_s AS s FROM cycle",
        "trial": "SELECT at - lag(at, 1, at) OVER (ORDER BY position) AS s FROM trial",
    }
    for name, query in spans.items():
        found = [row["s"] for row in stage.rows(query)]
        assert found, name
        assert all(0 <= one < 100 for one in found), (
            name,
            found,
            stage.rows("SELECT * FROM cycle"),
        )
    stage.check_untouched()
    stage.check_recovered()
