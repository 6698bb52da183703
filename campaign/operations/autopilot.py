"""autopilot: runs the best restart, weighs it, and goes on, until something says stop."""

from collections.abc import Mapping

from msgspec import Struct

from campaign.engine.budget import Limits
from campaign.engine.events import Emit
from campaign.engine.run import Outcome
from campaign.engine.stop import Stop
from campaign.errors import CampaignError, Exit
from campaign.ledger.costs import Costs
from campaign.ledger.reads import Ledger
from campaign.operations.advise import Advice, advise
from campaign.operations.options import Option
from campaign.operations.plan import Request
from campaign.operations.run import ready
from campaign.workspace import Workspace
from hypotheses.planner import Purpose
from hypotheses.verdict import Word

TEACHES = 0.01
"""A restart that is expected to bring fewer bits teaches nothing worth a restart."""
CLEAN_CONTROLS = 3
"""After so many controls without a failure in one flight a person has to make it fail first."""


class Chosen(Struct, frozen=True):
    """The restart to make now, and what it was chosen by."""

    number: int
    option: Option
    advice: Advice


class Ran(Struct, frozen=True):
    """How it ended, and what is believed after it."""

    chosen: Chosen
    outcome: Outcome
    advice: Advice


class Ended(Struct, frozen=True):
    """Why nothing more is run, after how many runs, what they cost, and what is believed."""

    reason: str
    exit: Exit
    runs: int
    cost: Costs
    currency: str
    parts: Mapping[str, float]
    none: float


class Autopilot:
    """One flight. `choose` and `run` alternate until `choose` says that it has ended."""

    def __init__(self, workspace: Workspace, limits: Limits, command: str) -> None:
        """`limits` hold from here on, beside the campaign's budget; runs keep `command`.

        Errors: LoadError; CampaignError (REFUSED for a protected campaign and without a ledger,
        USAGE without any limit).
        """
        self._workspace = workspace
        self._command = command
        self._start = self._spent()
        self._limits = limits.from_here(self._start)
        self._runs = 0
        self._clean_controls = 0
        self._advice = self._advise()
        _refuse(self._advice)

    def choose(self, after: Ran | None = None, stop: Stop | None = None) -> Chosen | Ended:
        """What to run now, given how the last run ended."""
        if after is not None:
            bad = _stopped(after) or _unweighed(after)
            if bad:
                return self._ended(bad, after.outcome.exit or Exit.REFUSED)
        if stop is not None and stop.exit is not None:
            return self._ended("asked to stop", stop.exit)
        if self._advice.settled:
            return self._ended(f"decided: {self._advice.settled}")
        return self._out_of_luck() or self._best()

    def run(self, chosen: Chosen, emit: Emit, stop: Stop) -> Ran:
        """Runs it as `campaign run` does; whatever happens, what was changed is put back."""
        outcome = self._execute(chosen, emit, stop)
        self._runs += len(outcome.runs)
        if outcome.exit is Exit.COMPLETED:
            self._advice = self._advise()
            self._count_controls(chosen)
        return Ran(chosen, outcome, self._advice)

    def _execute(self, chosen: Chosen, emit: Emit, stop: Stop) -> Outcome:
        request = Request((chosen.option.name,), {})
        try:
            with ready(self._workspace, request, self._command, self._limits) as one:
                return one.execute(emit, stop)
        except CampaignError as error:
            return Outcome((), error.exit, str(error))

    def _count_controls(self, chosen: Chosen) -> None:
        in_vain = chosen.option.purpose == self._advice.due == Purpose.REPRODUCE
        self._clean_controls = self._clean_controls + 1 if in_vain else 0

    def _advise(self) -> Advice:
        return advise(self._workspace, self._limits)

    def _cost(self) -> Costs:
        return self._spent().less(self._start)

    def _spent(self) -> Costs:
        with Ledger.open(self._workspace.ledger) as ledger:
            return ledger.total_cost()

    def _out_of_luck(self) -> Ended | None:
        if self._clean_controls < CLEAN_CONTROLS:
            return None
        return self._ended(
            f"it has not failed in {CLEAN_CONTROLS} restarts with nothing off: make it fail first",
            Exit.REFUSED,
        )

    def _best(self) -> Chosen | Ended:
        """The first option that teaches; a control where one is due, whatever else there is."""
        advice = self._advice
        telling = [one for one in advice.options if _tells(one) and not one.one_way]
        if advice.due:
            telling = [one for one in telling if one.purpose == advice.due]
        if telling:
            return Chosen(self._runs + 1, telling[0], advice)
        code = Exit.COMPLETED if self._runs else Exit.REFUSED
        if advice.beyond:
            return self._ended(f"the budget is spent: {advice.beyond[0]}", code)
        return self._ended(_nothing_left(advice), Exit.REFUSED if advice.due else code)

    def _ended(self, reason: str, code: Exit = Exit.COMPLETED) -> Ended:
        advice = self._advice
        return Ended(
            reason, code, self._runs, self._cost(), advice.currency, advice.parts, advice.none
        )


def _refuse(advice: Advice) -> None:
    if advice.protected:
        raise CampaignError(
            Exit.REFUSED,
            f"{advice.campaign} is protected, and autopilot asks nobody before a restart",
            "use campaign next --run",
        )
    if not advice.left:
        raise CampaignError(
            Exit.USAGE,
            "nothing says how much autopilot may spend",
            "give --budget 30m, --restarts N, --money X, or a budget: in campaign.yaml",
        )


def _tells(option: Option) -> bool:
    return option.bits >= TEACHES or option.purpose not in (Purpose.SEARCH, Purpose.PROBE)


def _stopped(ran: Ran) -> str | None:
    """Why nothing may follow a run that did not end as it should."""
    name, outcome = ran.chosen.option.name, ran.outcome
    if outcome.exit is Exit.DIRTY:
        return f"{name} left the system dirty"
    if outcome.exit is not Exit.COMPLETED:
        return f"{name} did not complete" if outcome.error else "asked to stop"
    uncounted = [f"{one.playbook}: {text}" for one in outcome.runs for text in one.uncounted]
    if uncounted:
        return uncounted[0]
    invalid = [
        f"{one.playbook} came out invalid: {'; '.join(one.verdict.reasons[:1])}"
        for one in outcome.runs
        if one.verdict is not None and one.verdict.word is Word.INVALID
    ]
    return invalid[0] if invalid and ran.chosen.option.purpose != Purpose.DETECTOR else None


def _unweighed(ran: Ran) -> str | None:
    """A restart that does not enter the weighing would be chosen again and again."""
    looked = ran.chosen.option.purpose in (Purpose.PROBE, Purpose.DETECTOR)
    if looked or ran.advice is None or ran.advice.restarts > ran.chosen.advice.restarts:
        return None
    runs = ", ".join(one.id for one in ran.outcome.runs)
    return (
        f"the restart of {ran.chosen.option.name} cannot be weighed: see campaign runs show {runs}"
    )


def _nothing_left(advice: Advice) -> str:
    one_way = [one.name for one in advice.options if one.one_way]
    if one_way:
        return f"{one_way[0]} has a step that nothing takes back: run it yourself"
    if advice.due or not advice.options:
        why = "; ".join(advice.left_out)
        none = "no playbook is left that could teach anything" + (f": {why}" if why else "")
        return "; ".join(advice.notes) or none
    best = advice.options[0]
    return f"nothing is left that teaches: {best.name} would bring {best.bits:.3f} bits"
