"""The language of campaign.yaml, playbooks and hypotheses files, as pydantic models.

The models check shape and say what each key means; what refers to something else is checked
elsewhere. Their JSON Schemas are what `campaign schema` prints.
"""

from typing import Annotated, Any, Literal

from pydantic import Tag

from playbooks.fieldtypes import (
    Address,
    Duration,
    KeyRegex,
    KeyValueRegex,
    Mode,
    Name,
    Names,
    OutcomeRegex,
    Percent,
    Port,
    Regex,
    Scalar,
    Shape,
    Size,
    Text,
    Timeout,
    UnitName,
    Url,
    Variable,
    Words,
    chosen_by,
    describe,
    entry,
    one_of,
    short_for,
)
from playbooks.statistics import StatisticsShape

# campaign.yaml


class _HostShape(Shape):
    python: Text | None = entry("interpreter", "The Python that runs the agent there.", None)


class LocalHostShape(_HostShape):
    local: Literal[True] = entry("true", "The machine that campaign itself runs on.")


class SshHostShape(_HostShape):
    ssh: Text = entry("host", "Its address, or an alias of ~/.ssh/config.")
    user: Text | None = entry("user", "Who to log in as; else as ~/.ssh/config says.", None)
    port: Port | None = entry("port", "Where sshd listens; else as ~/.ssh/config says.", None)
    sudo: bool = entry("boolean", "Whether the agent runs as root, by sudo -n.", False)
    accept_new: bool = entry("boolean", "Whether the key of an unknown host is taken.", False)
    state_dir: Text | None = entry("folder", "Where its journal lies.", None)
    connect_timeout: Timeout = entry("duration", "How long connecting may take.", "10s")
    config: Text | None = entry("file", "Read in place of ~/.ssh/config.", None)


HostShape = Annotated[
    Annotated[LocalHostShape, Tag("=local")] | Annotated[SshHostShape, Tag("=ssh")],
    one_of("local", "ssh"),
]


class ProcessShape(Shape):
    command: Words = entry("command", "What to run: a list of words, or one text for /bin/sh.")
    cwd: Text = entry("folder", "Where it runs, relative to the workspace.", ".")
    log_max_bytes: Size = entry("size", "The size at which its log is rotated.", "64MiB")
    log_keep: int = entry("number", "How many rotated logs are kept.", 4, ge=0)


class UnitShape(Shape):
    unit: UnitName = entry("unit", "The unit's name.")
    user: bool = entry("true or false", "A unit of the user's own manager.", False)


Unit = Annotated[UnitShape, *short_for("unit", UnitName)]


class CommandsShape(Shape):
    start: Words = entry("command", "Starts it, and comes back.")
    stop: Words = entry("command", "Stops it.")
    status: Words = entry("command", "Exits 0 while the service runs.")
    restart: Words | None = entry("command", "Restarts it; used when it restarts alone.", None)
    pids: Words | None = entry(
        "command", "Prints the pids of its processes; they prove what environment it has.", None
    )
    cwd: Text = entry("folder", "Where the commands run, relative to the workspace.", ".")
    log: Text | None = entry("path", "Its log file; without it, what `start` prints.", None)


class EnvMethodShape(Shape):
    via: Literal["env_file", "dropin", "script"] = entry(
        "method", "What is edited: a file of variables, a drop-in of the unit, the serve script."
    )
    path: Text | None = entry(
        "path",
        "The file, relative to the workspace; for a drop-in of a system unit it may be left out.",
        None,
    )


class _HealthShape(Shape):
    timeout: Timeout = entry("duration", "How long after its start it may take.", "1m")
    settle: Duration = entry("duration", "How long the probe must hold without a break.", "0s")


class RequestShape(Shape):
    expect: int = entry("status", "The status it must answer with.", 200, ge=100, le=599)
    match: Regex | None = entry("regex", "What the answer must hold.", None)
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = entry(
        "method", "The request's method.", "GET"
    )
    body: str | None = entry("body", "The request's body.", None)


class HttpHealthShape(_HealthShape, RequestShape):
    http: Url = entry("URL", "Healthy when this URL answers.")


