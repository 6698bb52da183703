"""Looks into a mechanism: probes judged by mismatch, and the detectors that they rest on."""

from collections.abc import Iterator
from math import log2

from campaign.operations.desk import Desk, driven, leads_back, one_way
from campaign.operations.options import Option
from hypotheses.by_mismatch import ENOUGH_FAILURES
from hypotheses.planner import Purpose
from hypotheses.rates import chance_of_at_least
from hypotheses.verdict import Word
from playbooks.join.detector import compared_by
from playbooks.playbook import Kind, MismatchRule, Playbook


def looks(desk: Desk) -> list[Option]:
    """The probes whose answer is open; where one is not trusted yet, the detector run it needs."""
    found: dict[str, Option] = {}
    for playbook, slug in _open(desk):
        probe = _probe(desk, playbook, slug)
        option = probe if _trusted(desk, playbook) else _detector(desk, playbook, probe)
        if option and (option.name not in found or option.worth > found[option.name].worth):
            found[option.name] = option
    return [*found.values()]


def left_out(desk: Desk) -> Iterator[str]:
    """The open probes that cannot be chosen, nor a detector for them, and why."""
    for one, _slug in _open(desk):
        if not _trusted(desk, one) and not _untried(desk, one):
            ran = "its detector was not seen right, or compares something else"
            none = "no playbook of kind detector tests its comparison"
            yield f"{one.name}: {ran if _detectors(desk, one) else none}"


def _open(desk: Desk) -> list[tuple[Playbook, str]]:
    """Each probe by mismatch with the suspect it looks into, while no run has answered that."""
    return [
        (one, slug)
        for one in desk.of(Kind.PROBE)
        if isinstance(one.verdict, MismatchRule) and not one.arms and driven(one)
        for slug in one.hypotheses[:1]
        if slug in desk.belief.causes and not _answered(desk, slug)
    ]


def _answered(desk: Desk, slug: str) -> bool:
    return any(
        one.kind == Kind.PROBE
        and "expect" not in one.verdict.numbers
        and one.verdict.word in (Word.SUPPORTED, Word.REFUTED)
        for one in desk.ledger.evidence(slug)
    )


def _probe(desk: Desk, playbook: Playbook, slug: str) -> Option:
    """A probe tells, where enough trials fail to be looked into, whether the suspect is at work.

    Each run of it that told nothing halves, thirds ... what the next is expected to tell.
    """
    trials = desk.trials(playbook)
    chance = desk.belief.part(slug)
    tells = chance_of_at_least(ENOUGH_FAILURES, trials, desk.belief.rate)
    price = desk.prices.of([playbook.name], trials, back=leads_back(playbook))
    in_vain = sum(one.playbook == playbook.name for one in desk.ledger.evidence(slug))
    bits = tells * _entropy(chance) / (1 + in_vain)
    return Option(
        name=playbook.name,
        purpose=Purpose.PROBE,
        teaches=f"whether the mechanism of {slug} shows in the trials that fail",
        toggles=(),
        trials=trials,
        price=price,
        about=slug,
        bits=bits,
        worth=bits / price.seconds,
        decides=tells * chance,
        chance=chance,
        if_yes=1.0,
        if_no=0.0,
        one_way=one_way(playbook),
    )


def _detector(desk: Desk, playbook: Playbook, probe: Option) -> Option | None:
    """The detector run without which the probe's verdict is open whatever it finds."""
    untried = _untried(desk, playbook)
    if not untried:
        return None
    trials = {
        one.name: desk.trials(one) if driven(one) else 0
        for one in desk.of(Kind.DETECTOR)
        if one.name in untried
    }
    prices = {name: desk.prices.of([name], count) for name, count in trials.items()}
    name = min(prices, key=lambda one: prices[one].seconds)
    return Option(
        name=name,
        purpose=Purpose.DETECTOR,
        teaches=f"whether {playbook.name} would find what is known to be bad",
        toggles=(),
        trials=trials[name],
        price=prices[name],
        about=probe.about,
        worth=probe.bits / (prices[name].seconds + probe.price.seconds),
        one_way=any(one_way(one) for one in desk.of(Kind.DETECTOR) if one.name == name),
    )


def _trusted(desk: Desk, probe: Playbook) -> bool:
    """Whether a detector run of the probe's comparison was seen right, as far as can be known.

    What a probe compares is known once it, or a detector with the same comparison, has run.
    """
    trusted = desk.ledger.trusted_detectors()
    own = desk.ledger.latest_comparison(probe.name)
    runs = [own] if own else map(desk.ledger.latest_comparison, _detectors(desk, probe))
    return any(one is not None and one.detector in trusted for one in runs)


def _untried(desk: Desk, probe: Playbook) -> list[str]:
    """The detectors of a probe that have not run, or not since the probe did."""
    own = desk.ledger.latest_comparison(probe.name)
    found = []
    for name in _detectors(desk, probe):
        latest = desk.ledger.latest_comparison(name)
        if latest is None or (own is not None and latest.at < own.at):
            found.append(name)
    return found


def _detectors(desk: Desk, probe: Playbook) -> list[str]:
    """The detectors with the same comparison."""
    return [one.name for one in desk.of(Kind.DETECTOR) if compared_by(one) == compared_by(probe)]


def _entropy(chance: float) -> float:
    return -sum(p * log2(p) for p in (chance, 1 - chance) if p > 0)
