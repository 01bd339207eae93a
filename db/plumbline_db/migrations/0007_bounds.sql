-- What a searched cell must not be slower than: the fastest right-hand side of its violations, named
-- as in `opened_by` ('': the library's default), and its time over the default's in the same launches.
ALTER TABLE search ADD COLUMN bound TEXT NOT NULL DEFAULT '';
ALTER TABLE search ADD COLUMN bound_ratio REAL CHECK (bound_ratio > 0);
