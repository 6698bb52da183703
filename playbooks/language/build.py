"""From checked shapes to the frozen records that everything else works with."""

import posixpath
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from hypotheses.hypothesis import Hypothesis
from hypotheses.verdict import Expect
from playbooks import probes
from playbooks.language import schema, system_schema
from playbooks.language.build_reproducers import reproducer
from playbooks.language.build_services import Place, below, guard, notice, on_failure, service
from playbooks.language.marks import Document, Node
from playbooks.language.problems import shown
from playbooks.language.replicas import Replicas, groups, together
from playbooks.playbook import (
    Action,
    Collect,
    Command,
    Compare,
    CompareSide,
    Diff,
    Env,
    Http,
    Kind,
    LogSide,
    MismatchRule,
    OutputSide,
    Patch,
    Playbook,
    RateRule,
    Replace,
    Reproduce,
    Restart,
    RowSpec,
    Step,
    StopWhen,
    Upload,
    Wait,
)
from playbooks.probes import lines
from playbooks.redact import SECRET_LENGTH
from playbooks.schedule import Schedule
from playbooks.system import (
    Budget,
    Cost,
    Host,
    Ssh,
    System,
)
from playbooks.templates import render


def system(
    shape: system_schema.CampaignFile,
    document: Document,
    replicas: Replicas,
    root: Path,
    environ: Mapping[str, str],
) -> System:
    """The system that a checked campaign.yaml in the folder `root` describes."""
    only = next(iter(shape.hosts))
    local = [
        name for name, one in shape.hosts.items() if isinstance(one, system_schema.LocalHostShape)
    ]
    place = Place(root, only, frozenset(local), replicas)
    reproducers = document.root.get("reproducers")
    services = {name: service(name, one, place) for name, one in shape.services.items()}
    return System(
        campaign=shape.campaign,
        symptom=shape.symptom,
        root=root,
        hosts={name: _host(name, one, root) for name, one in shape.hosts.items()},
        services=services,
        restart_groups=tuple(groups(shape.restart_groups, replicas)),
        reproducers={
            name: reproducer(name, one, place, reproducers.get(name))
            for name, one in shape.reproducers.items()
        },
        versions=_versions(shape.versions, replicas),
        cost=Cost(**shape.cost.plain()),
        budget=_budget(shape.budget),
        guards=tuple(guard(one, place) for one in shape.guard),
        on_failure=on_failure(shape.on_failure, services, place),
        notify=tuple(map(notice, shape.notify)),
        history=tuple(Path(below(root, path)) for path in shape.history),
        statistics=shape.statistics.settings(),
        protected=shape.protected,
        secrets=_secrets(shape, environ),
        record_env=tuple(shape.record_env),
        lease_s=shape.lease,
    )


def _secrets(shape: system_schema.CampaignFile, environ: Mapping[str, str]) -> dict[str, str]:
    """The secrets that are set, and not too short to be told from other text."""
    found = {name: environ.get(secret.env, "") for name, secret in shape.secrets.items()}
    return {name: value for name, value in found.items() if len(value) >= SECRET_LENGTH}


def _versions(shapes: Mapping[str, list[str]], replicas: Replicas) -> Mapping[str, tuple[str, ...]]:
    names = {name: together([name], replicas) for name in shapes}
    return {one: tuple(words) for name, words in shapes.items() for one in names[name]}


def _budget(shape: system_schema.BudgetShape) -> Budget:
    return Budget(shape.downtime, shape.restarts, shape.money, shape.time)


def _host(name: str, shape: system_schema.HostShape, root: Path) -> Host:
    if isinstance(shape, system_schema.LocalHostShape):
        kept = Path(below(root, shape.state_dir)) if shape.state_dir else None
        return Host(name, None, shape.python, kept)
    reached = Ssh(
        name=shape.ssh,
        user=shape.user,
        port=shape.port,
        sudo=shape.sudo,
        accept_new=shape.accept_new,
        state_dir=shape.state_dir,
        connect_timeout_s=shape.connect_timeout,
        config=root / shape.config if shape.config else None,
    )
    return Host(name, reached, shape.python)


