"""The evidence on the focused hypothesis: rates, belief, what to run next, verdicts."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from campaign.cli.text import shown
from campaign.ledger.arms import ArmRate
from campaign.ledger.evidence import Judged
from campaign.operations.evidence import Evidence
from campaign.tui.colours import STANDINGS, VERDICTS, colour
from campaign.tui.figures import axis, bar, cut, rate_short, top_of
from campaign.tui.widgets.lines import Lines, aligned
from campaign.tui.widgets.pane import Pane
from hypotheses.observation import Counts

if TYPE_CHECKING:
    from campaign.operations.advise import Advice

_NAME, _BAR, _LEAST = 16, 40, 7
_HEADS = ("fail/n", "rate 95%")


class EvidencePane(Pane):
    """What speaks for a hypothesis and against it; scrolls."""

    HELP = """
Evidence: the trials of each playbook's arms beside the baseline, with the 95% interval of the rate
as a bar; how likely the hypothesis is part of the cause after all restarts; what to run next; and
the latest verdict of each playbook with its reasons. Percentages are of trials that count.
"""

    def __init__(self) -> None:
        self.scroll = Lines(id="evidence-scroll", beside=1)
        super().__init__("Evidence", self.scroll, id="evidence")
        self._evidence: Evidence | None = None
        self._advice: Advice | str = ""

    def show(self, evidence: Evidence) -> None:
        """Shows what the ledger has on a hypothesis."""
        if self._evidence and self._evidence.hypothesis != evidence.hypothesis:
            self.scroll.scroll_home(animate=False)
        self._evidence = evidence
        self.draw()

    def show_advice(self, advice: "Advice | str") -> None:
        """Shows what is believed and what could be next, or in one line why that is not known."""
        self._advice = advice
        self.draw()

    def draw(self) -> None:
        """Draws again, as after a change of the theme."""
        found = self._evidence
        if found is not None:
            self.entitle(f"Evidence: {found.hypothesis.slug if found.hypothesis else '(none)'}")
            self.scroll.show(lambda: self._parts(found))

    def _parts(self, found: Evidence) -> Iterator[RenderableType]:
        if found.hypothesis is None:
            yield Text("Runs that speak to no hypothesis, such as baselines.")
        else:
            yield self._claim(found)
        yield Text("")
        yield from self._rates(found)
        if found.hypothesis is not None:
            yield from self._belief(found.hypothesis.slug)
            yield from self._verdicts(found.judged)

    def _claim(self, found: Evidence) -> Text:
        one = found.hypothesis
        assert one is not None
        by = ", by the operator" if found.overruled else ""
        word = Text(f"{one.standing}{by}", colour(self.app, STANDINGS.get(one.standing, "")))
        return Text.assemble(word, "  ", shown(one.claim))

    def _rates(self, found: Evidence) -> Iterator[Text]:
        rows = [("baseline", found.baseline)] if found.baseline.n else []
        rows += [(_named(one), one.counts) for one in found.rates if found.hypothesis or not rows]
        if not rows:
            yield self._quiet("No trials yet: measure the baseline, then run what tests it.")
        else:
            yield from self._grid(rows)

    def _grid(self, rows: Sequence[tuple[str, Counts]]) -> Iterator[Text]:
        """Names, counts and rates, with bars where there is room for them."""
        top = top_of([counts for _, counts in rows])
        numbers = [(str(counts), rate_short(counts)) for _, counts in rows]
        fixed = sum(max(map(cell_len, texts)) + 2 for texts in zip(_HEADS, *numbers, strict=True))
        room = self.scroll.columns - fixed
        wide = max((cell_len(shown(name)) for name, _ in rows), default=0)
        bars = min(_BAR, room - min(wide, _NAME) - 2)
        if bars < _LEAST:
            bars = 0
        wide = min(wide, room - bars - 2)
        heads = map(self._quiet, ("", *_HEADS, axis(bars, top) if bars else ""))
        cells = [
            [*map(Text, (cut(shown(name), wide), *texts, bar(counts, bars, top) if bars else ""))]
            for (name, counts), texts in zip(rows, numbers, strict=True)
        ]
        return aligned([[*heads], *cells], "lrrl")

    def _belief(self, slug: str) -> Iterator[RenderableType]:
        from hypotheses.by_model import chance_text

        advice = self._advice
        yield Text("")
        if isinstance(advice, str):
            yield self._quiet(shown(advice) or "Weighing all restarts ...")
            return
        if slug in advice.parts:
            yield Text.assemble(
                (chance_text(advice.parts[slug]), "bold"),
                f" that it is part of the cause; none of the listed {chance_text(advice.none)}",
            )
        for note in advice.notes:
            yield self._quiet(shown(note))
        if advice.options:
            best = advice.options[0]
            does = f"removes {' and '.join(best.toggles)}" if best.toggles else best.purpose
            yield Text.assemble(
                self._quiet("next: "), f"campaign run {shown(best.name)}", self._quiet(f"  {does}")
            )

    def _verdicts(self, judged: Sequence[Judged]) -> Iterator[RenderableType]:
        for one in judged:
            tint = colour(self.app, VERDICTS.get(one.verdict.word, ""))
            yield Text("")
            yield Text.assemble(f"{shown(one.playbook)}: ", (str(one.verdict), tint))
            for reason in one.verdict.reasons:
                yield _item(Text(shown(reason)))
        if judged and judged[0].verdict.still_needed:
            yield Text("")
            yield Text.assemble(
                self._quiet("still needed: "), shown(judged[0].verdict.still_needed)
            )

    def _quiet(self, text: str) -> Text:
        return Text(text, colour(self.app, "quiet"))


def _named(one: ArmRate) -> str:
    """A playbook, with its arm where it has several."""
    return one.playbook if one.arm in ("", one.playbook) else f"{one.playbook} {one.arm}"


def _item(text: Text) -> RenderableType:
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column()
    grid.add_row("-", text)
    return Padding(grid, (0, 0, 0, 1))
