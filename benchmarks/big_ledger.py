"""A ledger of any size, made by SQL alone: for benchmarks of what reads it."""

import sqlite3
import sys
from pathlib import Path

from campaign.ledger.recorder import Recorder
from hypotheses.hypothesis import Hypothesis

SLUGS = tuple(f"cause-{number}" for number in range(8))

_ROWS = """
CREATE TEMP TABLE number AS
WITH RECURSIVE number (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM number WHERE i + 1 < :runs)
SELECT i, 1700000000.0 + 300 * i AS at, printf('%05x', i) AS hex,
       CASE i % 10 WHEN 0 THEN 'baseline' ELSE 'without-' || (i % 8) END AS playbook
FROM number;

INSERT INTO run
SELECT playbook || '-' || hex, 'batch-' || hex, playbook,
       CASE playbook WHEN 'baseline' THEN 'baseline' ELSE 'toggle' END,
       'Does the failure go with cause ' || (i % 8) || '?', 'fewer failures', 'as many failures',
       'name: ' || playbook, '00', '{}', 'campaign run ' || playbook,
       CASE WHEN i % 97 = 5 THEN 'failed' WHEN i % 89 = 7 THEN 'aborted' ELSE 'completed' END,
       'clean', at, 1, 0, 'another machine', at + 240,
       CASE WHEN i % 97 = 5 THEN 'the service was not healthy after 60 s' END,
       CASE WHEN i % 401 = 3 THEN 'the load generator was misconfigured' END, NULL
FROM number;

INSERT INTO run_hypothesis
SELECT playbook || '-' || hex, 'cause-' || (i % 8) FROM number WHERE playbook <> 'baseline';

INSERT INTO boot
SELECT 'boot-' || hex, 'batch-' || hex, playbook || '-' || hex, 0, playbook, '', at, at + 230,
       230.0, 0.5, 'effective', ''
FROM number
UNION ALL
SELECT 'back-' || hex, 'batch-' || hex, NULL, 1, '', '', at + 230, at + 240, 10.0, 0.1, NULL, ''
FROM number;

INSERT INTO removal
SELECT 'boot-' || hex, 'cause-' || (i % 8) FROM number WHERE playbook <> 'baseline';

INSERT INTO cycle
SELECT 'cycle-' || hex, 'boot-' || hex, playbook || '-' || hex, 'app', at, at, at + 20, 20.0, 2.0,
       1.0, 17.0, '', 'healthy', '{}', 2.0
FROM number
UNION ALL
SELECT 'return-' || hex, 'back-' || hex, playbook || '-' || hex, 'app', at + 230, at + 230,
       at + 240, 10.0, 2.0, 1.0, 7.0, '', 'healthy', '{}', 1.0
FROM number;

INSERT INTO step
SELECT 'step-' || hex, playbook || '-' || hex, 'boot-' || hex, 1, 'drive', 'reproduce', at + 20,
       at + 230, 'ok', '', ''
FROM number;

INSERT INTO observation
SELECT 'seen-' || hex, playbook || '-' || hex, 'boot-' || hex, 'cycle-' || hex, 'step-' || hex,
       'sessions', playbook, '{"concurrency": "40"}', at + 20, at + 230, 0, '', NULL, '', ''
FROM number;

INSERT INTO trial
SELECT 'seen-' || hex, place.i, 'done',
       CASE WHEN (number.i * 7919 + place.i * 104729) % 100 < 12 THEN 'fail' ELSE 'pass' END,
       NULL, '', 20.0, at + 20 + place.i
FROM number JOIN (SELECT i FROM number WHERE i < :trials) AS place
ORDER BY 1, 2;

INSERT INTO observation_count
SELECT observation, sum(result = 'fail'), sum(result = 'pass'), 0, 0.0
FROM trial GROUP BY observation;

INSERT INTO verdict
SELECT 'verdict-' || hex, playbook || '-' || hex, 'cause-' || (i % 8),
       CASE i % 7 WHEN 0 THEN 'supported' WHEN 1 THEN 'refuted' ELSE 'inconclusive' END, '',
       'what was seen', '{}', '', at + 240
FROM number WHERE playbook <> 'baseline' AND i % 97 <> 5;
"""


def make(path: Path, runs: int, trials: int) -> None:
    """A ledger at `path` with `runs` runs of `trials` trials each (at most as many as runs)."""
    with Recorder.open(path, create=True) as recorder:
        recorder.set_campaign("big", "one in eight sessions fails", "USD")
        for slug in SLUGS:
            recorder.add_hypothesis(Hypothesis(slug, f"{slug} makes sessions fail"))
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        for statement in _ROWS.split(";\n"):
            names = {"runs": runs, "trials": trials}
            connection.execute(statement, names if ":" in statement else {})
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
