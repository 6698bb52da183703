"""The language of campaign.yaml, as shapes: shape, and what each key means."""

from typing import Annotated, Literal

from playbooks.language.fieldtypes import (
    Address,
    Duration,
    Name,
    Port,
    ServiceKey,
    ServiceName,
    Text,
    Timeout,
    Url,
    Variable,
    Words,
)
from playbooks.language.reproducer_schema import ReproducerShape
from playbooks.language.service_schema import RequestShape, ServiceShape
from playbooks.language.shapes import ONE_OF, Shape, Variant, entry
from playbooks.language.statistics import StatisticsShape


class _HostShape(Shape):
    python: Text | None = entry("interpreter", "The Python that runs the agent there.", None)


class LocalHostShape(_HostShape):
    local: Literal[True] = entry("true", "The machine that campaign itself runs on.")
    state_dir: Text | None = entry(
        "folder", "Where its journal lies, relative to the workspace; else in .campaign.", None
    )


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
    Annotated[LocalHostShape, Variant("local")] | Annotated[SshHostShape, Variant("ssh")],
    ONE_OF,
]


class _GuardShape(Shape):
    on: Name | None = entry(
        "host", "Where it is asked from; may be left out for the only one.", None
    )
    every: Timeout = entry("duration", "How often it is asked.", "5s")
    timeout: Timeout = entry("duration", "How long an answer may take.", "5s")
    failures: int = entry("number", "How many looks in a row must fail for it to trip.", 1, ge=1)
    through_restarts: bool = entry(
        "true or false", "Whether it must hold while services restart, too.", False
    )


class HttpGuardShape(_GuardShape, RequestShape):
    http: Url = entry("URL", "Holds while this URL answers as expected.")


class TcpGuardShape(_GuardShape):
    tcp: Address = entry("address", "Holds while this host:port accepts a connection.")


class CommandGuardShape(_GuardShape):
    command: Words = entry("command", "Holds while this command exits 0; it runs in /.")


GuardShape = Annotated[
    Annotated[HttpGuardShape, Variant("http")]
    | Annotated[TcpGuardShape, Variant("tcp")]
    | Annotated[CommandGuardShape, Variant("command")],
    ONE_OF,
]


class CaptureShape(Shape):
    name: Name | None = entry("name", "What its output is called; else after its command.", None)
    do: Words = entry("command", "What to run: a list of words, or one text for /bin/sh.")
    service: ServiceName | None = entry(
        "service", "Runs on its host, with its pid as $MAINPID; of replicas on each.", None
    )
    on: Name | None = entry("host", "Where it runs, where it is of no service.", None)
    timeout: Timeout = entry("duration", "How long it may take.", "1m")


class OnFailureShape(Shape):
    capture: list[CaptureShape] = entry("commands", "What keeps evidence, in order.", [])
    collect: list[ServiceName] = entry("services", "Whose logs since the restart are kept.", [])
    hold: Duration = entry("duration", "How long all is then held as it is, at most.", "0s")


_Ending = Literal["finished", "failed", "aborted", "dirty"]


class _NoticeShape(Shape):
    when: list[_Ending] = entry(
        "words", "How it ended.", ["finished", "failed", "aborted", "dirty"], least=1
    )


class CommandNoticeShape(_NoticeShape):
    command: Words = entry("command", "Run here, with the message as JSON on standard input.")


class UrlNoticeShape(_NoticeShape):
    url: Url = entry("URL", "Where the message is posted, as JSON.")


NoticeShape = Annotated[
    Annotated[CommandNoticeShape, Variant("command")] | Annotated[UrlNoticeShape, Variant("url")],
    ONE_OF,
]


class CostShape(Shape):
    currency: str = entry("currency", "The currency of the rates.", "")
    downtime_per_hour: float = entry("rate", "The price of an hour of downtime.", 0.0, ge=0)
    occupied_per_hour: float = entry("rate", "The price of an hour of the system.", 0.0, ge=0)


class BudgetShape(Shape):
    downtime: Timeout | None = entry("duration", "The downtime it may cause.", None)
    restarts: int | None = entry("number", "The restarts it may make.", None, ge=1)
    money: float | None = entry("amount", "What it may cost, in its currency.", None, gt=0)
    time: Timeout | None = entry(
        "duration", "How long it may occupy the system: restarts, trials and ways back.", None
    )


class SecretShape(Shape):
    env: Variable = entry("variable", "The environment variable that holds the secret.")


class CampaignFile(Shape):
    """campaign.yaml: the system under test, how the symptom is provoked, what time costs."""

    campaign: Name = entry("name", "The campaign's name.")
    symptom: Text = entry("symptom", "What goes wrong, in a sentence.")
    hosts: dict[Name, HostShape] = entry("hosts", "The machines.", least=1)
    services: dict[ServiceKey, ServiceShape] = entry("services", "What runs there.", least=1)
    restart_groups: list[list[ServiceName]] = entry(
        "groups",
        "Services that are only ever restarted together, in the order of their start; of replicas"
        " on the same hosts those of one host.",
        [],
    )
    reproducers: dict[Name, ReproducerShape] = entry("reproducers", "What provokes it.", {})
    versions: dict[ServiceName, Words] = entry(
        "commands", "What prints a service's version, on its host; a condition of each run.", {}
    )
    cost: CostShape = entry("cost", "What time costs.", {})
    budget: BudgetShape = entry("budget", "What the campaign may cost in all.", {})
    guard: list[GuardShape] = entry("guards", "What must hold all through a run.", [])
    on_failure: OnFailureShape = entry(
        "evidence", "What is done before a failed run is put back.", {}
    )
    notify: list[NoticeShape] = entry("notices", "Whom to tell how a run ended.", [])
    history: list[Text] = entry(
        "paths",
        "Ledgers of other campaigns, or their workspaces: what their restarts took is the first"
        " estimate where this ledger has none.",
        [],
    )
    statistics: StatisticsShape = entry(
        "statistics", "What is assumed, and when something counts as decided.", {}
    )
    lease: Timeout = entry(
        "duration", "How long a host waits for an operator that is gone; then it puts back.", "10m"
    )
    protected: bool = entry("true or false", "Whether a run must be confirmed by name.", False)
    secrets: dict[Variable, SecretShape] = entry(
        "secrets", "Values redacted wherever they show.", {}
    )
    record_env: list[Variable] = entry("variables", "Variables recorded in plain text.", [])
