-- What is asked of runs while they go on, and how many trials an observation plans.

CREATE TABLE request (
    id       TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    batch    TEXT NOT NULL, -- as in run: the invocation that it is asked of
    kind     TEXT NOT NULL CHECK (kind IN ('pause', 'abort')), -- what is asked
    asked_at REAL NOT NULL, -- when it was asked
    boot     TEXT REFERENCES boot (id), -- the boot that stays up during a pause; empty until it begins
    began_at REAL, -- when the pause began; empty until then
    ended_at REAL -- when the pause was over or called off; empty until then
) STRICT;

CREATE INDEX request_by_batch ON request (batch, asked_at);
CREATE INDEX request_by_boot ON request (boot);

CREATE TABLE observation_plan (
    observation TEXT NOT NULL PRIMARY KEY REFERENCES observation (id), -- the observation
    trials      INTEGER NOT NULL -- how many it is to drive, where no rule ends it earlier
) STRICT;
