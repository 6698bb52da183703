-- What is known of trials besides their outcome, to split them by.

CREATE TABLE trial_attribute (
    observation TEXT NOT NULL, -- the observation
    position    INTEGER NOT NULL, -- the trial's place in it
    name        TEXT NOT NULL, -- what is known, such as its length
    value       TEXT NOT NULL, -- what it is
    PRIMARY KEY (observation, position, name),
    FOREIGN KEY (observation, position) REFERENCES trial (observation, position)
) STRICT, WITHOUT ROWID;
