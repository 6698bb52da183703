"""Where the campaign stands, in three sentences, and what somebody has to look after."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from campaign.ledger import records
from campaign.ledger.costs import Costs
from campaign.ledger.reads import Ledger
from campaign.report.costs import CostPart
from campaign.report.figures import costs_text, counted, failed_text, named, time_text
from campaign.report.scope import Scope
from campaign.report.standings import HypothesisPart
from hypotheses.hypothesis import Standing
from hypotheses.observation import Observation, pooled
from hypotheses.tally import tally

FOUND = (Standing.CONFIRMED, Standing.SUPPORTED, Standing.LEADING)
SAID = {
    Standing.CONFIRMED: "confirmed",
    Standing.SUPPORTED: "supported",
    Standing.LEADING: "leading",
    Standing.REFUTED: "ruled out",
    Standing.OPEN: "open",
    Standing.ABANDONED: "abandoned",
}
"""Standings in the order of the second sentence, and what it calls them."""


class Summary(Struct, frozen=True):
    """Sentences: the baseline, the hypotheses, the cost; then one for each thing to look after."""

    baseline: str
    standings: str
    cost: str
    attention: tuple[str, ...]


def collect_summary(
    ledger: Ledger,
    scope: Scope,
    hypotheses: Sequence[HypothesisPart],
    runs: int,
    costs: CostPart,
) -> Summary:
    """The summary of a ledger with these hypotheses and as many `runs` in scope.

    Errors: CampaignError.
    """
    unsettled = [run for run in reversed(ledger.unsettled()) if scope.takes_in(ledger, run)]
    return Summary(
        baseline=_baseline(ledger.observations_of(kind="baseline")),
        standings=_standings(hypotheses),
        cost=_cost(runs, costs.total, costs.currency, begun=ledger.run_count() > 0),
        attention=(*_attention(unsettled), *_staying(ledger, scope)),
    )


def _baseline(observations: Sequence[Observation]) -> str:
    """Trials under different conditions are never pooled; the most of one kind are told."""
    alike: dict[frozenset[tuple[str, str]], list[Observation]] = {}
    for one in observations:
        alike.setdefault(frozenset(one.conditions.items()), []).append(one)
    if not alike:
        return "Baseline: not measured yet; without it no failure rate can be judged."
    most = max(alike.values(), key=lambda group: pooled(group).n)
    counts = pooled(most)
    restarts = counted(len({one.restart for one in most}), "restart")
    text = f"Baseline: {failed_text(tally(most))}, in {restarts}"
    if counts.n and not counts.fail:
        text += ": the failure has not been reproduced"
    others = pooled(observations).n - counts.n
    if others:
        text += f"; {counted(others, 'more trial')} under other conditions not counted here"
    return f"{text}."


def _standings(hypotheses: Sequence[HypothesisPart]) -> str:
    if not hypotheses:
        return "No hypothesis has been written down yet: 'campaign hypothesis add' takes one."
    names: dict[Standing, list[str]] = {standing: [] for standing in SAID}
    for one in hypotheses:
        by = " (set by the operator)" if one.overruled else ""
        names[one.hypothesis.standing].append(f"{one.hypothesis.slug}{by}")
    parts = [f"{SAID[standing]}: {named(slugs)}" for standing, slugs in names.items() if slugs]
    if not any(names[standing] for standing in FOUND):
        parts.insert(0, "no hypothesis is confirmed, supported or leading")
    if not names[Standing.REFUTED]:
        parts.append("nothing is ruled out")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _cost(runs: int, total: Costs, currency: str, *, begun: bool) -> str:
    if not runs and begun:
        return "No run is within what this report is about: it has nothing to tell."
    if not runs and total == Costs(0, 0.0, 0.0, 0.0):
        return "Nothing has been run yet: begin with 'campaign run' and a baseline playbook."
    return f"It took {counted(runs, 'run')}: {costs_text(total, currency)}."


def _staying(ledger: Ledger, scope: Scope) -> Iterable[str]:
    """What runs keep changed on the hosts."""
    for one in ledger.staying():
        if scope.takes_in(ledger, ledger.run(one.run)):
            places = named([f"{host}:{path}" for host, path in one.paths])
            back = f"'campaign recover {one.run}' puts it back"
            since = time_text(one.kept_at)
            yield f"{one.run} keeps what it changed, since {since}: {places}; {back}."


def _attention(runs: Iterable[records.Run]) -> Iterable[str]:
    for run in runs:
        if run.status == "running":
            yield f"{run.id} is still running: its trials do not count before it completes."
        elif run.status == "interrupted" and run.ended_at is None:
            yield (
                f"{run.id} was interrupted, its process is gone:"
                " 'campaign recover' puts back what it left."
            )
        elif run.state == "dirty":
            yield (
                f"{run.id} left the system dirty, not everything could be put back:"
                " 'campaign recover' finishes it or says what to do."
            )
