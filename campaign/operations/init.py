"""init: a new workspace, with files that are valid as they stand and say what to change."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from campaign.errors import CampaignError, Exit
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.operations.declared import declared
from campaign.workspace import Workspace

_FILES = {
    "campaign.yaml": "campaign.yaml",
    "playbooks/baseline.yaml": "playbooks/baseline.yaml",
    "patches/README": "patches/README",
    "env/app.env": "env/app.env",
    "gitignore": ".gitignore",
}


def init(folder: Path) -> tuple[Path, ...]:
    """Makes `folder` a workspace and returns the files written; none is overwritten.

    Where campaign.yaml is there, only the ledger is made, or brought up to date. Errors: LoadError;
    CampaignError (USAGE) where nothing is left to do, or the folder cannot be written.
    """
    workspace = Workspace(folder)
    try:
        written = () if workspace.config.exists() else tuple(_write(folder))
    except OSError as error:
        raise CampaignError(
            Exit.USAGE, f"cannot write {error.filename or folder}: {error.strerror}"
        ) from error
    if not written and _is_readable(workspace.ledger):
        raise CampaignError(
            Exit.USAGE, f"{workspace.config} is there already", "nothing was changed"
        )
    system = workspace.load_system(secrets=False)
    with Recorder.open(workspace.ledger, create=True) as recorder:
        recorder.set_campaign(system.campaign, system.symptom, system.cost.currency)
    declared(workspace)
    return (*written, workspace.ledger)


def _write(folder: Path) -> Iterator[Path]:
    template = files("campaign").joinpath("operations", "template")
    for name, place in _FILES.items():
        target = folder / place
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(target, template.joinpath(name).read_bytes())
            yield target


def _write_whole(target: Path, content: bytes) -> None:
    """All of it or nothing: half a file would be taken for one that was there. Errors: OSError."""
    try:
        target.write_bytes(content)
    except OSError:
        target.unlink(missing_ok=True)
        raise


def _is_readable(ledger: Path) -> bool:
    try:
        Ledger.open(ledger).close()
    except CampaignError:
        return False
    return True
