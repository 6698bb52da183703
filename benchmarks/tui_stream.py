"""A run under way that prints and counts trials, for the terminal UI to follow.

    python -m benchmarks.tui_stream WORKSPACE

Writes what an engine would: 20,000 lines a second into the file of an observation, and 20 trials a
second into the ledger. A line on its standard input makes it go through an hour of that in a
minute, of whose output only the end of each step is really written; it says when it has.
"""

import select
import sys
import time
from pathlib import Path
from typing import BinaryIO

from campaign.ledger import records
from campaign.ledger.owner import current_owner
from campaign.ledger.recorder import Recorder

LINES, TRIALS = 20_000, 20
"""A second."""
HOUR_S, STEPS, STEP_S = 3600, 900, 0.066
LINE = "session {0:9}: round 3 of 3, answered in 0.0213 s, no markup leaked\n"
REALLY_WRITTEN = 8_000
"""Lines of each step of the hour; more than what is shown of a file."""
RUN, SEEN = "without-1-streams", "seen-streams"


def main() -> None:
    workspace = Path(sys.argv[1])
    path = workspace / ".campaign" / "artifacts" / "output.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with Recorder.open(workspace / "campaign.db", create=False) as recorder, path.open("wb") as out:
        recorder.add_all(_rows())
        recorder.link_run(RUN, ["cause-1"])
        stream = Stream(recorder, out)
        stream.as_it_comes()
        stream.an_hour()
        print("done", flush=True)
        sys.stdin.readline()


def _rows() -> list[
    records.Run | records.Boot | records.Cycle | records.Step | records.Observation
]:
    now, owner, batch, boot = time.time(), current_owner(), "batch-streams", "boot-streams"
    return [
        records.Run(
            RUN, batch, "without-1", "toggle", "Does it fail less?", "yes", "no", "name: x\n", "00",
            "{}", "campaign run without-1", "running", "clean", now, owner.pid, owner.start,
            owner.boot,
        ),
        records.Boot(boot, batch, RUN, 0, "without-1", "", now),
        records.Cycle("cycle-streams", boot, RUN, "app", now, now, now, 20.0, 2.0, 1.0, 17.0, "",
                      "healthy", "{}", 2.0),
        records.Step("step-streams", RUN, boot, 1, "drive", "reproduce", now, None, "running"),
        records.Observation(SEEN, RUN, boot, "cycle-streams", "step-streams", "sessions",
                            "without-1", '{"concurrency": "40"}', now, artifact="output.log"),
    ]  # fmt: skip


class Stream:
    """Lines and trials, numbered through."""

    def __init__(self, recorder: Recorder, out: BinaryIO) -> None:
        self._recorder = recorder
        self._out = out
        self._lines = self._trials = 0

    def as_it_comes(self) -> None:
        """At the pace of a real one, until standard input has a line."""
        begun = time.monotonic()
        while not select.select([sys.stdin], [], [], 0.05)[0]:
            passed = time.monotonic() - begun
            self._print(int(passed * LINES) - self._lines)
            self._count(int(passed * TRIALS) - self._trials)
        sys.stdin.readline()

    def an_hour(self) -> None:
        """As many lines and trials as an hour brings; most lines are a hole in the file."""
        for _ in range(STEPS):
            lines = HOUR_S * LINES // STEPS
            self._lines += lines - REALLY_WRITTEN
            self._out.seek((lines - REALLY_WRITTEN) * len(LINE.format(0)), 1)
            self._print(REALLY_WRITTEN)
            self._count(HOUR_S * TRIALS // STEPS)
            time.sleep(STEP_S)

    def _print(self, lines: int) -> None:
        numbers = range(self._lines, self._lines + lines)
        self._out.write("".join(map(LINE.format, numbers)).encode())
        self._out.flush()
        self._lines += lines

    def _count(self, trials: int) -> None:
        places = range(self._trials, self._trials + trials)
        self._recorder.add_all(
            records.Trial(SEEN, place, "done", "pass" if place % 9 else "fail", None, "", 2.0,
                          time.time())
            for place in places
        )  # fmt: skip
        self._trials += trials


if __name__ == "__main__":
    main()
