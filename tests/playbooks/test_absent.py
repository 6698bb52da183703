"""Libraries that are left out of an import: only there, and only for the thread that asked."""

import json
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path

import pytest

from playbooks.absent import without

LOADS = """
import sys, playbooks.hosts.ssh
from pathlib import Path
from campaign.ledger.recorder import Recorder
with Recorder.open(Path(sys.argv[1]), create=True):
    print(*sorted({"invoke", "numpy", "pandas", "paramiko", "sqlite_utils"} & sys.modules.keys()))
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that nobody has imported yet."""
    name = "library_to_be_left_out"
    (tmp_path / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_a_module_is_left_out_inside_and_for_this_thread_alone(library: str) -> None:
    other = threading.Thread(target=import_module, args=(library,))
    with without(library):
        with pytest.raises(ModuleNotFoundError, match=library):
            import_module(library)
        other.start()
        other.join()
        assert library in sys.modules
    del sys.modules[library]
    assert import_module(library)


def test_what_is_loaded_already_stays() -> None:
    with without("json"):
        assert import_module("json") is json


def test_a_run_loads_no_library_that_it_has_no_use_for(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOADS, str(tmp_path / "campaign.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["paramiko", "sqlite_utils"]
