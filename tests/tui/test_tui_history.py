"""History: every run found, looked into, compared, plotted and retracted."""

from pathlib import Path

from report_builders import Arm, Story
from textual.pilot import Pilot
from toy import Toy
from tui_pilot import drive, shows, text, until

from campaign.ledger import records
from campaign.ledger.reads import Ledger
from campaign.tui.app import CampaignApp
from campaign.tui.widgets.run_list import RunList
from hypotheses.observation import Counts


def test_runs_are_found_by_words_and_by_text_and_the_command_is_shown(folder: Path) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await pilot.press("3")
        await shows(pilot, "Runs (8)")
        await pilot.press("slash", *"verdict:supported")
        await shows(pilot, "Runs (2 found)", "idxk-known-bad", "campaign runs list --verdict")
        await pilot.press(*" status:never")
        await shows(pilot, "status: is one of running, completed")
        await pilot.press("ctrl+u", *"ANOTHER day")
        await shows(pilot, "Runs (1 found)", "detok-log-0")
        await pilot.press("ctrl+u", *"100%")
        await shows(pilot, "Nothing fits the filter")
        await pilot.press("escape")
        await shows(pilot, "Runs (8)")
        await until(pilot, lambda: app.focused is not None and app.focused.id == "run-list")

    drive(folder, script)


def test_a_run_of_another_screen_opens_and_enter_shows_it_where_there_is_little_room(
    folder: Path,
) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Runs: topk-v2 (1)")
        await pilot.press("tab", "enter")
        await shows(pilot, "Runs (8)", "topk-v2-off-0", "Open")
        assert "Back" not in text(app)
        assert "Run: topk" not in text(app)
        await pilot.press("enter")
        await shows(pilot, "Run: topk-v2-off-0", "still needed", "esc Back")
        await pilot.press("escape")
        await shows(pilot, "Runs (8)")

    drive(folder, script, size=(80, 24))


def test_what_becomes_of_a_run_is_shown_also_where_its_list_has_no_room(told: Story) -> None:
    run = told.run("one", "probe", [Arm(Counts(1, 8))])

    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await pilot.press("3")
        await shows(pilot, f"· {run}", "Open")
        await pilot.press("enter")
        await shows(pilot, f"Run: {run}")
        told.recorder.retract(run, "wrong host")
        await shows(pilot, "retracted: wrong host")

    drive(told.recorder.path.parent, script, size=(80, 24))


def test_two_runs_side_by_side_and_the_plots(folder: Path) -> None:
    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await pilot.press("3")
        await shows(pilot, "Runs (8)", "Run: detok-log")
        await pilot.press("down", "down")
        await shows(pilot, "Run: sentinel-back")
        await pilot.press("m", "down")
        await shows(pilot, "◆", "Run: sentinel-after", "Compare")
        await pilot.press("c")
        await shows(pilot, "campaign runs compare sentinel-back", "24/60", "Fisher p < .0001")
        await pilot.press("escape", "p")
        await shows(pilot, "sentinel-after-transfer: rate and spending", "money spent", "┤")

    drive(folder, script)


def test_a_retraction_needs_a_reason_and_shows_its_command(told: Story) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await pilot.press("3")
        await shows(pilot, "Runs (8)", "Run: detok-log")
        await pilot.press("x", "end")
        await shows(pilot, "Run: baseline-000001")
        await pilot.press("x", "enter")
        await shows(pilot, "a retraction needs a reason")
        await pilot.press(*"wrong load", "enter")
        await until(
            pilot,
            lambda: app.command == "campaign runs retract baseline-000001 --reason 'wrong load'",
        )
        await shows(pilot, "retracted: wrong load")

    drive(told.recorder.path.parent, script)
    with Ledger.open(told.recorder.path) as ledger:
        assert ledger.run("baseline-000001").retracted == "wrong load"


def test_the_raw_output_is_read_from_the_file_and_searched(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    assert toy.run("run", "baseline", "-y").returncode == 0

    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await pilot.press("3")
        await shows(pilot, "Runs (1)", "baseline-", "Run: baseline-", "proof", "pid")
        await pilot.press("o")
        await shows(pilot, "campaign runs log baseline-", "output.log")
        await pilot.press("slash", *"nowhere", "enter")
        await shows(pilot, "no earlier 'nowhere'")

    drive(toy.root, script)


def test_of_a_line_that_is_longer_than_what_is_read_at_once_the_next_ones_are_shown(
    told: Story,
) -> None:
    run = told.run("[b]long[/b]", "probe", [Arm(Counts(1, 8))])
    folder = told.recorder.path.parent
    (folder / "long.log").write_text(f"first\n{'x' * 1_000_000}\nthird\nlast", encoding="utf-8")
    told.recorder.add(records.Artifact("kept", run, None, "output.log", "long.log", "00", 1))

    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await pilot.press("3")
        await shows(pilot, "· [b]long[/b]-", "no verdict")
        await pilot.press("o")
        await shows(pilot, "last")
        await pilot.press("g")
        await shows(pilot, "first", "xxx", "third", "held")

    drive(folder, script)


def test_of_a_long_list_only_what_is_seen_is_read(told: Story) -> None:
    for _ in range(300):
        told.run("[b]many[/b]")

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await pilot.press("3")
        await shows(pilot, "Runs (308)", "[b]many[/b]")
        runs = app.screen_stack[0].query_one(RunList)
        await until(pilot, lambda: runs.places[-1] in runs._known)
        await pilot.press("end")
        await shows(pilot, "Run: baseline-000001", "· baseline-000001")
        await until(pilot, lambda: "  …" not in text(app))
        told.run("newest")
        await shows(pilot, "Runs (309)", "· baseline-000001")
        await pilot.press("home")
        await shows(pilot, "newest-")
        assert len(runs._known) < 200

    drive(told.recorder.path.parent, script)
