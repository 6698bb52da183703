"""The app: its modes, the ledger it follows, the run it started, and how it ends."""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import SystemCommand
from textual.binding import ActiveBinding, Binding, BindingType
from textual.screen import Screen

from campaign.errors import CampaignError, Exit
from campaign.operations import status as reading
from campaign.operations.status import Overview, Sums
from campaign.tui.dialogs.help import HelpDialog, told_bindings
from campaign.tui.dialogs.pick import PickDialog
from campaign.tui.dialogs.recover import RecoverDialog
from campaign.tui.dialogs.text import TextDialog
from campaign.tui.ending import Ending
from campaign.tui.follow import Follower, LedgerChanged
from campaign.tui.reading import Reading
from campaign.tui.screens.campaign import CampaignScreen
from campaign.tui.screens.history import HistoryScreen
from campaign.tui.screens.live import LiveScreen
from campaign.tui.screens.mode import AGAIN_S, ModeScreen
from campaign.tui.screens.outside import OutsideScreen
from campaign.tui.the_app import TheApp
from campaign.tui.themes import DARK, LIGHT, PLAIN
from campaign.tui.typed import Typed
from campaign.tui.widgets.dirty_bar import DirtyBar
from campaign.tui.widgets.kept_bar import kept_line
from campaign.tui.widgets.keys import EXPLAINS
from campaign.workspace import Workspace

# What a run takes is loaded once one is asked for: rows are drawn without it.
if TYPE_CHECKING:
    from campaign.operations.plan import Planned
    from campaign.tui.recovery import Recovery
    from playbooks.system import System


def _mode(key: str, mode: str, what: str) -> Binding:
    return Binding(key, f"switch_mode('{mode}')", mode.capitalize(), show=False, tooltip=what)


TURN_S = 0.0005
"""How long a thread may keep others from running, in seconds; Python's own is ten times that."""

_PACE_S = 0.5
"""How long what is told of the campaign as a whole stands at least."""

_REST = 9.0
"""How many times as long as sums over all runs took, these stand."""

_WORKSPACE_ONLY = frozenset({"switch_mode", "run"})

_AS_WANTED = frozenset({Exit.COMPLETED, Exit.INTERRUPTED, Exit.TERMINATED, Exit.HANGUP})
"""Ends of a run that need no attention."""

ENDS: dict[int, str] = {
    Exit.COMPLETED: "completed",
    Exit.UNMET: "completed, not as expected",
    Exit.USAGE: "not started: a file or the command is not valid",
    Exit.STEP_FAILED: "a step failed; everything was put back",
    Exit.UNREACHABLE: "a host is unreachable or refused us",
    Exit.DIRTY: "DIRTY: something could not be put back",
    Exit.REFUSED: "refused",
    Exit.FAULT: "a fault of campaign itself",
    Exit.INTERRUPTED: "stopped; everything was put back",
    Exit.TERMINATED: "stopped; everything was put back",
    Exit.HANGUP: "stopped; everything was put back",
}
"""What an exit code says."""


