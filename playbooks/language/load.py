"""Loads campaign.yaml, playbooks and hypotheses files: checked, frozen, all problems at once."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import yaml

from hypotheses.hypothesis import Hypothesis
from playbooks.language import build
from playbooks.language.checking import check
from playbooks.language.machines import check_machines, check_roots
from playbooks.language.marks import read
from playbooks.language.order import check_order
from playbooks.language.problems import LoadError, Problem
from playbooks.language.references import (
    Scope,
    check_parsers,
    check_playbook,
    check_system,
    variables_of,
)
from playbooks.language.replicas import spread
from playbooks.language.schema import HypothesesFile, PlaybookFile
from playbooks.language.system_schema import CampaignFile
from playbooks.playbook import Playbook
from playbooks.system import System

__all__ = [
    "LoadError",
    "Problem",
    "dump_hypotheses",
    "load_hypotheses",
    "load_playbook",
    "load_system",
    "variables_known",
]

_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


def load_system(path: Path, environ: Mapping[str, str], *, secrets: bool = True) -> System:
    """The system under test as campaign.yaml at `path` describes it; secrets from `environ`.

    Without `secrets` those that are not set there are left out, for what may need none.
    Relative paths count from the file's folder, the workspace. Raises LoadError with every
    problem of the file.
    """
    document = read(path)
    replicas = spread(document)
    shape = check(document, CampaignFile)
    check_system(document, replicas, environ if secrets else None)
    check_machines(document)
    document.finish()
    assert shape is not None
    system = build.system(shape, document, replicas, path.parent.resolve(), environ)
    check_parsers(document, system)
    document.finish()
    return system


def load_playbook(
    path: Path,
    system: System,
    *,
    hypotheses: Collection[str] | None,
    variables: Mapping[str, str] = _NO_VARIABLES,
    playbooks: Collection[str] = (),
) -> Playbook:
    """The playbook at `path`, checked against `system`, its own templates filled in.

    `hypotheses` are the slugs there are (None: slugs are not checked); `variables`, those of
    `--var`, win over the playbook's and over a step's; `playbooks` are the names that `against`
    may say besides "baseline" and the arms. A reproducer's templates are filled in when it runs,
    from the playbook's `vars` with the step's over them; that they can be is checked here.
    Raises LoadError with every problem of the file.
    """
    document = read(path)
    scope = Scope(system, hypotheses, variables, playbooks)
    shape = check(document, PlaybookFile)
    check_playbook(document, scope)
    check_order(document, playbooks)
    others = [name for name, host in system.hosts.items() if not host.local]
    check_roots(document, tuple(system.hosts), others)
    document.finish()
    assert shape is not None
    values = variables_of(document, scope)
    filling = build.Filling(values, variables, system)
    return build.playbook(shape, document, filling)


def variables_known(path: Path, system: System) -> frozenset[str]:
    """The variables that the playbook at `path` declares or uses: those that `--var` may set.

    Raises LoadError where the file cannot be read as YAML.
    """
    return check_playbook(read(path), Scope(system, None, _NO_VARIABLES, ()))


def load_hypotheses(path: Path) -> tuple[Hypothesis, ...]:
    """The hypotheses of the file at `path`, in its order, all open.

    Raises LoadError with every problem of the file.
    """
    document = read(path)
    shape = check(document, HypothesesFile)
    document.finish()
    assert shape is not None
    return build.hypotheses(shape)


def dump_hypotheses(hypotheses: Sequence[Hypothesis]) -> str:
    """A file that `load_hypotheses` reads back; standings are not part of it."""
    entries = {one.slug: _entry(one) for one in hypotheses}
    return yaml.safe_dump({"hypotheses": entries}, sort_keys=False, allow_unicode=True, width=96)


def _entry(one: Hypothesis) -> dict[str, object]:
    predicts = {"if_true": one.predicts_if_true, "if_false": one.predicts_if_false}
    entry = {
        "claim": one.claim,
        "mechanism": one.mechanism,
        "prior": one.prior,
        "predicts": {key: text for key, text in predicts.items() if text},
        "assumptions": list(one.assumptions),
        "links": list(one.links),
    }
    return {key: value for key, value in entry.items() if value}
