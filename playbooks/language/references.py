"""Checks what a file refers to: names, files, variables, secrets.

All of it reads the nodes, not the shapes, so that it also works beside what does not fit.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from playbooks.language.comparisons import check_comparison
from playbooks.language.fieldtypes import is_url
from playbooks.language.known import check_distinct, check_host, check_known
from playbooks.language.marks import Document, Node
from playbooks.language.problems import meant, shown, suggest
from playbooks.language.replicas import Replicas
from playbooks.language.service_references import check_service, check_watch
from playbooks.language.session_references import check_sessions, misfilled
from playbooks.language.step_references import check_places, meant_by
from playbooks.parsers import ParseError, make
from playbooks.redact import SECRET_LENGTH
from playbooks.system import Reproducer, System
from playbooks.templates import TemplateError, names, render, unset


def check_system(document: Document, replicas: Replicas, environ: Mapping[str, str] | None) -> None:
    """Reports what campaign.yaml refers to and is not there."""
    root = document.root
    hosts = tuple(root.get("hosts").entries)
    services = (*replicas, *root.get("services").entries)
    for service in root.get("services").entries.values():
        if not service.get("hosts"):
            check_host(document, service, "host", hosts)
        for check in service.get("health").items:
            check_known(document, check.get("on"), "host", hosts)
        _env_method(document, service)
        check_service(document, service, hosts)
    for reproducer in root.get("reproducers").entries.values():
        check_host(document, reproducer, "on", hosts)
        check_sessions(document, reproducer, Path(document.file).parent)
        _well_formed(document, reproducer)
        _outcomes(document, reproducer)
        _exposure(document, reproducer)
    for name, command in root.get("versions").entries.items():
        if name not in services:
            what = f"unknown service {shown(name)}{suggest(name, services)}"
            document.report(command.key, what)
    check_watch(document, root, hosts, services)
    _groups(document, root.get("restart_groups"), services, replicas)
    _ports(document, root.get("services"), hosts)
    if environ is not None:
        for name, secret in root.get("secrets").entries.items():
            _secret(document, name, secret.get("env"), environ)


def _env_method(document: Document, service: Node) -> None:
    """A drop-in is of a unit; only that of a system unit has a place of its own."""
    env, unit = service.get("env"), service.get("systemd")
    via = env.get("via").text
    if via == "dropin" and not unit:
        what = "only a systemd unit has drop-ins: use via: env_file or via: script"
        document.report(env.get("via").mark, what)
    elif via in ("env_file", "script") and not env.get("path"):
        document.report(env.key, f"missing key 'path': the file that via: {via} edits")
    elif via == "dropin" and unit.get("user").text == "true" and not env.get("path"):
        what = "missing key 'path': the drop-in, in the folder UNIT.d of the user's units"
        document.report(env.key, what)


def _groups(
    document: Document, groups: Node, services: Collection[str], replicas: Replicas
) -> None:
    owners: dict[str, Node] = {}
    for group in groups.items:
        check_known(document, group, "service", services)
        check_distinct(document, group.texts())
        for service in group.texts():
            for name in replicas.get(service.text, (service.text,)):
                if owners.setdefault(name, group) is not group:
                    what = f"{shown(service.text)} is in two restart groups: join them"
                    document.report(service.mark, what)


def _ports(document: Document, services: Node, hosts: Sequence[str]) -> None:
    owners: dict[tuple[str, str], str] = {}
    for name, service in services.entries.items():
        host = service.get("host").text or "".join(hosts[:1])
        for port in service.get("ports").items:
            owner = owners.setdefault((host, port.text), name)
            if owner != name:
                document.report(port.mark, f"port {port.text} is already that of {shown(owner)}")
        check_distinct(document, service.get("ports").items)


def _well_formed(document: Document, reproducer: Node) -> None:
    env = reproducer.get("env").entries.values()
    for node in (reproducer.get("command"), reproducer.get("trials"), *env):
        for one in node.texts():
            _names(document, one)


def _names(document: Document, node: Node) -> tuple[str, ...]:
    try:
        return names(node.text)
    except TemplateError as error:
        document.report(node.mark, str(error))
        return ()


def _outcomes(document: Document, reproducer: Node) -> None:
    owners: dict[str, str] = {}
    parse = reproducer.get("parse")
    for parser in [parse] if reproducer.get("http_sessions") else parse.entries.values():
        for result in ("fail", "pass", "censored"):
            for outcome in parser.get(result).texts():
                owner = owners.setdefault(outcome.text, result)
                if owner != result:
                    what = f"outcome {shown(outcome.text)} is {owner} already: it cannot be both"
                    document.report(outcome.mark, what)


def _exposure(document: Document, reproducer: Node) -> None:
    """Reports an exposure that nothing tells, and a soak that measures none."""
    exposure, on_timeout = reproducer.get("exposure"), reproducer.get("on_timeout")
    if on_timeout.text == "pass" and exposure.text != "seconds":
        what = "only a soak passes by running its time: give 'exposure: seconds', or say censored"
        document.report(on_timeout.mark, what)
    told = not reproducer.get("parse") and exposure.text == "seconds"
    told = told or bool(reproducer.get("http_sessions"))
    for name, options in reproducer.get("parse").entries.items():
        match = options.get("match").text
        told = told or (name in ("jsonl", "json") and exposure.text in options.entries)
        told = told or (name == "regex" and f"(?P<{exposure.text}>" in match)
    if exposure and not told:
        what = f"exposure: {exposure.text} needs trials that tell theirs: give 'parse' jsonl with"
        where = f"a field '{exposure.text}', or regex with a group (?P<{exposure.text}>...)"
        alone = ", or leave 'parse' out, and its own run is timed"
        document.report(
            exposure.mark, f"{what} {where}{alone if exposure.text == 'seconds' else ''}"
        )


def check_parsers(document: Document, system: System) -> None:
    """Reports what a format itself refuses, such as an outcome that it does not have."""
    for name, reproducer in system.reproducers.items():
        try:
            make(reproducer.parse)
        except ParseError as error:
            mark = document.root.get("reproducers", name, "parse").mark
            document.report(mark, str(error).removeprefix("parse: "))


def _secret(document: Document, name: str, node: Node, environ: Mapping[str, str]) -> None:
    for variable in node.texts():
        value = environ.get(variable.text)
        if value is None:
            what = f"secret {shown(name)}: environment variable {variable.text} is not set"
            document.report(variable.mark, what)
        elif len(value) < SECRET_LENGTH:
            what = f"secret {shown(name)}: the value of {variable.text} is under {SECRET_LENGTH} "
            document.report(variable.mark, what + "characters: too short to be redacted safely")


class Scope(Struct, frozen=True):
    """What a playbook may refer to; `hypotheses` None leaves slugs unchecked."""

    system: System
    hypotheses: Collection[str] | None
    variables: Mapping[str, str]
    playbooks: Collection[str]


def check_playbook(document: Document, scope: Scope) -> frozenset[str]:
    """Reports what a playbook refers to and is not there; returns the variables that it knows."""
    _slugs(document, document.root.get("hypothesis"), scope)
    _conflicts(document, document.root, scope)
    values = variables_of(document, scope)
    for name, node in document.root.get("vars").entries.items():
        _plain(document, name, node)
    used = set(document.root.get("vars").entries)
    for step in document.root.get("steps").items:
        check_places(document, step, scope.system)
        check_comparison(document, step.get("compare"), scope.system.names, scope.playbooks)
        _patch(document, step.get("patch"), scope)
        _env(document, step.get("env"), scope)
        used.update(_templates(document, step, values))
        used.update(_reproduce(document, step.get("reproduce"), scope, values))
    _given(document, scope.variables, used)
    return frozenset(used)


def variables_of(document: Document, scope: Scope) -> dict[str, str]:
    """The variables of the playbook's own templates, each as it was written."""
    entries = document.root.get("vars").entries
    return {name: node.text for name, node in entries.items()} | dict(scope.variables)


