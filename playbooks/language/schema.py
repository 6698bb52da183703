"""The language of playbooks and hypotheses files, as shapes.

The shapes say what each key means and may hold; what refers to something else is checked
elsewhere.
"""

from typing import Annotated, Literal

from playbooks.language.fieldtypes import (
    JoinedRegex,
    Mode,
    Name,
    Names,
    Parts,
    Percent,
    Regex,
    Scalar,
    ServiceName,
    Size,
    Text,
    Timeout,
    Variable,
    short_for,
)
from playbooks.language.service_schema import RequestShape, UndoableShape
from playbooks.language.shapes import ONE_OF, Chosen, Shape, Variant, entry
from playbooks.probes import Probe


class _PatchShape(Shape):
    host: Name | None = entry("host", "The host; may be left out for the only one.", None)
    hosts: list[Name] | None = entry(
        "hosts",
        "In place of `host`: it is made on each of them; {{ host }} in root is its name.",
        None,
        least=1,
    )
    services: list[ServiceName] | None = entry(
        "services",
        "In place of `host`: it is made where these and their replicas are.",
        None,
        least=1,
    )
    root: Text = entry("folder", "The folder the change stays below, relative to the workspace.")
    removes: Names = entry("hypotheses", "The suspected causes that this removes.", [])


class DiffPatchShape(_PatchShape):
    diff: Text = entry("file", "A unified diff, relative to the workspace; applied exactly.")
    strip: int = entry("number", "How many leading parts of its paths are dropped.", 1, ge=0)


class UploadPatchShape(_PatchShape):
    upload: Text = entry("file", "A file, relative to the workspace.")
    to: Text = entry("path", "What it becomes, relative to the root.")
    mode: Mode | None = entry("mode", 'Its permissions, such as "0644".', None)


class ReplaceShape(Shape):
    path: Text = entry("path", "The file to edit, relative to the root.")
    old: Text = entry("text", "The text to replace, exactly.")
    new: str = entry("text", "What it becomes.")
    count: int = entry("number", "How often the text must occur, no more and no less.", 1, ge=1)


class ReplacePatchShape(_PatchShape):
    replace: ReplaceShape = entry("replacement", "An exact replacement in one file.")


class ProbePatchShape(_PatchShape):
    probe: Probe = entry("probe", "A probe that comes with campaign.")
    into: Text = entry("folder", "Where its file goes, relative to the root.", ".")


PatchShape = Annotated[
    Annotated[DiffPatchShape, Variant("diff")]
    | Annotated[UploadPatchShape, Variant("upload")]
    | Annotated[ReplacePatchShape, Variant("replace")]
    | Annotated[ProbePatchShape, Variant("probe")],
    ONE_OF,
]


class EnvShape(Shape):
    services: list[ServiceName] = entry("services", "Whose environment is changed.", least=1)
    set: dict[Variable, str] = entry("variables", "Variables and their values, as text.", {})
    unset: list[Variable] = entry("variables", "Variables to take away.", [])
    removes: Names = entry("hypotheses", "The suspected causes that this removes.", [])


class RestartShape(Shape):
    services: list[ServiceName] = entry("services", "What to restart, with its groups.", least=1)
    action: Literal["restart", "reload"] = entry(
        "word", "restart, or reload: read files again without going down.", "restart"
    )
    batch: int | None = entry(
        "number",
        "So many replicas of a service at a time, each batch healthy before the next goes down;"
        " else all at once.",
        None,
        ge=1,
    )


_StopWord = Literal["fixed", "sequential", "when_decided"]


class StopShape(Shape):
    rule: _StopWord = entry(
        "word",
        "fixed: all trials; sequential: by the e-process; when_decided: as the planner weighs it.",
        "fixed",
    )
    failures: int | None = entry("number", "Stop once so many have failed.", None, ge=1)
    otherwise: Literal["fixed"] | None = entry(
        "word", "What to do where the rule has nothing to go by; else that is refused.", None
    )


