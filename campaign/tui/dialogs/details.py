"""All of a hypothesis: what it claims, its history and its runs."""

from campaign.cli.hypothesis import as_text
from campaign.operations.hypotheses import Shown
from campaign.tui.dialogs.text import TextDialog


class DetailsDialog(TextDialog):
    """Shows what `campaign hypothesis show` prints."""

    def __init__(self, shown: Shown) -> None:
        slug = shown.listed.hypothesis.slug
        super().__init__(f"campaign hypothesis show {slug}", as_text(shown))
