"""Where a service's environment comes from, and who wins where a variable is set twice.

Weakest first: Environment= of the unit and its drop-ins (the last wins), EnvironmentFile= (the last
wins), UnsetEnvironment=, then what the serve script exports. (systemd.exec(5), Environment.)
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct, field

from playbooks.agent.envfile import EnvFileError
from playbooks.env import dropins, env_files, scripts
from playbooks.hosts.unitfacts import UnitFacts
from playbooks.system import CommandSpec, EnvMethod, ProcessSpec, Service

ReadFile = Callable[[str], bytes | None]
"""path -> its bytes; None where there is no such file, or none that can be edited."""

_PROGRAMS = frozenset(["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"])
_SHELLS = frozenset(["sh", "bash", "dash", "ksh", "zsh"])


class Layer(Struct, frozen=True):
    """A file that sets `values` and takes away the names of `unset`; `via`: how one edits it."""

    via: Literal["dropin", "env_file", "script"]
    path: str
    values: Mapping[str, str]
    unset: frozenset[str] = field(default_factory=frozenset)


class Origin(Struct, frozen=True):
    """What a variable is in the end (None: not set), and the file that decides it."""

    value: str | None
    layer: Layer | None


def layers(service: Service, facts: UnitFacts | None, read: ReadFile) -> tuple[Layer, ...]:
    """All that sets the environment of a service, weakest first; `facts` for a systemd unit.

    What cannot be read decides nothing here: the proof at the run's start sees what came of it.
    """
    found: list[Layer] = []
    if facts is not None:
        found += _unit_layers(service.env, facts, read)
    elif service.env is not None and service.env.via == "env_file":
        found += _env_file(service.env.path, read)
    for path in _scripts(service, facts):
        found += _script(path, read)
    return tuple(found)


def origin(layers: tuple[Layer, ...], name: str) -> Origin:
    """Who decides what `name` is."""
    winner = Origin(None, None)
    for layer in layers:
        if name in layer.values:
            winner = Origin(layer.values[name], layer)
        elif name in layer.unset:
            winner = Origin(None, layer)
    return winner


def loses(env: EnvMethod, layers: tuple[Layer, ...], name: str, wanted: str | None) -> str:
    """Why setting `name` to `wanted` by this method has no effect; "" where it has.

    `layers` are those after the edit.
    """
    if not any(layer.path == env.path for layer in layers):
        if env.via == "env_file":
            return f"nothing reads {env.path}: name it in EnvironmentFile=, or use via: dropin"
        return ""
    decided = origin(layers, name)
    if decided.value == wanted or decided.layer is None or decided.layer.path == env.path:
        return ""
    said = f"{name} is {'set' if name in decided.layer.values else 'unset'} in {decided.layer.path}"
    if decided.layer.via == "dropin" and env.via == "env_file":
        return f"{said}, and stays so: use via: dropin, which can unset it"
    return f"{said}, which beats {env.path}: use env: {method(decided.layer)}"


def files(service: Service, facts: UnitFacts | None) -> Iterator[str]:
    """The whole paths that the service's command may be made of: its words, but for options."""
    for words, cwd in _commands(service, facts):
        yield from (str(PurePosixPath(cwd) / word) for word in words if not word.startswith("-"))


def method(layer: Layer) -> str:
    """The method that edits this file, as campaign.yaml has it."""
    return f"{{via: {layer.via}, path: {layer.path}}}"


def _unit_layers(env: EnvMethod | None, facts: UnitFacts, read: ReadFile) -> Iterator[Layer]:
    paths = list(facts.dropins)
    if env is not None and env.via == "dropin" and env.path not in map(facts.real, paths):
        paths.append(env.path)
    by_name = sorted(paths, key=lambda path: PurePosixPath(path).name)
    unset: list[Layer] = []
    for path in map(facts.real, (facts.fragment, *by_name)):
        text = read(path)
        if text is None:
            continue
        names = dropins.unset_names(text)
        yield Layer("dropin", path, dropins.read(text))
        unset.append(Layer("dropin", path, {}, names))
    for path in map(facts.real, facts.env_files):
        yield from _env_file(path, read)
    yield from unset


def _env_file(path: str, read: ReadFile) -> Iterator[Layer]:
    try:
        yield Layer("env_file", path, env_files.read(read(path) or b""))
    except EnvFileError:
        return


def _scripts(service: Service, facts: UnitFacts | None) -> Iterator[str]:
    """The words of the service's command that may be its serve script."""
    if service.env is not None and service.env.via == "script":
        yield service.env.path
    for words, cwd in _commands(service, facts):
        for position, word in enumerate(words):
            path = str(PurePosixPath(cwd) / word)
            by_shell = position > 0 and PurePosixPath(words[position - 1]).name in _SHELLS
            is_program = str(PurePosixPath(path).parent) in _PROGRAMS
            named = by_shell or word.endswith(".sh") or (position == 0 and "/" in word)
            if named and not is_program:
                yield facts.real(path) if facts is not None else path


def _commands(service: Service, facts: UnitFacts | None) -> Iterator[tuple[list[str], str]]:
    match service.manager:
        case ProcessSpec(command, cwd):
            yield _words(command), cwd
        case CommandSpec(start=start, cwd=cwd):
            yield _words(start), cwd
        case _ if facts is not None:
            for line in facts.exec:
                yield line.split(), facts.cwd


def _words(command: tuple[str, ...]) -> list[str]:
    """The command's words, those of a text for a shell too."""
    if len(command) == 3 and command[1] == "-c":
        try:
            return [*shlex.split(command[2], comments=True)]
        except ValueError:
            return []
    return list(command)


def _script(path: str, read: ReadFile) -> Iterator[Layer]:
    text = read(path)
    if text is None:
        return
    try:
        yield Layer("script", path, scripts.read(text))
    except EnvFileError:
        return
