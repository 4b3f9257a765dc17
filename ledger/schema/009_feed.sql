-- 009: what the feed is filtered by, and the runs of a source in order.

-- The document stands last: a filter reads the narrow columns before it, not the pages it fills. What a
-- level withholds is '' or NULL, and no filter matches it.
ALTER TABLE public_changes RENAME TO public_changes_002;
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
    gen          INTEGER NOT NULL,
    unexpected   INTEGER,
    west         REAL,             -- of the box that the entry shows
    south        REAL,
    east         REAL,
    north        REAL,
    doc          TEXT NOT NULL
) STRICT;
INSERT INTO public_changes SELECT seq, event_id, src_no, source_id, collection, change_type, change_class,
    detector, finalized_at, gen, doc ->> '$.unexpected', CAST(doc ->> '$.bbox[0]' AS REAL),
    CAST(doc ->> '$.bbox[1]' AS REAL), CAST(doc ->> '$.bbox[2]' AS REAL), CAST(doc ->> '$.bbox[3]' AS REAL),
    doc FROM public_changes_002;
DROP TABLE public_changes_002;
CREATE INDEX public_changes_source ON public_changes (source_id, seq);
CREATE INDEX public_changes_collection ON public_changes (collection, seq);

-- The provenance of a source as one chain.
CREATE INDEX public_prov_source ON public_prov (src_no, run_id);
