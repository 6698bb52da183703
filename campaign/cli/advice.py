"""What could be run next, as text: for `next` and for `autopilot`."""

from collections.abc import Iterator, Mapping, Sequence

from campaign.cli.text import columns, count, money, seconds
from campaign.operations.advise import Advice
from campaign.operations.options import Option, listed
from hypotheses.planner import Purpose

_HEADER = (
    "run", "removes", "trials", "takes", "down", "cost", "bits", "a minute", "if clean", "if not",
)  # fmt: skip
_RIGHT = range(2, 10)
TOLD = 0.001
"""A smaller chance to decide the search is not worth a word."""


def lines(found: Advice) -> Iterator[str]:
    """All of the advice."""
    yield f"{found.campaign}: {count(found.restarts, 'restart')} weighed"
    yield f"part of the cause: {believed(found.parts, found.none)}"
    if found.left:
        yield f"left of the budget: {left_text(found.left, found.currency)}"
    yield from found.notes
    yield from found.unlike
    if found.options:
        yield ""
        yield columns([_HEADER, *(_row(one, found.currency) for one in found.options)], _RIGHT)
        yield ""
        yield from _best(found.options)
    if found.beyond:
        yield f"more than is left: {'; '.join(found.beyond)}"
    if found.left_out:
        yield f"left out: {'; '.join(found.left_out)}"


def believed(parts: Mapping[str, float], none: float) -> str:
    """Each suspect's probability, the likeliest first."""
    from hypotheses.by_model import chance_text

    suspects = sorted(parts.items(), key=lambda one: -one[1])
    said = [f"{slug} {chance_text(part)}" for slug, part in suspects]
    return f"{', '.join(said)}; none of these {chance_text(none)}"


def left_text(left: Mapping[str, float], currency: str) -> str:
    """What is left of each limit: 3 restarts, 41 s, 12 s of downtime, 20.00 USD."""
    return ", ".join(_amount(name, value, currency) for name, value in left.items())


def _amount(name: str, value: float, currency: str) -> str:
    match name:
        case "restarts":
            return count(int(value), "restart")
        case "money":
            return money(value, currency)
        case "downtime_s":
            return f"{seconds(value)} of downtime"
        case _:
            return seconds(value)


def price_text(option: Option, currency: str) -> str:
    """2 restarts, 41 s, 12 s of it down, 1.20 USD; as a guess where the ledger has none."""
    price = option.price
    parts = [
        count(price.restarts, "restart"),
        f"{seconds(price.seconds)} with {_trials(option)}",
        f"{seconds(price.downtime_s)} of it down",
    ]
    if currency or price.money:
        parts.append(money(price.money, currency))
    return ("about " if not price.guessed else "by a guess ") + ", ".join(parts)


def _trials(option: Option) -> str:
    """Of a run of several boots, those of each."""
    return count(option.trials, "trial") + (" a boot" if option.price.restarts > 2 else "")


def prospect(option: Option) -> str | None:
    """How what is believed would move either way; None where it would not."""
    from hypotheses.by_model import chance_text

    if option.purpose == Purpose.PROBE:
        return (
            f"The mechanism is there with a probability of {chance_text(option.chance)}: seen in"
            " failing trials it supports the claim, missing there it refutes it."
        )
    if not option.toggles:
        return None
    return (
        f"Removing {listed(option.toggles)} ends the failure with a probability of"
        f" {chance_text(option.chance)}; {count(option.trials, 'trial')} without a failure would"
        f" make that {chance_text(option.if_yes)}, failures at the baseline's rate"
        f" {chance_text(option.if_no)}."
    )


def preferred(options: Sequence[Option]) -> str:
    """Why the first of them comes before the rest, in bits and the chance to decide."""
    from hypotheses.by_model import chance_text

    best = options[0]
    fastest = max(options, key=lambda one: one.bits / one.price.seconds)
    why = f"of all it teaches most a second, {best.bits:.2f} bits"
    if best.decides >= TOLD:
        why += f", with its chance of {chance_text(best.decides)} to decide the search counted in"
    if fastest.bits / fastest.price.seconds <= best.bits / best.price.seconds:
        return why
    return (
        f"{why}; {fastest.name} brings {fastest.bits:.2f} bits, but decides with"
        f" {chance_text(fastest.decides)} only"
    )


def _row(option: Option, currency: str) -> tuple[str, ...]:
    price = option.price
    guess = "~" if price.guessed else ""
    removed = listed(option.toggles) if option.toggles else f"nothing ({option.purpose})"
    one_of = f" (1 of {option.arms} arms)" if option.arms > 1 else ""
    row = (
        option.name,
        f"{removed}{one_of}",
        str(option.trials),
        guess + seconds(price.seconds),
        guess + seconds(price.downtime_s),
        money(price.money, currency),
    )
    if not option.bits:
        return (*row, "-", "-", "-", "-")
    return (*row, f"{option.bits:.2f}", f"{60 * option.bits / price.seconds:.2f}", *_moves(option))


def _moves(option: Option) -> tuple[str, str]:
    from hypotheses.by_model import chance_text

    if option.purpose == Purpose.PROBE:
        return "supported", "refuted"
    return f"-> {chance_text(option.if_yes)}", f"-> {chance_text(option.if_no)}"


def _best(options: Sequence[Option]) -> Iterator[str]:
    option = options[0]
    yield f"{option.name} would teach {option.teaches}."
    if option.purpose in (Purpose.SEARCH, Purpose.PROBE):
        yield f"It comes first: {preferred(options)}."
    if told := prospect(option):
        yield told
    yield f"run it: campaign next --run, or: campaign run {option.name}"
    if option.price.guessed:
        yield "~ is a guess: this ledger has no restart with trials to go by yet."
