-- Overlap beyond one message between two ranks: who took the time, collectives, several requests, busy
-- threads, a thread that asks the library; and what happened when, event by event.
ALTER TABLE overlap ADD COLUMN rank INTEGER NOT NULL DEFAULT 0 CHECK (rank >= 0);
ALTER TABLE overlap ADD COLUMN function TEXT NOT NULL DEFAULT '';
ALTER TABLE overlap ADD COLUMN requests INTEGER NOT NULL DEFAULT 1 CHECK (requests > 0);
ALTER TABLE overlap ADD COLUMN threads INTEGER NOT NULL DEFAULT 0 CHECK (threads >= 0);
ALTER TABLE overlap ADD COLUMN helper INTEGER NOT NULL DEFAULT 0 CHECK (helper IN (0, 1));
ALTER TABLE overlap ADD COLUMN spare INTEGER NOT NULL DEFAULT 0 CHECK (spare IN (0, 1));
