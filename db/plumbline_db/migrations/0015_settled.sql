-- Whether the times of a case fell no more, or repeated themselves, when its samples were taken.
ALTER TABLE sample_block ADD COLUMN settled INTEGER NOT NULL DEFAULT 1 CHECK (settled IN (0, 1));

-- The samples of so many first blocks are of a library that was still changing how it does it: they
-- are no results.
CREATE TABLE transit (
    measurement INTEGER PRIMARY KEY REFERENCES measurement (number),
    blocks      INTEGER NOT NULL CHECK (blocks > 0)
) STRICT;
