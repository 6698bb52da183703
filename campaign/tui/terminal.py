"""The terminal as it may vanish: what is written to it then is lost, and nothing waits for it."""

import select
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from textual.drivers.linux_driver import LinuxDriver

_KEEP_TITLE, _TITLE_BACK, _TITLE = "\x1b[22;2t", "\x1b[23;2t", "\x1b]2;{}\x07"


class TerminalDriver(LinuxDriver):
    """A driver that outlives its terminal, so that the app can see to its run."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._file: Any = _Lossy(self._file)
        self._title = ""

    @property
    def is_gone(self) -> bool:
        """Whether there is no terminal any more, be there a signal that says so or not."""
        looks = select.poll()
        looks.register(self.fileno, 0)
        return bool(looks.poll(0))

    def entitle(self, title: str) -> None:
        """Gives the terminal a title; the one it had before comes back at the end."""
        if title != self._title:
            self._title = title
            self.write(_TITLE.format(title))

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.write(_KEEP_TITLE + (_TITLE.format(self._title) if self._title else ""))

    def stop_application_mode(self) -> None:
        self.write(_TITLE_BACK)
        super().stop_application_mode()

    def let_go(self) -> None:
        """Reads no more keys: a terminal that is gone would be read over and over."""
        self.exit_event.set()

    def _run_input_thread(self) -> None:
        with suppress(OSError):  # there is nobody any more who could press a key
            self.run_input_thread()


class _Lossy:
    """A file that takes all that is written to it, also when it is gone."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.fileno: Callable[[], int] = file.fileno

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()