class TcpHealthShape(_HealthShape):
    tcp: Address = entry("address", "Healthy when this host:port accepts a connection.")


class CommandHealthShape(_HealthShape):
    command: Words = entry("command", "Healthy when this command exits 0.")


class LogHealthShape(_HealthShape):
    log: Regex = entry("regex", "Healthy once the service has logged a line that this finds.")


HealthShape = Annotated[
    Annotated[HttpHealthShape, Tag("=http")]
    | Annotated[TcpHealthShape, Tag("=tcp")]
    | Annotated[CommandHealthShape, Tag("=command")]
    | Annotated[LogHealthShape, Tag("=log")],
    one_of("http", "tcp", "command", "log"),
]


class _ServiceShape(Shape):
    host: Name | None = entry("host", "Its host; may be left out where there is only one.", None)
    env: EnvMethodShape | None = entry("method", "How its environment is edited.", None)
    health: list[HealthShape] = entry("health checks", "What must hold for it to be healthy.", [])
    ports: list[Port] = entry("ports", "The ports that must be free before it starts.", [])
    stop_timeout: Duration = entry("duration", "How long TERM may take before KILL.", "20s")


class ProcessServiceShape(_ServiceShape):
    process: ProcessShape = entry("process", "The process that campaign starts and stops.")


class SystemdServiceShape(_ServiceShape):
    systemd: Unit = entry("unit", "The systemd unit that it is.")


class CommandServiceShape(_ServiceShape):
    command: CommandsShape = entry("commands", "The commands that start and stop it.")


ServiceShape = Annotated[
    Annotated[ProcessServiceShape, Tag("=process")]
    | Annotated[SystemdServiceShape, Tag("=systemd")]
    | Annotated[CommandServiceShape, Tag("=command")],
    one_of("process", "systemd", "command"),
]


class OutcomesShape(Shape):
    fail: list[Text] = entry("outcomes", "The outcomes in which the failure showed.", min_length=1)
    passed: list[Text] = entry("outcomes", "The outcomes in which it did not.", [], alias="pass")
    censored: list[Text] = entry("outcomes", "The outcomes cut short before it could show.", [])


class RegexShape(OutcomesShape):
    fail: list[Text] = entry("outcomes", "The outcomes in which the failure showed.", [])
    match: OutcomeRegex = entry("regex", "Finds a trial's `outcome`, or the `fail` and `total`.")


class JsonlShape(OutcomesShape):
    outcome: Text = entry("field", "The field that holds a trial's outcome.")
    id: Text | None = entry("field", "The field that identifies a trial.", None)
    key: Text | None = entry("field", "The field of the keys that join a trial to log lines.", None)
    seconds: Text | None = entry("field", "The field that holds a trial's duration.", None)


class CountsParseShape(Shape):
    counts: OutcomesShape = entry("outcomes", 'Reads a line like counts={"leak": 3, "done": 37}.')


class RegexParseShape(Shape):
    regex: RegexShape = entry("options", "Reads lines that a regular expression finds.")


class JsonlParseShape(Shape):
    jsonl: JsonlShape = entry("options", "Reads one JSON object a line.")


ParseShape = Annotated[
    Annotated[CountsParseShape, Tag("=counts")]
    | Annotated[RegexParseShape, Tag("=regex")]
    | Annotated[JsonlParseShape, Tag("=jsonl")],
    one_of("counts", "regex", "jsonl"),
]


class ReproducerShape(Shape):
    command: Words = entry("command", "What drives the trials; {{ name }} is filled in.")
    on: Name | None = entry("host", "Where it runs; may be left out for the only host.", None)
    cwd: Text = entry("folder", "Where it runs, relative to the workspace.", ".")
    env: dict[Variable, str] = entry("variables", "Its own environment variables.", {})
    timeout: Timeout = entry("duration", "How long one execution may take.")
    on_timeout: Literal["censored", "fail"] = entry(
        "word", "What a trial that the timeout cuts short counts as: censored, or fail."
    )
    trials: Scalar | None = entry("number", "How many trials an execution plans.", None)
    parse: ParseShape | None = entry("parser", "How its output is read; else by exit code.", None)
    crash_is: Literal["invalid", "fail"] = entry(
        "word", "What a crash of a service under it counts as.", "invalid"
    )


