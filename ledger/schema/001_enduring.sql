-- 001: the enduring tables. What is here is the truth; the public_* tables of 002 can be rebuilt
-- from it. Times are INTEGER milliseconds UTC, digests 32-byte BLOBs, documents JSON text.

-- A source is its declaration: `spec` is the canonical JSON of all its fields; the columns repeat
-- what queries need of it. (Generated columns would say so better, but SQLite refuses its JSON
-- functions in a schema that is not trusted.) source.c writes both from one struct.
CREATE TABLE sources (
    src_no      INTEGER PRIMARY KEY,
    spec        TEXT NOT NULL,
    id          TEXT NOT NULL,
    url         TEXT NOT NULL,
    detector    TEXT NOT NULL,
    collection  TEXT NOT NULL,
    sensitivity TEXT NOT NULL
                CHECK (sensitivity IN ('public', 'generalized', 'restricted', 'sovereign')),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    retired_at  INTEGER
) STRICT;
CREATE UNIQUE INDEX sources_id ON sources (id);
CREATE INDEX sources_url ON sources (url);

-- What the last checks taught us: validators exactly as received, clocks, health.
CREATE TABLE source_state (
    src_no          INTEGER PRIMARY KEY REFERENCES sources,
    etag            TEXT,    -- raw, of the last response that carried the bytes of seen_sha
    last_modified   TEXT,    -- raw
    validator_url   TEXT,    -- final URL that gave them
    seen_sha        BLOB CHECK (length(seen_sha) = 32), -- newest bytes handed to the inbox
    seen_size       INTEGER,
    head_refused    INTEGER NOT NULL DEFAULT 0, -- learned: HEAD does not work, use conditional GET
    etag_flaps      INTEGER NOT NULL DEFAULT 0, -- validator moved, bytes did not, this often in a row
    checks          INTEGER NOT NULL DEFAULT 0,
    since_audit     INTEGER NOT NULL DEFAULT 0, -- checks since bytes were last digested
    last_outcome    TEXT,
    last_detail     TEXT,
    checked_at      INTEGER, -- last attempt
    reached_at      INTEGER, -- last answer that was no failure
    verified_at     INTEGER, -- last time the bytes were digested
    changed_at      INTEGER,
    failures        INTEGER NOT NULL DEFAULT 0, -- consecutive
    gone_count      INTEGER NOT NULL DEFAULT 0,
    gone_since      INTEGER,
    interval_s      INTEGER, -- adaptive interval in force
    next_check_at   INTEGER  -- NULL: never by itself (manual, push or retired)
) STRICT;
-- The due query touches only due rows.
CREATE INDEX source_due ON source_state (next_check_at) WHERE next_check_at IS NOT NULL;

-- One receipt per attempt, also when nothing was new.
CREATE TABLE checks (
    check_no    INTEGER PRIMARY KEY,
    src_no      INTEGER NOT NULL REFERENCES sources,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL,
    outcome     TEXT NOT NULL,
    detail      TEXT NOT NULL,
    http        INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    bytes_in    INTEGER NOT NULL,
    bytes_saved INTEGER NOT NULL,
    due_because TEXT NOT NULL,
    request_no  INTEGER REFERENCES requests
) STRICT;
CREATE INDEX checks_source ON checks (src_no, check_no);

-- What admins asked for: intake writes the row, the scheduler works it off.
CREATE TABLE requests (
    request_no  INTEGER PRIMARY KEY,
    request_id  TEXT NOT NULL UNIQUE,
    kind        TEXT NOT NULL CHECK (kind IN ('check')),
    body        TEXT NOT NULL,
    token_no    INTEGER NOT NULL REFERENCES tokens,
    state       TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'running', 'done', 'failed')),
    total       INTEGER NOT NULL DEFAULT 0,
    done        INTEGER NOT NULL DEFAULT 0,
    outcomes    TEXT NOT NULL DEFAULT '{}',
    detail      TEXT,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;
CREATE INDEX requests_open ON requests (request_no) WHERE state IN ('open', 'running');

