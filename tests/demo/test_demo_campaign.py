"""The demo as a newcomer runs it. Rates come from a real race: only what must hold is asserted."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
CAMPAIGN = [sys.executable, "-m", "campaign.cli"]


def campaign(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CAMPAIGN, "--workspace", str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def as_json(*arguments: str, folder: Path) -> Any:
    done = campaign(*arguments, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def sources(folder: Path) -> dict[str, str]:
    """The hash of every file that the playbooks may change."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for part in ("system", "env")
        for path in sorted((folder / part).glob("*.*"))
    }


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The workspace after the whole demo, and what was printed."""
    parent = tmp_path_factory.mktemp("demo")
    written = campaign("demo", "d", "--no-run", folder=parent)
    assert written.returncode == 0, written.stderr
    refused = campaign("demo", "d", folder=parent)
    assert refused.returncode == 2
    assert "--fresh" in refused.stderr
    done = campaign("demo", "d", "--fresh", folder=parent)
    assert done.returncode == 0, done.stderr
    return parent / "d", done.stdout


def runs(folder: Path) -> dict[str, Any]:
    return {one["run"]["playbook"]: one for one in as_json("runs", "list", folder=folder)}


def failed(one: Any) -> tuple[int, int]:
    counts = one["counts"]
    return counts["fail"], counts["fail"] + counts["passed"]


def test_the_campaign_tells_its_story(demo: tuple[Path, str]) -> None:
    folder, printed = demo
    found = runs(folder)
    word = {name: one["verdicts"][-1]["word"] for name, one in found.items() if one["verdicts"]}

    assert failed(found["baseline"])[0] > 0
    assert word["topk-v2-off"] == "inconclusive"
    assert word["idxk-known-bad"] == "supported"
    assert word["idxk-checksum"] == "supported"
    assert failed(found["sentinel-after-transfer"]) == (0, 60)
    assert failed(found["sentinel-back"])[0] > 0

    standing = {
        one["hypothesis"]["slug"]: one["hypothesis"]["standing"]
        for one in as_json("hypothesis", "list", folder=folder)
    }
    assert standing["idxk-transfer"] in ("supported", "confirmed")
    assert standing["topk-v2"] in ("open", "leading"), "by luck, at most"
    assert "nothing is ruled out" in printed
    assert printed.rstrip().endswith("campaign tui")


def test_mismatching_rooms_belong_to_leaking_sessions(
    demo: tuple[Path, str],
) -> None:
    shown = as_json("runs", "show", "idxk-checksum", folder=demo[0])
    (comparison,) = shown["comparisons"]
    assert comparison["mismatched"] > 0
    assert comparison["pass_mismatch"] == 0
    assert comparison["fail_match"] == 0
    keys = [key for key in shown["keys"][comparison["id"]] if key["state"] == "mismatched"]
    assert len(keys) == comparison["mismatched"]
    assert all("checksum_probe name=idxk" in key["left_line"] + key["right_line"] for key in keys)


def test_restarts_are_shared_and_costs_sum(demo: tuple[Path, str]) -> None:
    found = as_json("status", folder=demo[0])
    assert found["total"]["restarts"] == 6
    assert sum(one["money"] for one in found["hypotheses"]) == pytest.approx(
        found["total"]["money"]
    )


def test_everything_is_put_back_and_stopped(demo: tuple[Path, str]) -> None:
    folder = demo[0]
    shipped = Path(__file__).parents[2]
    original = sources(shipped / "campaign" / "demo" / "workspace")
    now = sources(folder)
    system = {name: one for name, one in now.items() if name.startswith("system/")}
    assert system == {name: one for name, one in original.items() if name.startswith("system/")}
    assert not any(one["running"] for one in as_json("services", "list", folder=folder))
    assert "Nothing to recover." in campaign("recover", folder=folder).stdout


def test_an_unreadable_environment_is_met_and_vouched_for(
    demo: tuple[Path, str],
) -> None:
    """Decode's worker blanks its environment, as setproctitle does."""
    shown = as_json("runs", "show", "topk-v2-off", folder=demo[0])
    proofs = [json.loads(one["proof"]) for one in shown["states"] if one["service"] == "decode"]
    assert proofs
    assert all(one["unreadable"] for one in proofs)
    assert {one["effect"] for one in proofs} == {"effective"}
