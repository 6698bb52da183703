"""Outcomes as they stream: counts with their interval beside the baseline, belief, verdict."""

from collections.abc import Iterator

from rich.text import Text

from campaign.cli.text import count, shown
from campaign.ledger import records
from campaign.operations.live import Belief, Live, Reproduction
from campaign.tui.colours import VERDICTS, colour
from campaign.tui.figures import axis, bar, cut, rate_short, top_of
from campaign.tui.widgets.lines import Lines, aligned
from campaign.tui.widgets.pane import Pane
from campaign.tui.widgets.run_line import verdict_text
from hypotheses.observation import Counts

TRIALS = {"fail": ("✗", "error"), "pass": ("·", "quiet"), "censored": ("?", "warning")}
"""The glyph of a trial's result, and its colour."""

_NAME, _LEAST, _BAR, _STREAM = 24, 8, 40, 2


class OutcomesPane(Pane):
    """The trials of the run so far, and what they say."""

    HELP = """
Outcomes: the trials that have come in, each a glyph (✗ failed, · passed, ? cut short), the rate
with its 95% interval as a bar beside the baseline's, and the difference; where they ran under other
conditions than the baseline did, these are named instead. Below: the rule that ends the
reproduction, how likely the hypothesis is part of the cause with these trials counted, and the
verdict once the run has been judged.
"""

    def __init__(self) -> None:
        self.scroll = Lines(id="outcomes-scroll")
        super().__init__("Outcomes", self.scroll, id="outcomes")
        self._live: Live | None = None
        self._belief: Belief | str = ""

    def show(self, live: Live) -> None:
        """Shows an invocation as it stands now."""
        self._live = live
        self.draw()

    def show_belief(self, belief: Belief | str) -> None:
        """Shows how likely each hypothesis is part of the cause, or why that is not known."""
        if belief != self._belief:
            self._belief = belief
            self.draw()

    def draw(self) -> None:
        """Draws again."""
        live = self._live
        if live is None:
            return
        total = sum((one.counts for one in live.reproductions), Counts())
        self.entitle(f"Outcomes ({total.n + total.censored:,})")
        self.scroll.show(lambda: self._parts(live))

    def _parts(self, live: Live) -> Iterator[Text]:
        if not live.reproductions:
            yield self._quiet("No trials yet: they appear once a reproducer prints them.")
        else:
            yield from self._rates(live)
            yield from self._newest(live)
        yield from self._beliefs(live)
        for verdict in live.verdicts:
            yield from self._verdict(verdict)

    def _rates(self, live: Live) -> Iterator[Text]:
        pool = "all baselines" if _is_baseline(live) else "baseline"
        rows = [(pool, live.baseline)] if live.baseline.n else []
        rows += [(one.record.arm, one.counts) for one in live.reproductions]
        top = top_of([counts for _, counts in rows])
        names = [cut(shown(name), _NAME) for name, _ in rows]
        rates = [rate_short(counts) for _, counts in rows]
        room = self._width - max(map(len, names)) - max(map(len, rates)) - 8 - 6
        wide = max(_LEAST, min(_BAR, room))
        heads = map(self._quiet, ("", "fail/n", "rate 95%", axis(wide, top)))
        cells = [
            [Text(name), Text(str(counts)), Text(rate), Text(bar(counts, wide, top))]
            for name, rate, (_, counts) in zip(names, rates, rows, strict=True)
        ]
        return aligned([[*heads], *cells], "lrrl")

    def _newest(self, live: Live) -> Iterator[Text]:
        """A baseline is not held against all of them: it is among these once it has ended."""
        from hypotheses.rates import difference_text

        one, baseline, is_baseline = live.reproductions[-1], live.baseline, _is_baseline(live)
        if baseline.n and one.unlike:
            tint = colour(self.app, "warning")
            yield Text("not to be compared with the baseline:", tint)
            yield from (Text(shown(f"- {difference}"), tint) for difference in one.unlike)
        elif baseline.n and one.counts.n and not is_baseline:
            yield Text(f"difference {difference_text(one.counts, baseline)}")
        yield self._stream(one)
        yield self._quiet(_progress(one))
        if one.record.invalid and one.record.ended_at is not None:
            yield Text(f"invalid: {shown(one.record.invalid)}", colour(self.app, "error"))

    def _stream(self, one: Reproduction) -> Text:
        newest = one.newest[-self._width * _STREAM :]
        text = Text()
        for trial in newest:
            glyph, tint = TRIALS[trial.result]
            text.append(glyph, colour(self.app, tint))
        return text

    def _beliefs(self, live: Live) -> Iterator[Text]:
        from hypotheses.by_model import chance_text

        found = self._belief
        if isinstance(found, str):
            yield self._quiet(shown(found))
            return
        known = [slug for slug in live.hypotheses if slug in found.parts]
        for slug in known:
            chance = chance_text(found.parts[slug])
            yield Text.assemble((chance, "bold"), f" that {shown(slug)} is part of the cause")
        valid = [one for one in live.reproductions if one.counts.n and not one.record.invalid]
        if known and valid and not found.counted:
            yield self._quiet("without these trials: their conditions are not the baseline's")

    def _verdict(self, verdict: records.Verdict) -> Iterator[Text]:
        tint = colour(self.app, VERDICTS.get(verdict.word, ""))
        yield Text(shown(verdict_text(verdict)), f"bold {tint}".strip())
        for reason in verdict.reasons.splitlines():
            yield Text(shown(f"- {reason}"))
        if verdict.still_needed:
            yield self._quiet(shown(f"still needed: {verdict.still_needed}"))

    @property
    def _width(self) -> int:
        return max(20, self.scroll.columns)

    def _quiet(self, text: str) -> Text:
        return Text(text, colour(self.app, "quiet"))


def _is_baseline(live: Live) -> bool:
    return live.run.kind == "baseline"


def _progress(one: Reproduction) -> str:
    done = one.counts.n + one.counts.censored
    text = count(done, "trial") if one.planned is None else f"{done:,} of {one.planned:,} trials"
    return f"{text}; stops {one.rule}" if one.rule else text
