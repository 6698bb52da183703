"""Adding a note to a hypothesis."""

from collections.abc import Sequence

from textual.app import ComposeResult

from campaign.operations import hypotheses as operations
from campaign.tui.dialogs.action import ActionDialog
from campaign.tui.dialogs.fields import Field, line
from campaign.workspace import Workspace


class NoteDialog(ActionDialog):
    """Asks for the text of a note on the hypothesis `slug`."""

    def __init__(self, slug: str) -> None:
        super().__init__()
        self._slug = slug
        self._text = line("", "it is kept in the history, with the time")
        self._note = ""
        self.heading = f"Note on {slug}"

    def compose_fields(self) -> ComposeResult:
        yield Field("note", self._text)

    def collect(self) -> None:
        self._note = self._text.value.strip()

    def arguments(self) -> Sequence[str]:
        return ["hypothesis", "note", self._slug, self._note]

    def act(self, workspace: Workspace) -> None:
        operations.note(workspace, self._slug, self._note)
