-- 011: how full the inbox is, and content that has more than one form in bytes.

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

-- Bytes that say the same as the head's, written otherwise, as a handler found by reading them (BYTE_ONLY):
-- they are not read again while that head stands. A handful per source (ledger/twin.c).
CREATE TABLE twins (
    src_no   INTEGER NOT NULL REFERENCES sources,
    sha      BLOB NOT NULL CHECK (length(sha) = 32),
    head_sha BLOB NOT NULL CHECK (length(head_sha) = 32),
    at       INTEGER NOT NULL,
    PRIMARY KEY (src_no, sha)
) STRICT, WITHOUT ROWID;
-- What the upstream sent before seen_sha, with its validators. same: a handler found both to say the same, so
-- an upstream that turns from one to the other and back has nothing new.
ALTER TABLE source_state ADD COLUMN other_sha BLOB CHECK (other_sha IS NULL OR length(other_sha) = 32);
ALTER TABLE source_state ADD COLUMN other_size INTEGER;
ALTER TABLE source_state ADD COLUMN other_etag TEXT;
ALTER TABLE source_state ADD COLUMN other_last_modified TEXT;
ALTER TABLE source_state ADD COLUMN other_same INTEGER NOT NULL DEFAULT 0;
-- What says the same depends on the declaration (feature_key, precision_m).
CREATE TRIGGER sources_redeclared AFTER UPDATE OF spec ON sources WHEN OLD.spec <> NEW.spec BEGIN
    DELETE FROM twins WHERE src_no = NEW.src_no;
    UPDATE source_state SET other_same = 0 WHERE src_no = NEW.src_no AND other_same = 1;
END;

-- Noise avoided, by day and since the beginning; the latter for /metrics, without withheld sources (I8).
CREATE TABLE noise_days (
    day  INTEGER NOT NULL,
    kind TEXT NOT NULL, -- ledger/twin.h
    n    INTEGER NOT NULL,
    PRIMARY KEY (day, kind)
) STRICT, WITHOUT ROWID;
CREATE TABLE public_noise (
    kind TEXT PRIMARY KEY,
    n    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO public_noise VALUES ('byte_only', 0), ('known_form', 0);
