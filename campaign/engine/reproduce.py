"""Drives a reproducer: its output streams to a file, its trials to the ledger as they arrive."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from campaign.engine import survival
from campaign.engine.artifacts import ArtifactFile
from campaign.engine.conditions import conditions
from campaign.engine.driven import Driven
from campaign.engine.events import Note, TrialsSeen
from campaign.engine.measure import Place, Seen, StepFailed
from campaign.engine.session import Session
from campaign.engine.stopping import Watch
from campaign.ledger import records
from hypotheses.drift import in_order_of_start
from hypotheses.observation import Counts, Result, Trial, count
from hypotheses.tally import Tally
from playbooks.hosts.processes import Exit
from playbooks.parsers import make
from playbooks.parsers.parser import ExitInfo, ParseError, unfinished
from playbooks.playbook import Reproduce
from playbooks.system import Reproducer
from playbooks.templates import render

BATCH = 500
BATCH_S = 0.2


def reproduce(session: Session, place: Place, step_id: str, action: Reproduce, seen: Seen) -> str:
    """Runs the reproducer once in this boot and stores one observation.

    Errors: StepFailed (it failed, or nothing could be read from it), Stopped, HostLost.
    """
    reproducer = session.system.reproducers[action.use]
    return _Reproduction(session, place, step_id, action, reproducer, seen).run()


class _Arrived(Struct, frozen=True):
    """A trial, when it came, and what it ran in its reproducer's unit of exposure."""

    trial: Trial
    at: float
    exposure: float | None


