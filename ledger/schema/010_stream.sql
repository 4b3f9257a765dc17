-- 010: sources whose upstream tells by itself, over a connection that is held open (detector sse).

-- How it stands with the stream of a source. No row: nobody has tried yet.
CREATE TABLE streams (
    src_no INTEGER PRIMARY KEY REFERENCES sources,
    up     INTEGER NOT NULL CHECK (up IN (0, 1)),
    at     INTEGER NOT NULL, -- since when
    note   TEXT NOT NULL     -- why it is down
) STRICT;
-- Those that want one are few, and asked for every few seconds.
CREATE INDEX sources_streams ON sources (src_no) WHERE detector = 'sse' AND retired_at IS NULL;

-- Since when it is down, for the health that is shown; NULL while it is up, or where there is none.
ALTER TABLE public_checks ADD COLUMN stream_down_at INTEGER;
