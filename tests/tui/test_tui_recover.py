"""A run that was killed: recovery is offered, and the bar stays until all was put back."""

import signal

from textual.pilot import Pilot
from toy import Toy
from tui_pilot import drive, shows, text, until

from campaign.tui.app import CampaignApp


def kill_a_run(toy: Toy) -> None:
    process = toy.start("run", "fix", "-y", "-e", "trials=5000")
    assert process.stderr is not None
    assert any("restart app  ok" in line for line in process.stderr)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def test_an_interrupted_run_is_offered_recovery(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    before = toy.tree()
    kill_a_run(toy)

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Every host is put back", "rule.py is not as it was")
        await pilot.press("escape")
        await shows(pilot, "interrupted", "R recovers (campaign recover)")
        await pilot.press("R", "ctrl+s")
        await shows(pilot, "Everything was put back.")
        await pilot.press("escape")
        await until(pilot, lambda: "R recovers" not in text(app))

    drive(toy.root, script)
    assert toy.tree() == before


def test_what_is_left_to_do_stays_on_the_bar_and_can_be_copied(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    kill_a_run(toy)
    rule = toy.root / "src" / "rule.py"
    rule.write_text("BUG = False  # mine\n", encoding="utf-8")

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Every host is put back", "INTERRUPTED")
        await pilot.press("ctrl+s")
        await shows(pilot, "DIRTY: what is left to do")
        await pilot.press("escape")
        await shows(pilot, "DIRTY", "could not be put back whole")
        app.screen.query_one("DirtyBar").focus()
        await pilot.press("c")
        await until(pilot, lambda: f"campaign recover --accept {rule}" in app.clipboard)
        await pilot.press("2")
        await shows(pilot, "could not be put back whole", "Live run")

    drive(toy.root, script)
    assert toy.run("recover", "--accept", str(rule)).returncode == 0
