"""A plan as text and as JSON."""

import json
from collections.abc import Iterator
from pathlib import Path

from msgspec import to_builtins

from campaign.cli.recovered import kept_data, kept_lines
from campaign.cli.text import columns, count, money, seconds, shown
from campaign.engine.guards import guard_name
from campaign.engine.hooks import hooks_of
from campaign.errors import CampaignError, Exit
from campaign.operations.confirmed import Confirmed, confirmed
from campaign.operations.plan import Planned
from playbooks import probes
from playbooks.diff import unified
from playbooks.edits import FileEdit
from playbooks.env.values import told
from playbooks.plan import Boot, BootForecast, Plan
from playbooks.playbook import Playbook, Reproduce, Step
from playbooks.redact import Redactor

_CUT_OFF = "(hard links): left as they are, and no links of it any more after putting back"

MOST_LINES, HEAD = 40, 12
"""A whole file of more lines is shown by its head, of so many lines."""


def as_text(planned: Planned, *, diffs: bool | None) -> str:
    """The plan as a person reads it before saying yes.

    `diffs`: whether it has the changes of files; None: it has, but of long files the head alone.
    """
    text = "\n".join(_lines(planned, diffs))
    return shown(Redactor(planned.system.secrets).text(text))


def _lines(planned: Planned, diffs: bool | None) -> Iterator[str]:
    plan, system = planned.plan, planned.system
    yield f"Plan for {system.campaign}: {_boots(planned)}"
    for kept in planned.stack:
        yield from (f"  {line}" for line in kept_lines(kept))
    for playbook in {boot.run: boot.playbook for boot in plan.measured}.values():
        yield from _order(playbook)
    for boot, forecast in zip(plan.boots, plan.forecast, strict=True):
        yield ""
        yield from _boot(planned, boot, forecast, diffs)
    yield ""
    yield f"In all: {_cost(planned)}"
    if planned.beyond:
        yield f"  BEYOND THE BUDGET: {planned.beyond}; a run is refused"
    yield from _kept(planned)
    if any(one.guessed for one in plan.forecast):
        yield "  Guessed where this ledger has no past cycle or run to go by."
    for one in planned.past:
        yield f"  {one}"
    for one in planned.can_show:
        yield f"  {one}"
    yield from _watched(planned)
    for one in planned.without_undo:
        yield f"  NO UNDO: {one} cannot be taken back"


def _watched(planned: Planned) -> Iterator[str]:
    """What must hold meanwhile, and what is done where something fails."""
    for guard in planned.system.guards:
        rest = "" if guard.through_restarts else ", but for restarts"
        yield f"  guard: {guard_name(guard)}, every {seconds(guard.every_s)}{rest}"
    wanted = planned.system.on_failure
    done = [f"capture {one.name}" for one in wanted.capture]
    done += [f"collect {', '.join(wanted.collect)}"] if wanted.collect else []
    done += [f"hold at most {seconds(wanted.hold_s)}"] if wanted.hold_s else []
    if done:
        yield f"  on failure: {'; '.join(done)}"


def _order(playbook: Playbook | None) -> Iterator[str]:
    """In which order a playbook's arms come, where it has several boots."""
    if playbook is None or not (playbook.arms or playbook.blocks > 1):
        return
    words = [playbook.schedule.value] if playbook.arms else []
    words.append(count(playbook.blocks, "block"))
    if playbook.seed is not None:
        words.append(f"seed {playbook.seed}")
    arms = " | ".join(" ".join(block) for block in playbook.order) if playbook.arms else ""
    yield f"  {playbook.name}: {', '.join(words)}{': ' if arms else ''}{arms}"


def _boots(planned: Planned) -> str:
    measured, cycles = len(planned.plan.measured), planned.plan.cycles
    boots = f"{measured} boot{'s' if measured != 1 else ''} to measure"
    if planned.plan.keep:
        return f"{boots}, {cycles - 1} restart{'s' if cycles != 2 else ''}, and 1 for the way back"
    return f"{boots}, {cycles} restart{'s' if cycles != 1 else ''} with the way back"


