-- How observations ended early, and what trials ran where failures are counted against that.

CREATE TABLE observation_terms (
    observation TEXT NOT NULL PRIMARY KEY REFERENCES observation (id), -- the observation
    rule        TEXT NOT NULL, -- when it was to stop, fixed before it; empty: after all its trials
    stopped     TEXT NOT NULL, -- how that rule ended it early; empty: it did not
    stands      INTEGER NOT NULL CHECK (stands IN (0, 1)), -- 1 where its counts compare as if their number had been fixed before
    unit        TEXT CHECK (unit IN ('seconds', 'attempts')) -- what its trials' exposure is counted in; empty: they measure none
) STRICT;

CREATE TABLE trial_exposure (
    observation TEXT NOT NULL REFERENCES observation (id), -- the observation
    position    INTEGER NOT NULL, -- the trial's place in it
    amount      REAL NOT NULL CHECK (amount >= 0), -- what it ran until it failed or ended, in the observation's unit
    PRIMARY KEY (observation, position),
    FOREIGN KEY (observation, position) REFERENCES trial (observation, position)
) STRICT, WITHOUT ROWID;

CREATE VIEW exposure_rates AS
SELECT
    rates.observation     AS observation, -- the observation
    rates.run             AS run, -- its run
    rates.playbook        AS playbook, -- that run's playbook
    rates.arm             AS arm, -- the configuration
    terms.unit            AS unit, -- seconds or attempts
    rates.fail            AS failures, -- failed trials
    (SELECT total(amount) FROM trial_exposure WHERE observation = rates.observation)
                          AS exposure, -- what all its trials ran, those cut short included
    rates.counts          AS counts -- 1 where it is evidence: valid, of a completed run, not retracted
FROM trial_rates AS rates
JOIN observation_terms AS terms ON terms.observation = rates.observation
WHERE terms.unit IS NOT NULL;
