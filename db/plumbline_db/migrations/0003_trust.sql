-- How far a measurement can be trusted: clocks, refusals, stopping rules, what kernel and processor
-- counted, load. Factors, cache state and run time are in the header of a run.

-- A busy wait that was planted in the timed region, on every rank: part of what the case is.
ALTER TABLE measurement ADD COLUMN delay_ns INTEGER NOT NULL DEFAULT 0 CHECK (delay_ns >= 0);

-- Repetitions that the start scheme found invalid (not in `samples`), the window it ended with, whether
-- the time limit cut the series; and counters: JSON, by name.
ALTER TABLE sample_block ADD COLUMN late INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sample_block ADD COLUMN overrun INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sample_block ADD COLUMN window_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sample_block ADD COLUMN budget_spent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sample_block ADD COLUMN counts TEXT NOT NULL DEFAULT '{}';

-- What a library says about how it was built: JSON, by name.
ALTER TABLE library ADD COLUMN build TEXT NOT NULL DEFAULT '{}';

-- The global clock of a launch: global = local + offset_ns + slope * (local - origin_ns).
CREATE TABLE clock_sync (
    run       INTEGER NOT NULL REFERENCES run (number),
    position  INTEGER NOT NULL,
    algorithm TEXT NOT NULL,
    domains   INTEGER NOT NULL,
    seconds   REAL NOT NULL,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE clock_model (
    run       INTEGER NOT NULL REFERENCES run (number),
    position  INTEGER NOT NULL,
    domain    INTEGER NOT NULL,
    host      TEXT NOT NULL,
    rank      INTEGER NOT NULL,
    origin_ns INTEGER NOT NULL,
    offset_ns INTEGER NOT NULL,
    slope     REAL NOT NULL,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- The residual error of the global clock by domain, and its bound (JSON lists, nanoseconds).
CREATE TABLE clock_error (
    run       INTEGER NOT NULL REFERENCES run (number),
    moment    TEXT NOT NULL CHECK (moment IN ('start', 'end')),
    since_ns  INTEGER NOT NULL,
    errors_ns TEXT NOT NULL,
    bounds_ns TEXT NOT NULL,
    PRIMARY KEY (run, moment)
) STRICT, WITHOUT ROWID;

-- Measurements whose samples are not results. The samples are kept.
CREATE TABLE refusal (
    measurement INTEGER NOT NULL PRIMARY KEY REFERENCES measurement (number),
    reason      TEXT NOT NULL
) STRICT;

-- How many repetitions a stopping rule took, and what ended it; `criteria` is JSON.
CREATE TABLE nrep (
    measurement INTEGER NOT NULL PRIMARY KEY REFERENCES measurement (number),
    nrep        INTEGER NOT NULL,
    ended_by    TEXT NOT NULL CHECK (ended_by IN ('criteria', 'maximum', 'budget')),
    criteria    TEXT NOT NULL
) STRICT;

-- Round trips between two ranks, in the form of sample_block.
CREATE TABLE pingpong (
    run         INTEGER NOT NULL REFERENCES run (number),
    position    INTEGER NOT NULL,
    first       INTEGER NOT NULL,
    second      INTEGER NOT NULL,
    pair        TEXT NOT NULL CHECK (pair IN ('same_core', 'same_socket', 'other_socket',
                                              'other_node')),
    bytes       INTEGER NOT NULL CHECK (bytes >= 0),
    round_trips BLOB NOT NULL CHECK (length(round_trips) % 8 = 0),
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- What else a host did during a launch. NULL: its kernel does not say.
CREATE TABLE host_load (
    run            INTEGER NOT NULL REFERENCES run (number),
    position       INTEGER NOT NULL,
    host           TEXT NOT NULL,
    load_start     REAL,
    load_end       REAL,
    busy_seconds   REAL,
    own_seconds    REAL,
    stolen_seconds REAL,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
