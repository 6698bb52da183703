"""The exit code as the result: `git bisect run`'s contract, with two deliberate differences.

0 clean, 1-123 failing, 124 a timeout (censored), 125 no result, 126 and 127 an error: a command
that cannot be run is not a failure of the system under test.
"""

from collections.abc import Sequence

from hypotheses.observation import Result, Trial
from playbooks.parsers.lines import Line
from playbooks.parsers.parser import ExitInfo, Format, NoResult, Parsed, ParseError, signal_name

OPTIONS: frozenset[str] = frozenset()


class ExitFormat(Format):
    """One trial an execution; none where it was ended before it had a result."""

    expected = "an exit code"
    reads_exit = True

    def line(self, line: Line) -> Sequence[Trial]:  # noqa: ARG002 - what it prints says nothing
        return ()

    def end(self, exit: ExitInfo) -> Parsed:
        return Parsed() if exit.cut_short else Parsed((trial(exit),))


def trial(exit: ExitInfo) -> Trial:
    """What an execution that ended by itself was.

    Raises NoResult for exit 125 and ParseError for all that is no result by accident.
    """
    if exit.signal is not None or exit.code is None:
        raise ParseError(f"{exit}: the reproducer itself failed; expected an exit code of 0-125")
    if exit.code == 0:
        return Trial("clean", Result.PASS)
    if exit.code <= 123:
        return Trial(f"exit {exit.code}", Result.FAIL)
    if exit.code == 124:
        return Trial("timeout", Result.CENSORED)
    if exit.code == 125:
        raise NoResult("exit 125: the reproducer says that it has no result; nothing is counted")
    raise ParseError(f"exit {exit.code}: {_fault(exit.code)}; expected an exit code of 0-125")


def _fault(code: int) -> str:
    if code == 126:
        return "the command cannot be executed; check its mode"
    if code == 127:
        return "the command was not found; check its name and PATH"
    name = signal_name(code - 128)
    if name.startswith("SIG"):
        return f"the reproducer's command was killed by {name}"
    return "that is no code of the contract"
