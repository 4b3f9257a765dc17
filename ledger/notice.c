/* notice: rows of notices and deliveries, in and out; handler/notify.c decides what becomes of
 * them. */
#include "ledger/notice.h"

#include "core/clock.h"
#include "ledger/query.h"

static const struct {
    const char *word, *sentence;
} kinds[NOTICE_COUNT] = {
#define X(name, word, sentence) [NOTICE_##name] = {word, sentence},
#include "ledger/notices.def"
#undef X
};

const char *notice_word(enum notice_kind k)
{
    return kinds[k].word;
}

const char *notice_sentence(enum notice_kind k)
{
    return kinds[k].sentence;
}

enum rc notice_put(struct ledger *l, enum notice_kind kind, int64_t src_no, const char *event_id,
                   const char *reason, int64_t now, struct err *err)
{
    char uuid[37], id[NOTICE_ID_MAX];
    if (l->script)
        return RC_OK;
    uuid7(now, uuid);
    snprintf(id, sizeof id, "msg_%s", uuid);
    return query_run(l, Q_NOTICE_ADD, err, "ttitti", id, kinds[kind].word, src_no, event_id, reason,
                     now);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Columns of NOTICE_COLUMNS. */
static enum rc read_notice(const struct query *q, struct notice *ret, struct err *err)
{
    struct notice n = {.no = col_i64(q, 0), .src_no = col_i64(q, 3), .at = col_i64(q, 6)};
    size_t k = 0;
    while (k < NOTICE_COUNT && !str_is(col_view(q, 2), kinds[k].word))
        k++;
    if (k == NOTICE_COUNT)
        return err_set(err, RC_CORRUPT, "", "notice %lld is of no known kind", (long long)n.no);
    n.kind = (enum notice_kind)k;
    col_copy(q, 1, n.id, sizeof n.id);
    col_copy(q, 4, n.event_id, sizeof n.event_id);
    col_copy(q, 5, n.reason, sizeof n.reason);
    *ret = n;
    return RC_OK;
}

static enum rc read_delivery(const struct query *q, struct delivery *ret, struct err *err)
{
    struct delivery d = {.attempts = col_i64(q, 7), .dead_at = col_time(q, 8)};
    TRY(read_notice(q, &d.notice, err));
    col_copy(q, 9, d.detail, sizeof d.detail);
    *ret = d;
    return RC_OK;
}

enum rc notice_new(struct ledger *l, struct notice ret[NOTICES_MAX], size_t *ret_n, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc = RC_OK;
    size_t n = 0;
    TRY(query_open(l, Q_NOTICE_NEW, &q, err, "i", (int64_t)NOTICES_MAX));
    while (n < NOTICES_MAX && (rc = query_next(l, &q, err)) == RC_OK)
        TRY(read_notice(&q, &ret[n++], err));
    *ret_n = n;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc delivery_due(struct ledger *l, const char *subscriber, int64_t now,
                     struct delivery ret[DELIVERIES_MAX], size_t *ret_n, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc = RC_OK;
    size_t n = 0;
    TRY(query_open(l, Q_DELIVERY_DUE, &q, err, "tii", subscriber, now, (int64_t)DELIVERIES_MAX));
    while (n < DELIVERIES_MAX && (rc = query_next(l, &q, err)) == RC_OK)
        TRY(read_delivery(&q, &ret[n++], err));
    *ret_n = n;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc delivery_each_dead(struct ledger *l, const char *subscriber, int64_t max, delivery_fn *fn,
                           void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_DELIVERY_DEAD, &q, err, "ti", subscriber, max));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct delivery d;
        char name[SUBSCRIBER_NAME_MAX + 1];
        TRY(read_delivery(&q, &d, err));
        col_copy(&q, 10, name, sizeof name);
        TRY(fn(ctx, name, &d, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc delivery_each(struct ledger *l, delivery_stats_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    arena_init(&a, 1 << 16);
    TRY(query_open(l, Q_DELIVERY_STATS, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        arena_reset(&a);
        const struct delivery_stats s = {.subscriber = col_text(&a, &q, 0),
                                         .waiting = col_i64(&q, 1),
                                         .dead = col_i64(&q, 2),
                                         .oldest_at = col_time(&q, 3),
                                         .next_at = col_time(&q, 4),
                                         .why = col_text(&a, &q, 5)};
        if (!s.subscriber || !s.why)
            return err_set(err, RC_NOMEM, "", "no memory for a subscriber");
        TRY(fn(ctx, &s, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc notice_entry(struct ledger *l, struct arena *a, const char *event_id,
                     struct notice_entry *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_NOTICE_ENTRY, &q, err, "t", event_id));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "", "no public entry of this change");
    TRY(rc);
    struct notice_entry e = {.doc = col_str(a, &q, 0),
                             .change_type = col_text(a, &q, 1),
                             .change_class = col_text(a, &q, 2),
                             .seq = col_i64(&q, 3),
                             .unexpected = col_i64(&q, 4) != 0};
    if (!e.doc.p || !e.change_type || !e.change_class)
        return err_set(err, RC_NOMEM, "", "no memory for an entry");
    *ret = e;
    return RC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

enum rc notice_deliver(struct ledger *l, int64_t notice_no, const char *subscriber, int64_t at,
                       struct err *err)
{
    return query_run(l, Q_DELIVERY_ADD, err, "tii", subscriber, notice_no, at);
}

enum rc notice_sorted(struct ledger *l, int64_t notice_no, struct err *err)
{
    TRY(query_run(l, Q_NOTICE_SORTED, err, "i", notice_no));
    return query_run(l, Q_NOTICE_DROP, err, "i", notice_no);
}

enum rc delivery_put(struct ledger *l, const struct delivery_end *e, int64_t now, struct err *err)
{
    if (!e->done)
        return query_run(l, Q_DELIVERY_FAILED, err, "tiitim", e->subscriber, e->notice_no,
                         (int64_t)e->counts, e->why, e->next_at < 0 ? now : e->next_at,
                         e->next_at < 0 ? now : (int64_t)-1);
    TRY(query_run(l, Q_DELIVERY_DONE, err, "ti", e->subscriber, e->notice_no));
    return query_run(l, Q_NOTICE_DROP, err, "i", e->notice_no);
}

enum rc delivery_forget(struct ledger *l, const char *subscriber, struct err *err)
{
    TRY(query_run(l, Q_DELIVERY_FORGET, err, "t", subscriber));
    return query_run(l, Q_NOTICE_DROP_ALL, err, "");
}

static enum rc revive(struct ledger *l, const char *subscriber, int64_t now, int64_t *ret_n,
                      struct err *err)
{
    TRY(query_i64(l, Q_DELIVERY_COUNT_DEAD, ret_n, err, "t", subscriber));
    return query_run(l, Q_DELIVERY_REVIVE, err, "ti", subscriber, now);
}

enum rc delivery_revive(struct ledger *l, const char *subscriber, int64_t now, int64_t *ret_n,
                        struct err *err)
{
    int64_t n = 0;
    TRY(ledger_begin(l, err));
    TRY(ledger_end(l, revive(l, subscriber, now, &n, err), err));
    *ret_n = n;
    return RC_OK;
}
