-- Campaigns that one campaign file asks for together: several libraries, several layouts.

CREATE TABLE batch (
    name     TEXT NOT NULL,
    position INTEGER NOT NULL CHECK (position >= 0),
    campaign TEXT NOT NULL REFERENCES campaign (id),
    written  TEXT NOT NULL,  -- ISO 8601, UTC: when the file was run last
    PRIMARY KEY (name, position)
) STRICT, WITHOUT ROWID;
