"""What screens, dialogs and widgets know of the app, and may ask of it."""

import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.app import App
from textual.dom import DOMNode
from textual.events import Event
from textual.reactive import reactive

from campaign.cli.text import count, shown
from campaign.operations.status import Overview
from campaign.tui.figures import cut
from campaign.tui.keyboard import Given, Keyboard
from campaign.tui.runner import Runner
from campaign.tui.terminal import TerminalDriver
from campaign.workspace import Workspace

if TYPE_CHECKING:
    from campaign.operations.plan import Planned
    from playbooks.system import System


_READ_S, _READ_PER_S = 10.0, 12.0
"""How long what went wrong is told at least, in seconds; the characters that are read in one."""

_LONGEST = 160
"""Columns of a command that are shown in passing."""


class TheApp(App[int]):
    """The terminal UI over the workspace that `folder` lies in.

    `overview` is what the ledger said last, None before the first answer; `problem` is one
    line where it could not be read, and empty otherwise. `system` is campaign.yaml while that is
    valid, `invalid` says that it is not; `outstanding` is what the hosts have yet to put back after
    a run, `recovering` that they are at it; `opened_run` is the id of the run that history is to
    show, `command` that of what was done last.
    """

    overview: reactive[Overview | None] = reactive(None)
    problem: reactive[str] = reactive("")
    invalid: reactive[bool] = reactive(False)
    system: reactive["System | None"] = reactive(None)
    outstanding: reactive[tuple[str, ...]] = reactive(())
    recovering: reactive[bool] = reactive(False, bindings=True)
    opened_run: reactive[str] = reactive("")

    def __init__(self, folder: Path) -> None:
        super().__init__(driver_class=TerminalDriver, ansi_color=True if self.plain else None)
        self.folder = folder
        self.workspace: Workspace | None = None
        self.runner = Runner()
        self.keyboard = Keyboard(self, self._deliver)
        self.command = ""

    async def on_event(self, event: Event) -> None:
        """What is typed takes its turn (see `Keyboard`)."""
        if isinstance(event, Given) and not event.is_forwarded:
            self.keyboard.take(event)
        else:
            await super().on_event(event)

    async def _deliver(self, given: Given) -> None:
        await super().on_event(given)

    @property
    def plain(self) -> bool:
        """Whether no colours are wanted."""
        return "NO_COLOR" in os.environ

    @abstractmethod
    def open_workspace(self, workspace: Workspace) -> None:
        """Shows the campaign of `workspace`, and follows its ledger from now on."""

    @abstractmethod
    def read_again(self, *, fills: bool = False) -> None:
        """Has all that is shown read again; for `fills` see `Reading`."""

    @abstractmethod
    def show_run(self, run: str) -> None:
        """Opens the run of that id on the history screen."""

    @abstractmethod
    def start_run(self, arguments: Sequence[str], planned: "Planned") -> None:
        """Starts `campaign ARGUMENTS` as a child process, and goes to the live screen.

        It is a run of what was `planned`, and refuses to be any other.
        """

    @abstractmethod
    def recover(self, run: str = "") -> None:
        """Puts back what runs have left, and what `run` keeps; says how that ended.

        See `recovering`.
        """

    def tell(self, why: str) -> None:
        """Shows one line about something that went wrong; once, while it is in sight."""
        if all(one.message != why for one in self._notifications):
            lasting = max(_READ_S, len(why) / _READ_PER_S)
            self.notify(why, title="", severity="error", timeout=lasting, markup=False)

    def entitle(self, name: str, state: str) -> None:
        """Tells the terminal's title, which is seen while another window is looked at."""
        if isinstance(self._driver, TerminalDriver):
            self._driver.entitle(f"campaign {shown(name)} {state}".rstrip())

    def copy(self, text: str) -> None:
        """Puts a text on the terminal's clipboard, and says so with its start."""
        self.copy_to_clipboard(text)
        first, *more = text.strip().splitlines() or [""]
        told = f"copied: {cut(shown(first), _LONGEST)}"
        self.notify(f"{told} and {count(len(more), 'more line')}" if more else told, markup=False)

    def did(self, command: str) -> None:
        """Shows the command of what was just done, or its start; `copy_command` copies it."""
        self.command = command
        self.notify(cut(command, _LONGEST), title="", markup=False)

    def action_copy_command(self) -> None:
        """Copies the command of what was done last."""
        self.copy(self.command)


def app_of(node: DOMNode) -> TheApp:
    """The app that `node` is part of."""
    return cast(TheApp, node.app)
