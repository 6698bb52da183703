-- The trials of each observation, counted as they are stored, so that no reader has to.

CREATE TABLE observation_count (
    observation TEXT NOT NULL PRIMARY KEY REFERENCES observation (id), -- the observation
    fail        INTEGER NOT NULL, -- failed trials
    passed      INTEGER NOT NULL, -- passed trials
    censored    INTEGER NOT NULL, -- trials cut short before the failure could show
    exposure    REAL NOT NULL -- what all of them ran, in the observation's unit; 0 where none is measured
) STRICT, WITHOUT ROWID;

INSERT INTO observation_count
SELECT observation, sum(result = 'fail'), sum(result = 'pass'), sum(result = 'censored'),
       (SELECT total(amount) FROM trial_exposure
        WHERE trial_exposure.observation = trial.observation)
FROM trial
GROUP BY observation;

-- Lists of runs by what they are filtered by, and sums without reading the long texts of a row.
CREATE INDEX run_by_playbook ON run (playbook, started_at);
CREATE INDEX run_by_status ON run (status, state, started_at);
CREATE INDEX run_by_standing ON run (id, status, retracted);
CREATE INDEX step_by_boot ON step (boot, kind);
DROP INDEX cycle_by_run;
CREATE INDEX cycle_by_run ON cycle (run, boot, downtime_s, money);
DROP INDEX cycle_by_boot;
CREATE INDEX cycle_by_boot ON cycle (boot, requested_at, id, run);
DROP INDEX boot_by_run;
CREATE INDEX boot_by_run ON boot (run, occupied_s, money, id, batch);
DROP INDEX observation_by_run;
CREATE INDEX observation_by_run ON observation (run, invalid, arm, id);

DROP VIEW hypothesis_ledger;
DROP VIEW run_costs;
DROP VIEW charges;
DROP VIEW exposure_rates;
DROP VIEW trial_rates;

CREATE VIEW trial_rates AS
SELECT
    observation.id         AS observation, -- the observation
    observation.run        AS run, -- its run
    run.playbook           AS playbook, -- that run's playbook
    observation.arm        AS arm, -- the configuration
    observation.reproducer AS reproducer, -- what drove the trials
    coalesce(fail, 0)      AS fail, -- failed trials
    coalesce(fail + passed, 0)
                           AS n, -- trials that count: failed and passed
    coalesce(censored, 0)  AS censored, -- trials cut short before the failure could show
    observation.invalid IS NULL AND run.retracted IS NULL AND run.status = 'completed'
                           AS counts -- 1 where it is evidence: valid, of a completed run, not retracted
FROM observation
JOIN run ON run.id = observation.run
LEFT JOIN observation_count ON observation_count.observation = observation.id;

CREATE VIEW exposure_rates AS
SELECT
    rates.observation     AS observation, -- the observation
    rates.run             AS run, -- its run
    rates.playbook        AS playbook, -- that run's playbook
    rates.arm             AS arm, -- the configuration
    terms.unit            AS unit, -- seconds or attempts
    rates.fail            AS failures, -- failed trials
    coalesce((SELECT exposure FROM observation_count WHERE observation = rates.observation), 0.0)
                          AS exposure, -- what all its trials ran, those cut short included
    rates.counts          AS counts -- 1 where it is evidence: valid, of a completed run, not retracted
FROM trial_rates AS rates
JOIN observation_terms AS terms ON terms.observation = rates.observation
WHERE terms.unit IS NOT NULL;

CREATE VIEW ways_back AS
SELECT
    boot.id    AS boot, -- a boot that is the way back to the base
    boot.batch AS batch, -- as in run
    coalesce(
        (SELECT cycle.run FROM cycle WHERE cycle.boot = boot.id
         ORDER BY cycle.requested_at DESC, cycle.id LIMIT 1),
        (SELECT run.id FROM run WHERE run.batch = boot.batch
         ORDER BY run.started_at DESC, run.id LIMIT 1))
               AS run, -- the run that pays for it: the last one
    coalesce(boot.occupied_s, 0.0)
               AS occupied_s, -- seconds that it occupied the system
    coalesce(boot.money, 0.0)
               AS money -- what that cost
FROM boot
WHERE boot.run IS NULL AND (boot.occupied_s IS NOT NULL OR boot.money IS NOT NULL);

CREATE VIEW charges AS
SELECT
    cycle.run        AS run, -- the run that pays
    cycle.boot       AS boot, -- what for
    1                AS restarts, -- 1 for a restart cycle, 0 for the time a boot occupied the system
    cycle.downtime_s AS downtime_s, -- seconds down
    0.0              AS occupied_s, -- seconds occupied
    cycle.money      AS money -- what it cost
FROM cycle
UNION ALL
SELECT boot.run, boot.id, 0, 0.0, coalesce(boot.occupied_s, 0.0), coalesce(boot.money, 0.0)
FROM boot
WHERE boot.run IS NOT NULL AND (boot.occupied_s IS NOT NULL OR boot.money IS NOT NULL)
UNION ALL
SELECT run, boot, 0, 0.0, occupied_s, money FROM ways_back;

