"""init: a new workspace, with files that are valid as they stand and say what to change."""

from importlib.resources import files
from pathlib import Path

from campaign.errors import CampaignError, Exit
from campaign.ledger.recorder import Recorder
from campaign.workspace import Workspace


def init(folder: Path) -> tuple[Path, ...]:
    """Writes a workspace into `folder` and returns the files written.

    Errors: CampaignError (USAGE) where one is there already; nothing is overwritten.
    """
    if (folder / "campaign.yaml").exists():
        raise CampaignError(
            Exit.USAGE, f"{folder / 'campaign.yaml'} is there already", "nothing was changed"
        )
    template = files("campaign").joinpath("operations", "template")
    written = []
    for name in ("campaign.yaml", "playbooks/baseline.yaml", "patches/README", "gitignore"):
        target = folder / (".gitignore" if name == "gitignore" else name)
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(template.joinpath(name).read_bytes())
        written.append(target)
    system = Workspace(folder).load_system()
    with Recorder.open(Workspace(folder).ledger, create=True) as recorder:
        recorder.set_campaign(system.campaign, system.symptom, system.cost.currency)
    return (*written, Workspace(folder).ledger)
