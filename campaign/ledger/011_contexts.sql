-- What stood around the lines of keys that did not simply match.

CREATE TABLE comparison_context (
    comparison   TEXT NOT NULL REFERENCES comparison (id), -- the comparison
    key          TEXT NOT NULL, -- a key that did not simply match
    differs      TEXT NOT NULL, -- which of several values to a key differ, one a line
    left_number  INTEGER, -- which line of the left log it is, from 1; empty: it has none
    left_before  TEXT NOT NULL, -- the lines before the line on the left
    left_after   TEXT NOT NULL, -- the lines after it
    right_number INTEGER, -- which line of the right log it is, from 1; empty: it has none
    right_before TEXT NOT NULL, -- the lines before the line on the right
    right_after  TEXT NOT NULL -- the lines after it
) STRICT;

CREATE INDEX comparison_context_by_comparison ON comparison_context (comparison);
