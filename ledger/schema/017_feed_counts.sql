-- 017: how many entries of the feed there are, by blocks of their numbers. Numbers are dense when they are
-- given, but what is withdrawn leaves a gap: how many are left cannot be a subtraction, and counting a
-- million of rows is too much. A sum of blocks of 4096, of 64, and the rows of one block of 64 is neither.
CREATE TABLE public_change_counts (
    bits  INTEGER NOT NULL, -- 6 or 12: the block is seq >> bits
    block INTEGER NOT NULL,
    n     INTEGER NOT NULL,
    PRIMARY KEY (bits, block)
) STRICT, WITHOUT ROWID;
INSERT INTO public_change_counts SELECT 6, seq >> 6, count(*) FROM public_changes GROUP BY seq >> 6;
INSERT INTO public_change_counts SELECT 12, seq >> 12, count(*) FROM public_changes GROUP BY seq >> 12;
-- A row that is written again is no insert. seq never changes.
CREATE TRIGGER public_changes_came AFTER INSERT ON public_changes BEGIN
    INSERT INTO public_change_counts VALUES (6, new.seq >> 6, 1), (12, new.seq >> 12, 1)
    ON CONFLICT (bits, block) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER public_changes_went AFTER DELETE ON public_changes BEGIN
    UPDATE public_change_counts SET n = n - 1
    WHERE (bits = 6 AND block = old.seq >> 6) OR (bits = 12 AND block = old.seq >> 12);
    DELETE FROM public_change_counts WHERE n = 0
    AND ((bits = 6 AND block = old.seq >> 6) OR (bits = 12 AND block = old.seq >> 12));
END;