class Filling(Struct, frozen=True):
    """What fills a playbook's steps in: its variables, what --var said, the system."""

    values: Mapping[str, str]
    given: Mapping[str, str]
    system: System

    @property
    def root(self) -> Path:
        return self.system.root

    @property
    def only(self) -> str:
        """The host of what names none."""
        return next(iter(self.system.hosts))

    def services(self, names: Iterable[str]) -> tuple[str, ...]:
        """The services that `names` stand for."""
        return together(names, self.system.replicas)


def playbook(shape: schema.PlaybookFile, document: Document, filling: Filling) -> Playbook:
    """The playbook that a checked file describes, its own templates filled in."""
    nodes = document.root.get("steps").items
    steps = zip(shape.steps, nodes, strict=True)
    return Playbook(
        name=shape.name,
        kind=Kind(shape.kind),
        path=Path(document.file),
        steps=tuple(_step(one, node, document.file, filling) for one, node in steps),
        hypotheses=tuple(shape.hypothesis),
        question=shape.question,
        if_true=shape.predicts.if_true,
        if_false=shape.predicts.if_false,
        vars=dict(filling.values),
        arms=tuple(shape.arms or ()),
        schedule=Schedule(shape.schedule or Schedule.ALTERNATE),
        blocks=shape.blocks,
        seed=shape.seed,
        verdict=_verdict(shape.verdict),
        conflicts_with=tuple(shape.conflicts_with),
        text=document.text,
        sha256=document.sha256,
    )


def _verdict(shape: schema.VerdictShape | None) -> RateRule | MismatchRule | None:
    match shape:
        case None:
            return None
        case schema.RateShape() | schema.TimeShape():
            return RateRule(Expect(shape.expect), shape.against, shape.by)
        case schema.MismatchShape():
            return MismatchRule(shape.min_coverage)


def _step(shape: schema.AnyStep, node: Node, file: str, filling: Filling) -> Step:
    where = f"{file}:{node.mark.line}"
    action, title = _action(shape, node, where, filling)
    return Step(shape.name or title, action, shape.when, where)


def _action(shape: schema.AnyStep, node: Node, where: str, filling: Filling) -> tuple[Action, str]:
    """The action of a step, and what the step is called unless it says so itself."""

    def fill(text: str) -> str:
        return render(text, filling.values, where)

    match shape:
        case schema.PatchStep():
            return _patch(shape.patch, filling)
        case schema.EnvStep():
            return _env(shape.env, fill, filling)
        case schema.RestartStep():
            return _restart(shape.restart, filling)
        case schema.ReproduceStep():
            return _reproduce(shape.reproduce, node.get("reproduce", "vars"), filling)
        case schema.CollectStep():
            services = filling.services(shape.collect.services)
            action = Collect(services, shape.collect.grep, shape.collect.max_bytes)
            return action, f"collect {', '.join(shape.collect.services)}"
        case schema.CompareStep():
            return _compare(shape.compare, filling)
        case schema.CommandStep():
            return _command(shape.command, fill, filling)
        case schema.WaitStep():
            return Wait(shape.wait), f"wait {node.get('wait').text}"
        case schema.HttpStep():
            return _http(shape.http, fill, filling)


def _patch(shape: schema.PatchShape, filling: Filling) -> tuple[Patch, str]:
    change: Diff | Upload | Replace
    match shape:
        case schema.DiffPatchShape():
            change = Diff(filling.root / shape.diff, shape.strip)
            title = f"patch {shape.diff}"
        case schema.UploadPatchShape():
            change = Upload(filling.root / shape.upload, shape.to, shape.mode)
            title = f"upload {shape.to}"
        case schema.ReplacePatchShape(replace=one):
            change = Replace(one.path, one.old, one.new, one.count)
            title = f"replace in {one.path}"
        case schema.ProbePatchShape(probe=probe, into=into):
            file = probes.file(probe)
            change = Upload(file, posixpath.normpath(f"{into}/{file.name}"))
            title = f"upload the {probe} probe"
    root = below(filling.root, shape.root)
    return Patch(_hosts(shape, filling), root, change, tuple(shape.removes)), title


def _hosts(shape: schema.PatchShape, filling: Filling) -> tuple[str, ...]:
    """The hosts that a patch is made on."""
    services = [filling.system.services[name] for name in filling.services(shape.services or ())]
    homes = shape.hosts or dict.fromkeys(one.host for one in services)
    return tuple(homes) or (shape.host or filling.only,)


