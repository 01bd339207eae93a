-- What a start scheme did to a series, and how far the error of a clock could be hidden.
ALTER TABLE sample_block ADD COLUMN window_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sample_block ADD COLUMN budget_spent INTEGER NOT NULL DEFAULT 0
    CHECK (budget_spent IN (0, 1));
ALTER TABLE clock_error ADD COLUMN bounds_ns TEXT NOT NULL DEFAULT '[]';
