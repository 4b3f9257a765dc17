-- 018: pull detection. What a check may overwrite, and what it remembers beside its sources.

-- How often the state of a source was written, by checks, declarations, rollbacks and others. A check
-- writes what it found only when that is as it was when it was read (ledger/check.h).
ALTER TABLE source_state ADD COLUMN writes INTEGER NOT NULL DEFAULT 0;

-- What the bytes of seen_sha were like (detectors/shape.h): "json", "geojson", "zip"... An answer of another
-- kind is an error page, until a person accepts it.
ALTER TABLE source_state ADD COLUMN seen_shape TEXT;
