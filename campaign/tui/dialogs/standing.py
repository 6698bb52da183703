"""Overruling the standing of a hypothesis."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.widgets import Select

from campaign.operations import hypotheses as operations
from campaign.tui.dialogs.action import ActionDialog
from campaign.tui.dialogs.fields import Field, line
from campaign.workspace import Workspace
from hypotheses.hypothesis import GLYPHS, Hypothesis, Standing


class StandingDialog(ActionDialog):
    """Asks for a standing and its reason; the rules leave the hypothesis alone from then on."""

    def __init__(self, hypothesis: Hypothesis) -> None:
        super().__init__()
        self._slug = hypothesis.slug
        self._choice = Select(
            [(f"{GLYPHS[one]} {one}", one) for one in Standing],
            value=hypothesis.standing,
            allow_blank=False,
            compact=True,
        )
        self._why = line("", "why; it is kept and shown, and the rules leave it alone from then on")
        self._standing, self._reason = hypothesis.standing, ""
        self.heading = f"Standing of {hypothesis.slug}"

    def compose_fields(self) -> ComposeResult:
        yield Field("standing", self._choice)
        yield Field("reason", self._why)

    def collect(self) -> None:
        value = self._choice.value
        self._standing = value if isinstance(value, Standing) else self._standing
        self._reason = self._why.value.strip()

    def arguments(self) -> Sequence[str]:
        return ["hypothesis", "set", self._slug, str(self._standing), "--reason", self._reason]

    def act(self, workspace: Workspace) -> None:
        operations.set_standing(workspace, self._slug, self._standing, self._reason)
