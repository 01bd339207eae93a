-- What was concluded from the measurements, and what was handed out. Ratios are left over right.

CREATE TABLE verdict (
    campaign    TEXT NOT NULL REFERENCES campaign (id),
    stage       TEXT NOT NULL,
    position    INTEGER NOT NULL,
    guideline   TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('monotony', 'split', 'pattern')),
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
    PRIMARY KEY (campaign, stage, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE search (
    number    INTEGER PRIMARY KEY,
    campaign  TEXT NOT NULL REFERENCES campaign (id),
    round     INTEGER NOT NULL,
    function  TEXT NOT NULL,
    nprocs    INTEGER NOT NULL,
    ppn       INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    opened_by TEXT NOT NULL,
    outcome   TEXT NOT NULL CHECK (outcome IN ('winner', 'nothing better')),
    reason    TEXT NOT NULL,
    suites    TEXT NOT NULL,
    UNIQUE (campaign, round, function, nprocs, ppn, bytes)
) STRICT;

CREATE TABLE trial (
    search        INTEGER NOT NULL REFERENCES search (number),
    position      INTEGER NOT NULL,
    variant       TEXT NOT NULL,
    configuration INTEGER NOT NULL REFERENCES configuration (number),
    state         TEXT NOT NULL CHECK (state IN ('measured', 'wrong', 'failed', 'not_in_force',
                                                 'unsupported', 'not_exportable')),
    ratio         REAL,
    ratio_low     REAL,
    ratio_high    REAL,
    launches      INTEGER NOT NULL,
    detail        TEXT NOT NULL,
    PRIMARY KEY (search, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE winner (
    campaign       TEXT NOT NULL REFERENCES campaign (id),
    position       INTEGER NOT NULL,
    function       TEXT NOT NULL,
    nprocs         INTEGER NOT NULL,
    ppn            INTEGER NOT NULL,
    bytes_from     INTEGER NOT NULL CHECK (bytes_from >= 0),
    bytes_to       INTEGER NOT NULL CHECK (bytes_to >= bytes_from),
    variant        TEXT NOT NULL,
    configuration  INTEGER NOT NULL REFERENCES configuration (number),
    search_speedup REAL NOT NULL,
    speedup        REAL NOT NULL,
    speedup_low    REAL NOT NULL,
    speedup_high   REAL NOT NULL,
    removes        TEXT NOT NULL,
    restrictions   TEXT NOT NULL,
    PRIMARY KEY (campaign, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE export (
    campaign TEXT NOT NULL REFERENCES campaign (id),
    path     TEXT NOT NULL,
    format   TEXT NOT NULL,
    sha256   TEXT NOT NULL,
    created  TEXT NOT NULL,
    PRIMARY KEY (campaign, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    number   INTEGER PRIMARY KEY,
    campaign TEXT NOT NULL REFERENCES campaign (id),
    time     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    text     TEXT NOT NULL
) STRICT;
CREATE INDEX event_of_campaign ON event (campaign);