class CostShape(Shape):
    currency: str = entry("currency", "The currency of the rates.", "")
    downtime_per_hour: float = entry("rate", "The price of an hour of downtime.", 0.0, ge=0)
    occupied_per_hour: float = entry("rate", "The price of an hour of the system.", 0.0, ge=0)


class SecretShape(Shape):
    env: Variable = entry("variable", "The environment variable that holds the secret.")


class CampaignFile(Shape):
    """campaign.yaml: the system under test, how the symptom is provoked, what time costs."""

    campaign: Name = entry("name", "The campaign's name.")
    symptom: Text = entry("symptom", "What goes wrong, in a sentence.")
    hosts: dict[Name, HostShape] = entry("hosts", "The machines.", min_length=1)
    services: dict[Name, ServiceShape] = entry("services", "What runs there.", min_length=1)
    restart_groups: list[list[Name]] = entry(
        "groups", "Services that are only ever restarted together, in the order of their start.", []
    )
    reproducers: dict[Name, ReproducerShape] = entry("reproducers", "What provokes it.", {})
    versions: dict[Name, Words] = entry(
        "commands", "What prints a service's version, on its host; a condition of each run.", {}
    )
    cost: CostShape = entry("cost", "What time costs.", CostShape())
    statistics: StatisticsShape = entry(
        "statistics", "What is assumed, and when something counts as decided.", StatisticsShape()
    )
    protected: bool = entry("true or false", "Whether a run must be confirmed by name.", False)
    secrets: dict[Variable, SecretShape] = entry(
        "secrets", "Values redacted wherever they show.", {}
    )
    record_env: list[Variable] = entry("variables", "Variables recorded in plain text.", [])


# playbooks


class _PatchShape(Shape):
    host: Name | None = entry("host", "The host; may be left out for the only one.", None)
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


PatchShape = Annotated[
    Annotated[DiffPatchShape, Tag("=diff")]
    | Annotated[UploadPatchShape, Tag("=upload")]
    | Annotated[ReplacePatchShape, Tag("=replace")],
    one_of("diff", "upload", "replace"),
]


class EnvShape(Shape):
    services: list[Name] = entry("services", "Whose environment is changed.", min_length=1)
    set: dict[Variable, str] = entry("variables", "Variables and their values, as text.", {})
    unset: list[Variable] = entry("variables", "Variables to take away.", [])
    removes: Names = entry("hypotheses", "The suspected causes that this removes.", [])


class RestartShape(Shape):
    services: list[Name] = entry("services", "What to restart, with its groups.", min_length=1)


_StopWord = Literal["fixed", "sequential"]


class StopShape(Shape):
    rule: _StopWord = entry("word", "fixed: all trials; sequential: by the e-process.", "fixed")
    failures: int | None = entry("number", "Stop once so many have failed.", None, ge=1)


class ReproduceShape(Shape):
    use: Name = entry("reproducer", "The reproducer, by its name in campaign.yaml.")
    vars: dict[Variable, Scalar] = entry("variables", "Variables for this step alone.", {})
    timeout: Timeout | None = entry("duration", "Replaces the reproducer's timeout.", None)
    stop: Annotated[StopShape, *short_for("rule", _StopWord)] = entry(
        "rule", "When to stop: fixed, sequential, or {failures: 1}.", StopShape()
    )


class CollectShape(Shape):
    services: list[Name] = entry("services", "Whose logs to keep.", min_length=1)
    grep: Regex | None = entry("regex", "Keeps only lines that this finds.", None)
    max_bytes: Size = entry("size", "How much of each log to keep.", "256MiB")


class LogSideShape(Shape):
    log: Name = entry("service", "The service whose log is read.")
    match: KeyValueRegex = entry("regex", "Finds the groups `key` and `value`.")


class KnownBadShape(LogSideShape):
    match: KeyRegex = entry("regex", "Finds the group `key` of what was corrupted on purpose.")


class CompareShape(Shape):
    left: LogSideShape = entry("log", "One side.")
    right: LogSideShape = entry("log", "The other side.")
    known_bad: KnownBadShape | None = entry("log", "The keys corrupted on purpose.", None)


