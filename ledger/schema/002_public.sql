-- 002: the public projections. The api's handle can read these tables and no other. Whatever may
-- not be shown has no row here, or a row without it (I8). All of it can be rebuilt from 001.
-- `gen` is public_meta.generation when the row was written: ETags are made of it.

CREATE TABLE public_meta (
    one            INTEGER PRIMARY KEY CHECK (one = 1),
    generation     INTEGER NOT NULL, -- grows with every transaction that touches a public row
    changed_at     INTEGER NOT NULL,
    policy_version TEXT NOT NULL,
    last_seq       INTEGER NOT NULL,
    first_seq      INTEGER NOT NULL  -- start of retention
) STRICT;
INSERT INTO public_meta VALUES (1, 1, 0, '1', 0, 1);

-- The feed: dense, in order of publication. doc lacks only "seq".
CREATE TABLE public_changes (
    seq          INTEGER PRIMARY KEY,
    event_id     TEXT NOT NULL UNIQUE,
    src_no       INTEGER NOT NULL,
    source_id    TEXT NOT NULL,
    collection   TEXT NOT NULL,
    change_type  TEXT NOT NULL,
    change_class TEXT NOT NULL,
    detector     TEXT NOT NULL,
    finalized_at INTEGER NOT NULL, -- the day only where the level says so
    doc          TEXT NOT NULL,
    gen          INTEGER NOT NULL
) STRICT;
CREATE INDEX public_changes_source ON public_changes (source_id, seq);

CREATE TABLE public_sources (
    source_id  TEXT PRIMARY KEY,
    src_no     INTEGER NOT NULL UNIQUE,
    collection TEXT NOT NULL,
    doc        TEXT NOT NULL,
    gen        INTEGER NOT NULL,
    at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Facts of which the api makes the badge: the verdict depends on the clock, so it is made on read.
CREATE TABLE public_freshness (
    source_id      TEXT PRIMARY KEY,
    src_no         INTEGER NOT NULL UNIQUE,
    title          TEXT NOT NULL,
    collection     TEXT NOT NULL,
    level          TEXT NOT NULL CHECK (level IN ('public', 'generalized', 'restricted')),
    held           INTEGER NOT NULL DEFAULT 0,
    retired        INTEGER NOT NULL DEFAULT 0,
    freshness_days INTEGER NOT NULL,
    updated_at     INTEGER, -- last promotion; the day only where restricted
    checked_at     INTEGER, -- NULL where withheld
    reached_at     INTEGER,
    failures       INTEGER NOT NULL DEFAULT 0,
    next_check_at  INTEGER,
    last_outcome   TEXT,
    window         TEXT,
    run_id         TEXT,
    identity       TEXT,    -- hex digest
    delta_id       TEXT,
    qa_status      TEXT,
    qa_note        TEXT,
    gen            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE public_items (
    item_no    INTEGER PRIMARY KEY,
    item_id    TEXT NOT NULL UNIQUE,
    src_no     INTEGER NOT NULL,
    collection TEXT NOT NULL,
    at         INTEGER NOT NULL,
    doc        TEXT NOT NULL,
    gen        INTEGER NOT NULL
) STRICT;
CREATE INDEX public_items_collection ON public_items (collection, at);
CREATE VIRTUAL TABLE public_items_box USING rtree (item_no, west, east, south, north);

CREATE TABLE public_collections (
    collection TEXT PRIMARY KEY,
    doc        TEXT NOT NULL,
    gen        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE public_datasets (
    collection TEXT PRIMARY KEY,
    doc        TEXT NOT NULL,
    gen        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE public_prov (
    run_id TEXT PRIMARY KEY,
    src_no INTEGER NOT NULL,
    doc    TEXT NOT NULL,
    at     INTEGER NOT NULL,
    gen    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE public_deltas (
    delta_id TEXT PRIMARY KEY,
    src_no   INTEGER NOT NULL,
    doc      TEXT NOT NULL,
    at       INTEGER NOT NULL,
    gen      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Which bytes nginx may hand out.
CREATE TABLE public_assets (
    sha        BLOB NOT NULL CHECK (length(sha) = 32),
    src_no     INTEGER NOT NULL,
    run_id     TEXT NOT NULL,
    size       INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (sha, src_no)
) STRICT, WITHOUT ROWID;

-- Signs of life, for /readyz.
CREATE TABLE public_heartbeats (
    role TEXT PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
