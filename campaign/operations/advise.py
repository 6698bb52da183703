"""next: the restarts that the workspace's playbooks make possible, the most telling first."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from msgspec import Struct

from campaign.engine.belief import believe
from campaign.engine.budget import NO_LIMITS, Limits, allowed
from campaign.engine.conditions import but_for_env
from campaign.errors import CampaignError, Exit
from campaign.ledger.conditions import KEPT
from campaign.ledger.reads import Ledger
from campaign.operations import controls, looks, searches
from campaign.operations.desk import Desk, baseline
from campaign.operations.findings import listed as some
from campaign.operations.options import Option, listed
from campaign.operations.plan import Request, load
from campaign.workspace import Workspace
from hypotheses.by_model import chance_text, judge, record
from hypotheses.by_rate import differences
from hypotheses.hypothesis import Standing
from hypotheses.model import Posterior
from hypotheses.observation import Observation
from hypotheses.planner import Purpose, decided
from hypotheses.tally import tally
from hypotheses.verdict import Qualifier, Word
from playbooks.system import System

SHOWN = 12
"""As many options are listed at most."""


class Advice(Struct, frozen=True):
    """What is believed after `restarts`, and what could be next, the best option first.

    `parts` is each hypothesis's probability to be part of the cause, `none` that none of them is;
    `settled` says what is decided, empty while nothing is; `due` is the purpose of a control that
    must come first. `notes` say what stands out, `unlike` which baselines do not count
    since their conditions are others, `left_out` which playbooks cannot be chosen among
    and `beyond` which cost more than is left, each with why; `left` is what is left of each limit.
    `epochs` are the runs with which the baseline's rate moved.
    """

    campaign: str
    currency: str
    protected: bool
    restarts: int
    parts: Mapping[str, float]
    none: float
    settled: str
    due: str
    options: tuple[Option, ...]
    notes: tuple[str, ...]
    unlike: tuple[str, ...]
    left_out: tuple[str, ...]
    beyond: tuple[str, ...]
    left: Mapping[str, float]
    epochs: tuple[str, ...]


class _Found(Struct, frozen=True):
    """What could be next before anyone asks what it costs."""

    options: list[Option]
    notes: list[str]
    settled: str = ""
    due: str = ""


def advise(workspace: Workspace, own: Limits = NO_LIMITS) -> Advice:
    """Ranks what could be next within the campaign's budget and `own` limits on the ledger's total.

    Changes nothing, and asks no host. Errors: LoadError; CampaignError (REFUSED without a ledger,
    USAGE without hypotheses).
    """
    with Ledger.open(workspace.ledger) as ledger:
        system, playbooks = load(workspace, Request(workspace.playbook_names(), {}))
        held = baseline(system, ledger, playbooks)
        now = held[-1].conditions if held else {KEPT: ledger.kept_condition()}
        alike = but_for_env(now)
        belief = _believed(ledger, system, alike)
        desk = Desk(system, ledger, belief, playbooks, held)
        found = _found(desk)
        there = own.within(allowed(system.budget)).after(ledger.total_cost())
        lacking = {one.name: why for one in found.options if (why := there.lacks(one.price))}
        unlike = tuple(_unlike(ledger, now))
        left_out = (*searches.left_out(desk), *looks.left_out(desk))
        past = desk.prices.past(desk.prices.services.values())
    return Advice(
        campaign=system.campaign,
        currency=system.cost.currency,
        protected=system.protected,
        restarts=len(belief.restarts),
        parts={slug: belief.part(slug) for slug in belief.causes},
        none=belief.none,
        settled=found.settled,
        due=found.due,
        options=tuple([one for one in found.options if one.name not in lacking][:SHOWN]),
        notes=(*found.notes, *past),
        unlike=unlike,
        left_out=left_out,
        beyond=tuple(f"{name}: {why}" for name, why in lacking.items()),
        left=there.limited,
        epochs=tuple(new.run for old, new in pairwise(belief.restarts) if new.epoch > old.epoch),
    )


def _believed(ledger: Ledger, system: System, alike: Mapping[str, str]) -> Posterior:
    belief = believe(ledger, system.statistics, alike=alike)
    if belief is None:
        raise CampaignError(
            Exit.USAGE,
            "there are no hypotheses to choose among",
            "add one: campaign hypothesis add SLUG --claim '...'",
        )
    return belief


def _unlike(ledger: Ledger, now: Mapping[str, str]) -> Iterator[str]:
    """The baselines that nothing is held against, and in what they differ from conditions `now`."""
    groups: dict[frozenset[tuple[str, str]], list[Observation]] = {}
    for one in ledger.observations_of(kind="baseline"):
        groups.setdefault(frozenset(one.conditions.items()), []).append(one)
    for alike in groups.values():
        conditions = alike[0].conditions
        known = conditions if len(now) > 1 else {KEPT: conditions[KEPT]}
        if known == now:
            continue
        apart = some(differences(known, now))
        yield f"baseline {tally(alike)} does not count: {apart}"


def _found(desk: Desk) -> _Found:
    """What is left to show where the search is decided; else a control where due, then the rest."""
    due, seen = controls.due(desk.belief), _seen(desk)
    state = None if due is Purpose.REPRODUCE else decided(desk.belief)
    if state is not None:
        return _to_show(desk, state) if state else _none_listed(desk)
    if due is None:
        return _Found(_ranked(desk), [seen] if seen else [], seen)
    options, notes = controls.controls(desk, due)
    rest = [] if due is Purpose.REPRODUCE else _ranked(desk)
    return _Found([*options, *rest], [*notes, seen] if seen else notes, seen, due)


def _ranked(desk: Desk) -> list[Option]:
    options = [*searches.searches(desk), *looks.looks(desk)]
    return sorted(options, key=lambda one: -one.worth)


def _none_listed(desk: Desk) -> _Found:
    chance = chance_text(desk.belief.none)
    settled = f"{chance} that none of the listed hypotheses is the cause"
    return _Found([], [f"{settled}: add new ones"], settled)


def _seen(desk: Desk) -> str:
    """What stands on a mechanism that was seen, or on a person's word, while restarts are open."""
    return "; ".join(
        f"{one.slug} is {one.standing}: {_reason(desk.ledger, one.slug)}"
        for one in desk.ledger.hypotheses()
        if one.standing in (Standing.SUPPORTED, Standing.CONFIRMED)
        and one.slug in desk.belief.causes
        and judge(desk.belief, one.slug).qualifier != Qualifier.PARTIAL
    )