class _Reproduction:
    def __init__(
        self,
        session: Session,
        place: Place,
        step_id: str,
        action: Reproduce,
        reproducer: Reproducer,
        seen: Seen,
    ) -> None:
        self._session = session
        self._place = place
        self._step = step_id
        self._reproducer = reproducer
        self._where = f"reproducer {reproducer.name!r}"
        self._seen = seen
        self._variables = {**place.variables, **action.vars}
        self._timeout = action.timeout_s or reproducer.timeout_s
        self._watch = Watch(action.rule, session.stop.event, place.until)
        self._parser = make(reproducer.parse)
        self._id = session.recorder.new_id()
        self._stored = 0
        self._pending: list[_Arrived] = []
        self._spawned_at = time.monotonic()
        self._exposure = 0.0 if reproducer.exposure else None
        self._flushed_at = time.monotonic()
        self._counts = Counts()
        self._ended: Exit | None = None
        self._invalid: str | None = "the reproducer did not end"
        self._artifact = ArtifactFile(session, place.run, step_id, "output.log")
        sessions = reproducer.sessions
        self._driven = Driven(session, place.run, step_id, sessions) if sessions else None

    def run(self) -> str:
        self._session.recorder.add_all([self._record(self._session.clock()), *self._plan()])
        self._seen.observations.append(self._id)
        try:
            self._invalid = self._with_deaths(self._followed())
        finally:
            self._close()
        self._session.stop.check()
        if self._invalid is not None:
            raise StepFailed(f"reproducer {self._reproducer.name!r}: {self._invalid}")
        return self._said()

    def _followed(self) -> str | None:
        """Why the observation is not valid, once the reproducer has ended; None where it is."""
        try:
            self._ended = self._spawn()
            return self._finish(self._ended)
        except ParseError as error:
            return self._gave_up() or str(error)

    def _gave_up(self) -> str:
        """Why the driver of sessions could not go on: it is no program of the user's."""
        if self._driven is None or self._ended is None or self._ended.code != 1:
            return ""
        return self._driven.fault

    def _with_deaths(self, invalid: str | None) -> str | None:
        """A death counts as a failing trial where it is the symptom; else it explains a failure."""
        died = survival.deaths(self._session, self._place.proof)
        if not died or self._watch.aborted:
            return invalid
        told = "; ".join(one.told(self._arrivals()) for one in died)
        if self._reproducer.crash_is == "invalid":
            return f"{told}; {invalid}" if invalid else None
        self._seen.crashed.update(one.service for one in died)
        self._session.emit(Note(f"{told}: counted as a failing trial", warn=True))
        self._pend([Trial("crash", Result.FAIL)])
        return None

    def _arrivals(self) -> list[float]:
        return [*self._seen.arrivals, *(one.at for one in self._pending)]

    def _pend(self, trials: Iterable[Trial]) -> None:
        now = self._session.clock()
        for trial in self._watch.see(trials):
            self._pending.append(_Arrived(trial, now, self._exposed(trial)))

    def _exposed(self, trial: Trial) -> float | None:
        """What the trial ran; where it does not tell, the time since those before it, as a soak."""
        if self._exposure is None:
            return None
        if self._reproducer.exposure == "attempts":
            amount = trial.attempts or 0.0
        elif trial.seconds is not None:
            amount = trial.seconds
        else:
            amount = max(0.0, time.monotonic() - self._spawned_at - self._exposure)
        self._exposure += amount
        return amount

    def _spawn(self) -> Exit:
        command = self._command()
        env = {name: self._render(value) for name, value in self._reproducer.env.items()}
        self._spawned_at = time.monotonic()
        return self._session.hosts[self._reproducer.on].spawn(
            command,
            cwd=self._reproducer.cwd,
            env={**self._session.system.secrets, **env},
            timeout_s=self._timeout,
            sink=self._take,
            stop=self._watch,
            idle=self._flush_if_due,
        )

    def _command(self) -> Sequence[str]:
        if self._driven is not None:
            return self._driven.command(self._variables, self._where)
        return [self._render(word) for word in self._reproducer.command]

    def _render(self, text: str) -> str:
        return render(text, self._variables, self._where)

    def _take(self, stream: str, chunk: bytes) -> None:
        """Output as it comes; a ParseError here ends the reproducer at once."""
        self._artifact.write(chunk)
        if stream == "stdout":
            self._pend(self._parser.feed(chunk))
        else:
            self._parser.feed_stderr(chunk)
            if self._driven is not None:
                self._driven.hear(chunk)
        self._flush_if_due()

    def _flush_if_due(self) -> None:
        if len(self._pending) >= BATCH or time.monotonic() - self._flushed_at > BATCH_S:
            self._flush()

    def _flush(self) -> None:
        self._flushed_at = time.monotonic()
        if not self._pending:
            return
        batch, self._pending = self._pending, []
        places = list(enumerate(batch, self._stored))
        self._session.recorder.add_all(
            [
                *(self._trial(position, one.trial, one.at) for position, one in places),
                *(
                    records.TrialExposure(self._id, position, one.exposure)
                    for position, one in places
                    if one.exposure is not None
                ),
                *(
                    records.TrialAttribute(self._id, position, name, value)
                    for position, one in places
                    for name, value in one.trial.attributes
                ),
            ]
        )
        trials = [one.trial for one in batch]
        self._stored += len(batch)
        self._seen.trials.extend(trials)
        self._seen.arrivals.extend(one.at for one in batch)
        self._counts += count(trials)
        self._session.emit(TrialsSeen(self._counts))

    def _trial(self, position: int, trial: Trial, at: float) -> records.Trial:
        return records.Trial(
            self._id,
            position,
            trial.outcome,
            trial.result.value,
            trial.ident,
            " ".join(trial.keys),
            trial.seconds,
            at,
        )

    def _finish(self, ended: Exit) -> str | None:
        """Reads the rest and returns why the observation is not valid; None where it is."""
        info = ExitInfo(ended.code, ended.signal, ended.timed_out, ended.stopped)
        parsed = self._parser.finish(info, self._planned())
        self._pend(parsed.trials)
        for warning in parsed.warnings:
            self._session.emit(Note(f"{self._reproducer.name}: {warning}", warn=True))
        if ended.stopped and self._watch.aborted:
            return "aborted before its end"
        if ended.timed_out:
            self._pend(self._cut_short())
        if self._watch.spent and ended.stopped:
            self._seen.spent = True
            self._session.emit(Note(self._cut_off(), warn=True))
        return None

    def _cut_off(self) -> str:
        done, planned = self._stored + len(self._pending), self._planned()
        of = f" of {planned}" if planned is not None else ""
        return f"{self._reproducer.name}: the budget is spent: stopped after {done}{of} trials"

    def _close(self) -> None:
        self._flush()
        self._artifact.close()
        if self._driven is not None:
            self._driven.close(self._id)
        if self._reproducer.parse.streams:
            start = len(self._seen.trials) - self._stored
            ran = in_order_of_start(self._seen.trials[start:], self._seen.arrivals[start:])
            self._seen.sequences.append(ran)
        end = self._watch.end
        if end is not None:
            self._session.recorder.update(
                records.ObservationTerms, self._id, stopped=end.stopped, stands=int(end.stands)
            )
        self._session.recorder.update(
            records.Observation,
            self._id,
            ended_at=self._session.clock(),
            exit_code=self._ended.code if self._ended else None,
            stop_reason=_why_it_ended(self._ended, self._watch),
            invalid=self._invalid,
            tail=self._artifact.tail,
        )

    def _plan(self) -> Iterator[records.ObservationTerms | records.ObservationPlan]:
        """What is fixed before the first trial."""
        rule, planned = self._watch.rule, self._planned()
        yield records.ObservationTerms(
            self._id, str(rule) if rule else "", unit=self._reproducer.exposure
        )
        if planned is not None:
            yield records.ObservationPlan(self._id, planned)

    def _said(self) -> str:
        end = self._watch.end
        stopped = (end.stopped,) if end and end.stopped else ()
        tally = Tally(self._counts, stopped, self._exposure, self._reproducer.exposure or "")
        text = f"failed {tally.rate}"
        if self._uncounted:
            text = f"no trial counts: all {self._counts.censored} censored{self._censored_why()}"
            self._seen.uncounted.append(text)
        elif self._counts.censored:
            text += f", {self._counts.censored} censored{self._censored_why()}"
        if self._ended is not None and self._ended.timed_out:
            text += f"; timed out after {self._timeout:g} s"
        return f"{text}; {end}" if end is not None else text

    @property
    def _uncounted(self) -> bool:
        """Whether there were trials, none of which says anything of the failure."""
        return bool(self._counts.censored) and not self._counts.n and not self._exposure

    def _censored_why(self) -> str:
        """What most of the censored trials ended with; of sessions, why."""
        own = self._seen.trials[len(self._seen.trials) - self._stored :]
        ended = Counter(one.outcome for one in own if one.result is Result.CENSORED)
        if not ended or (self._driven is None and not self._uncounted):
            return ""
        ((outcome, times),) = ended.most_common(1)
        why = self._driven.why(outcome) if self._driven is not None else ""
        return f" ({outcome} {times}{f': {why}' if why else ''})"

    def _cut_short(self) -> tuple[Trial, ...]:
        done = self._stored + len(self._pending)
        return unfinished(self._planned(), done, self._reproducer.on_timeout)

    def _planned(self) -> int | None:
        if self._reproducer.trials is None:
            return None
        with suppress(ValueError):
            return int(self._render(self._reproducer.trials))
        return None

    def _record(self, started: float) -> records.Observation:
        return records.Observation(
            id=self._id,
            run=self._place.run,
            boot=self._place.boot_id,
            cycle=self._place.cycle,
            step=self._step,
            reproducer=self._reproducer.name,
            arm=self._place.arm,
            conditions=json.dumps(self._conditions(), sort_keys=True),
            started_at=started,
            artifact=str(Path(self._place.run) / f"{self._step}-output.log"),
        )

    def _conditions(self) -> dict[str, str]:
        return {
            **conditions(self._reproducer, self._variables, self._timeout),
            **self._place.conditions,
        }


def _why_it_ended(ended: Exit | None, watch: Watch) -> str:
    if ended is None:
        return "failed"
    if ended.timed_out or watch.aborted:
        return "timeout" if ended.timed_out else "stopped"
    if watch.spent and ended.stopped:
        return "budget"
    return "fixed" if watch.end is None else str(watch.end)
