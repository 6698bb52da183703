"""What the quick commands load: nothing that is slow to start."""

import json
import subprocess
import sys
from pathlib import Path

from toy import Toy

HEAVY = {
    *("textual", "paramiko", "numpy", "scipy", "matplotlib", "pydantic", "sqlite_utils"),
    *("rich", "yaml", "asyncio"),
}
OURS = {"playbooks", "campaign.engine", "campaign.report"}
LOADED = """
import json, sys
from campaign.cli.main import run
code = run(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(folder: Path, *words: str) -> set[str]:
    """The modules that a command has loaded by its end."""
    ended = subprocess.run(
        [sys.executable, "-c", LOADED, "--workspace", str(folder), *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    code, modules = json.loads(ended.stderr)
    assert code == 0
    return set(modules)


def test_help_and_status_load_nothing_heavy(tmp_path: Path) -> None:
    made = Toy(tmp_path, 0)
    made.run("init")
    made.run("hypothesis", "add", "one", "--claim", "x")
    for words in (("--help",), ("status",)):
        assert not (HEAVY | OURS) & loaded(tmp_path, *words), words
    for words in (("runs", "list"), ("hypothesis", "list"), ("report",)):
        assert not HEAVY & loaded(tmp_path, *words), words
