-- 018: pull detection. What a check may overwrite, and what it remembers beside its sources.

-- How often the state of a source was written, by checks, declarations, rollbacks and others. A check
-- writes what it found only when that is as it was when it was read (ledger/check.h).
ALTER TABLE source_state ADD COLUMN writes INTEGER NOT NULL DEFAULT 0;
