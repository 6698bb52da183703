"""The toy workspace for every test that runs the whole program."""

import os
import signal
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

# How long an example takes says more of the machine's other work than of the code.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")

# The matrices here are small, and the tests share the cores already.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Hundreds of Pythons start here, and all of them would compile everything anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell has what it starts in the background ignore Ctrl-C, and all that is started from there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The root too: folders of tests that are named as our packages would otherwise pass for them.
_TESTS = Path(__file__).parent
sys.path += [str(_TESTS), str(_TESTS.parent)]

import toy as toys  # noqa: E402
from toy_stop import stop_services  # noqa: E402


def pytest_xdist_auto_num_workers() -> int:
    """More than twice the cores: for most of their time most tests wait for real services."""
    return 2 * (os.cpu_count() or 1) + 2


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """The tests of a file on one worker, in the order they are in, since they may share a place."""
    config.option.loadscopereorder = False
    return ByFile(config, log)


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out files, but for the long ones whose tests are independent of each other."""

    APART = ("test_hosts_faults.py", "test_engine_crash.py", "test_agent_crash.py")
    TOGETHER: ClassVar = {
        "test_hosts_pd.py": "the journal of beta",
        "test_systemd_journal.py": "the journal of beta",
        "test_tui_sitting.py": "the demo",
        "test_demo_campaign.py": "the demo",
    }

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        name = path.rpartition("/")[2]
        return nodeid if name in self.APART else self.TOGETHER.get(name, path)


SHORT = ("hypotheses", "ledger", "parsers", "playbooks")
"""Folders whose files are all through in a moment."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first, and the short ones last: none is left to run alone at the end.

    In between the folders take turns: tests that wait leave the cores to those that compute.
    """
    turns = {}
    for _, files in groupby(dict.fromkeys(item.path for item in items), lambda path: path.parent):
        some = list(files)
        turns.update({path: number / len(some) for number, path in enumerate(some)})
    items.sort(
        key=lambda item: (
            item.get_closest_marker("slow") is None,
            item.path.parent.name in SHORT,
            turns[item.path],
        )
    )


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[toys.Toy]:
    """A workspace of its own, whose services are stopped at the end whatever the test did."""
    made = toys.make(tmp_path / "toy")
    try:
        yield made
    finally:
        stop_services(made)