def _slugs(document: Document, node: Node, scope: Scope) -> None:
    check_distinct(document, node.texts())
    known = scope.hypotheses
    if known is None:
        return
    for one in node.texts():
        if one.text not in known:
            hint = suggest(one.text, known) or ": 'campaign hypothesis add' makes it"
            document.report(one.mark, f"unknown hypothesis {shown(one.text)}{hint}")


def _conflicts(document: Document, root: Node, scope: Scope) -> None:
    own = root.get("name").text
    others = [one for one in scope.playbooks if one != own]
    check_distinct(document, root.get("conflicts_with").texts())
    for one in root.get("conflicts_with").texts():
        if one.text == own:
            document.report(one.mark, "a playbook does not conflict with itself: name another")
        else:
            check_known(document, one, "playbook", others)


def _plain(document: Document, name: str, node: Node) -> None:
    if "{{" in node.text:
        document.report(node.mark, f"the value of {shown(name)} is not filled in: write it out")


def _patch(document: Document, patch: Node, scope: Scope) -> None:
    _slugs(document, patch.get("removes"), scope)
    for node in (*patch.get("diff").texts(), *patch.get("upload").texts()):
        _file(document, node, scope.system.root)
    for node in (*patch.get("to").texts(), *patch.get("replace", "path").texts()):
        _below(document, node, is_root=False)
    for node in patch.get("into").texts():
        _below(document, node, is_root=True)


