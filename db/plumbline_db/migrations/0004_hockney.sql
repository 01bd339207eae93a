-- What round trips say: t(m) = alpha + beta m for a class of pairs of ranks, on the machine and with
-- the library of the campaign. Piece 0 is one line for all sizes; where the library changes protocol,
-- pieces 1 and 2 are better. Intervals are NULL where there were too few launches.
CREATE TABLE hockney (
    campaign              TEXT NOT NULL REFERENCES campaign (id),
    pair                  TEXT NOT NULL CHECK (pair IN ('same_core', 'same_socket', 'other_socket',
                                                        'other_node')),
    piece                 INTEGER NOT NULL CHECK (piece >= 0),
    bytes_from            INTEGER NOT NULL CHECK (bytes_from >= 0),
    bytes_to              INTEGER NOT NULL CHECK (bytes_to >= bytes_from),
    alpha_seconds         REAL NOT NULL CHECK (alpha_seconds >= 0),
    alpha_low             REAL,
    alpha_high            REAL,
    beta_seconds_per_byte REAL NOT NULL CHECK (beta_seconds_per_byte >= 0),
    beta_low              REAL,
    beta_high             REAL,
    deviation             REAL NOT NULL,
    launches              INTEGER NOT NULL CHECK (launches > 0),
    PRIMARY KEY (campaign, pair, piece)
) STRICT, WITHOUT ROWID;
