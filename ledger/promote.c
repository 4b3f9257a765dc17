/* promote: the one transaction (I4). */
#include "ledger/promote.h"

#include "core/json.h"
#include "ledger/notice.h"
#include "ledger/outbox.h"
#include "ledger/publish.h"
#include "ledger/rollback.h"
#include "ledger/runs.h"
#include "ledger/telemetry.h"

enum rc head_get(struct ledger *l, struct arena *a, int64_t src_no, struct head *ret,
                 struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct head h = {0};
    TRY(query_open(l, Q_HEAD_GET, &q, err, "i", src_no));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_OK) {
        h = (struct head){.version = col_i64(&q, 0),
                          .size = col_i64(&q, 2),
                          .promoted_at = col_i64(&q, 3),
                          .media_type = col_text(a, &q, 4),
                          .run_id = col_text(a, &q, 5),
                          .item_id = col_text(a, &q, 6),
                          .deleted = col_i64(&q, 7) != 0,
                          .cand_no = col_i64(&q, 8)};
        col_sha(&q, 1, &h.sha);
    } else if (rc != RC_NOT_FOUND) {
        return rc;
    }
    *ret = h;
    return RC_OK;
}

/* Lease in force, and the head still the one the documents were made against. */
static enum rc guard(struct ledger *l, const struct promotion *p, struct err *err)
{
    int64_t version = 0;
    TRY(inbox_lease_check(l, p->cand_no, p->lease_token, err));
    enum rc rc = query_i64(l, Q_HEAD_VERSION, &version, err, "i", p->source->no);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    if (version != p->version - 1)
        return err_set(err, RC_CONFLICT, "", "the head moved while the change was prepared");
    return RC_OK;
}

static void effect_key(struct ledger *l, const struct promotion *p, struct sha256 *ret)
{
    char text[256], hex[SHA256_HEX];
    sha256_hex(&p->sha, hex);
    int n = snprintf(text, sizeof text, "%s\n%lld\n%s", p->source->id, (long long)p->version, hex);
    l->hash(text, (size_t)n, ret);
}

static enum rc next_seq(struct ledger *l, int64_t *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_META_NEXT_SEQ, &q, err, ""));
    TRY(query_next(l, &q, err));
    int64_t seq = col_i64(&q, 0);
    enum rc rc = query_next(l, &q, err);
    if (rc != RC_NOT_FOUND)
        return rc;
    *ret = seq;
    return RC_OK;
}

/* New bytes and their item; the item of those that went, marked. */
static enum rc write_bytes(struct ledger *l, const struct promotion *p, int64_t now,
                           struct err *err)
{
    for (size_t i = 0; i < MARKED_MAX && p->marked_ids[i]; i++)
        TRY(query_run(l, Q_ITEM_PUT, err, "ts", p->marked_ids[i], p->marked[i]));
    if (p->deletes)
        return RC_OK;
    TRY(query_run(l, Q_ARTIFACT_ADD, err, "htiti", &p->sha, p->tier, p->size, p->media_type, now));
    return query_run(l, Q_ITEM_ADD, err, "tiits", p->item_id, p->source->no, p->version, p->run_id,
                     p->item);
}

static enum rc write_effect(struct ledger *l, const struct promotion *p, int64_t seq, int64_t now,
                            struct err *err)
{
    struct sha256 key;
    effect_key(l, p, &key);
    TRY(run_advance(l, p->run_id, "promoted", now, err));
    TRY(query_run(l, Q_LEDGER_EFFECT, err, "thihhtttmii", p->run_id, &key, p->version,
                  p->has_prev ? &p->prev_sha : NULL, &p->sha, p->change_type, p->change_class,
                  p->delta_id, seq ? seq : -1, now, (int64_t)p->deletes));
    TRY(query_run(l, Q_HEAD_PUT, err, "iihittiii", p->source->no, p->version, &p->sha, p->size,
                  p->media_type, p->run_id, p->news_no, now, (int64_t)p->deletes));
    TRY(query_run(l, Q_DELTA_ADD, err, "ttis", p->delta_id, p->run_id, p->source->no, p->delta));
    TRY(write_bytes(l, p, now, err));
    TRY(query_run(l, Q_PROV_ADD, err, "ts", p->run_id, p->prov));
    return query_run(l, Q_RUN_END, err, "tiss", p->run_id, now, p->qa, p->entry);
}

/* What a rollback takes back is blocked; bytes that come end the block of a deletion. */
static enum rc write_blocks(struct ledger *l, const struct promotion *p, int64_t now,
                            struct err *err)
{
    if (p->reverts)
        return rollback_done(l, p->run_id, p->reverts, p->source->no,
                             p->has_prev ? &p->prev_sha : NULL, now, err);
    return p->deletes ? RC_OK : query_run(l, Q_BLOCK_RETURNED, err, "ii", p->source->no, now);
}

