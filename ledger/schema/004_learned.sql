-- What checks learned of a source, beside head_refused and etag_flaps.

-- Last-Modified is no date of the bytes: ahead of its server's clock, before the web, or the same
-- when the bytes moved. It is stored as given, but not sent.
ALTER TABLE source_state ADD COLUMN date_doubted INTEGER NOT NULL DEFAULT 0;
