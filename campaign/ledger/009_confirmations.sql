-- Plans of a protected campaign that an operator has confirmed for a time.

CREATE TABLE confirmation (
    id       TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    playbook TEXT NOT NULL, -- the playbook's name
    plan     TEXT NOT NULL, -- hash of what the plan does: playbook, variables, edits, campaign.yaml
    by       TEXT NOT NULL, -- who confirmed it, as user@machine
    given_at REAL NOT NULL, -- when
    until    REAL NOT NULL -- until when it holds, for that operator and that very plan
) STRICT;

CREATE INDEX confirmation_by_plan ON confirmation (plan, until);