CREATE VIEW run_costs AS
SELECT
    run.id                        AS run, -- the run
    run.playbook                  AS playbook, -- its playbook
    run.started_at                AS started_at, -- when
    coalesce(sum(restarts), 0)    AS restarts, -- restart cycles charged to it
    total(downtime_s)             AS downtime_s, -- their seconds down
    total(occupied_s)             AS occupied_s, -- seconds its boots occupied the system
    total(money)                  AS money, -- what it cost
    (SELECT count(*) FROM run_hypothesis WHERE run_hypothesis.run = run.id)
                                  AS hypotheses -- how many hypotheses share that
FROM run
LEFT JOIN charges ON charges.run = run.id
GROUP BY run.id;

CREATE VIEW hypothesis_ledger AS
WITH shared AS (
    SELECT run, count(*) AS hypotheses FROM run_hypothesis GROUP BY run HAVING count(*) > 1
),
share AS (
    SELECT run, hypothesis, coalesce((SELECT hypotheses FROM shared WHERE shared.run = own.run), 1)
               AS hypotheses
    FROM run_hypothesis AS own
),
free AS (
    SELECT id FROM run WHERE NOT EXISTS (SELECT 1 FROM run_hypothesis WHERE run = id)
),
-- CROSS JOIN: hypothesis by hypothesis in the order of an index, so that nothing has to be sorted.
paid AS (
    SELECT hypothesis, count(*) AS restarts, total(downtime_s / hypotheses) AS downtime_s,
           0.0 AS occupied_s, total(money / hypotheses) AS money
    FROM share CROSS JOIN cycle ON cycle.run = share.run GROUP BY hypothesis
    UNION ALL
    SELECT hypothesis, 0, 0.0, total(occupied_s / hypotheses), total(money / hypotheses)
    FROM share CROSS JOIN boot ON boot.run = share.run GROUP BY hypothesis
    UNION ALL
    SELECT coalesce(hypothesis, '(none)'), 0, 0.0,
           total(occupied_s / coalesce(hypotheses, 1)), total(money / coalesce(hypotheses, 1))
    FROM ways_back LEFT JOIN share ON share.run = ways_back.run GROUP BY hypothesis
    UNION ALL
    SELECT '(none)', count(*), total(downtime_s), 0.0, total(money)
    FROM free CROSS JOIN cycle ON cycle.run = free.id
    UNION ALL
    SELECT '(none)', 0, 0.0, total(occupied_s), total(money)
    FROM free CROSS JOIN boot ON boot.run = free.id
),
spent AS (
    SELECT hypothesis, sum(restarts) AS restarts, total(downtime_s) AS downtime_s,
           total(occupied_s) AS occupied_s, total(money) AS money
    FROM paid GROUP BY hypothesis HAVING sum(restarts) > 0 OR occupied_s > 0 OR money > 0
),
tried AS (
    SELECT hypothesis, sum(fail) AS fail, sum(n) AS n
    FROM run_hypothesis AS own
    CROSS JOIN trial_rates ON trial_rates.run = own.run AND trial_rates.counts
    GROUP BY hypothesis
    UNION ALL
    SELECT '(none)', sum(fail), sum(n)
    FROM free CROSS JOIN trial_rates ON trial_rates.run = free.id AND trial_rates.counts
),
ran AS (
    SELECT hypothesis, sum(retracted IS NULL) AS runs
    FROM run_hypothesis AS own CROSS JOIN run ON run.id = own.run GROUP BY hypothesis
    UNION ALL
    SELECT '(none)', sum(retracted IS NULL) FROM free CROSS JOIN run USING (id)
    GROUP BY 1
),
named AS (
    SELECT slug, standing FROM hypothesis
    UNION ALL
    SELECT '(none)', NULL
    WHERE EXISTS (SELECT 1 FROM ran WHERE hypothesis = '(none)')
       OR EXISTS (SELECT 1 FROM spent WHERE hypothesis = '(none)')
)
SELECT
    named.slug                AS hypothesis, -- its slug; (none): runs that speak to no hypothesis
    named.standing            AS standing, -- where it stands
    coalesce(runs, 0)         AS runs, -- its runs, without retracted ones
    coalesce(fail, 0)         AS fail, -- failed trials of these runs, all arms, as far as they are evidence
    coalesce(n, 0)            AS n, -- failed and passed trials
    coalesce(restarts, 0)     AS restarts, -- restart cycles of its runs; a shared one counts for each
    coalesce(downtime_s, 0.0) AS downtime_s, -- seconds down, a shared run in equal parts; sums to the campaign's
    coalesce(occupied_s, 0.0) AS occupied_s, -- seconds occupied, likewise
    coalesce(money, 0.0)      AS money -- cost, likewise; retracted runs have been paid for all the same
FROM named
LEFT JOIN ran ON ran.hypothesis = named.slug
LEFT JOIN tried ON tried.hypothesis = named.slug
LEFT JOIN spent ON spent.hypothesis = named.slug;
