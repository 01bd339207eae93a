-- Cells of overlap benchmarks: nanoseconds of communication alone, computation alone and both, triple
-- by triple, and the latencies of empty messages that are taken off.
CREATE TABLE overlap (
    run           INTEGER NOT NULL REFERENCES run (number),
    position      INTEGER NOT NULL,
    cell          INTEGER NOT NULL,
    bench         TEXT NOT NULL,
    bytes         INTEGER NOT NULL CHECK (bytes >= 0),
    sent          INTEGER NOT NULL CHECK (sent >= bytes),
    kernel        TEXT NOT NULL,
    work_ns       INTEGER NOT NULL CHECK (work_ns >= 0),
    test_ns       INTEGER NOT NULL CHECK (test_ns >= 0),
    units         INTEGER NOT NULL CHECK (units >= 0),
    latencies     INTEGER NOT NULL CHECK (latencies >= 0),
    halves        INTEGER NOT NULL CHECK (halves > 0),
    delivered     INTEGER NOT NULL CHECK (delivered IN (0, 1)),
    communication BLOB NOT NULL CHECK (length(communication) % 8 = 0),
    computation   BLOB NOT NULL CHECK (length(computation) = length(communication)),
    both          BLOB NOT NULL CHECK (length(both) = length(communication)),
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE overlap_latency (
    run      INTEGER NOT NULL REFERENCES run (number),
    position INTEGER NOT NULL,
    "when"   TEXT NOT NULL CHECK ("when" IN ('start', 'end')),
    ns       BLOB NOT NULL CHECK (length(ns) % 8 = 0),
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
