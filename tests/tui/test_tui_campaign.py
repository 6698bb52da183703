"""The campaign screen: hypotheses, evidence and runs, at every size."""

from pathlib import Path

import pytest
from report_builders import Arm, Story
from rich.cells import cell_len
from textual._compositor import Compositor, ReflowResult
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widget import Widget
from tui_pilot import drive, lines, shows, text, until

from campaign.tui.app import CampaignApp
from hypotheses.hypothesis import Hypothesis
from hypotheses.observation import Counts


def test_the_focused_hypothesis_has_its_evidence_and_its_runs(folder: Path) -> None:
    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)", "Evidence: topk-v2", "Runs: topk-v2 (1)")
        await shows(pilot, "18/58", "that it is part of the cause", "next: campaign run")
        await pilot.press("down", "down", "down")
        await shows(pilot, "Evidence: idxk-transfer", "Runs: idxk-transfer (4)")
        await shows(pilot, "● ", "confirmed", "mismatch in 20 of 20 failing trials")
        await pilot.press("down")
        await shows(pilot, "Evidence: (none)", "Runs that speak to no hypothesis")

    drive(folder, script, size=(140, 45))


def test_the_filter_and_the_order_are_said_and_escape_shows_all_again(folder: Path) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)")
        await pilot.press("slash", *"detok", "enter")
        await shows(pilot, "Hypotheses (1 of 4)", "Evidence: detokenizer")
        await pilot.press("slash", "down")
        await until(pilot, lambda: app.focused is not None and app.focused.id == "hypotheses-table")
        await pilot.press("slash", *"zzz")
        await shows(pilot, "Nothing fits the filter")
        await pilot.press("escape", "s")
        await shows(pilot, "Hypotheses (4), by standing")
        await until(pilot, lambda: app.focused is not None and app.focused.id == "hypotheses-table")
        assert text(app).index("●  idxk-transfer") < text(app).index("–  mtp")

    drive(folder, script)


def test_below_100_columns_enter_shows_the_evidence_and_resizing_keeps_the_focus(
    folder: Path,
) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)")
        assert "Evidence" not in text(app)
        await pilot.press("down", "enter")
        await shows(pilot, "Evidence: mtp")
        await until(pilot, lambda: "Hypotheses" not in text(app))
        await until(pilot, lambda: app.focused is not None and app.focused.id == "evidence-scroll")
        focused = app.focused
        await pilot.resize_terminal(140, 40)
        await shows(pilot, "Evidence: mtp", "Hypotheses (4)")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "Hypotheses" not in text(app))
        assert app.focused is focused
        await pilot.press("escape")
        await shows(pilot, "Hypotheses (4)", "Runs: mtp")
        await pilot.press("n")
        await shows(pilot, "New hypothesis")
        await pilot.resize_terminal(140, 40)
        await until(pilot, lambda: app.screen_stack[0].has_class("-wide"))

    drive(folder, script, size=(80, 24))


def test_of_more_hypotheses_than_there_is_room_for_the_one_under_the_cursor_is_in_sight(
    told: Story,
) -> None:
    for number in range(40):
        told.recorder.add_hypothesis(Hypothesis(f"more-{number}", "one of many"))

    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (44)", "topk-v2")
        await pilot.press("end", "up")
        await shows(pilot, "○  more-39", "Runs: more-39")
        await pilot.press("slash", *"more-3")
        await shows(pilot, "Hypotheses (11 of 44)", "○  more-32", "○  more-39", "F1 Help")
        await pilot.press("escape", "home")
        await shows(pilot, "topk-v2", "Runs: topk-v2")

    drive(told.recorder.path.parent, script, size=(80, 24))


def are_aligned(app: CampaignApp) -> bool:
    """Whether every line of the panes ends in a frame, at the same column."""
    frame = ("┃", "│", "┓", "╮", "┛", "╯")
    ends = lines(app)[1:-1]
    return all(one.endswith(frame) and cell_len(one) == app.size.width for one in ends)


def test_markup_and_control_characters_are_shown_and_columns_stay_aligned(told: Story) -> None:
    told.recorder.add_hypothesis(Hypothesis("[red]bold[/red]", "[link=x]\x1b[31m not markup [/]"))
    told.recorder.add_hypothesis(Hypothesis("模型-e\u0301", "wide and combining"))
    slugs = ["[red]bold[/red]", "模型-e\u0301"]
    told.run("[b]run[/b]", "probe", [Arm(Counts(1, 2), name="漢字")], slugs)

    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "[red]bold[/red]", "模型-e\u0301")
        await pilot.press("down", "down", "down", "down")
        await shows(pilot, "[link=x]\ufffd[31m not markup [/]", "[b]run[/b]", "1/3")
        await until(pilot, lambda: are_aligned(app))
        await pilot.press("3")
        await shows(pilot, "Runs (9)", "[b]run[/b]", "speaks to [red]bold[/red], 模型-e\u0301")
        await until(pilot, lambda: are_aligned(app))

    drive(told.recorder.path.parent, script, size=(140, 40))


def test_what_another_process_writes_appears(told: Story) -> None:
    async def script(_app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Hypotheses (4)")
        told.recorder.add_hypothesis(Hypothesis("from-elsewhere", "somebody had an idea"))
        await shows(pilot, "Hypotheses (5)", "from-elsewhere")

    drive(told.recorder.path.parent, script)


def test_the_mouse_chooses_rows_modes_and_keys(folder: Path) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Evidence: topk-v2")
        await pilot.click("#hypotheses-table", offset=(8, 3))
        await shows(pilot, "Evidence: detokenizer")
        await pilot.click("Keys", offset=(lines(app)[-1].index("New") + 1, 0))
        await shows(pilot, "New hypothesis")
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.click("CampaignLine", offset=(lines(app)[0].index("History"), 0))
        await until(pilot, lambda: app.current_mode == "history")
        await shows(pilot, "Run: detok-log", "mtp-off-")
        await pilot.click("RunList", offset=(4, 2))
        await shows(pilot, "Run: mtp-off")

    drive(folder, script)


@pytest.fixture
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each layout a place was asked for: Textual then tells no widget of its new size."""
    real = Compositor.reflow

    def reflow(self: Compositor, parent: Widget, size: Size) -> ReflowResult:
        if self.root is not None:
            self._full_map_invalidated = True
            assert self.full_map
        return real(self, parent, size)

    monkeypatch.setattr(Compositor, "reflow", reflow)


@pytest.mark.usefixtures("untold")
def test_what_comes_into_sight_at_another_size_is_drawn_for_that(folder: Path) -> None:
    async def script(app: CampaignApp, pilot: Pilot[int]) -> None:
        await shows(pilot, "Evidence: topk-v2", "that it is part of the cause")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "Evidence" not in text(app))
        await pilot.press("enter")
        await shows(pilot, "Evidence: topk-v2", "┃ what else is needed to confirm it")

    drive(folder, script, size=(200, 50))
