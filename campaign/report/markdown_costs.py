"""The timeline and the costs, as Markdown."""

from collections.abc import Iterable, Iterator

from campaign.ledger.costs import Costs
from campaign.report.content import Report
from campaign.report.costs import CostPart, Spent
from campaign.report.figures import costs_text, money_text, seconds_text
from campaign.report.layout import bullets, heading, paragraph
from campaign.report.literal import prose
from campaign.report.markdown_tables import plain_table, priced_table


def timeline_blocks(report: Report, width: int) -> Iterator[str]:
    """Each boot with its trials and what happened in between, with the spend so far."""
    entries = report.timeline.entries()
    yield heading(2, "Timeline")
    if not entries:
        yield paragraph(prose("Nothing has happened yet."), width)
        return
    header = ["UTC", "what", "fail/n", "counts", "spent"]
    rows = [[one.at, one.what, one.trials, one.counts, one.spent] for one in entries]
    yield plain_table(header, rows, (4,))


def cost_blocks(report: Report, width: int) -> Iterator[str]:
    """What the answer cost in all, divided by run, hypothesis and kind, and the dead ends."""
    costs = report.costs
    yield heading(2, "Cost")
    if not costs.by_run:
        yield paragraph(prose("Nothing yet."), width)
        return
    yield paragraph(prose(report.answer), width)
    yield _cost_table("run", report.costs.by_run, costs)
    yield _cost_table("hypothesis", costs.by_hypothesis, costs)
    if costs.shared_restarts:
        text = "A restart shared by several hypotheses counts for each; the total counts it once."
        yield paragraph(prose(text), width)
    yield _cost_table("kind", costs.by_kind, costs)
    if costs.dead_ends:
        yield "The dearest dead ends:"
        told = (
            f"{one.name} ({one.why}): {costs_text(one.costs, costs.currency)}"
            for one in costs.dead_ends
        )
        yield bullets(map(prose, told), width)


def _cost_table(what: str, parts: Iterable[Spent], costs: CostPart) -> str:
    rows = [[one.name, *_cells(one.costs, costs)] for one in (*parts, Spent("total", costs.total))]
    lost = ["capacity lost"] if costs.rolled else []
    header = [what, "restarts", "downtime", *lost, "occupied", costs.money_name]
    return priced_table(header, rows, range(1, len(header)), costs.priced)


def _cells(one: Costs, costs: CostPart) -> Iterator[str]:
    yield str(one.restarts)
    yield seconds_text(one.downtime_s)
    if costs.rolled:
        yield seconds_text(one.lost_s)
    yield seconds_text(one.occupied_s)
    yield money_text(one.money)
