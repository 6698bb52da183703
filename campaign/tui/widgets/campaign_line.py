"""The first line of every mode: campaign, target and state, spend, ledger; and the modes."""

import time
from collections.abc import Iterator

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from campaign.cli.text import count, seconds, shown
from campaign.operations.status import Overview
from campaign.tui.colours import colour
from campaign.tui.figures import cut
from campaign.tui.the_app import app_of
from campaign.tui.widgets.keys import PRESS, KeyText
from playbooks.system import Budget, System

_MODES = (("1", "campaign", "Campaign"), ("2", "live", "Live run"), ("3", "history", "History"))
_NARROW = 100


class CampaignLine(KeyText):
    """Follows what the app knows of the campaign; a click on a mode goes there."""

    def on_mount(self) -> None:
        for name in ("overview", "problem", "system", "invalid", "theme"):
            self.watch(self.app, name, self._draw)
        self.set_interval(1.0, self._tick)

    def on_resize(self) -> None:
        self._draw()

    def _tick(self) -> None:
        """The time that a run has taken goes on while nothing is written."""
        overview = app_of(self).overview
        if overview is not None and overview.running and self.screen.is_current:
            self._draw()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        self._entitle()
        modes = self._modes()
        room = self.size.width - cell_len(modes.plain) - 2
        left = cut(shown(" | ".join(self._parts())), room)
        self.write(Text.assemble(left, " " * max(2, room - cell_len(left) + 2), modes))

    def _entitle(self) -> None:
        app = app_of(self)
        overview, name = app.overview, app.workspace.root.name if app.workspace else ""
        if overview is not None:
            state = "running" if overview.running else "NOT PUT BACK" if overview.left else ""
            app.entitle(_name(overview, app.system) or name, state)

    def _modes(self) -> Text:
        """The modes, the one that is shown set apart."""
        text = Text()
        narrow = self.size.width < _NARROW
        for key, mode, name in _MODES:
            active = mode == self.app.current_mode
            tint = f"reverse {colour(self.app, 'primary')}" if active else colour(self.app, "quiet")
            press = Style(meta={PRESS: key})
            label = f" {key} " if narrow and not active else f" {key} {name} "
            text.append(label, Style.parse(tint) + press)
        return text

    def _parts(self) -> Iterator[str]:
        app = app_of(self)
        overview, system = app.overview, app.system
        if overview is None or app.workspace is None:
            yield app.workspace.root.name if app.workspace else ""
        else:
            yield _name(overview, system) or app.workspace.root.name
            if app.invalid:
                yield "campaign.yaml is not valid: campaign check"
            if app.problem:
                yield "the ledger cannot be read"
                return
            yield _state(overview, system)
            yield _spend(overview, system)
            yield app.workspace.ledger.name


def _name(overview: Overview, system: System | None) -> str:
    if overview.campaign is not None:
        return overview.campaign.name
    return system.campaign if system else ""


def _state(overview: Overview, system: System | None) -> str:
    """What the target is doing: "gpu-a: running baseline-x7k2qa for 41 s"."""
    target = f"{', '.join(system.hosts)}: " if system else ""
    if overview.running:
        run, more = overview.running[0], len(overview.running) - 1
        took = seconds(max(0.0, time.time() - run.started_at))
        return f"{target}running {run.id} for {took}" + (f" and {more} more" if more else "")
    if any(run.state == "dirty" for run in overview.left):
        return f"{target}dirty"
    return f"{target}interrupted" if overview.left else f"{target}idle"


def _spend(overview: Overview, system: System | None) -> str:
    """What the campaign has cost so far, and of which budget where there is one."""
    if overview.total is None:
        return "summing what it cost ..."
    total, budget = overview.total, system.budget if system else Budget()
    down = seconds(total.downtime_s)
    if budget.downtime_s is not None:
        down += f" of {seconds(budget.downtime_s)}"
    limit = budget.restarts
    restarts = (
        count(total.restarts, "restart")
        if limit is None
        else (f"{total.restarts} of {count(limit, 'restart')}")
    )
    parts = [f"down {down}", restarts]
    if budget.seconds is not None:
        parts.append(f"occupied {seconds(total.occupied_s)} of {seconds(budget.seconds)}")
    if overview.campaign is not None and overview.campaign.currency:
        of = "" if budget.money is None else f" of {budget.money:.2f}"
        parts.append(f"{total.money:.2f}{of} {overview.campaign.currency}")
    return ", ".join(parts)
