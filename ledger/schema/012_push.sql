-- 012: what providers tell (ledger/push.h).

-- Event ids are kept until no provider sends them again; keys of admins (NULL) for ever.
ALTER TABLE nonces ADD COLUMN keep_until INTEGER;
CREATE INDEX nonces_end ON nonces (keep_until) WHERE keep_until IS NOT NULL;

-- The newest that was told of an object, where its provider numbers what happens to it.
CREATE TABLE push_objects (
    src_no     INTEGER NOT NULL REFERENCES sources,
    object     TEXT NOT NULL,
    sequence   TEXT NOT NULL,
    keep_until INTEGER NOT NULL,
    PRIMARY KEY (src_no, object)
) STRICT, WITHOUT ROWID;
CREATE INDEX push_objects_end ON push_objects (keep_until);

-- When it was last asked that the scheduler looks: a check that began before does not put that off.
ALTER TABLE source_state ADD COLUMN pushed_at INTEGER;

-- Quarantine: the same event id with another body. Digests tell which; the bodies are kept nowhere.
CREATE TABLE push_conflicts (
    conflict_no INTEGER PRIMARY KEY,
    src_no      INTEGER NOT NULL REFERENCES sources,
    event_id    TEXT NOT NULL,
    first_sha   BLOB NOT NULL CHECK (length(first_sha) = 32),
    sha         BLOB NOT NULL CHECK (length(sha) = 32),
    at          INTEGER NOT NULL,
    last_at     INTEGER NOT NULL,
    times       INTEGER NOT NULL DEFAULT 1,
    UNIQUE (src_no, event_id, sha)
) STRICT;

-- What was heard of a source.
CREATE TABLE push_sources (
    src_no   INTEGER PRIMARY KEY REFERENCES sources,
    accepted INTEGER NOT NULL,
    last_at  INTEGER NOT NULL
) STRICT;

-- Subscriptions that want an address fetched: intake may not, the scheduler does. The address holds a
-- token, so it goes when it is done with.
CREATE TABLE push_confirmations (
    confirm_no INTEGER PRIMARY KEY,
    src_no     INTEGER NOT NULL REFERENCES sources,
    url        TEXT,
    asked_at   INTEGER NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    next_at    INTEGER,          -- NULL: it has ended
    state      TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'failed')),
    detail     TEXT NOT NULL DEFAULT '',
    ended_at   INTEGER,
    CHECK ((state = 'open') = (url IS NOT NULL) AND (state = 'open') = (next_at IS NOT NULL))
) STRICT;
CREATE INDEX push_confirmations_open ON push_confirmations (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX push_confirmations_source ON push_confirmations (src_no);

-- For /metrics, without withheld sources (I8).
CREATE TABLE public_pushes (
    result TEXT PRIMARY KEY,
    n      INTEGER NOT NULL
) STRICT;
INSERT INTO public_pushes VALUES ('accepted', 0), ('conflict', 0);
