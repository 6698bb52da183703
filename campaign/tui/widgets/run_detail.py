"""All of a run: what came of it, what it did, what it changed, and the proof of that."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from campaign.cli.text import count, seconds, shown, spent, when
from campaign.ledger import records
from campaign.ledger.keeping import how_back, kept_edits
from campaign.ledger.naming import boot_name
from campaign.ledger.query import mapping
from campaign.operations.runs import Shown
from campaign.tui.colours import VERDICTS, colour
from campaign.tui.figures import bar, cut, rate_short, top_of
from campaign.tui.widgets.lines import Lines, aligned
from campaign.tui.widgets.pane import Pane
from campaign.tui.widgets.runs import outcome
from hypotheses.observation import Counts

MOST_KEYS = 50
"""As many keys of a comparison are shown; `campaign runs show` has all."""

_ALONE = records.ComparisonContext("", "", "", None, "", "", None, "", "")
_BAR, _NAME, _BESIDE, _ENOUGH = 24, 20, 46, 54
_ADDED, _REMOVED = "success", "error"


class RunDetailPane(Pane):
    """What is known of the run under the cursor; scrolls."""

    HELP = """
The run under the cursor, whole: its verdict with the reasons, the outcomes of each arm, its steps,
the changes of files as diffs, each restart cycle in its parts, the proof that the processes ran
what was meant, and the logs that were compared, with both lines of each key that did not match.
The command in the frame prints the same.
"""

    def __init__(self) -> None:
        self.scroll = Lines(id="detail-scroll", beside=1)
        super().__init__("Run", self.scroll, id="detail")
        self._run: Shown | None = None

    @property
    def run(self) -> Shown | None:
        """The run that is shown."""
        return self._run

    def show(self, run: Shown) -> None:
        """Shows a run; from its top on where it is another one."""
        if self._run is None or self._run.listed.run.id != run.listed.run.id:
            self.scroll.scroll_home(animate=False)
        self._run = run
        self.draw()

    def draw(self) -> None:
        """Draws again, as after a change of the theme."""
        one = self._run
        if one is not None:
            run = one.listed.run
            self.entitle(f"Run: {run.id}")
            self.border_subtitle = Text(shown(f"campaign runs show {run.id}"))
            self.scroll.show(lambda: self._parts(one))

    def _parts(self, one: Shown) -> Iterator[RenderableType]:
        parts = (
            ("", self._head(one)),
            ("verdict", self._verdicts(one)),
            ("outcomes", self._outcomes(one)),
            ("compared logs", self._comparisons(one)),
            ("steps", self._steps(one)),
            ("changes", self._changes(one)),
            ("restart cycles", self._cycles(one)),
            ("proof", self._proof(one)),
            ("kept", self._kept(one)),
        )
        for name, lines in parts:
            found = list(lines)
            if found and name:
                yield Text("")
                yield Text(name, f"bold {colour(self.app, 'primary')}".strip())
            yield from found

    def _head(self, one: Shown) -> Iterator[RenderableType]:
        run = one.listed.run
        word, tint = outcome(one.listed)
        yield Text.assemble((word, self._tint(tint)), f"  {run.status}, {run.state}  ({run.kind})")
        yield Text(shown(run.question))
        took = "" if run.ended_at is None else f", took {seconds(run.ended_at - run.started_at)}"
        yield self._quiet(f"{when(run.started_at)}{took}")
        yield self._quiet(run.command)
        for name, text in (("error", run.error), ("retracted", run.retracted)):
            if text:
                yield Text.assemble((f"{name}: ", self._tint("error")), shown(text))
        named = ", ".join(one.listed.hypotheses)
        if named:
            yield self._quiet(f"speaks to {named}")

    def _verdicts(self, one: Shown) -> Iterator[RenderableType]:
        for verdict in one.listed.verdicts:
            about = f"{verdict.hypothesis}: " if verdict.hypothesis else ""
            word = f"{verdict.word}, {verdict.qualifier}" if verdict.qualifier else verdict.word
            yield Text.assemble(shown(about), (word, self._tint(VERDICTS.get(verdict.word, ""))))
            yield from (_item(shown(reason)) for reason in verdict.reasons.splitlines())
            if verdict.still_needed:
                yield _item(f"still needed: {shown(verdict.still_needed)}")

    def _outcomes(self, one: Shown) -> Iterator[RenderableType]:
        rows = [(seen, one.counts.get(seen.id, Counts())) for seen in one.observations]
        if rows:
            yield from self._counts(rows)
        for seen, counts in rows:
            if counts.censored:
                yield _item(f"{shown(seen.arm)}: {count(counts.censored, 'trial')} cut short")
            if seen.invalid:
                yield _item(f"{shown(seen.arm)} does not count: {shown(seen.invalid)}")
            if seen.stop_reason:
                yield _item(f"{shown(seen.arm)}: stop {shown(seen.stop_reason)}".lstrip(": "))

    def _counts(self, rows: Sequence[tuple[records.Observation, Counts]]) -> Iterator[Text]:
        top, width = top_of([counts for _, counts in rows]), self.scroll.columns
        bars = min(_BAR, width - _BESIDE) if width > _ENOUGH else 0
        cells = [
            (
                cut(shown(seen.arm or seen.reproducer), _NAME),
                str(counts),
                rate_short(counts),
                bar(counts, bars, top) if bars else "",
            )
            for seen, counts in rows
        ]
        return aligned([[*map(Text, row)] for row in cells], "lrrl")

    def _comparisons(self, one: Shown) -> Iterator[RenderableType]:
        for found in one.comparisons:
            named = boot_name(one.boots, found.boot)
            told = f"{shown(named)}: " if named else ""
            yield Text(
                f"{told}{found.matched} match, {found.mismatched} mismatch,"
                f" {found.left_only} left only,"
                f" {found.right_only} right only, {found.duplicate} duplicate, {found.lost} lost;"
                f" {found.coverage:.1%} covered"
            )
            yield _item(
                f"mismatch in {found.fail_mismatch} of {found.fail_mismatch + found.fail_match}"
                f" failing and {found.pass_mismatch} of {found.pass_mismatch + found.pass_match}"
                " passing trials"
            )
            yield from self._keys(one.keys[found.id], one.contexts[found.id])

    def _keys(
        self,
        keys: Sequence[records.ComparisonKey],
        contexts: Mapping[str, records.ComparisonContext],
    ) -> Iterator[RenderableType]:
        for key in keys[:MOST_KEYS]:
            around = contexts.get(key.key, _ALONE)
            differs = ", ".join(around.differs.splitlines())
            named = f"{key.key} ({differs})" if differs else key.key
            yield Text.assemble((f"{key.state} ", self._tint("warning")), shown(named))
            yield from self._line("<", key.left_line, around.left_before, around.left_after)
            yield from self._line(">", key.right_line, around.right_before, around.right_after)
        if len(keys) > MOST_KEYS:
            yield self._quiet(f"and {len(keys) - MOST_KEYS} more: campaign runs show prints all")

    def _line(self, side: str, line: str, before: str, after: str) -> Iterator[RenderableType]:
        """A line of one side among those around it; nothing where that side has none."""
        if line:
            yield from (self._quiet(f"    {shown(one)}") for one in before.splitlines())
            yield Text.assemble((f"  {side} ", self._tint("quiet")), shown(line))
            yield from (self._quiet(f"    {shown(one)}") for one in after.splitlines())

    def _steps(self, one: Shown) -> Iterator[RenderableType]:
        for step in one.steps:
            took = "-" if step.ended_at is None else seconds(step.ended_at - step.started_at)
            place = (f"{step.position:>2} ", self._tint("quiet"))
            yield Text.assemble(place, shown(f"{step.name}  {step.status}, {took}"))
            about = "; ".join(text for text in (step.detail, step.undo) if text)
            if about:
                yield Padding(self._quiet(about), (0, 0, 0, 3))

    def _changes(self, one: Shown) -> Iterator[RenderableType]:
        kept = kept_edits(one.edits, one.steps)

        def change(edit: records.Edit) -> tuple[str, str, str, str]:
            return edit.host, edit.path, edit.diff, how_back(edit, kept, one.steps)

        for (host, path, diff, back), _ in groupby(sorted(one.edits, key=change), change):
            tint = "error" if back == "NOT put back" else "quiet"
            yield Text.assemble(f"{shown(host)}:{shown(path)}  ", (back, self._tint(tint)))
            yield from (self._diff_line(line) for line in diff.splitlines())

    def _diff_line(self, line: str) -> Text:
        tint = {"+": _ADDED, "-": _REMOVED, "@": "primary"}.get(line[:1], "")
        return Text(f"  {shown(line)}", self._tint(tint))

    def _cycles(self, one: Shown) -> Iterator[RenderableType]:
        lost = {capacity.cycle: capacity.lost_s for capacity in one.capacities}
        for cycle in one.cycles:
            less = f" {seconds(lost[cycle.id])} of capacity lost," if lost.get(cycle.id) else ""
            yield Text(
                f"{shown(cycle.services)}: {seconds(cycle.downtime_s)} down,{less} {cycle.outcome}"
            )
            killed = f"; killed {cycle.killed}" if cycle.killed else ""
            parts = (
                f"drain {seconds(cycle.drain_s)}, down {seconds(cycle.down_s)},"
                f" warm-up {seconds(cycle.warmup_s)}{killed}"
            )
            yield Padding(self._quiet(parts), (0, 0, 0, 3))
        if one.cycles:
            costs, currency = one.listed.costs, one.listed.currency
            yield self._quiet(f"in all {spent(costs, currency)}")

    def _proof(self, one: Shown) -> Iterator[RenderableType]:
        for boot in one.boots:
            if boot.effect:
                yield Text(shown(f"{boot.arm or 'boot'}: {boot.effect}"))
                yield from (_item(shown(reason)) for reason in boot.effect_reasons.splitlines())
        for state in one.states:
            yield Text(shown(f"{state.service} at the {state.moment}: pid {state.pid},"
                             f" {state.effect}"))  # fmt: skip
            yield from (_item(shown(line)) for line in _hashes(state.proof))

    def _kept(self, one: Shown) -> Iterator[RenderableType]:
        for kept in one.artifacts:
            yield Text(shown(f"{kept.name}  {count(kept.bytes, 'byte')}  {kept.path}"))

    def _tint(self, meaning: str) -> str:
        return colour(self.app, meaning)

    def _quiet(self, text: str) -> Text:
        return Text(shown(text), self._tint("quiet"))


def _hashes(proof: str) -> Iterator[str]:
    """The files that a service had, with the start of their hashes."""
    files = mapping(proof).get("files", {})
    if isinstance(files, dict):
        yield from (f"{path} {str(digest)[:12]}" for path, digest in files.items())


def _item(text: str) -> RenderableType:
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column()
    grid.add_row("-", Text(text))
    return grid
