-- 005: what the policy decided, who let something pass, and who asked to show more.

-- Who declared the source, where it is known: nobody reviews changes of their own declaration.
ALTER TABLE sources ADD COLUMN declared_by TEXT;

-- One row per decision of the gate: a run that was held has two. Append-only.
CREATE TABLE decisions (
    decision_no    INTEGER PRIMARY KEY,
    run_id         TEXT NOT NULL REFERENCES ledger,
    policy_version TEXT NOT NULL,
    verdict        TEXT NOT NULL CHECK (verdict IN ('allow', 'hold', 'deny')),
    reason         TEXT NOT NULL, -- '' when allowed
    doc            TEXT NOT NULL, -- every policy with its outcome, and the waivers that counted
    at             INTEGER NOT NULL
) STRICT;
CREATE INDEX decisions_run ON decisions (run_id);
CREATE INDEX approvals_run ON approvals (run_id);
CREATE INDEX waivers_source ON waivers (src_no);

-- A waiver ends by its date or by this.
CREATE TABLE waiver_revocations (
    waiver_no INTEGER PRIMARY KEY REFERENCES waivers,
    by        TEXT NOT NULL,
    note      TEXT NOT NULL,
    at        INTEGER NOT NULL
) STRICT;

-- To lower the level of a source is to show what was withheld: one person asks, another decides, and
-- a writer carries it out.
CREATE TABLE level_requests (
    request_no  INTEGER PRIMARY KEY,
    request_id  TEXT NOT NULL UNIQUE,
    src_no      INTEGER NOT NULL REFERENCES sources,
    old         TEXT NOT NULL,
    new         TEXT NOT NULL,
    asked_by    TEXT NOT NULL,
    note        TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    decision    TEXT CHECK (decision IN ('approve', 'reject', 'superseded')),
    reviewer    TEXT CHECK (reviewer <> asked_by),
    review_note TEXT,
    decided_at  INTEGER,
    applied_at  INTEGER
) STRICT;
CREATE INDEX level_requests_open ON level_requests (src_no) WHERE decision IS NULL;
CREATE INDEX level_requests_decided ON level_requests (request_no)
    WHERE decision = 'approve' AND applied_at IS NULL;

CREATE TRIGGER decisions_append_u BEFORE UPDATE ON decisions BEGIN SELECT RAISE (ABORT, 'append-only'); END;
CREATE TRIGGER decisions_append_d BEFORE DELETE ON decisions BEGIN SELECT RAISE (ABORT, 'append-only'); END;
CREATE TRIGGER revocations_append_u BEFORE UPDATE ON waiver_revocations BEGIN SELECT RAISE (ABORT, 'append-only'); END;
CREATE TRIGGER revocations_append_d BEFORE DELETE ON waiver_revocations BEGIN SELECT RAISE (ABORT, 'append-only'); END;
CREATE TRIGGER level_requests_stay BEFORE DELETE ON level_requests BEGIN SELECT RAISE (ABORT, 'append-only'); END;
-- Decided once; only that it was carried out is added later.
CREATE TRIGGER level_requests_once BEFORE UPDATE ON level_requests
WHEN OLD.applied_at IS NOT NULL OR (OLD.decision IS NOT NULL AND (OLD.decision, OLD.reviewer, OLD.review_note,
    OLD.decided_at) IS NOT (NEW.decision, NEW.reviewer, NEW.review_note, NEW.decided_at))
    OR (OLD.request_id, OLD.src_no, OLD.old, OLD.new, OLD.asked_by, OLD.note, OLD.created_at) IS NOT
    (NEW.request_id, NEW.src_no, NEW.old, NEW.new, NEW.asked_by, NEW.note, NEW.created_at)
BEGIN SELECT RAISE (ABORT, 'append-only'); END;