class ReproduceShape(Shape):
    use: Name = entry("reproducer", "The reproducer, by its name in campaign.yaml.")
    vars: dict[Variable, Scalar] = entry("variables", "Variables for this step alone.", {})
    timeout: Timeout | None = entry("duration", "Replaces the reproducer's timeout.", None)
    stop: Annotated[StopShape, *short_for("rule", _StopWord)] = entry(
        "rule", "When to stop: fixed, sequential, when_decided, or {failures: 1}.", "fixed"
    )


class CollectShape(Shape):
    services: list[ServiceName] = entry("services", "Whose logs to keep.", least=1)
    grep: Regex | None = entry("regex", "Keeps only lines that this finds.", None)
    max_bytes: Size = entry("size", "How much of each log to keep.", "256MiB")


class _SideShape(Shape):
    match: JoinedRegex | None = entry(
        "regex", "Finds the groups of key and value; without it a line is a JSON object.", None
    )
    key: Parts = entry("names", "The groups, or JSON fields, that make the key.", "key")
    value: Parts = entry("names", "Those that must agree.", "value")
    field: Text | None = entry(
        "field", "Of lines that are JSON: the text that is read, such as MESSAGE.", None
    )


class LogSideShape(_SideShape):
    log: ServiceName = entry(
        "service", "Whose log is read, from the restart on; of replicas all of theirs."
    )


class OutputSideShape(_SideShape):
    output: Name = entry(
        "name", "Whose reproducer's output is read: an arm's, or a playbook's (this or another)."
    )


class CheckpointSideShape(Shape):
    checkpoint: Text = entry("name", "A checkpoint of the checksum probe, as its call names it.")
    of: ServiceName = entry("service", "In whose log it is, from the restart on.")
    side: Text = entry("name", "The side that the call names.")


SideShape = Annotated[
    Annotated[LogSideShape, Variant("log")]
    | Annotated[OutputSideShape, Variant("output")]
    | Annotated[CheckpointSideShape, Variant("checkpoint")],
    ONE_OF,
]


class CompareShape(Shape):
    left: SideShape = entry("log", "One side.")
    right: SideShape = entry("log", "The other side.")
    known_bad: SideShape | None = entry("log", "The keys corrupted on purpose; no value.", None)
    skip: JoinedRegex | None = entry("regex", "Lines in which this is found are left out.", None)
    repeats: Literal["duplicate", "in_order"] = entry(
        "word", "A key that repeats: not compared, or its nth line with the nth.", "duplicate"
    )
    only: Literal["trials"] | None = entry(
        "word", "trials: keys that no trial carries are left out.", None
    )


class CommandShape(UndoableShape):
    on: Name | None = entry("host", "Where it runs; may be left out for the only host.", None)
    cwd: Text | None = entry(
        "folder", "Where they run: here else in the workspace, on other hosts in /.", None
    )


class HttpShape(RequestShape):
    on: Name | None = entry("host", "The host that asks; may be left out for the only one.", None)
    url: Text = entry("URL", "What is asked.")
    timeout: Timeout = entry("duration", "How long it may take.", "30s")


class StepShape(Shape):
    name: Text | None = entry("name", "What the step does, for people.", None)
    when: Name | None = entry("arm", "The only arm it belongs to.", None)


class PatchStep(StepShape):
    patch: PatchShape = entry("change", "Changes files.")


class EnvStep(StepShape):
    env: EnvShape = entry("change", "Changes the environment of services.")


class RestartStep(StepShape):
    restart: RestartShape = entry("services", "Restarts services and waits until all are healthy.")


class ReproduceStep(StepShape):
    reproduce: ReproduceShape = entry("reproducer", "Drives trials.")


class CollectStep(StepShape):
    collect: CollectShape = entry("logs", "Keeps logs.")


class CompareStep(StepShape):
    compare: CompareShape = entry("logs", "Joins two logs, or outputs, by a key.")