def _cost(planned: Planned) -> str:
    plan, system = planned.plan, planned.system
    price = f", {money(plan.money, system.cost.currency)}" if system.cost.currency else ""
    return f"about {_down(plan)}, {seconds(plan.seconds)} in all{price}"


def _down(one: Plan | BootForecast) -> str:
    lost = f", {seconds(one.lost_s)} of capacity lost" if one.lost_s else ""
    return f"{seconds(one.downtime_s)} down{lost}"


def _diff(edit: FileEdit, whole: bool) -> Iterator[str]:
    """What an edit changes; a probe's own file is named, not printed."""
    probe = probes.named(edit.content)
    if probe is not None:
        yield f"the {probe} probe, as it comes with campaign"
        return
    lines = unified(edit.base, edit.content, edit.path).splitlines()
    is_long = None in (edit.base, edit.content) and len(lines) > MOST_LINES
    head = lines[:HEAD] if is_long and not whole else lines
    yield from head
    if left := len(lines) - len(head):
        yield f"... {left} more lines: --diff shows them"


def _boot(
    planned: Planned, boot: Boot, forecast: BootForecast, diffs: bool | None
) -> Iterator[str]:
    number, later = f"{boot.position + 1}/{len(planned.plan.boots)}", _later(planned, boot)
    yield f"{number}  {'keep' if later else boot.title}{_about(boot)}"
    yield from later
    if boot.playbook is not None and boot.playbook.question:
        yield f"     asks: {boot.playbook.question}"
    for edit in boot.edits:
        yield f"     edit {edit.host}:{edit.where}  ({_size(edit)})"
        if edit.other_names:
            yield f"       it has {count(edit.other_names, 'other name')} {_CUT_OFF}"
        if diffs is not False and not _is_env(planned, edit):
            yield from (f"       {line}" for line in _diff(edit, whole=bool(diffs)))
    if boot.env:
        rows = [
            (f"{one.service}: {one.name}", told(one.before), "->", told(one.after))
            for one in boot.env
        ]
        yield columns(rows, indent="     env  ")
    for step in boot.before:
        yield f"     {_step(step)}"
    if boot.reload:
        yield f"     reload {', '.join(boot.services)}  (they go on running)"
    elif boot.services:
        down = f"{'guessed' if forecast.guessed else 'about'} {_down(forecast)}"
        batches = f" in batches of {boot.batch}" if boot.batches else ""
        yield f"     restart {', '.join(boot.services)}{batches}  ({down})"
        yield from _hooks(planned, boot)
    elif boot.playbook is None:
        yield "     nothing to put back: the base is running already"
    for step in boot.measures:
        yield f"     {_step(step)}"


def _later(planned: Planned, boot: Boot) -> tuple[str, ...]:
    """What a plan that keeps its changes says of the way back; nothing for any other boot."""
    if not planned.plan.keep or boot.playbook is not None:
        return ()
    return ("     nothing is put back or restarted now; later:",)


def _kept(planned: Planned) -> Iterator[str]:
    """What stays at the end."""
    if planned.plan.keep:
        files = count(len(planned.plan.measured[-1].edits), "file")
        yield f"  KEEP: {files} as changed, on the hosts, until campaign recover RUN"
        yield "  (where the run fails or its verdict is invalid, everything is put back at once)"


def _hooks(planned: Planned, boot: Boot) -> Iterator[str]:
    """What the services want run around that restart; what has an undo is not left at the base."""
    services = [planned.system.services[name] for name in boot.services]
    for name, undo in hooks_of(services, last=boot.playbook is None):
        yield f"       {name}  ({undo or 'no undo'})"


def _about(boot: Boot) -> str:
    if boot.playbook is None:
        return ""
    names = f" for {', '.join(boot.playbook.hypotheses)}" if boot.playbook.hypotheses else ""
    return f"  ({boot.playbook.kind}{names})"


