-- 014: the document of an item stands last, as that of a change does (009): a search reads the narrow columns
-- before it, not the pages it fills, and the document itself only for the rows of its page.
ALTER TABLE public_items RENAME TO public_items_008;
CREATE TABLE public_items (
    item_no    INTEGER PRIMARY KEY,
    item_id    TEXT NOT NULL UNIQUE,
    src_no     INTEGER NOT NULL,
    collection TEXT NOT NULL,
    datetime   TEXT NOT NULL DEFAULT '', -- as in the item: fixed width, sorts as time
    version    INTEGER NOT NULL DEFAULT 0,
    title      TEXT NOT NULL DEFAULT '',
    west       REAL,                     -- all four NULL without a place; the R*Tree rounds, these do not
    south      REAL,
    east       REAL,
    north      REAL,
    at         INTEGER NOT NULL,
    gen        INTEGER NOT NULL,
    doc        TEXT NOT NULL
) STRICT;
INSERT INTO public_items SELECT item_no, item_id, src_no, collection, datetime, version, title, west, south,
    east, north, at, gen, doc FROM public_items_008;
DROP TABLE public_items_008; -- with its indexes and triggers
CREATE INDEX public_items_collection ON public_items (collection, datetime, item_id);
CREATE INDEX public_items_datetime ON public_items (datetime, item_id);
CREATE INDEX public_items_source ON public_items (src_no, version, item_id);

-- The newest item of each source: every item links to it, so it is one lookup by number instead of a search.
CREATE TABLE public_heads (
    src_no  INTEGER PRIMARY KEY,
    item_id TEXT NOT NULL,
    version INTEGER NOT NULL
) STRICT;
INSERT OR REPLACE INTO public_heads SELECT src_no, item_id, version FROM public_items ORDER BY src_no, version;

-- As in 008, and the heads. They stood at the old table, so the copy above did not touch the sums. No OR IGNORE:
-- within a trigger the rule of the statement that fired it would count.
CREATE TRIGGER public_items_came AFTER INSERT ON public_items BEGIN
    INSERT INTO public_extents VALUES (new.collection, 1, new.datetime, new.datetime, new.west, new.south,
        new.east, new.north, new.at, 0)
    ON CONFLICT (collection) DO UPDATE SET items = items + 1, first = min(first, excluded.first),
        last = max(last, excluded.last), at = max(at, excluded.at),
        west = min(coalesce(west, excluded.west), coalesce(excluded.west, west)),
        south = min(coalesce(south, excluded.south), coalesce(excluded.south, south)),
        east = max(coalesce(east, excluded.east), coalesce(excluded.east, east)),
        north = max(coalesce(north, excluded.north), coalesce(excluded.north, north));
    INSERT INTO public_heads VALUES (new.src_no, new.item_id, new.version)
    ON CONFLICT (src_no) DO UPDATE SET item_id = excluded.item_id, version = excluded.version
        WHERE excluded.version > version;
END;
CREATE TRIGGER public_items_went AFTER DELETE ON public_items BEGIN
    UPDATE public_extents SET stale = 1 WHERE collection = old.collection;
    DELETE FROM public_heads WHERE src_no = old.src_no AND item_id = old.item_id;
    INSERT INTO public_heads SELECT src_no, item_id, version FROM public_items WHERE src_no = old.src_no
        AND NOT EXISTS (SELECT 1 FROM public_heads h WHERE h.src_no = old.src_no) ORDER BY version DESC LIMIT 1;
END;
CREATE TRIGGER public_items_moved AFTER UPDATE OF collection, at, datetime, west ON public_items BEGIN
    INSERT INTO public_extents VALUES (new.collection, 0, '', '', NULL, NULL, NULL, NULL, 0, 1)
    ON CONFLICT (collection) DO UPDATE SET stale = 1;
    UPDATE public_extents SET stale = 1 WHERE collection = old.collection;
END;
CREATE TRIGGER public_items_renumbered AFTER UPDATE OF src_no, version ON public_items BEGIN
    DELETE FROM public_heads WHERE src_no IN (old.src_no, new.src_no);
    INSERT INTO public_heads SELECT src_no, item_id, version FROM public_items WHERE src_no = old.src_no
        AND NOT EXISTS (SELECT 1 FROM public_heads h WHERE h.src_no = old.src_no) ORDER BY version DESC LIMIT 1;
    INSERT INTO public_heads SELECT src_no, item_id, version FROM public_items WHERE src_no = new.src_no
        AND NOT EXISTS (SELECT 1 FROM public_heads h WHERE h.src_no = new.src_no) ORDER BY version DESC LIMIT 1;
END;
