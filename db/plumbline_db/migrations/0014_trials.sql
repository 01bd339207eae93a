-- A trial: a case that is only checked, in so many calls at volumes from `least` to `bytes`,
-- which are `mean` on average, at most.
ALTER TABLE measurement ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE measurement ADD COLUMN least INTEGER NOT NULL DEFAULT 0;
ALTER TABLE measurement ADD COLUMN mean INTEGER NOT NULL DEFAULT 0;
