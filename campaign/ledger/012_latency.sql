-- How long the rounds of sessions took.

CREATE TABLE round_latency (
    observation TEXT NOT NULL REFERENCES observation (id), -- the observation
    round       INTEGER NOT NULL, -- the request's place in its session, from 1
    what        TEXT NOT NULL, -- the seconds until what: answer (its end), or first token
    n           INTEGER NOT NULL, -- how many were answered
    p50_s       REAL NOT NULL, -- half of them took no longer
    p90_s       REAL NOT NULL, -- nine in ten took no longer
    p99_s       REAL NOT NULL, -- 99 in 100 took no longer
    max_s       REAL NOT NULL, -- the longest
    PRIMARY KEY (observation, round, what)
) STRICT, WITHOUT ROWID;
