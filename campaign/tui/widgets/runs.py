"""The newest runs of a hypothesis."""

from collections.abc import Sequence

from campaign.cli.text import money, seconds, when
from campaign.operations.runs import Listed
from campaign.tui.colours import VERDICTS
from campaign.tui.figures import cut, rate_short
from campaign.tui.widgets.pane import Pane
from campaign.tui.widgets.table import Cell, Column, Row, Table

MOST = 50
"""As many runs are shown at most; History has all."""

GLYPHS = {
    "supported": "▲",
    "refuted": "✗",
    "inconclusive": "○",
    "invalid": "!",
    "retracted": "–",
    "running": "▸",
    "failed": "!",
    "aborted": "◌",
    "interrupted": "!",
    "no verdict": "·",
    "imported": "·",
}
"""What stands before a run, by its verdict or, where that does not count, by what became of it."""

_DIRTY = "!"

_COLUMNS = (
    Column(""),
    Column("run"),
    Column("verdict"),
    Column("fail/n", right=True),
    Column("rate 95%", right=True, need=3),
    Column("cost", right=True, need=2),
    Column("started", need=1),
)
_ID, _SUFFIX, _VERDICT = 24, 7, 22


class RunsPane(Pane):
    """Runs, the newest first. Enter opens one in History."""

    HELP = """
Runs: what was run for the hypothesis under the cursor, the newest first. Enter opens a run in
History, with its steps, changes, proof and outcomes.
"""

    def __init__(self) -> None:
        self.table = Table(id="runs-table")
        super().__init__("Runs", self.table, id="runs")

    @property
    def run(self) -> str | None:
        """The id of the run under the cursor."""
        return self.table.focused_key

    def show(self, name: str, runs: Sequence[Listed]) -> None:
        """Shows `runs`, which speak to `name`."""
        more = f"newest {MOST}" if len(runs) == MOST else str(len(runs))
        self.entitle(f"Runs: {name} ({more})")
        self.table.fill(_COLUMNS, [_row(one) for one in runs])
        self.say("" if runs else f"None yet. Playbooks with  hypothesis: {name}  speak to it.")


def _row(one: Listed) -> Row:
    run = one.run
    word, tint = outcome(one)
    return Row(
        run.id,
        (
            Cell(glyph_of(one), tint),
            Cell(short_id(run.id, _ID)),
            Cell(cut(word, _VERDICT), tint),
            Cell(str(one.counts) if one.counts.n else "-"),
            Cell(rate_short(one.counts) or "-"),
            Cell(money(one.costs.money, one.currency) if one.currency else _down(one)),
            Cell(when(run.started_at)[5:16]),
        ),
    )


def short_id(run: str, width: int) -> str:
    """An id in `width` columns with its random end, which tells it from others of its playbook."""
    return cut(run[:-_SUFFIX], width - _SUFFIX) + run[-_SUFFIX:]


def _down(one: Listed) -> str:
    return f"{seconds(one.costs.downtime_s)} down"


def glyph_of(one: Listed) -> str:
    """The glyph of what `outcome` says in a word."""
    word = outcome(one)[0].partition(",")[0]
    return _DIRTY if one.run.state == "dirty" else GLYPHS.get(word, " ")


def outcome(one: Listed) -> tuple[str, str]:
    """The verdict of a completed run, how it ended otherwise; and its colour."""
    if one.run.state == "dirty":
        return f"{one.run.status}, dirty", "error"
    if one.run.retracted:
        return "retracted", "quiet"
    if one.run.status != "completed":
        return one.run.status, "warning"
    if not one.verdicts:
        return ("imported" if one.terms.imported_by else "no verdict"), "quiet"
    last = one.verdicts[-1]
    word = f"{last.word}, {last.qualifier}" if last.qualifier else last.word
    return word, VERDICTS.get(last.word, "")
