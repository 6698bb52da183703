"""What the parser tests share: an output through a parser, whole or in pieces."""

from collections.abc import Callable, Iterable

import pytest

from hypotheses.observation import Trial
from playbooks.parsers import ExitInfo, make
from playbooks.system import ParseSpec

Read = Callable[..., tuple[list[Trial], tuple[str, ...]]]


def read_all(
    spec: ParseSpec,
    chunks: Iterable[bytes],
    exit: ExitInfo = ExitInfo(0),  # noqa: B008 - frozen
    planned: int | None = None,
) -> tuple[list[Trial], tuple[str, ...]]:
    """All trials of the output, and the warnings."""
    parser = make(spec)
    trials: list[Trial] = []
    for chunk in chunks:
        trials += parser.feed(chunk)
    parsed = parser.finish(exit, planned)
    return [*trials, *parsed.trials], parsed.warnings


@pytest.fixture(scope="session")
def read() -> Read:
    def whole(
        spec: ParseSpec,
        output: bytes | str | Iterable[bytes],
        exit: ExitInfo = ExitInfo(0),  # noqa: B008 - frozen
        planned: int | None = None,
    ) -> tuple[list[Trial], tuple[str, ...]]:
        data = output.encode() if isinstance(output, str) else output
        return read_all(spec, [data] if isinstance(data, bytes) else data, exit, planned)

    return whole
