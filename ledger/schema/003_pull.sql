-- 003: pull detection. Sources that belong to a parent, cursors, and tallies of checks.

-- An entry of a listing, or a vintage of a URL with {year}, is a source of its own under the source
-- that names it. `entry` is its key in the listing, or the year.
ALTER TABLE sources ADD COLUMN parent_no INTEGER REFERENCES sources;
ALTER TABLE sources ADD COLUMN entry TEXT;
-- Of an entry of a listing: since when that does not name it any more, 0 while it does. NULL for all
-- other sources.
ALTER TABLE sources ADD COLUMN unlisted_at INTEGER;
CREATE UNIQUE INDEX sources_entry ON sources (parent_no, entry) WHERE parent_no IS NOT NULL;

-- How far a detector has come that reads more than validators: the value of a probe, the newest
-- vintage. Kept with the candidate it came with (I3).
ALTER TABLE source_state ADD COLUMN cursor TEXT;
-- Learned: Last-Modified is no date of the bytes (ahead of its server's clock, before the web, or the
-- same when the bytes moved). It is stored as given, but not sent.
ALTER TABLE source_state ADD COLUMN date_doubted INTEGER NOT NULL DEFAULT 0;
-- Sources that cannot be reached: a small part of the whole, so that asking for them is cheap.
CREATE INDEX source_failing ON source_state (src_no) WHERE failures > 0;
CREATE INDEX source_unchecked ON source_state (src_no) WHERE checked_at IS NULL;

-- What checking has cost and saved, by day (UTC midnight, ms) and outcome. Receipts may be thinned out
-- one day; these sums stay.
CREATE TABLE check_days (
    day         INTEGER NOT NULL,
    outcome     TEXT NOT NULL,
    checks      INTEGER NOT NULL,
    requests    INTEGER NOT NULL, -- attempts included
    http_200    INTEGER NOT NULL, -- checks that ended with this answer
    http_304    INTEGER NOT NULL,
    bytes_in    INTEGER NOT NULL,
    bytes_saved INTEGER NOT NULL, -- against reading the whole object each time
    PRIMARY KEY (day, outcome)
) STRICT, WITHOUT ROWID;

-- The same since the beginning, for /metrics. Checks of withheld sources are not counted here (I8).
CREATE TABLE public_check_totals (
    outcome     TEXT PRIMARY KEY,
    checks      INTEGER NOT NULL,
    requests    INTEGER NOT NULL,
    http_200    INTEGER NOT NULL,
    http_304    INTEGER NOT NULL,
    bytes_in    INTEGER NOT NULL,
    bytes_saved INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What every check moves of the public rows, in a row as narrow as it can be: a check that found
-- nothing rewrites this one and leaves the wide one of public_freshness alone. Sources whose level
-- withholds when they are looked at have no row here (I8).
CREATE TABLE public_checks (
    src_no        INTEGER PRIMARY KEY,
    checked_at    INTEGER,
    reached_at    INTEGER,
    failures      INTEGER NOT NULL,
    next_check_at INTEGER,
    last_outcome  TEXT,
    gen           INTEGER NOT NULL,
    verified_at   INTEGER, -- when the bytes were last digested
    retired       INTEGER NOT NULL
) STRICT;
INSERT INTO public_checks SELECT f.src_no, f.checked_at, f.reached_at, f.failures, f.next_check_at,
    f.last_outcome, f.gen, s.verified_at, f.retired
    FROM public_freshness f JOIN source_state s ON s.src_no = f.src_no WHERE level <> 'restricted';
-- Health (ledger/health.h). The indexes hold the sources in trouble only, or move only when bytes were
-- read: a check that found nothing new writes none of them, and /metrics counts a million sources
-- without reading their rows. Each holds the columns that its condition names, so that counting needs
-- the index alone.
CREATE INDEX public_checks_failing ON public_checks (last_outcome, failures, retired)
    WHERE failures > 0 AND retired = 0;
CREATE INDEX public_checks_unchecked ON public_checks (checked_at, retired)
    WHERE checked_at IS NULL AND retired = 0;
CREATE INDEX public_checks_verified ON public_checks (verified_at, retired);
CREATE INDEX public_checks_unverified ON public_checks (verified_at, checked_at)
    WHERE verified_at IS NULL AND checked_at IS NOT NULL AND retired = 0;
CREATE INDEX public_checks_retired ON public_checks (retired) WHERE retired <> 0;
-- Withheld sources are in none of these; they are few, and looked through one by one.
CREATE INDEX sources_withheld ON sources (src_no) WHERE sensitivity IN ('restricted', 'sovereign');

-- Wide rows stand in the order of their numbers, where new ones are put at the end; only one narrow
-- index by id, that of public_sources, is entered in the middle.
ALTER TABLE public_sources RENAME TO public_sources_002;
CREATE TABLE public_sources (
    source_id  TEXT NOT NULL UNIQUE,
    src_no     INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    doc        TEXT NOT NULL,
    gen        INTEGER NOT NULL,
    at         INTEGER NOT NULL
) STRICT;
INSERT INTO public_sources SELECT * FROM public_sources_002;
DROP TABLE public_sources_002;
-- Has a collection another source? Asked when one is hidden, and a parent is hidden with its children.
CREATE INDEX public_sources_collection ON public_sources (collection);
ALTER TABLE public_freshness RENAME TO public_freshness_002;
CREATE TABLE public_freshness (
    source_id      TEXT NOT NULL,
    src_no         INTEGER PRIMARY KEY,
    title          TEXT NOT NULL,
    collection     TEXT NOT NULL,
    level          TEXT NOT NULL CHECK (level IN ('public', 'generalized', 'restricted')),
    held           INTEGER NOT NULL,
    retired        INTEGER NOT NULL,
    freshness_days INTEGER NOT NULL,
    updated_at     INTEGER, -- last promotion; the day only where restricted
    window         TEXT,
    run_id         TEXT,
    identity       TEXT,    -- hex digest
    delta_id       TEXT,
    qa_status      TEXT,
    qa_note        TEXT,
    gen            INTEGER NOT NULL,
    removed_at     INTEGER  -- when it was seen to be gone upstream; NULL while it is there
) STRICT;
INSERT INTO public_freshness SELECT source_id, src_no, title, collection, level, held, retired, freshness_days,
    updated_at, window, run_id, identity, delta_id, qa_status, qa_note, gen, NULL FROM public_freshness_002;
DROP TABLE public_freshness_002;

-- The receipts of a source are a chain, newest first: source_state knows its end, each receipt the one
-- before. An index by source would be written with every check, on a page of its own; the chain costs a
-- number in two rows that are written anyway. It ends where older receipts were thinned out.
ALTER TABLE checks ADD COLUMN prev_no INTEGER;
ALTER TABLE source_state ADD COLUMN last_check_no INTEGER;
UPDATE checks SET prev_no =
    (SELECT max(b.check_no) FROM checks b WHERE b.src_no = checks.src_no AND b.check_no < checks.check_no);
UPDATE source_state SET last_check_no =
    (SELECT max(c.check_no) FROM checks c WHERE c.src_no = source_state.src_no);
DROP INDEX checks_source;

-- Who still needs the spool's copy of these bytes?
CREATE INDEX inbox_open_sha ON inbox (sha) WHERE state IN ('ready', 'leased') AND sha IS NOT NULL;

-- What was found outside every window, for `freshet monitor`.
CREATE INDEX inbox_unexpected ON inbox (cand_no) WHERE unexpected = 1;
