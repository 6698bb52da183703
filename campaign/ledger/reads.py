"""The ledger as its readers see it: the standard library's sqlite3, read-only."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from campaign.ledger import records
from campaign.ledger.arms import ArmReads
from campaign.ledger.confirming import ConfirmationReads
from campaign.ledger.costs import CostReads
from campaign.ledger.evidence import EvidenceReads
from campaign.ledger.filtering import FilteredReads, RunFilter, as_seen
from campaign.ledger.history import HistoryReads
from campaign.ledger.live import LiveReads
from campaign.ledger.naming import changeable, readable
from campaign.ledger.owner import Owner
from campaign.ledger.restarts import RestartReads
from campaign.ledger.stack import StackReads
from campaign.ledger.trend import TrendReads
from campaign.ledger.whole import WholeReads
from hypotheses.hypothesis import Hypothesis, Standing
from hypotheses.observation import Counts

if TYPE_CHECKING:
    from hypotheses.tally import Tally


class Ledger(
    ArmReads,
    ConfirmationReads,
    CostReads,
    EvidenceReads,
    FilteredReads,
    HistoryReads,
    LiveReads,
    RestartReads,
    StackReads,
    TrendReads,
    WholeReads,
):
    """All reads of a ledger. A run that is stored as running reads as interrupted, by each of
    them that returns runs, when its process is gone.
    """

    def campaign(self) -> records.CampaignRecord | None:
        """The campaign this ledger belongs to; None while nobody has said."""
        rows = self._records(records.CampaignRecord, "SELECT * FROM campaign")
        return rows[0] if rows else None

    def currency(self) -> str:
        """The currency of all money in this ledger; empty where no rates were given."""
        campaign = self.campaign()
        return campaign.currency if campaign else ""

    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """All hypotheses, in the order they were added."""
        return tuple(
            Hypothesis(
                **{
                    **dict(row),
                    "assumptions": tuple(json.loads(row["assumptions"])),
                    "links": tuple(json.loads(row["links"])),
                    "standing": Standing(row["standing"]),
                }
            )
            for row in self._rows("SELECT * FROM hypothesis ORDER BY rowid")
        )

    def events(self, slug: str) -> tuple[records.HypothesisEvent, ...]:
        """A hypothesis's history, oldest first."""
        return self._records(
            records.HypothesisEvent,
            "SELECT * FROM hypothesis_event WHERE hypothesis = ? ORDER BY at, rowid",
            slug,
        )

    def runs(
        self,
        limit: int | None = None,
        playbook: str | None = None,
        hypothesis: str | None = None,
        status: str | None = None,
    ) -> tuple[records.Run, ...]:
        """The runs by all that is given, the newest first, `limit` at most."""
        wanted = RunFilter(playbook, hypothesis, status)
        return tuple(self.runs_at(self.places(wanted, limit)).values())

    def run_ids(self) -> tuple[str, ...]:
        """The ids of all runs, in the order they were started."""
        return tuple(row["id"] for row in self._rows("SELECT id FROM run ORDER BY started_at"))

    def run(self, word: str) -> records.Run:
        """The run to look at: by its id, its playbook (the newest), or a part of its id.

        Raises:
            CampaignError: USAGE when no run or more than one is meant.
        """
        exact = self._records(records.Run, "SELECT * FROM run WHERE id = ?", word)
        if exact:
            return as_seen(exact[0])
        rows = self._rows("SELECT id, playbook FROM run ORDER BY started_at, rowid")
        return self.run(readable(word, ((row["id"], row["playbook"]) for row in rows)))

    def run_to_change(self, word: str, under_way: bool = False) -> records.Run:
        """The run that something is to be done to: by its id, or by how no other id begins.

        `under_way`: of several that begin so the one that is not over, if it is alone in that.

        Raises:
            CampaignError: USAGE when no run or more than one is meant; REFUSED where several
                begin so, and all of them are over.
        """
        if under_way:
            ids = [one.id for one in reversed(self.unsettled()) if one.ended_at is None]
            if any(one.startswith(word) for one in ids):
                return self.run(changeable(word, ids))
        return self.run(changeable(word, self.run_ids(), over=under_way))

    def unsettled(self) -> tuple[records.Run, ...]:
        """The runs under way, and those that are not all put back, the newest first."""
        rows = self._records(
            records.Run,
            """
            SELECT * FROM run
            WHERE status = 'running' OR (status = 'interrupted' AND ended_at IS NULL)
               -- Every status is named, so that an index finds the few that are dirty.
               OR (state = 'dirty'
                   AND status IN ('running', 'completed', 'failed', 'aborted', 'interrupted'))
            ORDER BY started_at DESC, rowid DESC
            """,
        )
        return tuple(as_seen(run) for run in rows)

    def owners(self) -> tuple[Owner, ...]:
        """The processes behind the runs that are stored as running, gone ones among them."""
        rows = self._rows(
            "SELECT DISTINCT owner_pid, owner_start, owner_boot FROM run WHERE status = 'running'"
        )
        return tuple(Owner(*row) for row in rows)

    def running(self) -> tuple[records.Run, ...]:
        """The runs under way, the newest first."""
        rows = self._records(
            records.Run,
            "SELECT * FROM run WHERE status = 'running' ORDER BY started_at DESC, rowid DESC",
        )
        return tuple(run for run in rows if as_seen(run).status == "running")

    def batch_runs(self, batch: str) -> tuple[records.Run, ...]:
        """The runs of a batch that have begun, in order."""
        rows = self._records(
            records.Run, "SELECT * FROM run WHERE batch = ? ORDER BY started_at, rowid", batch
        )
        return tuple(map(as_seen, rows))

    def terms(self, run: str) -> records.RunTerms:
        """What was fixed about a run before it began."""
        rows = self._records(records.RunTerms, "SELECT * FROM run_terms WHERE run = ?", run)
        return rows[0] if rows else records.RunTerms(run)

    def hypotheses_of(self, run: str) -> tuple[str, ...]:
        """The slugs of the hypotheses that a run speaks to."""
        rows = self._rows(
            "SELECT hypothesis FROM run_hypothesis WHERE run = ? ORDER BY hypothesis", run
        )
        return tuple(row["hypothesis"] for row in rows)

    def boots(self, run: str) -> tuple[records.Boot, ...]:
        """A run's boots in order, with the way back to the base where this run pays for it."""
        return self._records(
            records.Boot,
            """
            SELECT * FROM boot
            WHERE run = ?1 OR id IN (
                SELECT boot FROM ways_back
                WHERE run = ?1 AND batch = (SELECT batch FROM run WHERE id = ?1))
               OR (run IS NULL AND id IN (SELECT boot FROM cycle WHERE run = ?1))
            ORDER BY started_at, position
            """,
            run,
        )

    def cycles(self, run: str) -> tuple[records.Cycle, ...]:
        """The restart cycles charged to a run, in order."""
        return self._records(
            records.Cycle, "SELECT * FROM cycle WHERE run = ? ORDER BY requested_at, rowid", run
        )

    def steps(self, run: str) -> tuple[records.Step, ...]:
        """A run's steps in the order of execution."""
        return self._records(
            records.Step, "SELECT * FROM step WHERE run = ? ORDER BY position, rowid", run
        )

    def edits(self, run: str) -> tuple[records.Edit, ...]:
        """The file edits of a run's boots."""
        return self._records(records.Edit, "SELECT * FROM edit WHERE run = ? ORDER BY rowid", run)

    def states(self, run: str) -> tuple[records.ServiceState, ...]:
        """The services' proofs in a run's own boots."""
        return self._records(
            records.ServiceState,
            """
            SELECT service_state.* FROM service_state JOIN boot ON boot.id = service_state.boot
            WHERE boot.run = ? ORDER BY service_state.rowid
            """,
            run,
        )

    def observations(self, run: str) -> tuple[records.Observation, ...]:
        """A run's observations, invalid ones too, oldest first; one that its run's process did not

        live to end reads as invalid.
        """
        found = self._records(
            records.Observation,
            "SELECT * FROM observation WHERE run = ? ORDER BY started_at, rowid",
            run,
        )
        return self.as_ended(run, found)

    def trial_counts(self, run: str) -> Mapping[str, Counts]:
        """The counts of each of a run's observations so far, by the observation's id."""
        return {name: one.counts for name, one in self.tallies(run).items()}

    def tallies(self, run: str) -> Mapping[str, "Tally"]:
        """What each of a run's observations shows so far, by the observation's id."""
        return self.tallies_of([run]).get(run, {})

    def trials(self, observation: str, start: int = 0) -> tuple[records.Trial, ...]:
        """An observation's trials in order of arrival, from position `start` on."""
        return self._records(
            records.Trial,
            "SELECT * FROM trial WHERE observation = ? AND position >= ? ORDER BY position",
            observation,
            start,
        )

    def comparisons(self, run: str) -> tuple[records.Comparison, ...]:
        """A run's log comparisons, oldest first."""
        return self._records(
            records.Comparison, "SELECT * FROM comparison WHERE run = ? ORDER BY at, rowid", run
        )

    def comparison_keys(self, comparison: str) -> tuple[records.ComparisonKey, ...]:
        """The keys of a comparison that did not simply match."""
        return self._records(
            records.ComparisonKey,
            "SELECT * FROM comparison_key WHERE comparison = ? ORDER BY rowid",
            comparison,
        )

    def comparison_contexts(self, comparison: str) -> Mapping[str, records.ComparisonContext]:
        """What stands around the lines of those keys, by key; earlier ledgers kept none."""
        rows = self._records(
            records.ComparisonContext,
            "SELECT * FROM comparison_context WHERE comparison = ?",
            comparison,
        )
        return {one.key: one for one in rows}

    def verdicts(self, run: str) -> tuple[records.Verdict, ...]:
        """A run's verdicts, oldest first."""
        return self._records(
            records.Verdict, "SELECT * FROM verdict WHERE run = ? ORDER BY at, rowid", run
        )

    def artifacts(self, run: str) -> tuple[records.Artifact, ...]:
        """The files kept for a run."""
        return self._records(
            records.Artifact, "SELECT * FROM artifact WHERE run = ? ORDER BY rowid", run
        )
