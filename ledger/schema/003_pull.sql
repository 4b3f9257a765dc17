-- 003: pull detection. Sources that belong to a parent, cursors, and tallies of checks.

-- An entry of a listing, or a vintage of a URL with {year}, is a source of its own under the source
-- that names it. `entry` is its key in the listing, or the year.
ALTER TABLE sources ADD COLUMN parent_no INTEGER REFERENCES sources;
ALTER TABLE sources ADD COLUMN entry TEXT;
CREATE UNIQUE INDEX sources_entry ON sources (parent_no, entry) WHERE parent_no IS NOT NULL;

-- When a source was found to be gone upstream: what the badge must say then.
ALTER TABLE public_freshness ADD COLUMN removed_at INTEGER;

-- Has a collection another source? Asked when one is hidden, and a parent is hidden with its children.
CREATE INDEX public_sources_collection ON public_sources (collection);

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
