"""How the app ends: what was started from it is seen to its end first."""

import asyncio
import signal

from msgspec import Struct
from rich.text import Text

from campaign.errors import Exit
from campaign.tui.dialogs.quit import QuitDialog
from campaign.tui.terminal import TerminalDriver
from campaign.tui.the_app import TheApp

_LOOK_S = 1.0
_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)


class Ending(Struct):
    """Ends `app`, at once or when its run or its recovery has ended.

    Where that is waited for, `waiting`, the exit code is the run's; that of a recovery is DIRTY
    where something could not be put back, and says else what asked for the end. The terminal keeps
    what was put back.
    """

    app: TheApp
    waiting: bool = False
    _asked: int = 0
    _hung_up: bool = False

    def handle_signals(self) -> None:
        """A terminal that vanishes, or a request to end, sees what was started here to its end."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._signalled, number)
        self.app.set_interval(_LOOK_S, self._look)

    def _look(self) -> None:
        """A terminal that does not control the session vanishes without a signal."""
        if not self._hung_up and not self._has_terminal:
            self._signalled(signal.SIGHUP)

    def quit(self) -> None:
        """Ends the app; asks first while something goes on."""
        app = self.app
        if self.waiting:
            app.notify("Everything is being put back; this ends when that is done.", markup=False)
        elif app.runner.busy:
            app.push_screen(QuitDialog.of_run(app.runner.command), self._run_chosen)
        elif app.recovering:
            app.push_screen(QuitDialog.of_recovery(), self._recovery_chosen)
        else:
            app.exit(0)

    def run_ended(self, code: int, told: str) -> bool:
        """Whether the end of a run, with exit code `code`, is the app's: it leaves `told` then."""
        return self._ended(code, told)

    def recovery_ended(self, code: Exit, told: str) -> bool:
        """Whether the end of a recovery, with exit code `code`, is the app's; `told` as above."""
        return self._ended(self._asked if self._asked and code is not Exit.DIRTY else code, told)

    def _ended(self, code: int, told: str) -> bool:
        if self.waiting:
            self.app.exit(code, message=Text(told) if self._has_terminal else None)
        return self.waiting

    @property
    def _has_terminal(self) -> bool:
        driver = self.app._driver
        return not (self._hung_up or (isinstance(driver, TerminalDriver) and driver.is_gone))

    def _run_chosen(self, end: bool | None) -> None:
        if end and self.app.runner.busy:
            self._end_run(signal.SIGINT)
            self.app.switch_mode("live")
            self._say()
        elif end:
            self.app.exit(0)

    def _recovery_chosen(self, end: bool | None) -> None:
        if end and self.app.recovering:
            self.waiting = True
            self._say()
        elif end:
            self.app.exit(0)

    def _say(self) -> None:
        told = "Everything is put back first; this ends when that is done."
        self.app.notify(told, markup=False)

    def _end_run(self, number: signal.Signals) -> None:
        self.waiting = True
        self.app.runner.ask_to_stop(number)

    def _signalled(self, number: signal.Signals) -> None:
        driver = self.app._driver
        if number is signal.SIGHUP and isinstance(driver, TerminalDriver):
            self._hung_up = True
            driver.let_go()
        if self.app.runner.busy:
            self._end_run(number)
        elif self.app.recovering:
            self.waiting, self._asked = True, 128 + number
        else:
            self.app.exit(128 + number)
