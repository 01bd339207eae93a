-- Ways of use: how a case was called, where it is not the way that its plan is about ('').
ALTER TABLE measurement ADD COLUMN use TEXT NOT NULL DEFAULT '';

-- What the same cell is in other ways of use: JSON, a list of OtherUse.
ALTER TABLE verdict ADD COLUMN uses TEXT NOT NULL DEFAULT '[]';

-- What a winner was tried for, and its speed-up there: JSON, a list of Tried.
ALTER TABLE winner ADD COLUMN tried TEXT NOT NULL DEFAULT '[]';
