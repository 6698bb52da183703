"""What the quick commands load: nothing that is slow to start."""

import json
import os
import pkgutil
import signal
import subprocess
import sys
from pathlib import Path

from toy import Toy

import campaign.cli

HEAVY = {
    *("textual", "paramiko", "numpy", "scipy", "matplotlib", "sqlite_utils"),
    *("rich", "yaml", "asyncio", "polars"),
}
SESSIONS = {"httpx", "aiohttp", "httpx_aiohttp", "jsonschema", "distributed", "asyncio"}
OURS = {"playbooks", "campaign.engine", "campaign.report"}
LOADED = """
import json, sys
from campaign.cli.main import run
code = run(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""

EACH_FIRST = """
import importlib, os, sys
import rich, scipy.special, sqlite_utils, textual, yaml
for name in sys.argv[1:]:
    if os.fork() == 0:
        importlib.import_module(name)
        os._exit(0)
    if os.wait()[1]:
        sys.exit(f"{name} cannot be the first of ours that is loaded")
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
    assert not SESSIONS & loaded(tmp_path, "check")


def test_ctrl_c_while_it_loads_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os; os.kill(os.getpid(), 2)")
    told = subprocess.run(
        [sys.executable, "-m", "campaign.cli", "status"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        cwd=Path(__file__).parents[2],
        timeout=60,
        check=False,
    )
    assert (told.returncode, told.stdout, told.stderr) == (-signal.SIGINT, b"", b"")


def test_every_module_of_the_command_line_can_be_the_first_that_is_loaded() -> None:
    """Most tests run commands where all of them are loaded already."""
    names = [f"campaign.cli.{one.name}" for one in pkgutil.iter_modules(campaign.cli.__path__)]
    subprocess.run([sys.executable, "-c", EACH_FIRST, *names], check=True, timeout=120)


AT_THE_END = """
import atexit, threading
import campaign.cli.main as line

def run(_arguments):
    atexit.register(print, "what a library leaves to the end")
    threading.Timer(0.2, print, ["what a thread still does"]).start()
    print("what is not flushed")
    return 3

line.run = run
line.main([])
"""


def test_the_program_ends_with_its_code_and_with_all_that_is_left_to_do() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 3
    assert ended.stdout.splitlines() == [
        "what is not flushed",
        "what a thread still does",
        "what a library leaves to the end",
    ]
    assert not ended.stderr
