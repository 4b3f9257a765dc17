-- 003: pull detection. Sources that belong to a parent, cursors, and tallies of checks.

-- An entry of a listing, or a vintage of a URL with {year}, is a source of its own under the source
-- that names it. `entry` is its key in the listing, or the year.
ALTER TABLE sources ADD COLUMN parent_no INTEGER REFERENCES sources;
ALTER TABLE sources ADD COLUMN entry TEXT;
CREATE UNIQUE INDEX sources_entry ON sources (parent_no, entry) WHERE parent_no IS NOT NULL;

-- How far a detector has come that reads more than validators: the value of a probe, the newest
-- vintage. Kept with the candidate it came with (I3).
ALTER TABLE source_state ADD COLUMN cursor TEXT;
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
    gen           INTEGER NOT NULL
) STRICT;
INSERT INTO public_checks SELECT src_no, checked_at, reached_at, failures, next_check_at, last_outcome, gen
    FROM public_freshness WHERE level <> 'restricted';

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
    gen            INTEGER NOT NULL
) STRICT;
INSERT INTO public_freshness SELECT source_id, src_no, title, collection, level, held, retired, freshness_days,
    updated_at, window, run_id, identity, delta_id, qa_status, qa_note, gen FROM public_freshness_002;
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
