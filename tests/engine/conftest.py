"""A toy workspace for each test."""

from collections.abc import Iterator

import pytest
from engine_stage import Stage, staged


@pytest.fixture
def bare() -> Iterator[Stage]:
    """A toy workspace whose hypotheses are in the ledger; nothing runs yet."""
    with staged("engine-") as made:
        yield made


@pytest.fixture
def stage(bare: Stage) -> Stage:
    """The same with its service up."""
    bare.up()
    return bare
