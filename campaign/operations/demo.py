"""demo: writes the demo's workspace, and says what its campaign runs."""

import shutil
import socket
import sys
from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path

from campaign.errors import CampaignError, Exit
from campaign.operations import hypotheses
from campaign.workspace import Workspace

PLAYBOOKS = (
    "baseline",
    "topk-v2-off",
    "idxk-known-bad",
    "idxk-checksum",
    "sentinel-after-transfer",
    "sentinel-back",
)
NAME = "pd-toolcalls-demo"
_PLACES = ("ROUTER", "PREFILL", "DECODE")
_FILLED = (".yaml", ".env")


def write(folder: Path, *, fresh: bool) -> Workspace:
    """Writes the workspace of the demo into `folder`, with ports that are free now.

    `fresh` replaces an earlier demo there: it is put back and stopped first. Errors:
    CampaignError (USAGE) where something else is there.
    """
    if folder.exists() and any(folder.iterdir()):
        ours = is_demo(folder)
        if not fresh or not ours:
            raise CampaignError(
                Exit.USAGE,
                f"{folder} is there already and not empty",
                "name another folder, or add --fresh" if ours else "name another folder",
            )
        _remove(Workspace(folder))
    with as_file(files("campaign").joinpath("demo", "workspace")) as source:
        shutil.copytree(
            source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    _fill(folder)
    workspace = Workspace(folder.resolve())
    hypotheses.import_file(workspace, workspace.root / "hypotheses.yaml")
    return workspace


def is_demo(folder: Path) -> bool:
    """Whether `folder` holds a workspace of the demo."""
    config = folder / "campaign.yaml"
    return config.is_file() and f"campaign: {NAME}\n" in config.read_text(encoding="utf-8")


def _remove(workspace: Workspace) -> None:
    """Ends an earlier demo. Errors: CampaignError where it cannot be put back or is running."""
    from campaign.operations import services
    from campaign.operations.recover import recover

    if recover(workspace).remaining:
        raise CampaignError(
            Exit.DIRTY,
            f"the demo in {workspace.root} could not be put back",
            "see campaign recover",
        )
    services.stop(workspace, ())
    shutil.rmtree(workspace.root)


def _fill(folder: Path) -> None:
    values = {"@PYTHON@": sys.executable}
    values |= {
        f"@PORT_{place}@": str(port) for place, port in zip(_PLACES, _free_ports(3), strict=True)
    }
    for path in _to_fill(folder):
        text = path.read_text(encoding="utf-8")
        for name, value in values.items():
            text = text.replace(name, value)
        path.write_text(text, encoding="utf-8")


def _to_fill(folder: Path) -> Iterator[Path]:
    yield from (path for path in folder.rglob("*") if path.suffix in _FILLED)


def _free_ports(count: int) -> Sequence[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