def _below(document: Document, node: Node, *, is_root: bool) -> None:
    """Reports a path that leaves the patch's root, or is the root itself where it may not be."""
    path = PurePosixPath(node.text)
    if path.is_absolute() or ".." in path.parts or not (path.parts or is_root):
        document.report(node.mark, f"{shown(node.text)} leaves the root: give a path below it")


def _file(document: Document, node: Node, root: Path) -> None:
    path, near = root / node.text, ""
    try:
        if path.is_file():
            return
        what = "is not a file"
        if not path.exists():
            what, near = "there is no such file", meant(path.name, _beside(path))
    except OSError as error:
        what = str(error.strerror).lower()
    start = "" if Path(node.text).is_absolute() else f" (paths start at {root})"
    document.report(node.mark, f"{shown(node.text)}: {what}{near}{start}")


def _beside(path: Path) -> list[str]:
    try:
        return [one.name for one in path.parent.iterdir()]
    except OSError:
        return []


def _env(document: Document, env: Node, scope: Scope) -> None:
    _slugs(document, env.get("removes"), scope)
    for node in env.get("services").texts():
        if any(service.env is None for service in meant_by(node.text, scope.system)):
            what = f"service {shown(node.text)} has no 'env' in campaign.yaml: say how it is edited"
            document.report(node.mark, what)
    check_distinct(document, env.get("unset").texts())
    for node in env.get("unset").texts():
        if node.text in env.get("set").entries:
            document.report(node.mark, f"{shown(node.text)} is both set and unset")
    if env.kind == "mapping" and not env.get("set").entries and not env.get("unset").items:
        document.report(env.key, "changes nothing: give set or unset")


def _templates(document: Document, step: Node, values: Mapping[str, str]) -> Iterator[str]:
    """Reports the templates of a step that cannot be filled in; yields the names they use."""
    url = step.get("http", "url")
    commands = [step.get("command", key) for key in ("do", "undo", "check")]
    nodes = [*step.get("env", "set").entries.values(), *commands, url, step.get("http", "body")]
    for node in (one for several in nodes for one in several.texts()):
        used = _names(document, node)
        yield from used
        for name in used:
            if name not in values:
                what = f"{unset(name, values)}: set it in vars or with --var"
                document.report(node.mark, what)
    _url(document, url, values)