class CommandShape(Shape):
    on: Name | None = entry("host", "Where it runs; may be left out for the only host.", None)
    do: Words = entry("command", "What to run: a list of words, or one text for /bin/sh.")
    undo: Words | None = entry("command", "What takes its effect back.", None)
    check: Words | None = entry("command", "Exits 0 while its effect is in place.", None)
    timeout: Timeout = entry("duration", "How long each may take.", "1m")
    cwd: Text | None = entry("folder", "Where they run, relative to the workspace.", None)


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
    compare: CompareShape = entry("logs", "Joins two logs by a key.")


class CommandStep(StepShape):
    command: CommandShape = entry("command", "Runs a command.")


class WaitStep(StepShape):
    wait: Timeout = entry("duration", "Waits.")


class HttpStep(StepShape):
    http: HttpShape = entry("request", "Sends a request.")


AnyStep = Annotated[
    Annotated[PatchStep, Tag("=patch")]
    | Annotated[EnvStep, Tag("=env")]
    | Annotated[RestartStep, Tag("=restart")]
    | Annotated[ReproduceStep, Tag("=reproduce")]
    | Annotated[CollectStep, Tag("=collect")]
    | Annotated[CompareStep, Tag("=compare")]
    | Annotated[CommandStep, Tag("=command")]
    | Annotated[WaitStep, Tag("=wait")]
    | Annotated[HttpStep, Tag("=http")],
    one_of("patch", "env", "restart", "reproduce", "collect", "compare", "command", "wait", "http"),
]


class RateShape(Shape):
    by: Literal["rate"] = entry("word", "By failure rates.")
    expect: Literal["drop", "rise", "same"] = entry("word", "drop, rise or same, if it is true.")
    against: Name = entry(
        "name", "What it is set against: baseline, an arm or a playbook.", "baseline"
    )


class MismatchShape(Shape):
    by: Literal["mismatch"] = entry("word", "By the keys that mismatch.")
    min_coverage: Percent = entry("percentage", "The share of keys that must be compared.", "95%")


VerdictShape = Annotated[
    Annotated[RateShape, Tag("=rate")] | Annotated[MismatchShape, Tag("=mismatch")],
    chosen_by("rate", "mismatch"),
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
    predicts: PredictsShape = entry("predictions", "What each answer looks like.", PredictsShape())
    vars: dict[Variable, Scalar] = entry("variables", "Variables for its templates.", {})
    arms: list[Name] | None = entry(
        "arms", "Two or more configurations to compare.", None, min_length=2
    )
    schedule: Literal["alternate", "abba", "randomised"] | None = entry(
        "word", "How the arms follow each other in a block: alternate unless said.", None
    )
    blocks: int = entry("number", "How often that is gone through.", 1, ge=1, le=100)
    seed: int | None = entry("number", "What draws a randomised order; else drawn.", None, ge=0)
    steps: list[AnyStep] = entry("steps", "What is done, in order.", min_length=1)
    verdict: VerdictShape | None = entry("rule", "How the run is judged.", None)


class HypothesisShape(Shape):
    claim: Text = entry("claim", "A falsifiable claim about the cause.")
    mechanism: str = entry("mechanism", "How the cause would produce the symptom.", "")
    prior: float | None = entry("weight", "Your weight before any evidence.", None, gt=0, lt=1)
    predicts: PredictsShape = entry("predictions", "What follows from it.", PredictsShape())
    assumptions: list[Text] = entry("assumptions", "What it takes for granted.", [])
    links: list[Text] = entry("links", "Where it comes from.", [])


class HypothesesFile(Shape):
    """A file of hypotheses, to import."""

    hypotheses: dict[Name, HypothesisShape] = entry("hypotheses", "Each by its slug.", min_length=1)


def json_schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schemas (2020-12) of the files: `campaign`, `playbook` and `hypotheses`."""
    files: dict[str, type[Shape]] = {
        "campaign": CampaignFile,
        "playbook": PlaybookFile,
        "hypotheses": HypothesesFile,
    }
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {name: dialect | describe(model) for name, model in files.items()}
