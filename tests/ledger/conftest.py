from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign.db"


@pytest.fixture
def recorder(path: Path) -> Iterator[Recorder]:
    with Recorder.open(path, create=True) as opened:
        yield opened


@pytest.fixture
def ledger(recorder: Recorder) -> Iterator[Ledger]:
    with Ledger.open(recorder.path) as opened:
        yield opened