def _url(document: Document, url: Node, values: Mapping[str, str]) -> None:
    for node in url.texts():
        try:
            filled = render(node.text, values, "")
        except TemplateError:
            return
        if not is_url(filled):
            what = f"expected a URL such as http://127.0.0.1:8080/health, not {shown(filled)}"
            document.report(node.mark, what)


def _reproduce(
    document: Document, node: Node, scope: Scope, values: Mapping[str, str]
) -> Iterator[str]:
    """Reports what a reproducer is not given; yields the names that it and the step use."""
    use, own = node.get("use"), node.get("vars").entries
    check_known(document, use, "reproducer", scope.system.reproducers)
    reproducer = scope.system.reproducers.get(use.text)
    for name, value in own.items():
        _plain(document, name, value)
    if reproducer is None:
        yield from own
        return
    needed = reproducer_names(reproducer)
    yield from (*needed, *own)
    given = {**values, **{name: value.text for name, value in own.items()}, **scope.variables}
    for name in needed:
        if name not in given:
            what = f"reproducer {shown(use.text)}: {unset(name, given)}: set it in vars"
            document.report(use.mark, f"{what} or with --var")
    for name in own:
        if name not in needed:
            what = f"reproducer {shown(use.text)} has no variable {shown(name)}"
            document.report(own[name].key, f"{what}{suggest(name, needed)}")
    _trials(document, use, reproducer, given)
    for what in misfilled(reproducer.sessions, given) if reproducer.sessions else ():
        document.report(use.mark, f"reproducer {shown(use.text)}: {what}")
    _stop(document, node, reproducer)
    by = document.root.get("verdict", "by")
    if by.text == "time" and reproducer.exposure is None:
        what = f"by time needs 'exposure' of reproducer {shown(use.text)}: seconds or attempts"
        document.report(by.mark, what)


def reproducer_names(reproducer: Reproducer) -> tuple[str, ...]:
    """The variables that the templates of a reproducer name, each once."""
    return tuple(dict.fromkeys((*reproducer.used, *names(reproducer.trials or ""))))


def _stop(document: Document, node: Node, reproducer: Reproducer) -> None:
    """Reports an early stop that has nothing to go by."""
    stop = node.get("stop")
    failures, word = stop.get("failures"), stop.text or stop.get("rule").text
    if failures and stop.get("rule"):
        document.report(failures.key, "stop: give a rule or failures, not both")
    early = word in ("sequential", "when_decided")
    if stop.get("otherwise") and not early:
        what = "'otherwise' is for rules that need earlier trials: sequential and when_decided"
        document.report(stop.get("otherwise").key, what)
    if not failures and not early:
        return
    if reproducer.trials is None:
        what = f"an early stop needs 'trials' of reproducer {shown(reproducer.name)}: at most how"
        document.report(stop.key, f"{what} many there are")
    if not reproducer.parse.streams:
        what = f"an early stop needs trials as they end, and reproducer {shown(reproducer.name)}"
        document.report(stop.key, f"{what} tells totals: parse an outcome a trial")


def _trials(
    document: Document, use: Node, reproducer: Reproducer, given: Mapping[str, str]
) -> None:
    try:
        trials = render(reproducer.trials or "1", given, "")
    except TemplateError:
        return
    if re.fullmatch("[1-9][0-9]{0,8}", trials) is None:
        what = f"reproducer {shown(use.text)} plans {shown(trials)} trials"
        document.report(use.mark, f"{what}: expected a whole number above 0")


def _given(document: Document, given: Mapping[str, str], used: Collection[str]) -> None:
    for name in given:
        if name not in used:
            hint = suggest(name, sorted(used))
            place = document.root.get("vars") or document.root
            document.report(place.key, f"--var {name}: there is no such variable{hint}")