static enum rc write_log(struct ledger *l, const struct promotion *p, int64_t seq, int64_t now,
                         struct err *err)
{
    char body[512], hex[SHA256_HEX];
    sha256_hex(&p->sha, hex);
    int n = snprintf(
        body, sizeof body,
        "{\"delta\":\"%s\",\"run\":\"%s\",\"seq\":%lld,\"sha256\":\"%s\",\"version\":%lld}",
        p->delta_id, p->run_id, (long long)seq, hex, (long long)p->version);
    struct str text = {body, (size_t)n};
    TRY(replay_append(l, now, "run.promoted", p->source->no, p->event_id, text, err));
    for (size_t i = 0; i < ARRAY_LEN(p->tell) && p->tell[i]; i++)
        TRY(outbox_put(l, p->run_id, p->tell[i], text, now, err));
    TRY(telemetry_run(l, p->source->no, RUN_PROMOTED, "", err));
    return notice_put(l, NOTICE_change, p->source->no, p->event_id, "", now, err);
}

static enum rc promote_all(struct ledger *l, const struct promotion *p, int64_t now,
                           run_also_fn *also, void *ctx, int64_t *ret_seq, struct err *err)
{
    int64_t seq = 0;
    TRY(guard(l, p, err));
    if (p->pub.entry.n)
        TRY(next_seq(l, &seq, err));
    TRY(write_effect(l, p, seq, now, err));
    const struct publication pub = {.seq = seq,
                                    .run_id = p->run_id,
                                    .event_id = p->event_id,
                                    .delta_id = p->delta_id,
                                    .item_id = p->item_id,
                                    .marked_ids = p->marked_ids,
                                    .detector = p->detector,
                                    .change_type = p->change_type,
                                    .change_class = p->change_class,
                                    .source = p->source,
                                    .sha = &p->sha,
                                    .size = p->size,
                                    .media_type = p->media_type,
                                    .rows = &p->pub};
    TRY(publish_rows(l, &pub, err));
    if (p->etag)
        TRY(query_run(l, Q_STATE_VALIDATORS, err, "ittthii", p->source->no, p->etag,
                      p->last_modified, p->final_url, &p->sha, p->size, now));
    TRY(write_blocks(l, p, now, err));
    TRY(write_log(l, p, seq, now, err));
    TRY(query_run(l, Q_INBOX_END, err, "itttm", p->cand_no, "done", "promoted", (char *)NULL, now));
    TRY(run_move(l, p->run_id, "finalized", now, err));
    if (also)
        TRY(also(ctx, l, err));
    *ret_seq = seq;
    return RC_OK;
}

enum rc promote(struct ledger *l, const struct promotion *p, int64_t now, run_also_fn *also,
                void *ctx, int64_t *ret_seq, struct err *err)
{
    int64_t seq = 0;
    TRY(ledger_begin(l, err));
    TRY(ledger_end(l, promote_all(l, p, now, also, ctx, &seq, err), err));
    *ret_seq = seq;
    return RC_OK;
}

/* ---- hold ------------------------------------------------------------------------------------ */

static enum rc record_held(struct ledger *l, const struct hold *h, int64_t now, struct err *err)
{
    char body[512], hex[SHA256_HEX];
    sha256_hex(&h->sha, hex);
    int n = snprintf(body, sizeof body, "{\"event\":\"%s\",\"reason\":\"%.64s\",\"sha256\":\"%s\"}",
                     h->event_id, h->reason, hex);
    return replay_append(l, now, "run.held", h->src_no, h->run_id, (struct str){body, (size_t)n},
                         err);
}

static enum rc hold_all(struct ledger *l, const struct hold *h, int64_t now, run_also_fn *also,
                        void *ctx, struct err *err)
{
    TRY(inbox_lease_check(l, h->cand_no, h->lease_token, err));
    TRY(run_advance(l, h->run_id, "validated", now, err));
    TRY(run_move(l, h->run_id, "held", now, err));
    TRY(query_run(l, Q_LEDGER_HELD, err, "tht", h->run_id, &h->sha, h->reason));
    if (h->media_type)
        TRY(query_run(l, Q_ARTIFACT_ADD, err, "htiti", &h->sha, h->tier, h->size, h->media_type,
                      now));
    TRY(query_run(l, Q_RUN_END, err, "tmss", h->run_id, (int64_t)-1, h->qa, (struct str){0}));
    TRY(query_run(l, Q_INBOX_END, err, "itttm", h->cand_no, "held", (char *)NULL, h->reason,
                  (int64_t)-1));
    TRY(record_held(l, h, now, err));
    TRY(telemetry_run(l, h->src_no, RUN_HELD, h->reason, err));
    TRY(notice_put(l, NOTICE_hold, h->src_no, h->event_id, h->reason, now, err));
    return also ? also(ctx, l, err) : RC_OK;
}

enum rc promote_hold(struct ledger *l, const struct hold *h, int64_t now, run_also_fn *also,
                     void *ctx, struct err *err)
{
    TRY(ledger_begin(l, err));
    return ledger_end(l, hold_all(l, h, now, also, ctx, err), err);
}

