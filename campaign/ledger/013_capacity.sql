-- What restarts took of services that have replicas, and whose downtime an availability probe told.

CREATE TABLE cycle_capacity (
    cycle     TEXT NOT NULL PRIMARY KEY REFERENCES cycle (id), -- the restart cycle
    batch     INTEGER NOT NULL, -- how many replicas of a service went down at a time; 0: all at once
    replicas  INTEGER NOT NULL, -- how many there are of the services with replicas in it
    replica_s REAL NOT NULL, -- seconds that these were down, summed over them
    lost_s    REAL NOT NULL, -- that as seconds of all of them: half of them down for 10 s are 5 s
    probed    TEXT NOT NULL -- services whose availability probe told the downtime, space separated
) STRICT, WITHOUT ROWID;

DROP VIEW cycle_costs;

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
    coalesce(capacity.lost_s, 0.0)
                       AS lost_s, -- seconds of capacity lost, of services that have replicas
    cycle.money        AS money, -- what the downtime cost
    (SELECT group_concat(hypothesis, ' ') FROM run_hypothesis WHERE run_hypothesis.run = cycle.run)
                       AS hypotheses -- who shares that, space separated
FROM cycle
JOIN boot ON boot.id = cycle.boot
LEFT JOIN cycle_capacity AS capacity ON capacity.cycle = cycle.id;
