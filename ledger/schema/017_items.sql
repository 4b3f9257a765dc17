-- 017: the document of an item stands last, as that of a change does (009): a search reads the narrow columns
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

-- As in 008. They stood at the old table, so the copy above did not touch the sums.
CREATE TRIGGER public_items_came AFTER INSERT ON public_items BEGIN
    INSERT INTO public_extents VALUES (new.collection, 1, new.datetime, new.datetime, new.west, new.south,
        new.east, new.north, new.at, 0)
    ON CONFLICT (collection) DO UPDATE SET items = items + 1, first = min(first, excluded.first),
        last = max(last, excluded.last), at = max(at, excluded.at),
        west = min(coalesce(west, excluded.west), coalesce(excluded.west, west)),
        south = min(coalesce(south, excluded.south), coalesce(excluded.south, south)),
        east = max(coalesce(east, excluded.east), coalesce(excluded.east, east)),
        north = max(coalesce(north, excluded.north), coalesce(excluded.north, north));
END;
CREATE TRIGGER public_items_went AFTER DELETE ON public_items BEGIN
    UPDATE public_extents SET stale = 1 WHERE collection = old.collection;
END;
CREATE TRIGGER public_items_moved AFTER UPDATE OF collection, at, datetime, west ON public_items BEGIN
    INSERT INTO public_extents VALUES (new.collection, 0, '', '', NULL, NULL, NULL, NULL, 0, 1)
    ON CONFLICT (collection) DO UPDATE SET stale = 1;
    UPDATE public_extents SET stale = 1 WHERE collection = old.collection;
END;
