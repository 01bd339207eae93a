-- Guidelines of overlap: `overlap` and `nonblocking`, whose functions are benchmarks.

CREATE TABLE verdict_11 (
    campaign    TEXT NOT NULL REFERENCES campaign (id),
    stage       TEXT NOT NULL,
    position    INTEGER NOT NULL,
    guideline   TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('monotony', 'split', 'pattern', 'rank', 'overlap', 'nonblocking')),
    function    TEXT NOT NULL,
    rhs         TEXT NOT NULL,
    nprocs      INTEGER NOT NULL,
    ppn         INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    other_bytes INTEGER NOT NULL,
    factor      INTEGER NOT NULL,
    verdict     TEXT NOT NULL CHECK (verdict IN ('holds', 'violated', 'undecided')),
    ratio       REAL,
    ratio_low   REAL,
    ratio_high  REAL,
    p           REAL,
    p_adjusted  REAL,
    launches    INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    suites      TEXT NOT NULL,
    lhs         TEXT NOT NULL DEFAULT 'default',
    ranks       INTEGER NOT NULL DEFAULT 0 CHECK (ranks >= 0),
    PRIMARY KEY (campaign, stage, position)
) STRICT, WITHOUT ROWID;

INSERT INTO verdict_11 SELECT * FROM verdict;
DROP TABLE verdict;
ALTER TABLE verdict_11 RENAME TO verdict;