-- Candidates on their way to the handler.
CREATE TABLE inbox (
    cand_no         INTEGER PRIMARY KEY,
    event_id        TEXT NOT NULL UNIQUE,
    src_no          INTEGER NOT NULL REFERENCES sources,
    detector        TEXT NOT NULL,
    outcome         TEXT NOT NULL,  -- what the detector claims: new, changed, silent_change, gone
    version_hint    TEXT NOT NULL,  -- hex digest when the detector saw the bytes, else validator
    sha             BLOB CHECK (sha IS NULL OR length(sha) = 32),
    etag            TEXT,
    detected_at     INTEGER NOT NULL,
    received_at     INTEGER NOT NULL,
    unexpected      INTEGER NOT NULL DEFAULT 0,
    absorbed        INTEGER NOT NULL DEFAULT 0, -- duplicates this one stands for
    state           TEXT NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'leased', 'held', 'done', 'dead')),
    lease_owner     TEXT,
    lease_token     INTEGER NOT NULL DEFAULT 0, -- fencing: grows with every lease
    lease_until     INTEGER,
    attempts        INTEGER NOT NULL DEFAULT 0,
    next_attempt_at INTEGER NOT NULL,
    result          TEXT CHECK (result IN ('promoted', 'noop', 'failed', 'rejected')),
    reason          TEXT,
    request_no      INTEGER REFERENCES requests,
    done_at         INTEGER
) STRICT;
-- Open candidates of a source, in order: the newest one absorbs a duplicate, the oldest runs first.
CREATE INDEX inbox_open ON inbox (src_no, cand_no) WHERE state IN ('ready', 'leased');
CREATE INDEX inbox_ready ON inbox (next_attempt_at, cand_no) WHERE state = 'ready';
CREATE INDEX inbox_held ON inbox (src_no) WHERE state = 'held';
-- One running job per source (a hard rule, not a courtesy).
CREATE UNIQUE INDEX inbox_one_running ON inbox (src_no) WHERE state = 'leased';

-- One execution of the handler over one candidate.
CREATE TABLE runs (
    run_id         TEXT PRIMARY KEY, -- UUIDv7
    started_at     INTEGER NOT NULL,
    ended_at       INTEGER,
    tool_version   TEXT NOT NULL,
    tool_commit    TEXT NOT NULL,
    rules_version  TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    qa             TEXT,       -- the validation report
    entry          TEXT  -- the whole, unredacted feed entry
) STRICT, WITHOUT ROWID;

