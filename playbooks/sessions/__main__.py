"""The child: `python -m playbooks.sessions SPEC TRANSCRIPTS`, with its secrets in its environment.

SPEC is a file that holds a `Job`; a line of JSON for each session goes to standard output as it
ends, its transcript to the file TRANSCRIPTS. Exit 0 once all sessions have ended, whatever they
found. SIGTERM ends it at once: sessions under way have a transcript, and no line.
"""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from playbooks.redact import Redactor
from playbooks.sessions.drive import Driver, Told
from playbooks.sessions.job import Fault, Job
from playbooks.sessions.prompts import BadPrompts
from playbooks.sessions.session import Script, prompts_of
from playbooks.sessions.told import Book


def main() -> None:
    gc.set_threshold(100_000)  # many small objects live for as long as their session
    spec, transcripts = map(Path, sys.argv[1:])
    job = Job.from_json(spec.read_text(encoding="utf-8"))
    secrets = {name: os.environ[name] for name in job.secrets if name in os.environ}
    key = secrets.get(job.sessions.api_key or "")
    book = Book(transcripts, Redactor(secrets))

    def take(one: Told) -> None:
        book.tell(one.number, one.line, one.transcript, one.answered)

    try:
        _drive(job, key, take, book)
    except Fault as error:
        sys.exit(str(error))
    except BadPrompts as error:
        sys.exit(f"the file of prompts {error}")
    if not book.answered:
        sys.exit(f"no session was answered by {job.sessions.url}: {book.last_why}")


def _drive(job: Job, key: str | None, take: Callable[[Told], None], book: Book) -> None:
    script = Script(job.sessions, prompts_of(job.sessions))
    numbers = range(1, int(job.sessions.sessions) + 1)
    if job.sessions.dask is not None:
        from playbooks.sessions.spread import spread

        signal.signal(signal.SIGTERM, lambda *_: _end([], book))
        spread(job.sessions.dask, script, numbers, key, take)
        return
    driver = Driver(script, numbers, int(job.sessions.concurrency), key)
    signal.signal(signal.SIGTERM, lambda *_: _end(driver.unfinished(), book))
    asyncio.run(driver.run(take))


def _end(unfinished: list[str], book: Book) -> NoReturn:
    """Keeps what there is and goes: nobody waits for an orderly end of connections."""
    for whole in unfinished:
        book.keep(whole)
    os._exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
