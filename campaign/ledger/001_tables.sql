-- Times are seconds since the epoch, UTC; durations are seconds; money is in the campaign's currency.
-- A comment behind a column is its entry in docs/ledger.md.

CREATE TABLE campaign (
    name        TEXT NOT NULL PRIMARY KEY, -- the campaign's name, from campaign.yaml
    symptom     TEXT NOT NULL, -- what goes wrong
    currency    TEXT NOT NULL, -- of every column that holds money; empty where no rates are given
    created_at  REAL NOT NULL, -- when this ledger was begun
    hash_key    TEXT NOT NULL -- keys the hashes of environment values, so that they cannot be guessed
) STRICT;

CREATE UNIQUE INDEX campaign_is_one_row ON campaign ((1));

CREATE TABLE hypothesis (
    slug              TEXT NOT NULL PRIMARY KEY CHECK (slug <> '' AND slug NOT GLOB '*[ ()]*'), -- its short name
    claim             TEXT NOT NULL, -- what is believed
    mechanism         TEXT NOT NULL, -- how the claim would produce the symptom
    prior             REAL CHECK (prior > 0 AND prior < 1), -- the operator's weight before any evidence
    predicts_if_true  TEXT NOT NULL, -- what is to be seen if the claim holds
    predicts_if_false TEXT NOT NULL, -- what is to be seen if it does not
    assumptions       TEXT NOT NULL CHECK (json_valid(assumptions)), -- JSON list of texts
    links             TEXT NOT NULL CHECK (json_valid(links)), -- JSON list of addresses
    standing          TEXT NOT NULL CHECK (standing IN
        ('open', 'leading', 'supported', 'refuted', 'confirmed', 'abandoned')) -- after all its runs
) STRICT;

CREATE TABLE hypothesis_event (
    id         TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    hypothesis TEXT NOT NULL REFERENCES hypothesis (slug), -- whose history this is
    at         REAL NOT NULL, -- when
    kind       TEXT NOT NULL CHECK (kind IN ('added', 'changed', 'note', 'standing')), -- what happened
    text       TEXT NOT NULL, -- the note, the change, or the reason of the standing
    standing   TEXT CHECK (standing IN
        ('open', 'leading', 'supported', 'refuted', 'confirmed', 'abandoned')), -- the new standing
    by         TEXT NOT NULL CHECK (by IN ('rule', 'operator')), -- who decided it
    runs       TEXT NOT NULL -- ids of the runs that a standing rests on, space separated
) STRICT;

CREATE INDEX hypothesis_event_by_hypothesis ON hypothesis_event (hypothesis, at);

CREATE TABLE run (
    id              TEXT NOT NULL PRIMARY KEY, -- the playbook's name and six random characters
    batch           TEXT NOT NULL, -- shared by the runs of one invocation
    playbook        TEXT NOT NULL, -- the playbook's name
    kind            TEXT NOT NULL CHECK (kind IN
        ('baseline', 'toggle', 'probe', 'detector', 'fix')), -- what the playbook is for
    question        TEXT NOT NULL, -- what it asks
    if_true         TEXT NOT NULL, -- what it predicts if the hypothesis is true
    if_false        TEXT NOT NULL, -- what it predicts if it is false
    playbook_text   TEXT NOT NULL, -- the YAML as it was run
    playbook_sha256 TEXT NOT NULL, -- hash of that file
    variables       TEXT NOT NULL, -- the values its templates were filled with
    command         TEXT NOT NULL, -- the command line that started it
    status          TEXT NOT NULL CHECK (status IN
        ('running', 'completed', 'failed', 'aborted', 'interrupted')), -- a running one whose owner is gone reads as interrupted
    state           TEXT NOT NULL CHECK (state IN ('clean', 'dirty')), -- dirty: something could not be put back
    started_at      REAL NOT NULL, -- when it began
    owner_pid       INTEGER NOT NULL, -- the process that runs it
    owner_start     INTEGER NOT NULL, -- that process's start, in clock ticks since the machine's boot
    owner_boot      TEXT NOT NULL, -- that machine's boot id
    ended_at        REAL, -- empty while it runs
    error           TEXT, -- why it failed
    retracted       TEXT, -- why its results do not count
    retracted_at    REAL -- since when they do not
) STRICT;

CREATE INDEX run_by_time ON run (started_at);
CREATE INDEX run_by_batch ON run (batch);

CREATE TABLE run_hypothesis (
    run        TEXT NOT NULL REFERENCES run (id), -- the run
    hypothesis TEXT NOT NULL REFERENCES hypothesis (slug), -- a hypothesis that it speaks to
    PRIMARY KEY (run, hypothesis)
) STRICT, WITHOUT ROWID;

CREATE INDEX run_hypothesis_by_hypothesis ON run_hypothesis (hypothesis);

