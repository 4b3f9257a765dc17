-- 018: what was taken back and is found again.

-- A run that ends because its bytes, or its deletion, were taken back by an operator took nothing in: the
-- source does not show the newest that is found there, and health says so until something newer comes.
DROP TRIGGER inbox_ended;
CREATE TRIGGER inbox_ended AFTER UPDATE OF state ON inbox
    WHEN NEW.state IN ('done', 'dead') AND OLD.state <> NEW.state BEGIN
    UPDATE source_state SET refused = iif(NEW.result = 'failed' OR NEW.reason = 'ROLLED_BACK',
        coalesce(NEW.reason, 'FAILED'), NULL) WHERE src_no = NEW.src_no
        AND (refused IS NOT NULL OR NEW.result = 'failed' OR NEW.reason = 'ROLLED_BACK');
    UPDATE public_checks SET refused = iif(NEW.result = 'failed' OR NEW.reason = 'ROLLED_BACK',
        coalesce(NEW.reason, 'FAILED'), NULL) WHERE src_no = NEW.src_no
        AND (refused IS NOT NULL OR NEW.result = 'failed' OR NEW.reason = 'ROLLED_BACK');
END;
-- What was found again before this is known, too.
UPDATE source_state SET refused = 'ROLLED_BACK' FROM
    (SELECT src_no, max(cand_no) AS no FROM inbox WHERE state IN ('done', 'dead') GROUP BY src_no) n
    JOIN inbox c ON c.cand_no = n.no WHERE source_state.src_no = n.src_no AND c.reason = 'ROLLED_BACK'
    AND EXISTS (SELECT 1 FROM blocks b WHERE b.src_no = n.src_no AND b.lifted_at IS NULL);
UPDATE public_checks SET refused = 'ROLLED_BACK' WHERE src_no IN
    (SELECT src_no FROM source_state WHERE refused = 'ROLLED_BACK');