def _step(step: Step) -> str:
    rule = step.action.rule if isinstance(step.action, Reproduce) else None
    until = f"  ({rule})" if rule else ""
    return f"{type(step.action).__name__.lower()}: {step.name}{until}"


def _size(edit: FileEdit) -> str:
    if edit.base is None:
        return "new file"
    if edit.content is None:
        return "deleted"
    if edit.base == edit.content:
        return f"mode {edit.before.mode:04o} -> {edit.after.mode:04o}"
    diff = unified(edit.base, edit.content, edit.path).splitlines()
    plus = sum(line.startswith("+") and not line.startswith("+++") for line in diff)
    minus = sum(line.startswith("-") and not line.startswith("---") for line in diff)
    return f"+{plus} -{minus} lines"


def _is_env(planned: Planned, edit: FileEdit) -> bool:
    """Whether the env table shows the edit already."""
    services = planned.system.services.values()
    return any(one.env is not None and one.env.path == edit.where for one in services)


def as_data(planned: Planned) -> dict[str, object]:
    """The plan for programs; secrets are taken out. A run can be held to it: see `read`."""
    redactor = Redactor(planned.system.secrets)
    plan = planned.plan
    return {
        "campaign": planned.system.campaign,
        "restarts": plan.cycles,
        "downtime_s": plan.downtime_s,
        "lost_s": plan.lost_s,
        "seconds": plan.seconds,
        "money": plan.money,
        "currency": planned.system.cost.currency,
        "history": list(planned.past),
        "beyond": planned.beyond,
        "can_show": list(planned.can_show),
        "without_undo": list(planned.without_undo),
        "keep": plan.keep,
        "kept": [kept_data(one) for one in planned.stack],
        "confirm": to_builtins(confirmed(planned)),
        "boots": [
            _boot_data(boot, forecast, redactor)
            for boot, forecast in zip(plan.boots, plan.forecast, strict=True)
        ],
    }


def _boot_data(boot: Boot, forecast: BootForecast, redactor: Redactor) -> dict[str, object]:
    return {
        "playbook": boot.playbook.name if boot.playbook else None,
        "kind": boot.playbook.kind.value if boot.playbook else None,
        "hypotheses": list(boot.playbook.hypotheses) if boot.playbook else [],
        "arm": boot.arm,
        "block": boot.block,
        "seed": boot.playbook.seed if boot.playbook else None,
        "restarts": [] if boot.reload else list(boot.services),
        "reloads": list(boot.services) if boot.reload else [],
        "batches": [list(batch) for batch in boot.batches],
        "downtime_s": forecast.downtime_s,
        "lost_s": forecast.lost_s,
        "measure_s": forecast.measure_s,
        "money": forecast.money,
        "guessed": forecast.guessed,
        "edits": [
            {
                "host": edit.host,
                "path": edit.where,
                "before": edit.before.sha256,
                "after": edit.after.sha256,
                "other_names": edit.other_names,
                "diff": redactor.text(unified(edit.base, edit.content, edit.path)),
            }
            for edit in boot.edits
        ],
        "env": [
            {
                "service": one.service,
                "name": one.name,
                "before": one.before if one.before is None else redactor.text(one.before),
                "after": one.after if one.after is None else redactor.text(one.after),
            }
            for one in boot.env
        ],
        "measures": [_step(step) for step in boot.measures],
    }


def as_json(planned: Planned) -> str:
    """The plan as `read` takes it."""
    return json.dumps(as_data(planned))


def read(path: Path) -> Confirmed:
    """What `campaign plan --json` has written to `path`. Errors: CampaignError (USAGE)."""
    try:
        found = json.loads(path.read_bytes())["confirm"]
        facts = {str(name): str(fact) for name, fact in found["facts"].items()}
        return Confirmed(facts, {str(name): int(seed) for name, seed in found["seeds"].items()})
    except OSError as error:
        why = str(error.strerror)
    except (ValueError, KeyError, TypeError, AttributeError):
        why = "it is no plan"
    raise CampaignError(
        Exit.USAGE, f"{path}: {why}", "write one: campaign plan PLAYBOOK --json >FILE"
    )
