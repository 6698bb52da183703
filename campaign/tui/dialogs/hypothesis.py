"""Writing down a hypothesis, or changing one."""

from collections.abc import Callable, Iterator, Sequence

from textual.app import ComposeResult

from campaign.operations import hypotheses as operations
from campaign.tui.dialogs.action import ActionDialog
from campaign.tui.dialogs.fields import Field, line, lines, texts
from campaign.workspace import Workspace
from hypotheses.hypothesis import Hypothesis


class HypothesisDialog(ActionDialog):
    """Asks for all of a hypothesis; `old` is the one to change, None for a new one.

    `added` is called with the name of a new one, once it is written down.
    """

    def __init__(
        self, old: Hypothesis | None = None, added: Callable[[str], None] = lambda _slug: None
    ) -> None:
        super().__init__()
        self._old = old
        self._added = added
        self._new = before = old or Hypothesis("", "")
        prior = "" if before.prior is None else f"{before.prior:g}"
        self._slug = line(before.slug, "short, without blanks, such as topk-v2")
        self._claim = line(before.claim, "what is the cause, so that it could be wrong")
        self._mechanism = line(before.mechanism, "why that would give the symptom")
        self._prior = line(prior, "your weight for it before evidence, 0 to 1")
        self._if_true = line(before.predicts_if_true, "what would be seen if it is true")
        self._if_false = line(before.predicts_if_false, "what would be seen if it is not")
        self._assumptions = lines(before.assumptions, "one a line")
        self._links = lines(before.links, "one a line")
        self._slug.disabled = old is not None
        self.heading = "New hypothesis" if old is None else f"Edit {old.slug}"

    def compose_fields(self) -> ComposeResult:
        yield Field("name", self._slug)
        yield Field("claim", self._claim)
        yield Field("mechanism", self._mechanism)
        yield Field("prior", self._prior)
        yield Field("if true", self._if_true)
        yield Field("if false", self._if_false)
        yield Field("assumes", self._assumptions)
        yield Field("links", self._links)

    def collect(self) -> None:
        self._new = Hypothesis(
            slug=self._slug.value.strip(),
            claim=self._claim.value.strip(),
            mechanism=self._mechanism.value.strip(),
            prior=_prior(self._prior.value),
            predicts_if_true=self._if_true.value.strip(),
            predicts_if_false=self._if_false.value.strip(),
            assumptions=texts(self._assumptions),
            links=texts(self._links),
            **({"standing": self._old.standing} if self._old else {}),
        )

    def arguments(self) -> Sequence[str]:
        verb = "add" if self._old is None else "edit"
        return ["hypothesis", verb, self._new.slug, *_options(self._old, self._new)]

    def act(self, workspace: Workspace) -> None:
        if self._old is None:
            operations.add(workspace, self._new)
        else:
            operations.change(workspace, self._new)

    def done(self) -> None:
        self._added(self._new.slug)


def _prior(text: str) -> float | None:
    """Errors: ValueError with what is wrong."""
    try:
        return float(text) if text.strip() else None
    except ValueError:
        raise ValueError(f"a prior of {text.strip()!r} is no number from 0 to 1") from None


def _options(old: Hypothesis | None, new: Hypothesis) -> Iterator[str]:
    """The options that say what is new."""
    before = old or Hypothesis("", "")
    for name, was, now in (
        ("claim", before.claim, new.claim),
        ("mechanism", before.mechanism, new.mechanism),
        ("if-true", before.predicts_if_true, new.predicts_if_true),
        ("if-false", before.predicts_if_false, new.predicts_if_false),
    ):
        if now != was or (name == "claim" and old is None):
            yield from (f"--{name}", now)
    if new.prior != before.prior:
        yield from ("--no-prior",) if new.prior is None else ("--prior", f"{new.prior:g}")
    for name, had, has in (
        ("assumption", before.assumptions, new.assumptions),
        ("link", before.links, new.links),
    ):
        for text in (has or ("",)) if has != had else ():
            yield from (f"--{name}", text)
