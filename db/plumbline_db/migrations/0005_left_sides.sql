-- Left sides of guidelines that are not the library's call on all ranks: a variant, or a call on the
-- first `ranks` of the launch (0: all).

ALTER TABLE measurement ADD COLUMN ranks INTEGER NOT NULL DEFAULT 0 CHECK (ranks >= 0);

CREATE TABLE verdict_5 (
    campaign    TEXT NOT NULL REFERENCES campaign (id),
    stage       TEXT NOT NULL,
    position    INTEGER NOT NULL,
    guideline   TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('monotony', 'split', 'pattern', 'rank')),
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

INSERT INTO verdict_5 SELECT *, 'default', 0 FROM verdict;
DROP TABLE verdict;
ALTER TABLE verdict_5 RENAME TO verdict;