def _reason(ledger: Ledger, slug: str) -> str:
    return [one.text for one in ledger.events(slug) if one.standing][-1]


def _to_show(desk: Desk, state: frozenset[str]) -> _Found:
    """What the claim, or its confirmation, still lacks is the only thing left to do."""
    verdict = judge(desk.belief, min(state))
    notes = [*verdict.reasons[:1]]
    told = record(desk.belief, state)
    if verdict.qualifier == Qualifier.PARTIAL:
        more = "what is left of the failure has another cause: add new hypotheses"
        return _Found([], [*notes, more], notes[0])
    if verdict.word is Word.SUPPORTED:
        return _to_confirm(desk, state, notes)
    notes.append(f"still needed: {verdict.still_needed}")
    just_off = desk.belief.restarts[-1].toggles == state
    if told.clean and (just_off or not told.returned):
        options, why = controls.controls(desk, Purpose.SHOW)
        return _Found(options, [*notes, *why])
    return _removal(desk, state, notes)


def _to_confirm(desk: Desk, state: frozenset[str], notes: list[str]) -> _Found:
    """Off once more, or its mechanism seen: the one of them that costs less."""
    settled = notes[0]
    standings = {one.slug: one.standing for one in desk.ledger.hypotheses()}
    told = record(desk.belief, state)
    if told.shows_again or all(standings[one] is Standing.CONFIRMED for one in state):
        return _Found([], [*notes, "the search is decided, and the restarts show it"], settled)
    notes.append("to confirm it: remove it once more, or see its mechanism")
    found = _removal(desk, state, notes)
    own = [one for one in looks.looks(desk) if one.about in state]
    options = sorted([*found.options, *own], key=lambda one: one.price.seconds)
    return _Found(options, found.notes, settled)


def _removal(desk: Desk, state: frozenset[str], notes: list[str]) -> _Found:
    options = [one for one in searches.searches(desk, Purpose.SHOW) if {*one.toggles} == state]
    if not options:
        what = listed(sorted(state))
        notes.append(f"no playbook removes {what} and nothing else: write one")
    return _Found(options, notes)