CREATE TABLE boot (
    id             TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    batch          TEXT NOT NULL, -- as in run
    run            TEXT REFERENCES run (id), -- whose boot it is; empty: the way back to the base
    position       INTEGER NOT NULL, -- counts from 0 within the batch
    arm            TEXT NOT NULL, -- the configuration under comparison
    toggles        TEXT NOT NULL, -- what it changed, one a line
    started_at     REAL NOT NULL, -- start of the transition into it
    ended_at       REAL, -- end of its measures
    occupied_s     REAL, -- seconds from the one to the other
    money          REAL, -- the price of that time at the campaign's rates
    effect         TEXT CHECK (effect IN ('effective', 'unproven', 'not effective')), -- whether it ran what it claims
    effect_reasons TEXT NOT NULL -- why that is so
) STRICT;

CREATE INDEX boot_by_run ON boot (run);
CREATE INDEX boot_by_batch ON boot (batch, position);

CREATE TABLE cycle (
    id           TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    boot         TEXT NOT NULL REFERENCES boot (id), -- the boot it leads into
    run          TEXT NOT NULL REFERENCES run (id), -- the run that pays for it
    services     TEXT NOT NULL, -- the services restarted, space separated
    requested_at REAL NOT NULL, -- the stop request, on the host's clock
    down_at      REAL NOT NULL, -- the stop request or the first failed probe, whichever came first
    healthy_at   REAL, -- when all services were healthy again
    downtime_s   REAL NOT NULL, -- from down to healthy
    drain_s      REAL NOT NULL, -- from the stop request until all processes were gone
    down_s       REAL NOT NULL, -- from there to the first start
    warmup_s     REAL NOT NULL, -- from there to healthy
    killed       TEXT NOT NULL, -- services that had to be killed
    outcome      TEXT NOT NULL CHECK (outcome IN ('healthy', 'failed', 'aborted')), -- how it ended
    proof        TEXT NOT NULL, -- new processes and what else was checked
    money        REAL NOT NULL -- the price of the downtime at the campaign's rates
) STRICT;

CREATE INDEX cycle_by_boot ON cycle (boot);
CREATE INDEX cycle_by_run ON cycle (run);

CREATE TABLE step (
    id         TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    run        TEXT NOT NULL REFERENCES run (id), -- the run
    boot       TEXT NOT NULL REFERENCES boot (id), -- the boot it was taken in
    position   INTEGER NOT NULL, -- from 1 in the order of execution
    name       TEXT NOT NULL, -- as in the playbook
    kind       TEXT NOT NULL, -- patch, env, restart, reproduce ...
    started_at REAL NOT NULL, -- when it began
    ended_at   REAL, -- empty while it runs
    status     TEXT NOT NULL, -- how far it got
    undo       TEXT NOT NULL, -- how it goes back
    detail     TEXT NOT NULL -- what came of it
) STRICT;

CREATE INDEX step_by_run ON step (run, position);

CREATE TABLE edit (
    id            TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    boot          TEXT NOT NULL REFERENCES boot (id), -- the boot that needs it
    run           TEXT NOT NULL REFERENCES run (id), -- the run
    host          TEXT NOT NULL, -- where the file is
    path          TEXT NOT NULL, -- the file
    before_sha256 TEXT, -- hash before; empty: there was no file
    after_sha256  TEXT, -- hash after; empty: the file was deleted
    diff          TEXT NOT NULL, -- the change, readable
    steps         TEXT NOT NULL, -- the steps that made it, one a line
    put_back_at   REAL -- when the base was restored
) STRICT;

CREATE INDEX edit_by_run ON edit (run);
CREATE INDEX edit_by_boot ON edit (boot);

CREATE TABLE service_state (
    id         TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    boot       TEXT NOT NULL REFERENCES boot (id), -- the boot
    service    TEXT NOT NULL, -- the service's name
    moment     TEXT NOT NULL CHECK (moment IN ('start', 'end')), -- before or after the measures
    pid        INTEGER NOT NULL, -- its main process
    started_at REAL NOT NULL, -- when that process started
    effect     TEXT NOT NULL, -- whether it runs what the boot claims
    proof      TEXT NOT NULL -- JSON: file hashes, keyed hashes of the environment, processes
) STRICT;

CREATE INDEX service_state_by_boot ON service_state (boot);

