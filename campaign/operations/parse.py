"""parse: what a parser reads in an output that is there already."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field

from campaign.errors import CampaignError, Exit
from campaign.operations.plan import Request, check
from campaign.workspace import Workspace
from hypotheses.observation import Counts, Trial, count
from hypotheses.splits import Split, splits
from playbooks.language.problems import suggest
from playbooks.language.references import reproducer_names
from playbooks.parsers import FORMATS, ExitInfo, ParseError, make
from playbooks.playbook import Playbook, Reproduce
from playbooks.system import ParseSpec, Reproducer
from playbooks.templates import render
from playbooks.unpacked import CannotRead, unpacked

CHUNK = 1 << 20
STDIN = "-"


class Asked(Struct, frozen=True):
    """Which output (`-` is standard input) is read how.

    `name` is a reproducer's, a playbook's or a format's; the others say more about a format.
    `exit` is the program's exit code, None where nobody knows it; `cut` says that it was stopped.
    """

    name: str
    file: str
    fail: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    censored: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    planned: int | None = None
    exit: int | None = None
    cut: bool = False

    @property
    def says_more(self) -> bool:
        return bool(self.fail or self.passed or self.censored or self.options or self.attributes)


class OutcomeCount(Struct, frozen=True):
    """How many trials had an outcome, and what that means."""

    outcome: str
    result: str
    trials: int


class Reading(Struct, frozen=True):
    """What was read, by the parser that `source` names.

    `named` and `keyed` trials have an id or keys; `splits` are attributes that separate them.
    """

    source: str
    format: str
    counts: Counts
    outcomes: tuple[OutcomeCount, ...]
    named: int
    keyed: int
    warnings: tuple[str, ...]
    splits: tuple[Split, ...]


class _Chosen(Struct, frozen=True):
    spec: ParseSpec
    source: str
    planned: int | None = None


def parse(start: Path, asked: Asked) -> Reading:
    """Reads the whole output through the parser, as a run would. Touches nothing.

    A reproducer or a playbook is one of the workspace that `start` lies in. Errors: LoadError,
    CampaignError (USAGE), also where the output cannot be counted.
    """
    chosen = _chosen(start, asked)
    if chosen.spec.format == "exit" and asked.exit is None:
        what = f"{chosen.source} goes by the exit code alone"
        raise CampaignError(Exit.USAGE, what, "give it with --exit")
    planned = chosen.planned if asked.planned is None else asked.planned
    info = ExitInfo(None if asked.cut else asked.exit or 0, stopped=asked.cut)
    try:
        with _opened(asked.file) as output:
            trials, warnings = _read(chosen.spec, output, info, planned)
    except ParseError as error:
        why = str(error).removeprefix(f"parse: {chosen.spec.format}: ")
        raise CampaignError(Exit.USAGE, f"{asked.file} as {chosen.source}: {why}") from error
    return _reading(chosen, trials, warnings)


def _read(
    spec: ParseSpec, output: BinaryIO, info: ExitInfo, planned: int | None
) -> tuple[list[Trial], tuple[str, ...]]:
    parser, trials = make(spec), list[Trial]()
    while chunk := output.read(CHUNK):
        trials += parser.feed(chunk)
    parsed = parser.finish(info, planned)
    return [*trials, *parsed.trials], parsed.warnings


def _reading(chosen: _Chosen, trials: list[Trial], warnings: tuple[str, ...]) -> Reading:
    seen = Counter((trial.outcome, trial.result.value) for trial in trials)
    return Reading(
        chosen.source,
        chosen.spec.format,
        count(trials),
        tuple(OutcomeCount(*what, number) for what, number in seen.most_common()),
        sum(trial.ident is not None for trial in trials),
        sum(bool(trial.keys) for trial in trials),
        warnings,
        splits(trials),
    )


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """The output, unpacked where it is packed. Errors: CampaignError (USAGE)."""
    if name == STDIN:
        yield sys.stdin.buffer
        return
    try:
        with unpacked(Path(name)) as output:
            yield output
    except CannotRead as error:
        raise CampaignError(Exit.USAGE, str(error)) from error


def _chosen(start: Path, asked: Asked) -> _Chosen:
    """A format of that name, so that this works beside any campaign.yaml; else what is in it."""
    if asked.name in FORMATS:
        results = (frozenset(asked.fail), frozenset(asked.passed), frozenset(asked.censored))
        spec = ParseSpec(asked.name, *results, asked.options, asked.attributes)
        return _Chosen(spec, asked.name)
    if asked.says_more:
        what = f"{asked.name!r} is no format, and options say more about one"
        raise CampaignError(Exit.USAGE, what, f"formats: {', '.join(FORMATS)}")
    try:
        workspace = Workspace.find(start)
    except CampaignError:
        raise _unknown(asked.name, FORMATS) from None
    return _configured(workspace, asked)


def _configured(workspace: Workspace, asked: Asked) -> _Chosen:
    """The reproducer of that name, or the one that the playbook of that name drives."""
    reproducers = workspace.load_system(secrets=False).reproducers
    if asked.name in reproducers:
        reproducer = reproducers[asked.name]
        planned = _planned(reproducer, asked.variables)
        return _Chosen(reproducer.parse, f"reproducer {reproducer.name}", planned)
    if asked.name in workspace.playbook_names() or asked.name.endswith((".yaml", ".yml")):
        return _of_playbook(workspace, asked)
    raise _unknown(asked.name, (*reproducers, *workspace.playbook_names(), *FORMATS))


def _of_playbook(workspace: Workspace, asked: Asked) -> _Chosen:
    system, (playbook,) = check(workspace, Request((asked.name,), asked.variables))
    actions = [step.action for step in playbook.steps if isinstance(step.action, Reproduce)]
    names = dict.fromkeys(action.use for action in actions)
    if len(names) != 1:
        what = f"{playbook.name} drives {_listed(names)}"
        raise CampaignError(Exit.USAGE, what, "name the reproducer whose output it is")
    reproducer = system.reproducers[actions[0].use]
    source = f"reproducer {reproducer.name} of {playbook.name}"
    return _Chosen(reproducer.parse, source, _planned(reproducer, _variables(playbook, actions)))


def _variables(playbook: Playbook, actions: list[Reproduce]) -> dict[str, str]:
    return {**playbook.vars, **actions[0].vars}


def _planned(reproducer: Reproducer, variables: Mapping[str, str]) -> int | None:
    """How many trials it plans, where its variables are known."""
    known = set(reproducer_names(reproducer)) <= variables.keys()
    said = reproducer.trials if known else None
    try:
        return None if said is None else int(render(said, variables, "trials"))
    except ValueError:
        return None


def _listed(names: Iterable[str]) -> str:
    return " and ".join(names) or "no reproducer"


def _unknown(name: str, known: Sequence[str]) -> CampaignError:
    what = f"no reproducer, playbook or format {name!r}{suggest(name, known)}"
    return CampaignError(Exit.USAGE, what, f"known: {', '.join(known)}")
