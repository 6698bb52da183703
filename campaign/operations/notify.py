"""Tells a command or a URL how a run ended; a failure of that is told, and fails nothing."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from campaign.engine.events import Emit, Note
from campaign.errors import Exit
from playbooks.ending import Notice
from playbooks.redact import Redactor
from playbooks.system import System

if TYPE_CHECKING:
    from campaign.engine.run import Outcome

LIMIT_S = 15.0
_TAIL = 200


def notify(system: System, outcome: "Outcome", redactor: Redactor, emit: Emit) -> None:
    """Tells all that `notify:` of campaign.yaml wants told of how `outcome` ended."""
    word = ending(outcome)
    message = redactor.text(json.dumps(_message(system, outcome, word))).encode()
    for notice in system.notify:
        if word in notice.when:
            why = _tell(notice, message, system)
            if why:
                text = redactor.text(f"{_place(notice)} was not told: {why}")
                emit(Note(text, warn=True))


def ending(outcome: "Outcome") -> str:
    """How an invocation ended, in a word of `notify:`."""
    if outcome.exit is Exit.DIRTY:
        return "dirty"
    if outcome.exit is Exit.COMPLETED:
        return "finished"
    return "failed" if outcome.exit is Exit.STEP_FAILED and not _aborted(outcome) else "aborted"


def _aborted(outcome: "Outcome") -> bool:
    return any(one.status == "aborted" for one in outcome.runs)


def _message(system: System, outcome: "Outcome", word: str) -> dict[str, object]:
    runs = [
        {
            "id": one.id,
            "playbook": one.playbook,
            "status": one.status,
            "verdict": str(one.verdict.word) if one.verdict else None,
            "uncounted": list(one.uncounted),
        }
        for one in outcome.runs
    ]
    return {
        "campaign": system.campaign,
        "ended": word,
        "exit": int(outcome.exit),
        "text": "\n".join(_text(system, outcome, word)),
        "runs": runs,
        "kept": outcome.kept,
        "error": outcome.error,
        "remaining": list(outcome.remaining),
    }


def _text(system: System, outcome: "Outcome", word: str) -> Iterator[str]:
    names = ", ".join(one.id for one in outcome.runs) or "no run"
    yield f"{system.campaign}: {names}: {word}"
    for one in outcome.runs:
        if one.verdict:
            yield f"{one.id}: {one.verdict.word}"
        yield from (f"{one.id}: {text}" for text in one.uncounted)
    if outcome.kept:
        back = f"campaign recover {outcome.runs[-1].id} puts it back"
        yield f"kept as changed: {outcome.kept}; {back}"
    if outcome.error:
        yield outcome.error
    yield from outcome.remaining


def _tell(notice: Notice, message: bytes, system: System) -> str:
    """Why it could not be told; nothing where it was."""
    try:
        return _post(notice.url, message) if notice.url else _run(notice, message, system)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return str(error)


def _run(notice: Notice, message: bytes, system: System) -> str:
    done = subprocess.run(
        notice.command,
        cwd=system.root,
        env=_without_secrets(system.secrets),
        input=message,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=LIMIT_S,
        check=False,
    )
    said = done.stderr.decode(errors="replace").strip()[-_TAIL:]
    return f"it exited {done.returncode}: {said or 'no message'}" if done.returncode else ""


def _without_secrets(secrets: Mapping[str, str]) -> dict[str, str]:
    values = set(secrets.values())
    return {name: value for name, value in os.environ.items() if value not in values}


def _post(url: str, message: bytes) -> str:
    from urllib.request import Request, urlopen

    headers = {"Content-Type": "application/json"}
    with urlopen(Request(url, message, headers, method="POST"), timeout=LIMIT_S) as answer:
        answer.read(1)
    return ""


def _place(notice: Notice) -> str:
    """Whom it tells, without what of a URL may be a key."""
    if not notice.url:
        return notice.command[0]
    from urllib.parse import urlsplit

    return urlsplit(notice.url).netloc.rpartition("@")[2]
