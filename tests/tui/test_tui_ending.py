"""However the terminal UI ends while its run goes on: everything is put back, and it says so."""

import os
import re
import signal
from collections.abc import Callable, Iterator

import pytest
from toy import Toy
from tui_console import LONG, Console, await_that

FOCUSED = r"\x1b\[1;7;[\d;]*m Abort, put back, quit"
"""The button with the focus: it is drawn again and again, and reversed once it has it."""

SCREEN_BACK = "\x1b[?1049l"
"""The terminal shows again what it showed before."""

Tree = dict[str, tuple[str, int, int]]


@pytest.fixture
def before(toy: Toy) -> Tree:
    """What a workspace was like before anything ran in it, with its service up."""
    toy.playbook("long", LONG)
    for words in (
        ("hypothesis", "import", str(toy.root / "hypotheses.yaml")),
        ("services", "start"),
    ):
        assert toy.run(*words).returncode == 0
    return toy.tree()


@pytest.fixture
def running(toy: Toy, before: Tree) -> Iterator[Console]:
    """A console whose run drives its trials, once its workspace is as it was `before`."""
    assert before
    with Console(toy) as console:
        console.run_long()
        yield console


def check_put_back(toy: Toy, console: Console, before: Tree) -> None:
    """The run was aborted, everything is as it was, and nothing is left to recover."""
    await_that(
        lambda: console.rows("SELECT status, state FROM run") == [("aborted", "clean")],
        lambda: f"{console.rows('SELECT status, state, error FROM run')}",
    )
    assert toy.tree() == before
    assert "Nothing to recover." in toy.run("recover").stdout


ENDS: dict[str, tuple[Callable[[Console], object], int]] = {
    "the terminal vanishes": (lambda console: console.hang_up(), 129),
    "it is asked to end": (lambda console: os.kill(console.pid, signal.SIGTERM), 143),
    "it is killed": (lambda console: os.kill(console.pid, signal.SIGKILL), -9),
}


@pytest.mark.parametrize("how", ENDS)
def test_its_run_is_put_back(toy: Toy, before: Tree, running: Console, how: str) -> None:
    end, code = ENDS[how]
    end(running)
    assert running.end() == code
    check_put_back(toy, running, before)


def test_a_terminal_that_vanishes_without_a_signal(toy: Toy, before: Tree) -> None:
    assert before
    with Console(toy, controlling=False) as console:
        console.shows("rule")
        console.hang_up()
        assert console.end() == 129


def test_quitting_asks_and_leaves_behind_how_all_was_put_back(
    toy: Toy, before: Tree, running: Console
) -> None:
    running.type("q")
    running.shows("Abort, put back, quit")
    running.type("\x1b")
    running.shows("Hold or follow")
    running.type("q")
    running.shows("Abort, put back, quit")
    running.type("\t")
    await_that(lambda: re.search(FOCUSED, running.anew), lambda: running.anew[-3000:])
    running.type("\r")
    assert running.end() == 130
    left = running.text.rpartition(SCREEN_BACK)[2]
    assert "campaign run long --yes: stopped; everything was put back" in left
    assert "undo: correct the rule  ok" in left
    check_put_back(toy, running, before)