class CommandStep(StepShape):
    command: CommandShape = entry("command", "Runs a command.")


class WaitStep(StepShape):
    wait: Timeout = entry("duration", "Waits.")


class HttpStep(StepShape):
    http: HttpShape = entry("request", "Sends a request.")


AnyStep = Annotated[
    Annotated[PatchStep, Variant("patch")]
    | Annotated[EnvStep, Variant("env")]
    | Annotated[RestartStep, Variant("restart")]
    | Annotated[ReproduceStep, Variant("reproduce")]
    | Annotated[CollectStep, Variant("collect")]
    | Annotated[CompareStep, Variant("compare")]
    | Annotated[CommandStep, Variant("command")]
    | Annotated[WaitStep, Variant("wait")]
    | Annotated[HttpStep, Variant("http")],
    ONE_OF,
]


class _RatesShape(Shape):
    expect: Literal["drop", "rise", "same"] = entry("word", "drop, rise or same, if it is true.")
    against: Name = entry(
        "name", "What it is set against: baseline, an arm or a playbook.", "baseline"
    )


class RateShape(_RatesShape):
    by: Literal["rate"] = entry("word", "By failure rates.")


class TimeShape(_RatesShape):
    by: Literal["time"] = entry("word", "By failures in the time, or attempts, that trials took.")


class MismatchShape(Shape):
    by: Literal["mismatch"] = entry("word", "By the keys that mismatch.")
    min_coverage: Percent = entry("percentage", "The share of keys that must be compared.", "95%")


VerdictShape = Annotated[
    Annotated[RateShape, Variant("rate")]
    | Annotated[TimeShape, Variant("time")]
    | Annotated[MismatchShape, Variant("mismatch")],
    Chosen("by"),
]


class PredictsShape(Shape):
    if_true: str = entry("text", "What will be seen if the hypothesis is true.", "")
    if_false: str = entry("text", "What will be seen if it is false.", "")


class PlaybookFile(Shape):
    """A playbook: one experiment."""

    name: Name = entry("name", "The playbook's name.")
    kind: Literal["baseline", "toggle", "probe", "detector", "fix"] = entry("word", "What it is.")
    hypothesis: Names = entry("hypotheses", "The hypotheses it speaks to: one slug or a list.", [])
    question: str = entry("question", "What it asks.", "")
    predicts: PredictsShape = entry("predictions", "What each answer looks like.", {})
    vars: dict[Variable, Scalar] = entry("variables", "Variables for its templates.", {})
    arms: list[Name] | None = entry("arms", "Two or more configurations to compare.", None, least=2)
    schedule: Literal["alternate", "abba", "randomised"] | None = entry(
        "word", "How the arms follow each other in a block: alternate unless said.", None
    )
    blocks: int = entry("number", "How often that is gone through.", 1, ge=1, le=100)
    seed: int | None = entry("number", "What draws a randomised order; else drawn.", None, ge=0)
    steps: list[AnyStep] = entry("steps", "What is done, in order.", least=1)
    verdict: VerdictShape | None = entry("rule", "How the run is judged.", None)
    conflicts_with: Names = entry("playbooks", "Those it never shares a restart with.", [])


class HypothesisShape(Shape):
    claim: Text = entry("claim", "A falsifiable claim about the cause.")
    mechanism: str = entry("mechanism", "How the cause would produce the symptom.", "")
    prior: float | None = entry("weight", "Your weight before any evidence.", None, gt=0, lt=1)
    predicts: PredictsShape = entry("predictions", "What follows from it.", {})
    assumptions: list[Text] = entry("assumptions", "What it takes for granted.", [])
    links: list[Text] = entry("links", "Where it comes from.", [])


class HypothesesFile(Shape):
    """A file of hypotheses, to import."""

    hypotheses: dict[Name, HypothesisShape] = entry("hypotheses", "Each by its slug.", least=1)
