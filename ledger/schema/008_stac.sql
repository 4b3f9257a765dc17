-- 008: what a search needs beside the rendered item. The new columns are read from the public document
-- itself, by the statement that writes it, so they can show nothing that it does not (I8).
ALTER TABLE public_items ADD COLUMN datetime TEXT NOT NULL DEFAULT '';  -- as in the item: fixed width, sorts as time
ALTER TABLE public_items ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE public_items ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE public_items ADD COLUMN west REAL; -- all four NULL without a place; the R*Tree rounds, these do not
ALTER TABLE public_items ADD COLUMN south REAL;
ALTER TABLE public_items ADD COLUMN east REAL;
ALTER TABLE public_items ADD COLUMN north REAL;

-- Links stand last in an item, without those that later versions move: they are added on reading.
UPDATE stac_items SET doc = json_set(json_remove(doc, '$.links'), '$.links',
    json((SELECT json_group_array(json(value)) FROM json_each(doc, '$.links')
          WHERE value ->> '$.rel' NOT IN ('latest-version', 'successor-version'))));
UPDATE public_items SET doc = json_set(json_remove(doc, '$.links'), '$.links',
    json((SELECT json_group_array(json(value)) FROM json_each(doc, '$.links')
          WHERE value ->> '$.rel' NOT IN ('latest-version', 'successor-version'))));
UPDATE public_items SET datetime = doc ->> '$.properties.datetime',
    version = CAST(doc ->> '$.properties.version' AS INTEGER), title = doc ->> '$.properties.title',
    west = doc ->> '$.bbox[0]', south = doc ->> '$.bbox[1]', east = doc ->> '$.bbox[2]',
    north = doc ->> '$.bbox[3]';
-- So do the extent and the links of a collection.
UPDATE public_collections SET doc = json_remove(doc, '$.extent', '$.links');

DROP INDEX public_items_collection;
CREATE INDEX public_items_collection ON public_items (collection, datetime, item_id);
CREATE INDEX public_items_datetime ON public_items (datetime, item_id);
CREATE INDEX public_items_source ON public_items (src_no, version, item_id);

-- What the items of a collection span. An item that comes widens it at once; after one went or moved the
-- row is stale, and the commit computes it anew (ledger_commit): what was withdrawn must not be told by an
-- extent.
CREATE TABLE public_extents (
    collection TEXT PRIMARY KEY,
    items      INTEGER NOT NULL,
    first      TEXT NOT NULL, -- datetime
    last       TEXT NOT NULL,
    west       REAL,
    south      REAL,
    east       REAL,
    north      REAL,
    at         INTEGER NOT NULL, -- of the newest item
    stale      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX public_extents_stale ON public_extents (collection) WHERE stale = 1;
INSERT INTO public_extents SELECT collection, count(*), min(datetime), max(datetime), min(west), min(south),
    max(east), max(north), max(at), 0 FROM public_items GROUP BY collection;

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
