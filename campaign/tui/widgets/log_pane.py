"""The frame around the followed output: which file, how far, and what is searched for."""

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from campaign.operations.live import Live, Output
from campaign.tui.widgets.log import LogView
from campaign.tui.widgets.pane import Pane

_NOTHING = "No output yet: what a reproducer prints appears here."


class LogPane(Pane):
    """The newest output of a run, or the one that was chosen."""

    def __init__(self) -> None:
        self.log_view = LogView(self._ask, id="log-view")
        self.search = Input(placeholder="search in the whole file", id="search", compact=True)
        super().__init__("Output", self.log_view, id="log")
        self.outputs: tuple[Output, ...] = ()
        self._chosen: Output | None = None
        self._whose = ""

    def compose(self) -> ComposeResult:
        yield self.search
        yield from super().compose()

    def on_mount(self) -> None:
        super().on_mount()
        self.search.display = False

    def show(self, live: Live) -> None:
        """Shows the outputs of an invocation as it stands now."""
        self.show_outputs(live.run.batch, live.outputs)

    def show_outputs(self, whose: str, outputs: tuple[Output, ...]) -> None:
        """Shows the newest of `outputs`, or the one chosen while those of `whose` were shown."""
        if whose != self._whose:
            self._whose, self._chosen = whose, None
        self.outputs = outputs
        if self._chosen not in self.outputs:
            self._chosen = None
        newest = next((one for one in reversed(self.outputs) if _is_output(one)), None)
        self._open(self._chosen or newest)

    def choose(self, output: Output) -> None:
        """Shows this output from now on."""
        self._chosen = output
        self._open(output)

    def _open(self, output: Output | None) -> None:
        self.log_view.open(output.path if output else None)
        self._title()

    @on(LogView.Moved)
    def _title(self) -> None:
        log = self.log_view
        self.say("" if log.window.size else _NOTHING)
        name = next((one.name for one in self.outputs if one.path == log.path), "output")
        how = "following" if log.following else "held; End follows"
        self.entitle(f"{name} ({_bytes(log.window.size)}) {log.said or how}")

    def _ask(self) -> None:
        self.search.display = True
        self.screen.set_focus(self.search)

    @on(Input.Submitted, "#search")
    def _search(self) -> None:
        self.close_search()
        self.log_view.search(self.search.value)

    def close_search(self) -> None:
        """Takes the search away; keys go to the output again."""
        self.screen.set_focus(self.log_view)
        self.search.display = False


def _is_output(one: Output) -> bool:
    return one.name.startswith("output.log")


def _bytes(size: int) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000  # type: ignore[assignment]
    return f"{size:.1f} GB"
