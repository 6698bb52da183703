"""The line above the live screen: which run, how it stands, and the command that started it."""

from rich.text import Text

from campaign.cli.text import shown
from campaign.ledger import records
from campaign.operations.live import Live
from campaign.tui.colours import VERDICTS, colour
from campaign.tui.widgets.written import Written

STATUSES = {
    "running": ("▸", "primary"),
    "completed": ("✓", "success"),
    "failed": ("✗", "error"),
    "aborted": ("◌", "warning"),
    "interrupted": ("!", "error"),
}
"""The glyph of a run's status, and its colour."""


class RunLine(Written):
    """One line on the run that is shown; what came of it, once it is over, in another."""

    def __init__(self) -> None:
        super().__init__(id="run-line")

    def show(self, live: Live, under_way: int) -> None:
        """Shows how an invocation stands, and how many are under way."""
        run = live.run
        glyph, tint = STATUSES[run.status]
        others = under_way - (run.status == "running")
        more = f"  {others} more running, v chooses" if others else ""
        state = "" if run.state == "clean" else ", dirty"
        line = Text.assemble(
            (f"{glyph} {_word(live)}{state}", f"bold {colour(self.app, tint)}".strip()),
            (f"  {shown(run.id)}", "bold"),
            (shown(f"  {run.command}"), colour(self.app, "quiet")),
            more,
        )
        if run.error:
            line.append(f"\n{shown(run.error)}", colour(self.app, tint))
        elif live.verdicts:
            line.append("\n").append_text(Text("; ").join(map(self._verdict, live.verdicts)))
        self.write(line)

    def _verdict(self, one: records.Verdict) -> Text:
        tint = colour(self.app, VERDICTS.get(one.word, ""))
        return Text(shown(verdict_text(one)), f"bold {tint}".strip())


def verdict_text(one: records.Verdict) -> str:
    """A verdict in a few words: "verdict on topk-v2: inconclusive"."""
    about = f" on {one.hypothesis}" if one.hypothesis else ""
    qualifier = f", {one.qualifier}" if one.qualifier else ""
    return f"verdict{about}: {one.word}{qualifier}"


def _word(live: Live) -> str:
    if live.run.status != "running":
        return live.run.status
    if live.putting_back:
        return "putting back"
    if any(one.kind == "abort" for one in live.requests):
        return "stopping"
    if live.pause is None:
        return "running"
    return "pausing after this cycle" if live.pause.began_at is None else "paused"
