-- 010: how full the inbox is, and content that has more than one form in bytes.

-- Open candidates (ready or leased; what waits for a person does not count), kept by triggers: whoever asks
-- whether there is room reads one row, however many there are.
CREATE TABLE inbox_depth (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    open INTEGER NOT NULL
) STRICT;
INSERT INTO inbox_depth SELECT 1, count(*) FROM inbox WHERE state IN ('ready', 'leased');
CREATE TRIGGER inbox_came AFTER INSERT ON inbox WHEN NEW.state IN ('ready', 'leased')
BEGIN UPDATE inbox_depth SET open = open + 1; END;
CREATE TRIGGER inbox_moved AFTER UPDATE OF state ON inbox
WHEN (OLD.state IN ('ready', 'leased')) <> (NEW.state IN ('ready', 'leased'))
BEGIN UPDATE inbox_depth SET open = open + iif(NEW.state IN ('ready', 'leased'), 1, -1); END;
CREATE TRIGGER inbox_went AFTER DELETE ON inbox WHEN OLD.state IN ('ready', 'leased')
BEGIN UPDATE inbox_depth SET open = open - 1; END;