def _restart(shape: schema.RestartShape, filling: Filling) -> tuple[Restart, str]:
    action = Restart(filling.services(shape.services), shape.action == "reload", shape.batch or 0)
    batches = f" in batches of {shape.batch}" if shape.batch else ""
    return action, f"{shape.action} {', '.join(shape.services)}{batches}"


def _env(shape: schema.EnvShape, fill: Callable[[str], str], filling: Filling) -> tuple[Env, str]:
    values = {name: fill(text) for name, text in shape.set.items()}
    changes = " and ".join(
        f"{verb} {', '.join(names)}"
        for verb, names in (("set", values), ("unset", shape.unset))
        if names
    )
    services = filling.services(shape.services)
    action = Env(services, values, tuple(shape.unset), tuple(shape.removes))
    return action, f"{changes} for {', '.join(shape.services)}"


def _reproduce(shape: schema.ReproduceShape, own: Node, filling: Filling) -> tuple[Reproduce, str]:
    values = {name: filling.given.get(name, node.text) for name, node in own.entries.items()}
    return Reproduce(shape.use, values, shape.timeout, _stop(shape.stop)), f"reproduce {shape.use}"


def _stop(shape: schema.StopShape) -> StopWhen:
    if shape.failures is not None:
        return StopWhen("failures", shape.failures)
    return StopWhen(shape.rule, otherwise_fixed=shape.otherwise is not None)


def _compare(shape: schema.CompareShape, filling: Filling) -> tuple[Compare, str]:
    left, right = (_side(one, shape, filling) for one in (shape.left, shape.right))
    bad = _side(shape.known_bad, shape, filling, value=False) if shape.known_bad else None
    action = Compare(left, right, bad, shape.repeats == "in_order", shape.only is not None)
    return action, f"compare {left.name} with {right.name}"


def _side(
    shape: schema.SideShape, around: schema.CompareShape, filling: Filling, *, value: bool = True
) -> CompareSide:
    if isinstance(shape, schema.CheckpointSideShape):
        match = lines.checkpoint(shape.checkpoint, shape.side)
        spec = RowSpec(match, value=("value",) if value else (), skip=around.skip)
        return LogSide(shape.of, spec, filling.system.replicas.get(shape.of, ()), probed=True)
    values = tuple(shape.value) if value else ()
    spec = RowSpec(shape.match, tuple(shape.key), values, shape.field, around.skip)
    match shape:
        case schema.LogSideShape():
            return LogSide(shape.log, spec, filling.system.replicas.get(shape.log, ()))
        case schema.OutputSideShape():
            return OutputSide(shape.output, spec)


def _command(
    shape: schema.CommandShape, fill: Callable[[str], str], filling: Filling
) -> tuple[Command, str]:
    on = shape.on or filling.only
    default = str(filling.root) if filling.system.hosts[on].local else "/"
    action = Command(
        on=on,
        do=tuple(map(fill, shape.do)),
        undo=tuple(map(fill, shape.undo)) if shape.undo else None,
        check=tuple(map(fill, shape.check)) if shape.check else None,
        timeout_s=shape.timeout,
        cwd=below(filling.root, shape.cwd) if shape.cwd else default,
    )
    script = shape.do[:2] == ["/bin/sh", "-c"]
    said = shown(action.do[-1] if script else " ".join(action.do))
    return action, f"run {said[1:-1]}"


def _http(
    shape: schema.HttpShape, fill: Callable[[str], str], filling: Filling
) -> tuple[Http, str]:
    action = Http(
        on=shape.on or filling.only,
        url=fill(shape.url),
        expect=shape.expect,
        match=shape.match,
        method=shape.method,
        body=fill(shape.body) if shape.body is not None else None,
        timeout_s=shape.timeout,
    )
    return action, f"{action.method} {action.url}"


def hypotheses(shape: schema.HypothesesFile) -> tuple[Hypothesis, ...]:
    """The hypotheses of a checked file, in its order."""
    return tuple(
        Hypothesis(
            slug=slug,
            claim=one.claim,
            mechanism=one.mechanism,
            prior=one.prior,
            predicts_if_true=one.predicts.if_true,
            predicts_if_false=one.predicts.if_false,
            assumptions=tuple(one.assumptions),
            links=tuple(one.links),
        )
        for slug, one in shape.hypotheses.items()
    )
