"""Sessions that campaign drives itself: the child's job, and what it leaves behind."""

from collections.abc import Mapping
from textwrap import shorten

from campaign.engine.artifacts import ArtifactFile, keep
from campaign.engine.session import Session
from campaign.ledger import records
from campaign.ledger.kept_files import TRANSCRIPTS
from playbooks.sessions.job import Job, program
from playbooks.sessions.spec import Sessions
from playbooks.sessions.transcripts import commonest_why, latencies

JOB = "sessions.json"
"""The name under which what was driven is kept."""

_HEARD_BYTES = 10_000
_SOME_WORDS = 120
"""Characters of a reason that stand in a line with others."""


class Driven:
    """One execution of `sessions` in a step of a run: its files, and what the ledger learns."""

    def __init__(self, session: Session, run: str, step_id: str, sessions: Sessions) -> None:
        self._session = session
        self._run = run
        self._step = step_id
        self._sessions = sessions
        self._heard = b""
        self._transcripts = session.workspace.artifacts / run / f"{step_id}-{TRANSCRIPTS}"

    def command(self, variables: Mapping[str, str], where: str) -> tuple[str, ...]:
        """What drives them, once its job is written."""
        job = Job(self._sessions.filled(variables, where), tuple(self._session.system.secrets))
        with ArtifactFile(self._session, self._run, self._step, JOB) as file:
            file.write(job.to_json().encode())
        return program(file.path, self._transcripts)

    def hear(self, chunk: bytes) -> None:
        """What the child says on standard error."""
        self._heard = (self._heard + chunk)[-_HEARD_BYTES:]

    @property
    def fault(self) -> str:
        """What the child said last: why it gave up, where it did."""
        return self._heard.decode(errors="replace").strip().rpartition("\n")[2]

    def why(self, outcome: str) -> str:
        """The commonest reason for an outcome, in one line of some words."""
        why = commonest_why(self._transcripts, outcome) if self._transcripts.is_file() else ""
        return shorten(why, _SOME_WORDS, placeholder=" ...")

    def close(self, observation: str) -> None:
        """Keeps the transcripts, and how long the rounds took, where it came to that."""
        if not self._transcripts.is_file():
            return
        keep(self._session, self._run, self._step, TRANSCRIPTS, self._transcripts)
        self._session.recorder.add_all(
            [
                records.RoundLatency(
                    observation,
                    one.round,
                    one.what,
                    one.n,
                    one.p50_s,
                    one.p90_s,
                    one.p99_s,
                    one.max_s,
                )
                for one in latencies(self._transcripts)
            ]
        )
