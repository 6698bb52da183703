"""hypothesis add, list, show, set, note, import, export."""

from collections.abc import Collection, Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.costs import HypothesisCosts
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.operations.meant import meant
from campaign.workspace import Workspace
from hypotheses.hypothesis import Hypothesis, Standing


class Listed(Struct, frozen=True):
    """A hypothesis with what its runs found and cost, money in `currency`."""

    hypothesis: Hypothesis
    costs: HypothesisCosts
    currency: str


class Shown(Struct, frozen=True):
    """A hypothesis with its costs, its history and its runs, oldest first."""

    listed: Listed
    events: tuple[records.HypothesisEvent, ...]
    runs: tuple[records.Run, ...]


def listed(workspace: Workspace) -> tuple[Listed, ...]:
    """All hypotheses in the order they were added. Errors: CampaignError."""
    with Ledger.open(workspace.ledger) as ledger:
        costs = {one.hypothesis: one for one in ledger.hypothesis_costs()}
        currency = ledger.currency()
        return tuple(Listed(one, costs[one.slug], currency) for one in ledger.hypotheses())


def shown(workspace: Workspace, slug: str) -> Shown:
    """One hypothesis whole. Errors: CampaignError (USAGE where there is none of that slug)."""
    found = {one.hypothesis.slug: one for one in listed(workspace)}
    _check_known(slug, found)
    one = found[slug]
    with Ledger.open(workspace.ledger) as ledger:
        return Shown(one, ledger.events(slug), tuple(reversed(ledger.runs(hypothesis=slug))))


def add(workspace: Workspace, hypothesis: Hypothesis) -> None:
    """Adds a hypothesis. Errors: CampaignError (USAGE where the slug is taken or none)."""
    if not hypothesis.claim.strip():
        raise CampaignError(Exit.USAGE, "a hypothesis needs a claim", "give one with --claim")
    _check_prior(hypothesis)
    with Recorder.open(workspace.ledger, create=True) as recorder:
        recorder.add_hypothesis(hypothesis)


def change(workspace: Workspace, hypothesis: Hypothesis) -> None:
    """Replaces all but the standing of the hypothesis with that slug. Errors: CampaignError."""
    if not hypothesis.claim.strip():
        raise CampaignError(Exit.USAGE, "a hypothesis needs a claim", "give one with --claim")
    _check_prior(hypothesis)
    _check_known(hypothesis.slug, _slugs(workspace))
    with Recorder.open(workspace.ledger, create=False) as recorder:
        recorder.change_hypothesis(hypothesis)


def set_standing(workspace: Workspace, slug: str, standing: Standing, reason: str) -> None:
    """Overrules the standing of a hypothesis, with a reason that is kept and shown.

    Errors: CampaignError.
    """
    if not reason.strip():
        raise CampaignError(Exit.USAGE, "a standing needs a reason", "give one with --reason")
    _check_known(slug, _slugs(workspace))
    with Recorder.open(workspace.ledger, create=False) as recorder:
        recorder.set_standing(slug, standing, reason, by="operator")


def note(workspace: Workspace, slug: str, text: str) -> None:
    """Adds a note to the history of a hypothesis. Errors: CampaignError."""
    if not text.strip():
        raise CampaignError(Exit.USAGE, "a note without text says nothing", "give it a text")
    _check_known(slug, _slugs(workspace))
    with Recorder.open(workspace.ledger, create=False) as recorder:
        recorder.note(slug, text)


class Imported(Struct, frozen=True):
    """The slugs that were added, changed, and left as they were."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    same: tuple[str, ...]


def import_file(workspace: Workspace, path: Path) -> Imported:
    """Adds the hypotheses of a YAML file; those of a known slug are brought up to date.

    All or nothing. Errors: LoadError, CampaignError.
    """
    from playbooks.language.load import load_hypotheses

    found = load_hypotheses(path)
    with Recorder.open(workspace.ledger, create=True) as recorder:
        with Ledger.open(workspace.ledger) as ledger:
            known = {one.slug: one for one in ledger.hypotheses()}
        with recorder.transaction():
            return _merge(recorder, known, found)


def _merge(
    recorder: Recorder, known: dict[str, Hypothesis], found: Iterable[Hypothesis]
) -> Imported:
    added, changed, same = [], [], []
    for one in found:
        if one.slug not in known:
            recorder.add_hypothesis(one)
            added.append(one.slug)
            continue
        update = replace(one, standing=known[one.slug].standing)
        if update == known[one.slug]:
            same.append(one.slug)
            continue
        recorder.change_hypothesis(update)
        changed.append(one.slug)
    return Imported(tuple(added), tuple(changed), tuple(same))


def export(workspace: Workspace) -> str:
    """All hypotheses as YAML that `import_file` reads."""
    from playbooks.language.load import dump_hypotheses

    with Ledger.open(workspace.ledger) as ledger:
        return dump_hypotheses(ledger.hypotheses())


def _slugs(workspace: Workspace) -> tuple[str, ...]:
    with Ledger.open(workspace.ledger) as ledger:
        return tuple(one.slug for one in ledger.hypotheses())


def _check_known(slug: str, known: Collection[str]) -> None:
    """Errors: CampaignError (USAGE) with what may have been meant."""
    if slug not in known:
        raise CampaignError(
            Exit.USAGE, f"there is no hypothesis {slug!r}", meant(slug, known, "hypothesis list")
        )


def _check_prior(hypothesis: Hypothesis) -> None:
    prior = hypothesis.prior
    if prior is not None and not 0 < prior < 1:
        raise CampaignError(
            Exit.USAGE, f"a prior of {prior:g} is not a weight", "give a number above 0 and below 1"
        )
