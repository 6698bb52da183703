-- Each boot with what was tried in it and what it cost: a row for a spreadsheet or a plot.

CREATE VIEW boot_ledger AS
WITH charged AS (
    SELECT boot, max(run) AS run, sum(restarts) AS restarts, total(downtime_s) AS downtime_s,
           total(occupied_s) AS occupied_s, total(money) AS money
    FROM charges
    GROUP BY boot
),
tried AS (
    SELECT observation.boot AS boot, sum(fail) AS fail, sum(n) AS n, sum(censored) AS censored,
           max(trial_rates.counts) AS counts,
           CASE WHEN count(exposure) = count(*) AND count(DISTINCT unit) = 1
                THEN sum(exposure) END AS exposure,
           CASE WHEN count(exposure) = count(*) AND count(DISTINCT unit) = 1
                THEN max(unit) END AS unit
    FROM observation
    JOIN trial_rates ON trial_rates.observation = observation.id
    LEFT JOIN exposure_rates ON exposure_rates.observation = observation.id
    WHERE observation.invalid IS NULL
    GROUP BY observation.boot
)
SELECT
    boot.id                           AS boot, -- the boot
    coalesce(boot.run, charged.run)   AS run, -- the run that pays for it
    run.playbook                      AS playbook, -- that run's playbook
    run.kind                          AS kind, -- what the playbook is for
    boot.run IS NULL                  AS way_back, -- 1 for the way back to the base
    boot.arm                          AS arm, -- the configuration under comparison
    boot.toggles                      AS toggles, -- what it changed, one a line
    boot.effect                       AS effect, -- whether it ran what it claims
    boot.started_at                   AS started_at, -- when
    coalesce(fail, 0)                 AS fail, -- failed trials of its valid observations
    coalesce(n, 0)                    AS n, -- failed and passed trials
    coalesce(censored, 0)             AS censored, -- trials cut short before the failure could show
    exposure                          AS exposure, -- what all these trials ran; empty where not all measure it
    unit                              AS unit, -- seconds or attempts, of that
    (SELECT coalesce(group_concat(stopped, '; '), '') FROM observation_terms
     WHERE stopped <> '' AND observation IN (
         SELECT observation.id FROM observation WHERE observation.boot = boot.id))
                                      AS stopped, -- how rules ended its observations early; empty: none did
    coalesce(counts, 0)               AS counts, -- 1 where they are evidence: of a completed run, not retracted
    coalesce(restarts, 0)             AS restarts, -- restart cycles that led into it
    coalesce(charged.downtime_s, 0.0) AS downtime_s, -- their seconds down
    coalesce(charged.occupied_s, 0.0) AS occupied_s, -- seconds from the restart to the end of its measures
    coalesce(charged.money, 0.0)      AS money -- what it cost; all rows sum to the campaign's
FROM boot
LEFT JOIN charged ON charged.boot = boot.id
LEFT JOIN tried ON tried.boot = boot.id
LEFT JOIN run ON run.id = coalesce(boot.run, charged.run);
