-- 007: replays, and an outbox whose consumers do not wait for one another.

-- One row per change and consumer (handler/outbox.def); its id for the receiver is run and kind, so that
-- what is told twice can be recognised. A row goes when it was delivered; one that was given up stays,
-- dead, until somebody looks.
ALTER TABLE outbox ADD COLUMN next_attempt_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN dead_at INTEGER;
ALTER TABLE outbox ADD COLUMN detail TEXT; -- why the last attempt failed
DELETE FROM outbox WHERE kind = 'change' AND rowid NOT IN (SELECT max(rowid) FROM outbox GROUP BY run_id);
UPDATE outbox SET kind = 'artifacts' WHERE kind = 'change';
DROP INDEX outbox_open;
CREATE INDEX outbox_open ON outbox (kind, next_attempt_at, out_no) WHERE dead_at IS NULL;
CREATE UNIQUE INDEX outbox_once ON outbox (run_id, kind);

-- Replays that were asked for (ledger/replays.h).
CREATE TABLE replays (
    replay_no   INTEGER PRIMARY KEY,
    replay_id   TEXT NOT NULL UNIQUE,
    since       INTEGER NOT NULL,
    until       INTEGER NOT NULL,
    src_no      INTEGER REFERENCES sources, -- NULL: all
    dry_run     INTEGER NOT NULL,
    asked_by    TEXT NOT NULL,
    approved_by TEXT, -- of a window longer than the bound
    state       TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'failed')),
    rows        INTEGER NOT NULL DEFAULT 0,
    noop        INTEGER NOT NULL DEFAULT 0,
    applied     INTEGER NOT NULL DEFAULT 0,
    failed      INTEGER NOT NULL DEFAULT 0,
    detail      TEXT,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;
CREATE INDEX replays_open ON replays (replay_no) WHERE state = 'open';
-- How many ended how, for /metrics: names no source and no row of one.
CREATE TABLE public_replays (
    result TEXT PRIMARY KEY CHECK (result IN ('done', 'failed')),
    n      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO public_replays VALUES ('done', 0), ('failed', 0);
-- What waits in the outbox, for /metrics, by consumer; counted by who delivers it.
CREATE TABLE public_outbox (
    kind      TEXT PRIMARY KEY,
    open      INTEGER NOT NULL,
    dead      INTEGER NOT NULL,
    oldest_at INTEGER -- NULL: none is open
) STRICT, WITHOUT ROWID;
