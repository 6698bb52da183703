"""First sight of an empty ledger: what to do, in three steps."""

from rich.text import Text

from campaign.cli.text import columns
from campaign.tui.widgets.empty import Empty

_STEPS = (
    ("1", "describe the system in campaign.yaml", "campaign doctor"),
    ("2", "write down what may be the cause", "n: campaign hypothesis add"),
    ("3", "measure how often it fails", "campaign run baseline"),
    ("", "", ""),
    ("d", "or see it all on a small real system", "campaign demo --no-run"),
)


class Welcome(Empty):
    """Shown while there is neither a hypothesis nor a run."""

    HELP = """
A campaign is the investigation of one symptom on one system. A hypothesis says what may be the
cause; a playbook is one experiment; a run of it costs a restart, and the ledger keeps what it
taught. Begin with the three steps, or look at the demo.
"""

    def __init__(self) -> None:
        super().__init__("", id="welcome")

    def show(self, folder: str) -> None:
        """Says where we are, and the steps."""
        self.update(
            Text(
                f"Nothing was run and nothing is suspected yet in {folder}\n\n"
                f"{columns(_STEPS, indent='  ')}\n\n"
                "Whatever a run changes is put back, byte for byte."
            )
        )
