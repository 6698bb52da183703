"""A workspace: the folder that holds campaign.yaml, playbooks, patches, ledger and artifacts."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from campaign.errors import CampaignError, Exit

if TYPE_CHECKING:
    from playbooks.language.problems import Problem
    from playbooks.playbook import Playbook
    from playbooks.system import System


class Workspace(Struct, frozen=True):
    """Where things are. Nothing is read before it is asked for."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "campaign.yaml"

    @property
    def playbooks(self) -> Path:
        return self.root / "playbooks"

    @property
    def ledger(self) -> Path:
        return self.root / "campaign.db"

    @property
    def host_state(self) -> Path:
        """The state directory of the agent on this machine: journal, lock, embedded services."""
        return self.root / ".campaign" / "host"

    @property
    def artifacts(self) -> Path:
        return self.root / ".campaign" / "artifacts"

    @property
    def started(self) -> Path:
        """What the runs that the terminal UI started have printed."""
        return self.root / ".campaign" / "started"

    @property
    def declared(self) -> Path:
        """What campaign.yaml said of the campaign as a whole when it was last read."""
        return self.root / ".campaign" / "declared.json"

    @property
    def kept(self) -> Path:
        """The originals of files that an operator chose to leave changed, by their paths."""
        return self.root / ".campaign" / "kept"

    @property
    def unbooked(self) -> Path:
        """What stays changed by an operator's word, until the ledger has it."""
        return self.root / ".campaign" / "unbooked.json"

    @classmethod
    def find(cls, start: Path) -> "Workspace":
        """The workspace that `start` lies in. Errors: CampaignError where there is none."""
        for folder in (start, *start.parents):
            if (folder / "campaign.yaml").is_file():
                return cls(folder)
        raise CampaignError(
            Exit.USAGE,
            f"no campaign.yaml in {start} or above it",
            "make a workspace with 'campaign init', or change to one",
        )

    @classmethod
    def find_left(cls, start: Path) -> "Workspace":
        """As `find`; also one that has lost its campaign.yaml but kept a host's journal."""
        for folder in (start, *start.parents):
            if (folder / "campaign.yaml").is_file() or cls(folder).host_state.is_dir():
                return cls(folder)
        return cls.find(start)

    def playbook_names(self) -> tuple[str, ...]:
        """The names by which playbooks are run: their files' names without .yaml."""
        found = (path.stem for path in self.playbooks.glob("*.yaml"))
        return tuple(sorted(found))

    def playbook_path(self, name: str) -> Path:
        """The file of a playbook given by its name or its path. Errors: CampaignError."""
        if name in self.playbook_names():
            return self.playbooks / f"{name}.yaml"
        if name.endswith((".yaml", ".yml")) and Path(name).is_file():
            return Path(name).resolve()
        raise CampaignError(
            Exit.USAGE, f"no playbook {name!r} in {self.playbooks}", self._known(name)
        )

    def _known(self, name: str) -> str:
        from difflib import get_close_matches

        names = self.playbook_names()
        close = get_close_matches(name, names, 1)
        if close:
            return f"did you mean {close[0]!r}?"
        return f"there are: {', '.join(names)}" if names else "write one there first"

    def load_system(self, *, secrets: bool = True) -> "System":
        """campaign.yaml, checked; without `secrets` they need not be set: it has those that are.

        Errors: playbooks.language.load.LoadError.
        """
        from playbooks.language.load import load_system

        return load_system(self.config, os.environ, secrets=secrets)

    def load_playbooks(
        self,
        names: Sequence[str],
        system: "System",
        hypotheses: Collection[str] | None,
        variables: Mapping[str, str],
    ) -> tuple["Playbook", ...]:
        """The playbooks, checked; all their problems in one error. Errors: LoadError.

        Each is given those of `variables` that it knows; one that none knows is a problem.
        """
        from playbooks.language.load import load_playbook
        from playbooks.language.problems import LoadError

        paths = [self.playbook_path(name) for name in names]
        known = [_known_variables(path, system, variables) for path in paths]
        loaded: list[Playbook] = []
        problems = _unknown_variables(variables, frozenset().union(*known))
        for path, mine in zip(paths, known, strict=True):
            try:
                loaded.append(
                    load_playbook(
                        path,
                        system,
                        hypotheses=hypotheses,
                        variables={name: variables[name] for name in variables if name in mine},
                        playbooks=self.playbook_names(),
                    )
                )
            except LoadError as error:
                problems.extend(error.problems)
        problems += [_misnamed(one) for one in loaded if one.name != one.path.stem]
        if problems:
            raise LoadError(tuple(problems))
        return tuple(loaded)


def _known_variables(path: Path, system: "System", given: Iterable[str]) -> frozenset[str]:
    """The variables that the playbook at `path` knows; all that are given where it is no YAML."""
    from playbooks.language.load import variables_known
    from playbooks.language.problems import LoadError

    try:
        return variables_known(path, system)
    except LoadError:
        return frozenset(given)


def _unknown_variables(given: Iterable[str], known: Collection[str]) -> "list[Problem]":
    from playbooks.language.problems import Problem, suggest

    return [
        Problem(f"--var {name}", 0, 0, f"no such variable{suggest(name, sorted(known))}", "")
        for name in given
        if name not in known
    ]


def _misnamed(playbook: "Playbook") -> "Problem":
    from playbooks.language.problems import Problem

    stem = playbook.path.stem
    what = f"the playbook's name is {playbook.name!r}, its file's {stem!r}: make them the same"
    return Problem(playbook.path.name, 0, 0, what, "")
