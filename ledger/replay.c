/* replay: the append-only, hash-chained log of all that came in or went out (I6).
 * The digest of a row covers everything in it and, through prev, everything before it. */
#include "ledger/replay.h"

#include "core/json.h"
#include "ledger/query.h"

enum rc replay_hash(struct ledger *l, const struct replay_row *r, struct sha256 *ret,
                    struct err *err)
{
    struct buf b;
    buf_init(&b, JSON_MAX);
    buf_add(&b, r->prev.b, sizeof r->prev.b);
    buf_printf(&b, "%lld\n%lld\n%.*s\n%lld\n", (long long)r->seq, (long long)r->at,
               STR_FMT(r->kind), (long long)r->src_no);
    buf_str(&b, r->ref);
    buf_byte(&b, '\n');
    buf_str(&b, r->body);
    enum rc rc = buf_rc(&b);
    if (rc == RC_OK)
        l->hash(b.data, b.len, ret);
    else
        err_set(err, rc, "", "a replay row is too large");
    buf_release(&b);
    return rc;
}

/* Nobody else appends while our transaction is open, so its first look holds to its end. */
static enum rc read_tip(struct ledger *l, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(ledger_need_tx(l, err));
    if (l->replay_seq >= 0)
        return RC_OK;
    TRY(query_open(l, Q_REPLAY_TIP, &q, err, ""));
    enum rc rc = query_next(l, &q, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    l->replay_hash = (struct sha256){0};
    if (rc == RC_OK)
        col_sha(&q, 1, &l->replay_hash);
    l->replay_seq = rc == RC_OK ? col_i64(&q, 0) : 0;
    return RC_OK;
}

/* A replay may write the rows of its log and no other, each in its turn. */
static enum rc follow_script(struct ledger *l, struct replay_row *r, struct err *err)
{
    const struct replay_row *want = l->script;
    if (l->scripted || want->seq != l->replay_seq + 1 || !str_eq(want->kind, r->kind) ||
        want->src_no != r->src_no || !str_eq(want->ref, r->ref) || !str_eq(want->body, r->body))
        return err_set(err, RC_CORRUPT, "log",
                       "row %lld of the log is %.*s, but replaying it gave %.*s: %.*s",
                       (long long)want->seq, STR_FMT(want->kind), STR_FMT(r->kind),
                       (int)(r->body.n < 200 ? r->body.n : 200), r->body.p);
    r->at = want->at;
    l->scripted = true;
    return RC_OK;
}

enum rc replay_append(struct ledger *l, int64_t now, const char *kind, int64_t src_no,
                      const char *ref, struct str body, struct err *err)
{
    struct replay_row r = {
        .at = now, .kind = str_of(kind), .src_no = src_no, .ref = str_of(ref), .body = body};
    TRY(read_tip(l, err));
    if (l->script)
        TRY(follow_script(l, &r, err));
    r.seq = l->replay_seq + 1;
    r.prev = l->replay_hash;
    TRY(replay_hash(l, &r, &r.hash, err));
    TRY(query_run(l, Q_REPLAY_ADD, err, "iitmsshh", r.seq, r.at, kind, src_no ? src_no : -1, r.ref,
                  r.body, &r.prev, &r.hash));
    l->replay_seq = r.seq;
    l->replay_hash = r.hash;
    return RC_OK;
}

enum rc replay_each(struct ledger *l, replay_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_REPLAY_ALL, &q, err, ""));
    enum rc rc;
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct replay_row r = {.seq = col_i64(&q, 0),
                               .at = col_i64(&q, 1),
                               .kind = col_view(&q, 2),
                               .src_no = col_i64(&q, 3),
                               .ref = col_view(&q, 4),
                               .body = col_view(&q, 5)};
        col_sha(&q, 6, &r.prev);
        col_sha(&q, 7, &r.hash);
        TRY(fn(ctx, &r, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* ---- replaying ------------------------------------------------------------------------------- */

void replay_script(struct ledger *l, const struct replay_row *r)
{
    l->script = r;
    l->scripted = false;
}

bool replay_scripted(const struct ledger *l)
{
    return l->scripted;
}

enum rc replay_has(struct ledger *l, const struct replay_row *r, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct sha256 hash;
    TRY(query_open(l, Q_REPLAY_ROW, &q, err, "i", r->seq));
    TRY(query_next(l, &q, err));
    col_sha(&q, 0, &hash);
    if (!sha256_eq(&hash, &r->hash))
        return err_set(err, RC_CONFLICT, "log",
                       "row %lld of the ledger is not that of the log: it is another ledger's",
                       (long long)r->seq);
    return RC_OK;
}

enum rc replay_stands(struct ledger *l, const char *run_id, const struct sha256 *sha, bool *ret,
                      struct err *err)
{
    int64_t one;
    enum rc rc = query_i64(l, Q_REPLAY_EFFECT, &one, err, "th", run_id, sha);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = rc == RC_OK;
    return RC_OK;
}