CREATE TABLE observation (
    id          TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    run         TEXT NOT NULL REFERENCES run (id), -- the run
    boot        TEXT NOT NULL REFERENCES boot (id), -- the boot it was made in
    cycle       TEXT REFERENCES cycle (id), -- the restart it follows; empty where there was none
    step        TEXT NOT NULL REFERENCES step (id), -- the step
    reproducer  TEXT NOT NULL, -- the reproducer's name
    arm         TEXT NOT NULL, -- the configuration under comparison
    conditions  TEXT NOT NULL, -- JSON object: what must be alike to compare
    started_at  REAL NOT NULL, -- when it began
    ended_at    REAL, -- empty while it runs
    exit_code   INTEGER, -- of the reproducer
    stop_reason TEXT NOT NULL, -- why it was ended early
    invalid     TEXT, -- why its trials do not count
    tail        TEXT NOT NULL, -- the end of its output
    artifact    TEXT NOT NULL -- path of the whole output, below the workspace
) STRICT;

CREATE INDEX observation_by_run ON observation (run);
CREATE INDEX observation_by_boot ON observation (boot);

CREATE TABLE trial (
    observation TEXT NOT NULL REFERENCES observation (id), -- the observation
    position    INTEGER NOT NULL, -- from 0 in order of arrival
    outcome     TEXT NOT NULL, -- as the reproducer named it
    result      TEXT NOT NULL CHECK (result IN ('pass', 'fail', 'censored')), -- what that means
    ident       TEXT, -- the reproducer's own name for the trial
    keys        TEXT NOT NULL, -- what joins it to log lines, space separated
    seconds     REAL, -- how long it took
    at          REAL NOT NULL, -- when it arrived
    PRIMARY KEY (observation, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE comparison (
    id            TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    run           TEXT NOT NULL REFERENCES run (id), -- the run
    boot          TEXT NOT NULL REFERENCES boot (id), -- the boot whose logs were joined
    step          TEXT NOT NULL REFERENCES step (id), -- the step
    detector      TEXT NOT NULL, -- identifies what was compared, patch included
    matched       INTEGER NOT NULL, -- keys on both sides with the same value
    mismatched    INTEGER NOT NULL, -- keys on both sides with different values
    left_only     INTEGER NOT NULL, -- keys on the left alone
    right_only    INTEGER NOT NULL, -- keys on the right alone
    duplicate     INTEGER NOT NULL, -- keys logged more than once on a side
    lost          INTEGER NOT NULL, -- log lines known to be missing
    known_bad     INTEGER NOT NULL, -- keys that a detector run corrupted on purpose
    coverage      REAL NOT NULL, -- share of keys that could be compared, 0 to 1
    fail_mismatch INTEGER NOT NULL, -- failed trials with a mismatching key
    fail_match    INTEGER NOT NULL, -- failed trials without
    pass_mismatch INTEGER NOT NULL, -- passed trials with a mismatching key
    pass_match    INTEGER NOT NULL, -- passed trials without
    uncovered     INTEGER NOT NULL, -- trials none of whose keys was joined
    at            REAL NOT NULL -- when it was made
) STRICT;

CREATE INDEX comparison_by_run ON comparison (run);
CREATE INDEX comparison_by_detector ON comparison (detector);

CREATE TABLE comparison_key (
    comparison TEXT NOT NULL REFERENCES comparison (id), -- the comparison
    key        TEXT NOT NULL, -- a key that did not simply match
    state      TEXT NOT NULL CHECK (state IN
        ('mismatched', 'left-only', 'right-only', 'duplicate')), -- what was wrong with it
    left_line  TEXT NOT NULL, -- the line on the left
    right_line TEXT NOT NULL -- the line on the right
) STRICT;

CREATE INDEX comparison_key_by_comparison ON comparison_key (comparison);

CREATE TABLE verdict (
    id           TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    run          TEXT NOT NULL REFERENCES run (id), -- the run
    hypothesis   TEXT REFERENCES hypothesis (slug), -- whom it concerns; empty: none
    word         TEXT NOT NULL CHECK (word IN
        ('supported', 'refuted', 'inconclusive', 'invalid')), -- the verdict
    qualifier    TEXT NOT NULL, -- what qualifies it
    reasons      TEXT NOT NULL, -- why, one a line
    numbers      TEXT NOT NULL, -- JSON object: the numbers it rests on
    still_needed TEXT NOT NULL, -- what would settle it
    at           REAL NOT NULL -- when it was given
) STRICT;

CREATE INDEX verdict_by_run ON verdict (run);
CREATE INDEX verdict_by_hypothesis ON verdict (hypothesis);

CREATE TABLE artifact (
    id     TEXT NOT NULL PRIMARY KEY, -- a random, unique text
    run    TEXT NOT NULL REFERENCES run (id), -- the run it was kept for
    step   TEXT REFERENCES step (id), -- the step that made it
    name   TEXT NOT NULL, -- what it is
    path   TEXT NOT NULL, -- where it is, relative to the workspace
    bytes  INTEGER NOT NULL, -- its size
    sha256 TEXT NOT NULL -- its hash
) STRICT;

CREATE INDEX artifact_by_run ON artifact (run);
