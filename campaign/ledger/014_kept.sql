-- Runs that were told to leave what they changed on the hosts.

CREATE TABLE kept_run (
    run         TEXT NOT NULL PRIMARY KEY REFERENCES run (id), -- the run
    kept_at     REAL NOT NULL, -- since when its changes stay
    put_back_at REAL -- when they were put back after all; empty while they stay
) STRICT;
