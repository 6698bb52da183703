"""Prompts from a file: one a line, each what a session begins with."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playbooks.sessions.spec import Json

Messages = list[dict[str, Json]]


class BadPrompts(ValueError):  # noqa: N818 - it is the file that is bad
    """A file of prompts that cannot be used: which line, and why, in one line."""


def read(path: Path) -> tuple[tuple[Messages, ...], str]:
    """The prompts of the file as messages, and the SHA-256 of its bytes. Raises BadPrompts."""
    try:
        raw = path.read_bytes()
        text = raw.decode()
    except OSError as error:
        raise BadPrompts(str(error.strerror).lower()) from None
    except UnicodeDecodeError:
        raise BadPrompts("is not UTF-8") from None
    found = tuple(_messages(text))
    if not found:
        raise BadPrompts("holds no prompt")
    return found, hashlib.sha256(raw).hexdigest()


def _messages(text: str) -> Iterator[Messages]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            messages = _of_line(line)
            if messages is None:
                raise BadPrompts(
                    f'line {number}: expected JSON: a text, or {{"prompt": "..."}}, or '
                    '{"messages": [{"role": "user", "content": "..."}]}'
                )
            yield messages


def _of_line(line: str) -> Messages | None:
    """The messages of one line; None where it has none."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and isinstance(messages := value.get("messages"), list):
        fit = all(isinstance(one, dict) and isinstance(one.get("role"), str) for one in messages)
        return messages if messages and fit else None
    prompt = value.get("prompt") if isinstance(value, dict) else value
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else None
