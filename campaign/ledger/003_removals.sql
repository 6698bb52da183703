CREATE TABLE removal (
    boot       TEXT NOT NULL REFERENCES boot (id), -- the boot
    hypothesis TEXT NOT NULL REFERENCES hypothesis (slug), -- a suspected cause that is not there in it
    PRIMARY KEY (boot, hypothesis)
) STRICT, WITHOUT ROWID;

CREATE INDEX removal_by_hypothesis ON removal (hypothesis);
