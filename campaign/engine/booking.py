"""What restart cycles cost and how runs end, as the ledger books it."""

import json
from collections.abc import Collection

from msgspec import Struct

from campaign.engine.lived import Lived
from campaign.engine.putback import Restored
from campaign.ledger import records
from campaign.ledger.capacity import CycleCapacity
from campaign.ledger.keeping import kept_edits
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from playbooks.system import Cost


class Books(Struct, frozen=True):
    """The ledger and the rates that money is reckoned by."""

    recorder: Recorder
    cost: Cost

    def cycle(self, boot_id: str, run: str, lived: Lived, outcome: str) -> str:
        """Charges a restart cycle to `run`, once; returns its id."""
        processes = {
            name: {"pid": one.pid, "start_ticks": one.start_ticks, "started_at": one.started_at}
            for name, one in lived.started.items()
        }
        record = records.Cycle(
            id=self.recorder.new_id(),
            boot=boot_id,
            run=run,
            services=" ".join(lived.services),
            requested_at=lived.requested_at,
            down_at=lived.down_at,
            healthy_at=lived.healthy_at,
            downtime_s=lived.downtime_s,
            drain_s=lived.drain_s,
            down_s=lived.down_s,
            warmup_s=lived.warmup_s,
            killed=" ".join(lived.killed),
            outcome=outcome,
            proof=json.dumps(processes, sort_keys=True),
            money=self.cost.money(lived.downtime_s, 0.0),
        )
        with self.recorder.transaction():
            self.recorder.add(record)
            self._capacity(record.id, lived)
        return record.id

    def _capacity(self, cycle: str, lived: Lived) -> None:
        """What was lost of services with replicas, and whose downtime a probe told."""
        lost = lived.capacity
        if lost is None and not lived.failing:
            return
        self.recorder.add(
            CycleCapacity(
                cycle,
                lived.batch,
                lost.replicas if lost else 0,
                lost.replica_s if lost else 0.0,
                lost.lost_s if lost else 0.0,
                " ".join(lived.failing),
            )
        )

    def way_back(self, batch: str, position: int, started: float) -> str:
        """Notes that the way back to the base begins; returns the id of that boot."""
        boot = records.Boot(
            id=self.recorder.new_id(),
            batch=batch,
            run=None,
            position=position,
            arm="",
            toggles="",
            started_at=started,
        )
        self.recorder.add(boot)
        return boot.id

    def charge_way_back(
        self, boot: str, run: str, restored: Restored, started: float, ended: float
    ) -> None:
        """Charges the way back `boot` to `run`, the last one before it."""
        occupied = ended - started
        with self.recorder.transaction():
            self.recorder.update(
                records.Boot,
                boot,
                ended_at=ended,
                occupied_s=occupied,
                money=self.cost.money(0.0, occupied),
            )
            for lived in restored.cycles:
                outcome = "failed" if lived.healthy_at is None else "healthy"
                self.cycle(boot, run, lived, outcome)

    def note_back(self, run: str, at_base: Collection[tuple[str, str]], at: float) -> None:
        """Those of a run's files that are what they were, each with its host, also where not all

        could be put back.
        """
        with Ledger.open(self.recorder.path) as ledger:
            edits = [one for one in ledger.edits(run) if one.put_back_at is None]
        with self.recorder.transaction():
            for edit in edits:
                if (edit.host, edit.path) in at_base:
                    self.recorder.update(records.Edit, edit.id, put_back_at=at)

    def close_run(
        self,
        run: str,
        status: str,
        state: str,
        at: float,
        error: str = "",
        *,
        kept: bool = False,
        back: float | None = None,
    ) -> None:
        """Ends a run; where it is clean, its file edits have been put back, or kept as found.

        Those of a run that is `kept` stay; others were put back at `back`, or when it ended.
        """
        with Ledger.open(self.recorder.path) as ledger:
            edits = ledger.edits(run)
            accepted = kept_edits(edits, ledger.steps(run))
        outstanding = [one.id for one in edits if one.put_back_at is None and one not in accepted]
        with self.recorder.transaction():
            self.recorder.update(
                records.Run, run, status=status, state=state, ended_at=at, error=error or None
            )
            for edit in outstanding if state == "clean" and not kept else ():
                self.recorder.update(records.Edit, edit, put_back_at=back or at)
