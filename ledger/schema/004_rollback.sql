-- 004: changes that are taken back, and what must not come again by itself.

-- The run left a tombstone: a deletion, or a rollback to a time before the source had bytes.
ALTER TABLE ledger ADD COLUMN deletes INTEGER NOT NULL DEFAULT 0;
UPDATE ledger SET deletes = 1 WHERE change_type = 'deleted';

-- Claims in a row that never came to an end: their worker died. They use up no attempts (a power cut is
-- not the candidate's fault), but a candidate that kills again and again is poison.
ALTER TABLE inbox ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;

-- What operators asked to take back. Intake and the command line write the row, a handler makes a
-- candidate of it; from then on it is a run like any other, and its state is the candidate's.
CREATE TABLE rollbacks (
    rollback_no INTEGER PRIMARY KEY,
    rollback_id TEXT NOT NULL UNIQUE,
    run_id      TEXT NOT NULL REFERENCES ledger, -- the run whose change is taken back
    src_no      INTEGER NOT NULL REFERENCES sources,
    reason      TEXT NOT NULL,
    asked_by    TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'taken', 'refused')),
    cand_no     INTEGER UNIQUE REFERENCES inbox,
    detail      TEXT, -- why it was refused
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX rollbacks_open ON rollbacks (rollback_no) WHERE state = 'open';
-- Those that a worker left behind when it died; they go on before anything else.
CREATE INDEX inbox_rollbacks ON inbox (cand_no) WHERE outcome = 'rollback' AND state = 'ready';
CREATE TRIGGER rollbacks_stay BEFORE DELETE ON rollbacks
BEGIN SELECT RAISE (ABORT, 'rollbacks are never deleted'); END;

-- Bytes that were taken back are not promoted again until an operator lifts the block. sha NULL: a
-- deletion was taken back, and the source is not deleted again by the same absence.
CREATE TABLE blocks (
    run_id    TEXT PRIMARY KEY REFERENCES ledger, -- the rollback that set it
    src_no    INTEGER NOT NULL REFERENCES sources,
    sha       BLOB CHECK (sha IS NULL OR length(sha) = 32),
    at        INTEGER NOT NULL,
    lifted_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX blocks_live ON blocks (src_no) WHERE lifted_at IS NULL;
