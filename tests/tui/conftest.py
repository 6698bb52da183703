import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

# The stories that ledgers are told in are those of the report.
sys.path.append(str(Path(__file__).parents[1] / "report"))

import report_demo
from report_builders import Story

from campaign.ledger import recorder as recorder_module
from campaign.ledger.recorder import Recorder
from campaign.operations import demo


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    """A story without an end: the demo's workspace, and a ledger with a whole campaign."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    workspace = demo.write(tmp_path / "told", fresh=False)
    workspace.ledger.unlink()
    with Recorder.open(workspace.ledger, create=True) as recorder:
        story = Story(recorder)
        with monkeypatch.context() as patched:
            patched.setattr(recorder_module, "time", SimpleNamespace(time=story.tick))
            report_demo.tell(story)
        yield story
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def folder(told: Story) -> Path:
    """The workspace of a whole campaign."""
    return told.recorder.path.parent
