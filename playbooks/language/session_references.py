"""Checks what the `http_sessions` of a reproducer refer to, and what cannot be driven."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from playbooks.language.fieldtypes import is_url
from playbooks.language.known import check_distinct, check_known
from playbooks.language.marks import Document, Node
from playbooks.language.problems import meant, shown
from playbooks.sessions import prompts
from playbooks.sessions.rules import validator
from playbooks.sessions.spec import ANY_TOOL, LIVE, OUTCOMES, Sessions
from playbooks.templates import TemplateError, uses

_SCHEDULER = r"(?:tcp|tls)://(?:\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]{1,5}"
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FIXED = ("url", "model", "sessions", "rounds", "concurrency", "seed")
_ABOVE_0 = "[1-9][0-9]{0,8}"
_NUMBERS = {"rounds": _ABOVE_0, "concurrency": _ABOVE_0, "seed": "[0-9]{1,15}"}


def check_sessions(document: Document, reproducer: Node, root: Path) -> None:
    """Reports what campaign.yaml, in the folder `root`, says of sessions and cannot be."""
    sessions = reproducer.get("http_sessions")
    if not sessions:
        return
    _local(document, reproducer)
    _scheduler(document, sessions.get("spread", "dask"))
    _texts(document, sessions)
    _prompts(document, sessions, root)
    _tools(document, sessions)
    _outcomes(document, reproducer)
    secrets = document.root.get("secrets").entries
    check_known(document, sessions.get("api_key"), "secret", tuple(secrets))


def _local(document: Document, reproducer: Node) -> None:
    """What drives sessions is on the operator's machine, with all that it needs."""
    hosts, on = document.root.get("hosts").entries, reproducer.get("on")
    name = on.text or "".join(list(hosts)[:1])
    if "ssh" in hosts.get(name, reproducer).entries:
        what = f"http_sessions run on this machine, and {shown(name)} is another one: name a host"
        document.report(
            on.mark if on else reproducer.key, f"{what} with 'local: true', and reach it by its url"
        )


def _scheduler(document: Document, node: Node) -> None:
    if node and re.fullmatch(_SCHEDULER, node.text) is None:
        what = f"expected a scheduler such as tcp://scheduler:8786, not {shown(node.text)}"
        document.report(node.mark, what)


def _texts(document: Document, sessions: Node) -> None:
    """Reports templates that are malformed, and names of a session where there is none yet."""
    fixed = [sessions.get(key) for key in _FIXED] + [*sessions.get("headers").entries.values()]
    said = [one.get("content") for one in sessions.get("messages").items]
    results = sessions.get("tool_results").entries.values()
    for node in fixed:
        _live_names(document, node, LIVE)
    for node in (*said, *sessions.get("prompts").items, sessions.get("follow_up")):
        _live_names(document, node, LIVE[2:])
    for node in results:
        _live_names(document, node, ())
    for name, node in sessions.get("headers").entries.items():
        if not _is_header(name, node.text):
            document.report(node.key, f"{shown(name)} is no header with a value of one line")
    for key in ("messages", "tools", "stream"):
        if extra := sessions.get("extra_body", key):
            document.report(extra.key, f"'{key}' has a key of its own: say it there")
    url = sessions.get("url")
    if url and "{{" not in url.text and not is_url(url.text):
        document.report(url.mark, _no_url(url.text))


def _live_names(document: Document, node: Node, absent: tuple[str, ...]) -> None:
    for one in node.texts():
        try:
            wrong = [name for name in uses(one.text) if name in absent]
        except TemplateError as error:
            document.report(one.mark, str(error))
            continue
        for name in wrong:
            what = f"there is no {{{{ {name} }}}} here yet: it is known in tool_results"
            more = "" if name in LIVE[2:] else ", messages, prompts and follow_up"
            document.report(one.mark, what + more)


def _is_header(name: str, value: str) -> bool:
    return re.fullmatch(_TOKEN, name) is not None and value.isprintable()


def _no_url(text: str) -> str:
    return f"expected a URL such as http://127.0.0.1:30000/v1, not {shown(text)}"


def _prompts(document: Document, sessions: Node, root: Path) -> None:
    inline, file = sessions.get("prompts"), sessions.get("prompts_file")
    if sessions.kind == "mapping" and not (sessions.get("messages").items or inline.items or file):
        document.report(sessions.key, "nothing is said: give messages, prompts or prompts_file")
    if inline and file:
        document.report(file.key, "'prompts_file' beside 'prompts': give one of them")
    if file:
        try:
            prompts.read(root / file.text)
        except prompts.BadPrompts as error:
            document.report(file.mark, f"{shown(file.text)}: {error}")


def _tools(document: Document, sessions: Node) -> None:
    functions = [one.get("function") for one in sessions.get("tools").items]
    names = [one.get("name") for one in functions]
    check_distinct(document, names)
    for one in functions:
        _schema(document, one.get("parameters"))
    known = [one.text for one in names]
    for name, node in sessions.get("tool_results").entries.items():
        if name not in known and name != ANY_TOOL:
            what = f"unknown tool {shown(name)}{meant(name, known)}: '*' stands for any other"
            document.report(node.key, what)


def _schema(document: Document, node: Node) -> None:
    if node.kind == "mapping":
        try:
            validator(node.plain())
        except ValueError as error:
            document.report(node.mark, f"not a JSON Schema: {error}")


def _outcomes(document: Document, reproducer: Node) -> None:
    sessions, parse = reproducer.get("http_sessions"), reproducer.get("parse")
    checks = sessions.get("checks").entries
    for name, check in checks.items():
        _schema(document, check.get("fits"))
        if name in OUTCOMES:
            document.report(check.key, f"{shown(name)} is an outcome already: name it otherwise")
    known = (*OUTCOMES, *checks)
    order = sessions.get("classify")
    check_distinct(document, order.items)
    check_known(document, order, "outcome", known)
    for result in ("fail", "pass", "censored"):
        check_known(document, parse.get(result), "outcome", known)
    listed = [one.text for one in order.items]
    for name, check in checks.items():
        if order and name not in listed:
            document.report(check.key, f"{shown(name)} is not in 'classify', so it is never given")


def misfilled(sessions: Sessions, variables: Mapping[str, str]) -> Iterator[str]:
    """What cannot be driven with these variables, one line each; nothing where some are missing."""
    try:
        filled = sessions.filled(variables, "")
    except TemplateError:
        return
    if not is_url(filled.url):
        yield _no_url(filled.url)
    for name, pattern in _NUMBERS.items():
        text = str(getattr(filled, name))
        if re.fullmatch(pattern, text) is None:
            above = " above 0" if pattern is _ABOVE_0 else ""
            yield f"{name} is {shown(text)}: expected a whole number{above}"
