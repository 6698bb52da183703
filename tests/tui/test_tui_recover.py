"""A run that was killed: recovery is offered, and the bar stays until all was put back."""

import os
import signal
from collections.abc import Awaitable, Callable
from threading import Event

import pytest
from textual.pilot import Pilot
from toy import Toy
from tui_pilot import drive, shows, text, until

from campaign.operations.recover import Recovered, recover
from campaign.tui import recovery
from campaign.tui.app import CampaignApp
from campaign.workspace import Workspace


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


def test_what_a_run_keeps_is_shown_and_put_back(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    before = toy.tree()

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "rule")
        await pilot.press("r")
        await shows(pilot, "Does it fail in safe mode?")
        await pilot.press(*"fix")
        await shows(pilot, "campaign run fix")
        await pilot.press("ctrl+k")
        await shows(pilot, "campaign run fix --keep")
        await pilot.press("ctrl+s")
        await shows(pilot, "KEEP: 2 files as changed")
        await pilot.press("y")
        await shows(pilot, "KEPT  fix-", "for rule: 2 files on here since", "idle")
        await pilot.press("K")
        await shows(pilot, "Every host is put back")
        assert "DIRTY" not in text(app)
        await pilot.press("ctrl+s")
        await shows(pilot, "keeps nothing any more", "Everything was put back.")
        await pilot.press("escape")
        await until(pilot, lambda: "KEPT" not in text(app))

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
        await pilot.resize_terminal(80, 24)
        bar = app.screen.query_one("DirtyBar").focus()
        await until(pilot, lambda: app.focused is bar and "--accept" not in text(app))
        await pilot.press(*["down"] * 12)
        await shows(pilot, "--accept")
        await pilot.press("c")
        await until(pilot, lambda: f"campaign recover --accept {rule}" in app.clipboard)
        await pilot.press("2")
        await shows(pilot, "could not be put back whole", "Live run")

    drive(toy.root, script)
    assert toy.run("recover", "--accept", str(rule)).returncode == 0


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Recoveries put back once it is set, as if a service took so long to start."""
    opened = Event()

    def held(workspace: Workspace, run: str) -> Recovered:
        assert opened.wait(60)
        return recover(workspace, run=run)

    monkeypatch.setattr(recovery, "recover", held)
    return opened


def test_a_request_to_end_waits_until_all_is_put_back(toy: Toy, gate: Event) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    before = toy.tree()
    kill_a_run(toy)

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Every host is put back", "rule.py is not as it was")
        await pilot.press("ctrl+s")
        await shows(pilot, "RECOVERING", "everything is being put back")
        os.kill(os.getpid(), signal.SIGTERM)
        await until(pilot, lambda: app._ending.waiting)
        await pilot.press("q")
        assert app.is_running
        gate.set()
        await until(pilot, lambda: not app.is_running)

    assert drive(toy.root, script) == 128 + signal.SIGTERM
    assert toy.tree() == before


async def quit_after_all(pilot: Pilot[int]) -> None:
    await pilot.press("q")
    await shows(pilot, "campaign recover", "It is seen to its end first")
    await pilot.press("enter")
    await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
    await pilot.press("q")
    await shows(pilot, "It is seen to its end first")
    await pilot.press("tab", "enter")


async def hang_up(_pilot: Pilot[int]) -> None:
    os.kill(os.getpid(), signal.SIGHUP)


@pytest.mark.parametrize(("end", "code"), [(quit_after_all, 0), (hang_up, 129)])
def test_a_recovery_is_never_cut_short(
    toy: Toy, gate: Event, end: Callable[[Pilot[int]], Awaitable[None]], code: int
) -> None:
    toy.run("init")

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "nothing is suspected yet")
        app.recover()
        await end(pilot)
        await until(pilot, lambda: app._ending.waiting)
        assert app.is_running
        gate.set()
        await until(pilot, lambda: not app.is_running)

    assert drive(toy.root, script) == code