enum rc held_run_get(struct ledger *l, struct arena *a, const char *run_id, struct held_run *ret,
                     struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_HELD_RUN, &q, err, "t", run_id));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_NOT_FOUND, "", "no approved run on hold");
    TRY(rc);
    struct held_run h = {.size = col_i64(&q, 1),
                         .media_type = col_text(a, &q, 2),
                         .tier = col_text(a, &q, 3),
                         .reviewer = col_text(a, &q, 4),
                         .note = col_text(a, &q, 5),
                         .qa = col_str(a, &q, 6),
                         .seen = col_str(a, &q, 7)};
    col_sha(&q, 0, &h.sha);
    *ret = h;
    return RC_OK;
}

enum rc change_qa(struct ledger *l, struct arena *a, int64_t src_no, const struct sha256 *sha,
                  struct str *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    *ret = STR("");
    TRY(query_open(l, Q_CHANGE_QA, &q, err, "ih", src_no, sha));
    enum rc rc = query_next(l, &q, err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    *ret = col_str(a, &q, 0);
    return ret->p ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for a validation report");
}

/* The document that the first row of q is. */
static enum rc read_doc(struct ledger *l, struct arena *a, struct query *q, const char *what,
                        struct str *ret, struct err *err)
{
    enum rc rc = query_next(l, q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_NOT_FOUND, "", "no such %s", what);
    TRY(rc);
    struct str doc = col_str(a, q, 0);
    if (!doc.p)
        return err_set(err, RC_NOMEM, "", "no memory for the %s", what);
    *ret = doc;
    return RC_OK;
}

enum rc item_get(struct ledger *l, struct arena *a, const char *item_id, struct str *ret,
                 struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_ITEM_GET, &q, err, "t", item_id));
    return read_doc(l, a, &q, "item", ret, err);
}

enum rc delta_get(struct ledger *l, struct arena *a, const char *delta_id, struct str *ret,
                  struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_DELTA_DOC, &q, err, "t", delta_id));
    return read_doc(l, a, &q, "delta", ret, err);
}

enum rc delta_last(struct ledger *l, struct arena *a, int64_t src_no, struct str *ret,
                   struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_DELTA_DOC_LAST, &q, err, "i", src_no));
    return read_doc(l, a, &q, "delta: the source has no change yet", ret, err);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void read_change(struct arena *a, const struct query *q, struct change *ret)
{
    *ret = (struct change){.run_id = col_text(a, q, 0),
                           .event_id = col_text(a, q, 1),
                           .status = col_text(a, q, 2),
                           .change_type = col_text(a, q, 3),
                           .change_class = col_text(a, q, 4),
                           .delta_id = col_text(a, q, 5),
                           .reason = col_text(a, q, 6),
                           .src_no = col_i64(q, 7),
                           .version = col_i64(q, 8),
                           .public_seq = col_i64(q, 9),
                           .finalized_at = col_time(q, 10),
                           .entry = col_str(a, q, 11),
                           .delta = col_str(a, q, 12),
                           .item = col_str(a, q, 13),
                           .prov = col_str(a, q, 14),
                           .qa = col_str(a, q, 15)};
}

enum rc change_get(struct ledger *l, struct arena *a, const char *event_id, struct change *ret,
                   struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_CHANGE_BY_EVENT, &q, err, "t", event_id));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_NOT_FOUND, "event", "no run of event %.60s", event_id);
    TRY(rc);
    read_change(a, &q, ret);
    return RC_OK;
}

/* One at a time, so that fn may write while we walk. *at is where the walk is: a finalization, or
 * with src_no a version of that source. */
static enum rc next_change(struct ledger *l, struct arena *a, int64_t src_no, int64_t *at,
                           struct change *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    if (src_no)
        TRY(query_open(l, Q_CHANGE_PAGE_OF, &q, err, "ii", *at, src_no));
    else
        TRY(query_open(l, Q_CHANGE_PAGE, &q, err, "i", *at));
    TRY(query_next(l, &q, err));
    read_change(a, &q, ret);
    *at = col_i64(&q, 16);
    return RC_OK;
}

static enum rc walk(struct ledger *l, int64_t src_no, change_fn *fn, void *ctx, struct err *err)
{
    struct arena a;
    struct change c;
    int64_t at = 0;
    enum rc rc;
    arena_init(&a, JSON_MAX);
    while ((rc = next_change(l, &a, src_no, &at, &c, err)) == RC_OK) {
        rc = fn(ctx, &c, err);
        if (rc != RC_OK)
            break;
        arena_reset(&a);
    }
    arena_release(&a);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc change_each(struct ledger *l, change_fn *fn, void *ctx, struct err *err)
{
    return walk(l, 0, fn, ctx, err);
}

enum rc change_each_of(struct ledger *l, int64_t src_no, change_fn *fn, void *ctx, struct err *err)
{
    return walk(l, src_no, fn, ctx, err);
}
