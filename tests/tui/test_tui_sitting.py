"""The demo's campaign in one sitting: from an empty folder to the cause, in the terminal UI."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from tui_pilot import drive, lines, shows, text, until

from campaign.tui.app import CampaignApp

SYSTEM = Path(__file__).parents[2] / "campaign" / "demo" / "workspace" / "system"
LONGEST_RUN_S = 400.0
RUNS = {
    "baseline": "",
    "idxk-known-bad": "verdict on idxk-transfer: supported, detector seen",
    "idxk-checksum": "verdict on idxk-transfer: supported",
    "sentinel-after-transfer": "0/60",
    "sentinel-back": "verdict on idxk-transfer: inconclusive",
}
"""What the live screen says once a run of the playbook is over."""


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Path]:
    """An empty folder; whatever services are left of the demo made in it are stopped at the end."""
    yield tmp_path
    campaign = [sys.executable, "-m", "campaign.cli", "-w", str(tmp_path / "demo-campaign")]
    subprocess.run([*campaign, "services", "stop"], check=True, capture_output=True, timeout=120)


async def run(app: CampaignApp, pilot: Pilot[int], playbook: str) -> None:
    """Chooses the playbook, confirms its plan, and follows its run to the end."""
    await pilot.press("r")
    await shows(pilot, "type to narrow the list")
    await pilot.press(*playbook)
    await shows(pilot, f"campaign run {playbook}")
    await pilot.press("ctrl+s")
    await shows(pilot, "Plan for pd-toolcalls-demo", f"campaign run {playbook} --yes")
    await pilot.press("y")
    command = f"campaign run {playbook} --yes"
    await until(pilot, lambda: app.runner.command == command)
    await until(pilot, lambda: not app.runner.busy, LONGEST_RUN_S)
    await shows(pilot, "✓ completed", f"{playbook}-", RUNS[playbook])


@pytest.mark.slow
def test_from_an_empty_folder_to_the_cause(empty: Path) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "no campaign.yaml", "campaign demo")
        await pilot.press("d")
        await shows(pilot, "pd-toolcalls-demo", "Hypotheses (4)", "here: idle")
        for playbook in RUNS:
            await run(app, pilot, playbook)
        await pilot.press("1", "down", "down", "down")
        await shows(pilot, "Runs: idxk-transfer (4)", "that it is part of the cause")
        (row,) = [one for one in lines(app) if "idxk-transfer " in one and "USD" in one]
        assert "confirmed" in row or "supported" in row, text(app)

    assert drive(empty, script, size=(120, 40)) is None
    for shipped in SYSTEM.glob("*.py"):
        assert (empty / "demo-campaign" / "system" / shipped.name).read_bytes() == (
            shipped.read_bytes()
        )
