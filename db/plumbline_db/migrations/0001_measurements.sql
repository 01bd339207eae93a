-- What was measured, in SKaMPI's order: machine, library, campaign, suite, run, measurement, sample
-- block. Nothing here is computed; the samples are kept. Times are text in ISO 8601 (UTC), lists and
-- dictionaries are JSON, `bytes` is the communication volume of docs/plan-and-records.md.

CREATE TABLE machine (
    id               TEXT NOT NULL PRIMARY KEY,
    host             TEXT NOT NULL,
    cpu_model        TEXT NOT NULL,
    processing_units INTEGER NOT NULL,
    numa_nodes       INTEGER NOT NULL,
    memory_bytes     INTEGER NOT NULL,
    kernel           TEXT NOT NULL,
    system           TEXT NOT NULL
) STRICT;

CREATE TABLE library (
    fingerprint    TEXT NOT NULL PRIMARY KEY,
    id             TEXT NOT NULL,
    family         TEXT NOT NULL,
    version        TEXT NOT NULL,
    version_string TEXT NOT NULL,
    prefix         TEXT NOT NULL
) STRICT;

CREATE TABLE campaign (
    number              INTEGER PRIMARY KEY,
    id                  TEXT NOT NULL UNIQUE,
    key                 TEXT NOT NULL UNIQUE,
    machine             TEXT NOT NULL REFERENCES machine (id),
    library_fingerprint TEXT NOT NULL REFERENCES library (fingerprint),
    nprocs              INTEGER NOT NULL CHECK (nprocs > 0),
    nodes               INTEGER NOT NULL CHECK (nodes > 0),
    ppn                 INTEGER NOT NULL CHECK (ppn > 0),
    oversubscribed      INTEGER NOT NULL CHECK (oversubscribed IN (0, 1)),
    settings            TEXT NOT NULL,
    state               TEXT NOT NULL CHECK (state IN ('running', 'finished')),
    started             TEXT NOT NULL,
    finished            TEXT NOT NULL
) STRICT;

-- A named set of launches of one campaign: before, search-1, confirm-1 ...
CREATE TABLE suite (
    number   INTEGER PRIMARY KEY,
    campaign TEXT NOT NULL REFERENCES campaign (id),
    name     TEXT NOT NULL,
    UNIQUE (campaign, name)
) STRICT;

-- One launch. `header` and `footer` are the probe's records, NULL when it did not get that far.
CREATE TABLE run (
    number        INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    suite         INTEGER NOT NULL REFERENCES suite (number),
    sequence      INTEGER NOT NULL,
    outcome       TEXT NOT NULL CHECK (outcome IN ('finished', 'failed')),
    reason        TEXT NOT NULL,
    argv          TEXT NOT NULL,
    environment   TEXT NOT NULL,
    plan          TEXT NOT NULL,
    stderr        TEXT NOT NULL,
    started       TEXT NOT NULL,
    seconds       REAL NOT NULL,
    timed_seconds REAL NOT NULL,
    header        TEXT,
    footer        TEXT,
    UNIQUE (suite, sequence)
) STRICT;

-- Distinct knob sets: JSON with sorted keys. {} is the library as it comes.
CREATE TABLE configuration (
    number INTEGER PRIMARY KEY,
    knobs  TEXT NOT NULL UNIQUE
) STRICT;

-- A configuration under the id a plan gave it, with what the library said when it was written.
CREATE TABLE run_configuration (
    run           INTEGER NOT NULL REFERENCES run (number),
    id            TEXT NOT NULL,
    configuration INTEGER NOT NULL REFERENCES configuration (number),
    in_force      INTEGER NOT NULL CHECK (in_force IN (0, 1)),
    reason        TEXT NOT NULL,
    readings      TEXT NOT NULL,
    PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

-- One case of a run. `begun` and a NULL outcome: the launch ended inside this case's check.
CREATE TABLE measurement (
    number        INTEGER PRIMARY KEY,
    run           INTEGER NOT NULL REFERENCES run (number),
    case_id       INTEGER NOT NULL,
    function      TEXT NOT NULL,
    variant       TEXT NOT NULL,
    config        TEXT NOT NULL,
    configuration INTEGER NOT NULL REFERENCES configuration (number),
    bytes         INTEGER NOT NULL CHECK (bytes >= 0),
    bytes_moved   INTEGER NOT NULL,
    type          TEXT NOT NULL,
    op            TEXT NOT NULL,
    root          INTEGER NOT NULL,
    reps          INTEGER NOT NULL,
    begun         INTEGER NOT NULL CHECK (begun IN (0, 1)),
    outcome       TEXT CHECK (outcome IN ('ok', 'wrong', 'unsupported', 'error', 'not_in_force')),
    detail        TEXT NOT NULL,
    UNIQUE (run, case_id)
) STRICT;

-- The order in which the cases of a block were to run (JSON list of case ids).
CREATE TABLE block_order (
    run   INTEGER NOT NULL REFERENCES run (number),
    block INTEGER NOT NULL,
    cases TEXT NOT NULL,
    PRIMARY KEY (run, block)
) STRICT, WITHOUT ROWID;

-- Raw samples in nanoseconds: 64-bit little-endian integers, in the order they were taken.
CREATE TABLE sample_block (
    measurement INTEGER NOT NULL REFERENCES measurement (number),
    block       INTEGER NOT NULL,
    warmup      BLOB NOT NULL CHECK (length(warmup) % 8 = 0),
    samples     BLOB NOT NULL CHECK (length(samples) % 8 = 0),
    PRIMARY KEY (measurement, block)
) STRICT, WITHOUT ROWID;
