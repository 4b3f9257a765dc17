-- 013: what operators and subscribers are told, beside the feed; sources and replays asked for over HTTP;
-- more sums for /metrics.

-- What happened, a row each, written in the transaction in which it did (ledger/notice.h). It goes when
-- everybody who wants it was told. notice_id is the same in every attempt, to every subscriber.
CREATE TABLE notices (
    notice_no INTEGER PRIMARY KEY,
    notice_id TEXT NOT NULL,
    kind      TEXT NOT NULL,
    src_no    INTEGER NOT NULL REFERENCES sources,
    event_id  TEXT NOT NULL, -- '' where there is none
    reason    TEXT NOT NULL, -- a stable code; of a breach the state of health
    at        INTEGER NOT NULL,
    sorted    INTEGER NOT NULL DEFAULT 0 -- 1: the rows of those who are to be told are there
) STRICT;
CREATE INDEX notices_new ON notices (notice_no) WHERE sorted = 0;
-- Who must still be told. A row per subscriber, so that none waits for another.
CREATE TABLE deliveries (
    subscriber      TEXT NOT NULL,
    notice_no       INTEGER NOT NULL REFERENCES notices,
    attempts        INTEGER NOT NULL DEFAULT 0,
    next_attempt_at INTEGER NOT NULL,
    dead_at         INTEGER,
    detail          TEXT, -- why the last attempt failed
    PRIMARY KEY (subscriber, notice_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (subscriber, next_attempt_at, notice_no) WHERE dead_at IS NULL;
CREATE INDEX deliveries_notice ON deliveries (notice_no);

-- The breach that was told of last (ledger/breach.h), so that it is told when it begins and when it ends.
ALTER TABLE source_state ADD COLUMN breach TEXT;
CREATE INDEX source_breach ON source_state (src_no) WHERE breach IS NOT NULL;

-- How runs ended, and why, since the beginning; and measures, for /metrics (ledger/telemetry.h). Withheld
-- sources are in none of it.
CREATE TABLE public_runs (
    result TEXT NOT NULL,
    reason TEXT NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (result, reason)
) STRICT, WITHOUT ROWID;
INSERT INTO public_runs VALUES ('promoted', '', 0), ('noop', '', 0), ('failed', '', 0), ('held', '', 0),
    ('retry', '', 0), ('dead', '', 0), ('absorbed', '', 0);
CREATE TABLE public_gauges (
    name  TEXT PRIMARY KEY,
    value REAL NOT NULL,
    at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_dead ON inbox (src_no) WHERE state = 'dead';

-- Declarations that were asked for over HTTP; a handler carries them out (ledger/order.h).
CREATE TABLE source_orders (
    order_no    INTEGER PRIMARY KEY,
    order_id    TEXT NOT NULL UNIQUE,
    kind        TEXT NOT NULL CHECK (kind IN ('create', 'replace', 'retire')),
    source_id   TEXT NOT NULL,
    spec        TEXT, -- canonical; NULL: retire
    sensitivity TEXT NOT NULL, -- of spec, '' without one
    asked_by    TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'failed')),
    detail      TEXT, -- why it failed, or what it waits for
    created_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;
CREATE INDEX source_orders_open ON source_orders (order_no) WHERE state = 'open';
CREATE INDEX source_orders_source ON source_orders (source_id, order_no);