class CampaignApp(TheApp):
    """The terminal UI over the workspace that `folder` lies in; it returns the exit code."""

    TITLE = "campaign"
    CSS_PATH = "styles/app.tcss"
    MODES = {  # noqa: RUF012 - as the base class has it
        "campaign": CampaignScreen,
        "live": LiveScreen,
        "history": HistoryScreen,
        "outside": OutsideScreen,
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        _mode("1", "campaign", "What is believed, and why"),
        _mode("2", "live", "The run under way"),
        _mode("3", "history", "All runs"),
        Binding("question_mark", "explain", "Help", key_display="?", tooltip=EXPLAINS),
        # In fields a question mark is typed.
        Binding("f1", "explain", "Help", key_display="F1", tooltip=EXPLAINS),
        Binding("ctrl+p", "command_palette", "Actions", priority=True, tooltip="All actions"),
        Binding("r", "run", "Run", tooltip="Choose a playbook, see its plan, and run it"),
        Binding("R", "recover", "Recover", key_display="R", tooltip="Put back what a run left"),
        Binding(
            "K", "put_back_kept", "Put back", key_display="K", tooltip="Put back what a run keeps"
        ),
        Binding("y", "copy_command", "Copy", show=False, tooltip="Copy the last command"),
        Binding("ctrl+t", "toggle_theme", "Theme", show=False, tooltip="Dark or light"),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, tooltip="Back to the shell"),
        Binding("q", "quit", "Quit", tooltip="Leave; a run that was started here is asked about"),
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - as the base class has it
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as the base class has it
        (0, "-narrow"),
        (100, "-wide"),
        (160, "-very-wide"),
    ]

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._ending = Ending(self)
        self._typed = Typed()
        self._follower: Follower | None = None
        self._overview: Reading[Overview] = Reading(
            self, self._show, self._cannot_read, pace=_PACE_S, again=AGAIN_S
        )
        self._sums: Reading[tuple[Workspace, Sums]] = Reading(
            self, self._show_sums, self._cannot_read, rest=_REST
        )
        self._system: Reading[System] = Reading(self, self._know, self._not_valid)
        self._config_at = 0
        self._left: Reading[tuple[str, ...]] = Reading(self, self._list_left, self._cannot_list)
        self._offered: tuple[str, ...] = ()
        self._recovery: Reading[Recovery] = Reading(self, self._recovered)
        for theme in (DARK, LIGHT, PLAIN):
            self.register_theme(theme)
        self.theme = PLAIN.name if self.plain else os.environ.get("TEXTUAL_THEME", DARK.name)

    async def on_mount(self) -> None:
        # Threads that read hold the interpreter for so long before a key is looked at.
        sys.setswitchinterval(TURN_S)
        self.run_worker(self.keyboard.run(), group="keys")
        self._ending.handle_signals()
        # The terminal was the shell's meanwhile: nothing of what was drawn is left.
        self.app_resume_signal.subscribe(self, lambda _app: self.refresh(layout=True))
        try:
            self.open_workspace(Workspace.find(self.folder))
        except CampaignError:
            await self.switch_mode("outside")

    def open_workspace(self, workspace: Workspace) -> None:
        """Shows the campaign of `workspace`, and follows its ledger from now on."""
        if self._follower is not None:
            self._follower.stop()
        self.workspace, self._config_at = workspace, 0
        self.overview, self.system, self.problem = None, None, ""
        self._follower = Follower(workspace.ledger, self._tell_of_change)
        self.run_worker(self._follower.run, thread=True, group="follow")
        self.switch_mode("campaign")

    def on_resize(self, event: events.Resize) -> None:
        """Tells the screens below a dialog too, of which there may be more or less room now."""
        for screen in self.screen_stack[:-1]:
            screen.post_message(events.Resize(event.size, event.virtual_size))

    def _tell_of_change(self) -> None:
        """Called in the follower's thread."""
        self.post_message(LedgerChanged())

    def on_unmount(self) -> None:
        if self._follower is not None:
            self._follower.stop()

    def on_ledger_changed(self) -> None:
        self.read_again()

    def read_again(self, *, fills: bool = False) -> None:
        """Reads the overview again; each mode's screen reads its own when it is looked at."""
        workspace = self.workspace
        if workspace is not None:
            last = self.overview
            fills = fills or last is None
            self._overview.ask(lambda: reading.overview(workspace, last), fills=fills)
        for screen in self._mode_screens():
            screen.ledger_changed()

    def _read_system(self) -> None:
        """Reads campaign.yaml where it is not the one that is known; rows are drawn before that."""
        workspace = self.workspace
        if workspace is None:
            return
        try:
            changed_at = workspace.config.stat().st_mtime_ns
        except OSError:
            changed_at = 0
        if changed_at != self._config_at:
            self._config_at = changed_at
            self._system.ask(workspace.load_system)

    def _know(self, system: "System") -> None:
        self.system, self.invalid = system, False

    def _not_valid(self, _why: str) -> None:
        self.system, self.invalid = None, True

    def _mode_screens(self) -> Iterable[ModeScreen]:
        bottoms = (stack[0] for stack in self._screen_stacks.values() if stack)
        return [screen for screen in bottoms if isinstance(screen, ModeScreen)]

    def _show(self, overview: Overview) -> None:
        self.problem, self.overview = "", overview
        self.refresh_bindings()
        self._look_after(overview)
        self._read_system()
        workspace = self.workspace
        if overview.stale and workspace is not None:
            self._sums.ask(lambda: (workspace, reading.sums(workspace)))

    def _show_sums(self, found: tuple[Workspace, Sums]) -> None:
        workspace, sums = found
        if self.overview is not None and workspace == self.workspace:
            self.overview = reading.with_sums(self.overview, sums)

    def _look_after(self, overview: Overview) -> None:
        """Asks the hosts what is left of runs that are over; offers to recover, once for each."""
        from campaign.operations.outstanding import outstanding

        workspace, left = self.workspace, tuple(run.id for run in overview.left)
        if workspace is None or overview.running or left == self._offered:
            return
        self._offered = left
        self.outstanding = ()
        if left:
            self._left.ask(lambda: outstanding(workspace))

    def _list_left(self, lines: tuple[str, ...]) -> None:
        self.outstanding = lines
        if len(self.screen_stack) == 1:
            self.action_recover()

    def _cannot_list(self, why: str) -> None:
        self._list_left((why,))

    def action_recover(self) -> None:
        """Asks whether to put back what runs have left."""
        bar = self.screen_stack[0].query(DirtyBar)
        if bar and not self.recovering and not isinstance(self.screen, RecoverDialog):
            self.push_screen(RecoverDialog(bar.first().lines()))

    def action_put_back_kept(self) -> None:
        """Asks whether to put back what a run keeps; which, where several do."""
        kept = self.overview.kept if self.overview is not None else ()
        names = [kept_line(one) for one in kept]

        def ask(index: int | None) -> None:
            if index is not None:
                self.push_screen(RecoverDialog([names[index]], kept[index].run))

        if len(kept) > 1:
            self.push_screen(PickDialog("Kept by", [one.run for one in kept]), ask)
        elif kept:
            ask(0)

    def recover(self, run: str = "") -> None:
        from campaign.tui.recovery import recovery

        workspace = self.workspace
        if workspace is not None and not self.recovering:
            self.recovering = True
            self._recovery.ask(lambda: recovery(workspace, run))

    def _recovered(self, found: "Recovery") -> None:
        """Says what was put back; ends the app where it waits for that."""
        self.recovering, self.outstanding = False, found.remaining
        if not self._ending.recovery_ended(found.exit, found.text):
            self.push_screen(TextDialog("campaign recover", found.text, by_itself=True))

    def _cannot_read(self, why: str) -> None:
        """A workspace without a ledger has no problem: the first run or hypothesis makes it."""
        workspace = self.workspace
        if workspace is not None and not workspace.ledger.exists():
            gone = f"{workspace.ledger.name} is gone; what is shown is as it was before"
            why = gone if self.overview is not None else ""
        self.problem = why
        self._read_system()

    def show_run(self, run: str) -> None:
        """Opens the run of that id on the history screen."""
        self.opened_run = run
        self.switch_mode("history")

    def start_run(self, arguments: Sequence[str], planned: "Planned") -> None:
        """Starts `campaign ARGUMENTS` as a child process, and goes to the live screen.

        It is a run of what was `planned`, and refuses to be any other.
        """
        if self.workspace is None:
            return
        if self.runner.busy:
            self.tell(f"This is still running: {self.runner.command}")
            return
        try:
            self.runner.start(self.workspace, arguments, planned, self._tell_of_end)
        except OSError as error:
            self.tell(f"It could not be started: {error.strerror}")
            return
        self.read_again()
        self.switch_mode("live")

    def _tell_of_end(self, code: int) -> None:
        """Called in a thread of the runner's."""
        self.call_later(self._run_ended, code)

    def _run_ended(self, code: int) -> None:
        """Shows the last words of the run that was started here; ends the app where it waits."""
        words = f"killed by signal {-code}" if code < 0 else ENDS.get(code, f"ended with {code}")
        heading = f"{self.runner.command}: {words}"
        if self._ending.run_ended(code, f"{heading}\n{self.runner.last_words()}"):
            return
        self.read_again()
        if code in _AS_WANTED:
            self.notify(heading, title="", markup=False)
        else:
            self.push_screen(TextDialog(heading, self.runner.last_words(), by_itself=True))

    def action_run(self) -> None:
        """Asks what to run."""
        from campaign.tui.dialogs.run import RunDialog

        if self.runner.busy:
            self.tell(f"This is still running: {self.runner.command}")
        elif not isinstance(self.screen, RunDialog):
            self.push_screen(RunDialog(self._typed))

    async def action_quit(self) -> None:
        """Ends the app; asks first while something that was started here goes on."""
        self._ending.quit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What would do something now: modes are there once a workspace is open, and so on."""
        if action == "recover":
            left = self.overview.left if self.overview is not None else ()
            return bool(left) and not self.recovering
        if action == "put_back_kept":
            return bool(self.overview and self.overview.kept) and not self.recovering
        if action == "copy_command":
            return bool(self.command)
        if action == "toggle_theme":
            return not self.plain
        if action == "switch_mode" and parameters == (self.current_mode,):
            return False
        return not (action in _WORKSPACE_ONLY and self.workspace is None)

    def action_toggle_theme(self) -> None:
        """Changes between the dark and the light theme."""
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name

    def action_explain(self) -> None:
        """Explains the focused thing and its keys."""
        if not isinstance(self.screen, HelpDialog):
            self.push_screen(HelpDialog(self.screen))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action that has a key now, with its key."""
        for one in told_bindings(screen):
            key = self.get_key_display(one.binding)
            yield SystemCommand(one.binding.tooltip, key, partial(self._run_binding, one))

    def _run_binding(self, active: ActiveBinding) -> None:
        action = self.run_action(active.binding.action, default_namespace=active.node)
        self.run_worker(action)
