from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from report_builders import Story

from campaign.ledger import recorder as recorder_module
from campaign.ledger.recorder import Recorder


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    """A new ledger in which every time is the story's own."""
    with Recorder.open(tmp_path / "campaign.db", create=True) as recorder:
        told = Story(recorder)
        monkeypatch.setattr(recorder_module, "time", SimpleNamespace(time=told.tick))
        yield told
