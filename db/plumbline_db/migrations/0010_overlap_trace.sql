-- What happened when on a rank in one repetition of an overlap cell: names of events (JSON), the ranks
-- on the other side (-1: none), which of its messages an arrival is, and stamps on the launch's global
-- clock, as in sample_block. Positions are those of `overlap`: one order over both.
CREATE TABLE overlap_trace (
    run      INTEGER NOT NULL REFERENCES run (number),
    position INTEGER NOT NULL,
    cell     INTEGER NOT NULL,
    rank     INTEGER NOT NULL CHECK (rank >= 0),
    triple   INTEGER NOT NULL CHECK (triple >= 0),
    part     TEXT NOT NULL CHECK (part IN ('communication', 'computation', 'both')),
    names    TEXT NOT NULL,
    peers    BLOB NOT NULL CHECK (length(peers) % 8 = 0),
    numbers  BLOB NOT NULL CHECK (length(numbers) = length(peers)),
    "begin"  BLOB NOT NULL CHECK (length("begin") = length(peers)),
    "end"    BLOB NOT NULL CHECK (length("end") = length(peers)),
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
