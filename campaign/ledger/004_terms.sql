-- What is fixed about a run before it begins.

CREATE TABLE run_terms (
    run         TEXT NOT NULL PRIMARY KEY REFERENCES run (id), -- the run
    schedule    TEXT CHECK (schedule IN ('alternate', 'abba', 'randomised')), -- how its arms follow each other; empty where it has none
    blocks      INTEGER NOT NULL, -- how often that is gone through
    seed        INTEGER, -- what drew a randomised order
    accepted    TEXT NOT NULL, -- conditions that may differ, by the operator's word, one a line
    imported_by TEXT -- who brought its result in from elsewhere; empty: it was run here
) STRICT;
