-- 016: everybody who had a hand in a declaration, with the last time: nobody reviews changes of their own.

CREATE TABLE source_authors (
    src_no INTEGER NOT NULL REFERENCES sources,
    by     TEXT NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (src_no, by)
) STRICT, WITHOUT ROWID;
INSERT INTO source_authors SELECT src_no, declared_by, updated_at FROM sources WHERE declared_by IS NOT NULL;
