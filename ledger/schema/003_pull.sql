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

-- Health (ledger/health.h). When the bytes were last digested is public like the other clocks. The
-- indexes hold the sources in trouble only, or move only when bytes were read: a check that found
-- nothing new writes none of them, and /metrics counts a million sources without reading their rows.
ALTER TABLE public_freshness ADD COLUMN verified_at INTEGER;
UPDATE public_freshness SET verified_at =
    (SELECT verified_at FROM source_state s WHERE s.src_no = public_freshness.src_no)
    WHERE level <> 'restricted';
-- Each holds the columns that its condition names, so that counting needs the index alone.
CREATE INDEX public_fresh_failing ON public_freshness (last_outcome, failures, retired, level)
    WHERE failures > 0 AND retired = 0 AND level <> 'restricted';
CREATE INDEX public_fresh_unchecked ON public_freshness (checked_at, retired, level)
    WHERE checked_at IS NULL AND retired = 0 AND level <> 'restricted';
CREATE INDEX public_fresh_verified ON public_freshness (verified_at)
    WHERE retired = 0 AND level <> 'restricted';
CREATE INDEX public_fresh_unverified ON public_freshness (verified_at, checked_at)
    WHERE verified_at IS NULL AND checked_at IS NOT NULL AND retired = 0 AND level <> 'restricted';
CREATE INDEX public_fresh_apart ON public_freshness (retired, level)
    WHERE retired <> 0 OR level = 'restricted';
-- Withheld sources are in none of these; they are few, and looked through one by one.
CREATE INDEX sources_withheld ON sources (src_no) WHERE sensitivity IN ('restricted', 'sovereign');

-- What was found outside every window, for `freshet monitor`.
CREATE INDEX inbox_unexpected ON inbox (cand_no) WHERE unexpected = 1;
