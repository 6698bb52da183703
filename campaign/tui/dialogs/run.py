"""Choosing what to run: a playbook and its variables; then its plan is made."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from campaign.cli.text import columns, shown
from campaign.operations.plan import Planned, Request
from campaign.operations.playbooks import Offered, offered
from campaign.tui.colours import colour
from campaign.tui.dialog import Dialog
from campaign.tui.dialogs.fields import Field, Line
from campaign.tui.dialogs.plan import PlanDialog
from campaign.tui.planning import Attempt
from campaign.tui.reading import Reading
from campaign.tui.runner import command_text
from campaign.tui.the_app import app_of
from campaign.tui.typed import Typed
from campaign.tui.widgets.keys import COPY_COMMAND, HELP_IN_DIALOGS, Keys


class RunDialog(Dialog[None]):
    """A list of playbooks that narrows as one types, the one under the cursor, its variables.

    What was typed stays, whatever comes of planning and of the run; so does the cursor.
    """

    HELP = """
Choose a playbook: type to narrow the list, up and down to move in it, Enter for its variables, and
Enter again for its plan. Planning asks the hosts and changes nothing. ^k has its changes stay on
the hosts until they are put back by the run's name.
"""

    AUTO_FOCUS = "#narrow"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "move_page(-1)", "Page up", show=False),
        Binding("pagedown", "move_page(1)", "Page down", show=False),
        Binding("ctrl+s", "plan", "Plan", priority=True, tooltip="Make its plan, and show it"),
        Binding(
            "ctrl+k",
            "keep",
            "Keep",
            priority=True,
            tooltip="Leave what it changes on the hosts, or put it back as usual",
        ),
        COPY_COMMAND,
        HELP_IN_DIALOGS,
        Binding(
            "escape",
            "back",
            "Close, or stop planning",
            tooltip="Give up planning; where it is not planning, close this",
        ),
    ]

    def __init__(self, typed: Typed) -> None:
        super().__init__()
        self._all = typed
        self._offered: dict[str, Offered] = {}
        self._filter = Input(placeholder="type to narrow the list", compact=True, id="narrow")
        self._list = OptionList(id="playbooks", markup=False)
        self._about = Static("Reading the playbooks ...", markup=False, id="about")
        self._fields = VerticalScroll(classes="fields", can_focus=False)
        self._fields_of: Offered | None = None
        self._command = Static("", markup=False, classes="command")
        self._wrong = Static("", markup=False, classes="wrong")
        self._attempt: Attempt | None = None
        self._planning = ""
        self._keep = False
        self._read: Reading[tuple[Offered, ...]] = Reading(self, self._list_them, self._failed)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="choose") as box:
            box.border_title = "Run a playbook"
            yield self._filter
            yield self._list
            yield self._about
            yield self._fields
            yield self._command
            yield self._wrong
            with Horizontal(classes="buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Plan", id="act", variant="primary", compact=True)
        yield Keys()

    def on_mount(self) -> None:
        workspace = app_of(self).workspace
        if workspace is not None:
            self._read.ask(lambda: offered(workspace), fills=True)

    def on_unmount(self) -> None:
        if self._attempt is not None:
            self._attempt.give_up()

    def _list_them(self, found: tuple[Offered, ...]) -> None:
        self._offered = {one.name: one for one in found}
        self._narrow()
        names = [option.id for option in self._list.options]
        if self._all.playbook in names:
            self._list.highlighted = names.index(self._all.playbook)
        if not found:
            self._about.update("There are no playbooks yet: write one into playbooks/.")

    @on(Input.Changed, "#narrow")
    def _narrow(self) -> None:
        words = self._filter.value.lower().split()
        found = [one for one in self._offered.values() if all(w in _searched(one) for w in words)]
        rows = columns([_row(one) for one in found]).splitlines() if found else []
        self._list.clear_options()
        self._list.add_options(
            Option(Text(row, no_wrap=True, overflow="ellipsis"), id=one.name)
            for row, one in zip(rows, found, strict=True)
        )
        self._list.highlighted = 0 if found else None
        if not found:
            self._about.update("No playbook has that in its name, question or hypothesis.")
            self._fields.remove_children()
            self._fields_of = None
            self._say_command()

    @on(OptionList.OptionHighlighted, "#playbooks")
    async def _show(self) -> None:
        one = self._chosen
        if one is None:
            return
        if one.name != self._planning:
            self._begin_anew()
        if one is not self._fields_of:
            await self._describe(one)
        self._say_command()

    @property
    def _chosen(self) -> Offered | None:
        """The playbook under the cursor."""
        at = self._list.highlighted_option
        return self._offered.get(at.id or "") if at is not None else None

    async def _describe(self, one: Offered) -> None:
        """Says what it is, and has its variables to be typed."""
        self._fields_of = one
        self._about.update(self._described(one))
        await self._fields.remove_children()
        given = one.playbook.vars if one.playbook else {}
        typed = self._all.variables.get(one.name, {})
        await self._fields.mount_all(
            Field(name, _Variable(one.name, name, typed.get(name, value)))
            for name, value in given.items()
        )

    def _described(self, one: Offered) -> Text:
        if one.playbook is None:
            return Text(shown(one.problem), colour(self.app, "error"))
        book = one.playbook
        about = f" for {', '.join(book.hypotheses)}" if book.hypotheses else ""
        rows = [("", f"{book.kind}{about}"), ("asks", book.question)]
        rows += [("if true", book.if_true), ("if false", book.if_false)]
        return Text("\n".join(f"{head:<9} {shown(text)}" for head, text in rows if text))

    @on(Input.Changed, ".variable")
    def _type(self, event: Input.Changed) -> None:
        asked = event.input
        assert isinstance(asked, _Variable)
        typed = self._all.variables.setdefault(asked.playbook, {})
        if typed.get(asked.variable) not in (None, event.value):
            self._begin_anew()
        typed[asked.variable] = event.value
        self._say_command()

    def _request(self, one: Offered) -> Request:
        """The playbook with those variables that are not as it says itself."""
        given = one.playbook.vars if one.playbook else {}
        typed = self._all.variables.get(one.name, {})
        own = {name: value for name, value in typed.items() if given.get(name) != value}
        return Request((one.name,), own, keep=self._keep)

    def _say_command(self) -> None:
        words = self._words()
        self._command.update(Text(shown(command_text(words)) if words else ""))

    def _words(self) -> Sequence[str]:
        if self._chosen is None:
            return ()
        request = self._request(self._chosen)
        pairs = (word for n, v in request.variables.items() for word in ("-e", f"{n}={v}"))
        return ["run", *request.playbooks, *pairs, *(["--keep"] if request.keep else [])]

    def action_keep(self) -> None:
        """Has its changes stay, or be put back as usual."""
        self._keep = not self._keep
        self._begin_anew()
        self._say_command()

    @on(Input.Submitted, "#narrow")
    @on(OptionList.OptionSelected, "#playbooks")
    def _to_variables(self) -> None:
        one = self._chosen
        if one is None or one.playbook is None or not one.playbook.vars:
            self.action_plan()
        else:
            self._fields.query(_Variable).first().focus()

    @on(Input.Submitted, ".variable")
    @on(Button.Pressed, "#act")
    def action_plan(self) -> None:
        """Makes the plan; it is shown once it is there. Keys are held until then, but for Esc."""
        workspace, one = app_of(self).workspace, self._chosen
        if workspace is None or one is None or self._attempt is not None:
            return
        request, self._all.playbook, self._planning = self._request(one), one.name, one.name
        self._say("Planning: the hosts are asked, nothing is changed. Esc gives up.")
        self._attempt = Attempt(self, lambda made: self._ask(made, request), self._failed)
        app_of(self).keyboard.hold(self, self, self._give_up)
        self._attempt.start(workspace, request)

    def _ask(self, planned: Planned, request: Request) -> None:
        self._begin_anew()
        self.app.push_screen(PlanDialog(planned, request), partial(self._confirmed, planned))

    def _confirmed(self, planned: Planned, words: Sequence[str] | None) -> None:
        if words is not None:
            self.dismiss()
            app_of(self).start_run(words, planned)

    def _failed(self, why: str) -> None:
        app_of(self).keyboard.forget()
        self._end_attempt()
        self._say(why)

    def _end_attempt(self) -> None:
        self._attempt = None
        app_of(self).keyboard.release(self)

    def _say(self, text: str) -> None:
        self._wrong.update(Text(shown(text)))
        self._wrong.display = bool(text)

    def _begin_anew(self) -> None:
        """Forgets an attempt to plan what is not chosen any more."""
        if self._attempt is not None:
            self._attempt.give_up()
        self._end_attempt()
        self._say("")

    def action_move(self, by: int) -> None:
        """Moves in the list, from the filter too."""
        if by > 0:
            self._list.action_cursor_down()
        else:
            self._list.action_cursor_up()

    def action_move_page(self, by: int) -> None:
        """Moves in the list by a page, from the filter too."""
        at = (self._list.highlighted or 0) + by * self._list.size.height
        self._list.highlighted = max(0, min(at, self._list.option_count - 1))

    @on(Button.Pressed, "#cancel")
    def action_back(self) -> None:
        """Gives up planning; where it is not planning, closes."""
        if self._attempt is None:
            self.dismiss()
        else:
            self._give_up()

    def _give_up(self) -> None:
        self._begin_anew()
        self._say("Planning was given up; nothing was changed.")

    def action_copy_command(self) -> None:
        """Copies the command."""
        app_of(self).copy(command_text(self._words()))


class _Variable(Line):
    """A field for a variable of a playbook."""

    def __init__(self, playbook: str, variable: str, value: str) -> None:
        super().__init__(value, classes="variable", compact=True, select_on_focus=False)
        self.playbook = playbook
        self.variable = variable


def _row(one: Offered) -> tuple[str, ...]:
    if one.playbook is None:
        return (one.name, "not valid", "-", one.problem.partition("\n")[0])
    hypotheses = ", ".join(one.playbook.hypotheses) or "-"
    return (one.name, str(one.playbook.kind), hypotheses, one.playbook.question)


def _searched(one: Offered) -> str:
    return " ".join(_row(one)).lower()
