-- The ways back of a few runs are found without a look at all others.

DROP INDEX boot_by_run;
CREATE INDEX boot_by_run ON boot (run, batch, occupied_s, money, id);

-- What was spent is looked at in sum: a name in HAVING is a column's before it is a sum's.

DROP VIEW hypothesis_ledger;

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
    FROM paid GROUP BY hypothesis
    HAVING sum(restarts) > 0 OR total(occupied_s) > 0 OR total(money) > 0
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
