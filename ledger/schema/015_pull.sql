-- 015: pull detection. What a check may overwrite, and what it remembers beside its sources.

-- How often the state of a source was written, by checks, declarations, rollbacks and others. A check
-- writes what it found only when that is as it was when it was read (ledger/check.h).
ALTER TABLE source_state ADD COLUMN writes INTEGER NOT NULL DEFAULT 0;

-- What the bytes of seen_sha were like (detectors/shape.h): "json", "geojson", "zip"... An answer of another
-- kind is an error page, until a person accepts it.
ALTER TABLE source_state ADD COLUMN seen_shape TEXT;

-- Why the newest that was found of a source was not taken in (a reason code of the run); NULL when it was, or
-- needed nothing, or a person rejected it. Whatever ends a candidate moves it: what a detector calls news
-- and the handler refuses must not read as health.
ALTER TABLE source_state ADD COLUMN refused TEXT;
ALTER TABLE public_checks ADD COLUMN refused TEXT;
CREATE TRIGGER inbox_ended AFTER UPDATE OF state ON inbox
    WHEN NEW.state IN ('done', 'dead') AND OLD.state <> NEW.state BEGIN
    UPDATE source_state SET refused = iif(NEW.result = 'failed', coalesce(NEW.reason, 'FAILED'), NULL)
        WHERE src_no = NEW.src_no AND (refused IS NOT NULL OR NEW.result = 'failed');
    UPDATE public_checks SET refused = iif(NEW.result = 'failed', coalesce(NEW.reason, 'FAILED'), NULL)
        WHERE src_no = NEW.src_no AND (refused IS NOT NULL OR NEW.result = 'failed');
END;
CREATE INDEX source_refused ON source_state (src_no) WHERE refused IS NOT NULL;
CREATE INDEX public_checks_refused ON public_checks (failures, retired, checked_at) WHERE refused IS NOT NULL;
-- What was refused before this is known, too.
UPDATE source_state SET refused = coalesce(c.reason, 'FAILED') FROM
    (SELECT src_no, max(cand_no) AS no FROM inbox WHERE state IN ('done', 'dead') GROUP BY src_no) n
    JOIN inbox c ON c.cand_no = n.no WHERE source_state.src_no = n.src_no AND c.result = 'failed';
UPDATE public_checks SET refused = (SELECT refused FROM source_state s WHERE s.src_no = public_checks.src_no)
    WHERE src_no IN (SELECT src_no FROM source_state WHERE refused IS NOT NULL);

-- Hosts that asked to be left alone (Retry-After), so that the next process knows.
CREATE TABLE host_pauses (
    host  TEXT PRIMARY KEY, -- host:port
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
