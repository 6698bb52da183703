-- Views for people. A comment behind a column is its entry in docs/ledger.md.

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
SELECT
    coalesce(
        boot.run,
        (SELECT cycle.run FROM cycle WHERE cycle.boot = boot.id
         ORDER BY cycle.requested_at DESC, cycle.id LIMIT 1),
        (SELECT run.id FROM run WHERE run.batch = boot.batch
         ORDER BY run.started_at DESC, run.id LIMIT 1)),
    boot.id, 0, 0.0, coalesce(boot.occupied_s, 0.0), coalesce(boot.money, 0.0)
FROM boot
WHERE boot.occupied_s IS NOT NULL OR boot.money IS NOT NULL;

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

CREATE VIEW cycle_costs AS
SELECT
    cycle.id           AS cycle, -- the restart cycle
    cycle.run          AS run, -- the run that pays for it
    boot.arm           AS arm, -- the configuration it led into
    cycle.services     AS services, -- what was restarted
    cycle.requested_at AS requested_at, -- when
    cycle.outcome      AS outcome, -- how it ended
    cycle.drain_s      AS drain_s, -- seconds until all processes were gone
    cycle.down_s       AS down_s, -- seconds from there to the first start
    cycle.warmup_s     AS warmup_s, -- seconds from there to healthy
    cycle.downtime_s   AS downtime_s, -- seconds down as the system lived it
    cycle.money        AS money, -- what the downtime cost
    (SELECT group_concat(hypothesis, ' ') FROM run_hypothesis WHERE run_hypothesis.run = cycle.run)
                       AS hypotheses -- who shares that, space separated
FROM cycle
JOIN boot ON boot.id = cycle.boot;

CREATE VIEW trial_rates AS
SELECT
    observation.id         AS observation, -- the observation
    observation.run        AS run, -- its run
    run.playbook           AS playbook, -- that run's playbook
    observation.arm        AS arm, -- the configuration
    observation.reproducer AS reproducer, -- what drove the trials
    (SELECT count(*) FROM trial WHERE trial.observation = observation.id AND result = 'fail')
                           AS fail, -- failed trials
    (SELECT count(*) FROM trial WHERE trial.observation = observation.id AND result IN ('fail', 'pass'))
                           AS n, -- trials that count: failed and passed
    (SELECT count(*) FROM trial WHERE trial.observation = observation.id AND result = 'censored')
                           AS censored, -- trials cut short before the failure could show
    observation.invalid IS NULL AND run.retracted IS NULL AND run.status = 'completed'
                           AS counts -- 1 where it is evidence: valid, of a completed run, not retracted
FROM observation
JOIN run ON run.id = observation.run;

CREATE VIEW hypothesis_ledger AS
WITH share AS (
    SELECT
        run.id AS run,
        run.retracted IS NULL AS stands,
        coalesce(run_hypothesis.hypothesis, '(none)') AS hypothesis,
        1.0 / count(*) OVER (PARTITION BY run.id) AS part
    FROM run
    LEFT JOIN run_hypothesis ON run_hypothesis.run = run.id
),
spent AS (
    SELECT
        coalesce(share.hypothesis, '(none)') AS hypothesis,
        sum(restarts) AS restarts,
        total(downtime_s * coalesce(part, 1.0)) AS downtime_s,
        total(occupied_s * coalesce(part, 1.0)) AS occupied_s,
        total(money * coalesce(part, 1.0)) AS money
    FROM charges
    LEFT JOIN share ON share.run = charges.run
    GROUP BY 1
),
tried AS (
    SELECT share.hypothesis, sum(fail) AS fail, sum(n) AS n
    FROM share
    JOIN trial_rates ON trial_rates.run = share.run AND trial_rates.counts
    GROUP BY share.hypothesis
),
ran AS (
    SELECT hypothesis, sum(stands) AS runs FROM share GROUP BY hypothesis
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