-- The idempotency record: one row per run, its status moves only along status_moves (I7).
CREATE TABLE ledger (
    run_id        TEXT PRIMARY KEY REFERENCES runs,
    src_no        INTEGER NOT NULL REFERENCES sources,
    cand_no       INTEGER NOT NULL REFERENCES inbox,
    event_id      TEXT NOT NULL,
    status        TEXT NOT NULL REFERENCES statuses (status),
    -- sha256(source id, version, digest): the identity of an effect. At most one is finalized.
    idem_key      BLOB CHECK (idem_key IS NULL OR length(idem_key) = 32),
    version       INTEGER,           -- of the head that this run made, 1, 2, ...
    prev_sha      BLOB,
    sha           BLOB,
    change_type   TEXT,
    change_class  TEXT,
    delta_id      TEXT,
    fin_no        INTEGER UNIQUE,    -- order of finalization, over all sources
    public_seq    INTEGER UNIQUE,    -- its place in the public feed; kept when projections are rebuilt
    reason        TEXT,
    reverted_by   TEXT REFERENCES ledger (run_id),
    pending_at    INTEGER NOT NULL,
    moved_at      INTEGER NOT NULL,  -- last status move
    finalized_at  INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_candidate ON ledger (cand_no);
CREATE INDEX ledger_event ON ledger (event_id);
CREATE INDEX ledger_order ON ledger (fin_no) WHERE fin_no IS NOT NULL;
CREATE UNIQUE INDEX ledger_effect ON ledger (idem_key) WHERE status = 'finalized';
CREATE UNIQUE INDEX ledger_version ON ledger (src_no, version) WHERE status = 'finalized';

CREATE TABLE statuses (status TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO statuses VALUES ('pending'), ('fetched'), ('validated'), ('held'), ('staged'),
    ('promoted'), ('finalized'), ('failed'), ('rolled_back');
CREATE TABLE status_moves (
    old TEXT NOT NULL REFERENCES statuses,
    new TEXT NOT NULL REFERENCES statuses,
    PRIMARY KEY (old, new)
) STRICT, WITHOUT ROWID;
INSERT INTO status_moves VALUES
    ('pending', 'fetched'), ('fetched', 'validated'), ('validated', 'staged'), ('staged', 'promoted'),
    ('promoted', 'finalized'), ('validated', 'held'), ('held', 'validated'),
    ('pending', 'failed'), ('fetched', 'failed'), ('validated', 'failed'), ('held', 'failed'),
    ('staged', 'failed'), ('promoted', 'failed'), ('failed', 'rolled_back');
CREATE TRIGGER ledger_starts_pending BEFORE INSERT ON ledger WHEN NEW.status <> 'pending'
BEGIN SELECT RAISE (ABORT, 'a ledger row starts as pending'); END;
CREATE TRIGGER ledger_moves BEFORE UPDATE OF status ON ledger
WHEN NOT EXISTS (SELECT 1 FROM status_moves WHERE old = OLD.status AND new = NEW.status)
BEGIN SELECT RAISE (ABORT, 'illegal status move'); END;
CREATE TRIGGER ledger_stays BEFORE DELETE ON ledger
BEGIN SELECT RAISE (ABORT, 'ledger rows are never deleted'); END;

-- Bytes on disk. The same bytes may lie in both tiers when two sources carry them.
CREATE TABLE artifacts (
    sha        BLOB NOT NULL CHECK (length(sha) = 32),
    tier       TEXT NOT NULL CHECK (tier IN ('public', 'restricted')),
    size       INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (sha, tier)
) STRICT, WITHOUT ROWID;

-- The current artifact of a source.
CREATE TABLE heads (
    src_no      INTEGER PRIMARY KEY REFERENCES sources,
    version     INTEGER NOT NULL,
    sha         BLOB NOT NULL CHECK (length(sha) = 32),
    size        INTEGER NOT NULL,
    media_type  TEXT NOT NULL,
    run_id      TEXT NOT NULL REFERENCES ledger,
    cand_no     INTEGER NOT NULL, -- candidate that made it: an older one is late news
    promoted_at INTEGER NOT NULL,
    deleted     INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE deltas (
    delta_id TEXT PRIMARY KEY,
    run_id   TEXT NOT NULL UNIQUE REFERENCES ledger,
    src_no   INTEGER NOT NULL REFERENCES sources,
    doc      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE prov_bundles (
    run_id TEXT PRIMARY KEY REFERENCES ledger,
    doc    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE stac_items (
    item_id TEXT PRIMARY KEY,
    src_no  INTEGER NOT NULL REFERENCES sources,
    version INTEGER NOT NULL,
    run_id  TEXT NOT NULL UNIQUE REFERENCES ledger,
    doc     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Decisions of people. Append-only.
CREATE TABLE approvals (
    approval_no INTEGER PRIMARY KEY,
    event_id    TEXT NOT NULL,
    run_id      TEXT NOT NULL REFERENCES ledger,
    decision    TEXT NOT NULL CHECK (decision IN ('approve', 'reject')),
    reviewer    TEXT NOT NULL,
    note        TEXT NOT NULL,
    at          INTEGER NOT NULL
) STRICT;
CREATE TABLE waivers (
    waiver_no  INTEGER PRIMARY KEY,
    src_no     INTEGER NOT NULL REFERENCES sources,
    rule       TEXT NOT NULL,
    requester  TEXT NOT NULL,
    reviewer   TEXT NOT NULL CHECK (reviewer <> requester),
    note       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

-- Everything that came in or went out, in order, each row holding the hash of the one before (I6).
-- hash = sha256(prev, then seq, at, kind, src_no, ref, body as lines); see replay.c.
CREATE TABLE replay_log (
    seq    INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    src_no INTEGER,
    ref    TEXT NOT NULL,
    body   TEXT NOT NULL,
    prev   BLOB NOT NULL CHECK (length(prev) = 32),
    hash   BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE TRIGGER approvals_append_u BEFORE UPDATE ON approvals BEGIN SELECT RAISE (ABORT, 'append-only'); END;
CREATE TRIGGER approvals_append_d BEFORE DELETE ON approvals BEGIN SELECT RAISE (ABORT, 'append-only'); END;
CREATE TRIGGER waivers_append_u BEFORE UPDATE ON waivers BEGIN SELECT RAISE (ABORT, 'append-only'); END;
CREATE TRIGGER waivers_append_d BEFORE DELETE ON waivers BEGIN SELECT RAISE (ABORT, 'append-only'); END;
CREATE TRIGGER replay_append_u BEFORE UPDATE ON replay_log BEGIN SELECT RAISE (ABORT, 'append-only'); END;
CREATE TRIGGER replay_append_d BEFORE DELETE ON replay_log BEGIN SELECT RAISE (ABORT, 'append-only'); END;
-- INSERT OR REPLACE would delete a row without asking the delete trigger, so a taken seq is refused here.
CREATE TRIGGER replay_append_i BEFORE INSERT ON replay_log
WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM replay_log)
BEGIN SELECT RAISE (ABORT, 'append-only'); END;

-- What must still be told to the world: stream, notifications, exports.
CREATE TABLE outbox (
    out_no     INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL,
    run_id     TEXT NOT NULL REFERENCES ledger,
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    sent_at    INTEGER,
    attempts   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX outbox_open ON outbox (out_no) WHERE sent_at IS NULL;

-- Bearer tokens: their sha256 only (I12).
CREATE TABLE tokens (
    token_no   INTEGER PRIMARY KEY,
    hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    name       TEXT NOT NULL,
    scopes     TEXT NOT NULL, -- space-separated
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

-- Keys seen before (Idempotency-Key, event ids): the same key with another body is a conflict.
CREATE TABLE nonces (
    scope    TEXT NOT NULL,
    nonce    TEXT NOT NULL,
    body_sha BLOB NOT NULL CHECK (length(body_sha) = 32),
    answer   TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (scope, nonce)
) STRICT, WITHOUT ROWID;
