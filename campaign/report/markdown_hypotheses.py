"""What is known, ruled out and open, as Markdown."""

from collections.abc import Iterator, Sequence

from campaign.report.content import Report
from campaign.report.figures import costs_text, money_text, seconds_text
from campaign.report.layout import bullets, heading, paragraph
from campaign.report.literal import prose
from campaign.report.markdown_tables import priced_table
from campaign.report.standings import Decision, HypothesisPart, Spoken


def hypothesis_blocks(report: Report, width: int) -> Iterator[str]:
    """A table of all hypotheses, then each with its evidence, by where it stands."""
    yield heading(2, f"Hypotheses ({len(report.hypotheses)})")
    if not report.hypotheses:
        yield paragraph(prose("None yet: 'campaign hypothesis add' takes one."), width)
        return
    yield _hypothesis_table(report)
    yield paragraph(
        prose("fail/n: trials of all completed runs and arms together; no rate follows from it."),
        width,
    )
    for title, parts in report.groups.items():
        yield from _group(title, parts, report.currency, width)


def _hypothesis_table(report: Report) -> str:
    header = ["hypothesis", "standing", "verdicts", "fail/n", "restarts", "downtime"]
    rows = [
        [
            one.hypothesis.slug,
            one.hypothesis.standing + (" (by operator)" if one.overruled else ""),
            one.in_short,
            f"{one.costs.fail}/{one.costs.n}" if one.costs.n else "-",
            str(one.costs.restarts),
            seconds_text(one.costs.downtime_s),
            money_text(one.costs.money),
        ]
        for one in report.hypotheses
    ]
    header.append(report.costs.money_name)
    return priced_table(header, rows, (3, 4, 5, 6), report.costs.priced)


def _group(title: str, parts: Sequence[HypothesisPart], currency: str, width: int) -> Iterator[str]:
    yield heading(2, f"{title} ({len(parts)})")
    if not parts:
        yield paragraph(prose("Nothing yet."), width)
    for one in parts:
        if one.spoken:
            yield from _hypothesis(one, currency, width)
    untested = [one for one in parts if not one.spoken]
    if untested:
        yield heading(3, "Not tested yet")
        yield bullets((_claim(one) for one in untested), width)


def _hypothesis(part: HypothesisPart, currency: str, width: int) -> Iterator[str]:
    yield heading(3, prose(f"{part.hypothesis.slug}: {part.hypothesis.standing}"))
    yield paragraph(prose(part.hypothesis.claim), width)
    if part.latest:
        yield paragraph(_decided(part.latest), width)
    yield bullets(map(_spoken, part.spoken), width)
    if part.posterior:
        yield paragraph(prose(f"Part of the cause with a probability of {part.posterior}."), width)
    yield paragraph(prose(f"It cost {costs_text(part.spent, currency)}."), width)
    if part.still_needed:
        yield "Still needed:"
        yield bullets(map(prose, part.still_needed), width)


def _claim(part: HypothesisPart) -> str:
    standing = "" if part.latest is None else f" ({part.hypothesis.standing})"
    return prose(f"{part.hypothesis.slug}{standing}: {part.hypothesis.claim}")


def _decided(decision: Decision) -> str:
    who = "the operator" if decision.by == "operator" else "the rules"
    return prose(f"{decision.standing.capitalize()}, by {who}: {decision.reason}")


def _spoken(spoken: Spoken) -> str:
    reasons = f": {'; '.join(spoken.reasons)}" if spoken.reasons else ""
    return prose(f"{spoken.run} ({spoken.kind}): {spoken.outcome}{reasons}")
