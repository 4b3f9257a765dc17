/* stream: see the header. */
#include "ledger/stream.h"

#include "ledger/query.h"

/* Columns from `first` on: up, at, note. */
static void read_state(struct query *q, int first, struct stream_state *ret)
{
    *ret = (struct stream_state){
        .known = true, .up = col_i64(q, first) != 0, .at = col_i64(q, first + 1)};
    col_copy(q, first + 2, ret->note, sizeof ret->note);
}

enum rc stream_each(struct ledger *l, stream_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_STREAM_LIST, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct stream_state st = {0};
        if (col_time(&q, 3) >= 0)
            read_state(&q, 2, &st);
        TRY(fn(ctx, col_i64(&q, 0), col_i64(&q, 1), &st, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc stream_get(struct ledger *l, int64_t src_no, struct stream_state *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct stream_state s = {0};
    TRY(query_open(l, Q_STREAM_GET, &q, err, "i", src_no));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_OK) {
        read_state(&q, 0, &s);
    } else if (rc != RC_NOT_FOUND) {
        return rc;
    }
    *ret = s;
    return RC_OK;
}

static enum rc show(struct ledger *l, int64_t src_no, int64_t now, struct err *err)
{
    int64_t gen;
    TRY(ledger_generation(l, now, &gen, err));
    return query_run(l, Q_PUB_STREAM, err, "ii", src_no, gen);
}

/* Due first: the other forgets which they were. What is public of them moves with what comes
 * of it. */
enum rc streams_begin(struct ledger *l, int64_t now, struct err *err)
{
    TRY(ledger_begin(l, err));
    enum rc rc = query_run(l, Q_STREAMS_DUE, err, "i", now);
    if (rc == RC_OK)
        rc = query_run(l, Q_STREAMS_DOWN, err, "it", now, "it is not connected yet");
    return ledger_end(l, rc, err);
}

enum rc stream_set(struct ledger *l, int64_t src_no, enum level level, bool up, const char *note,
                   int64_t now, struct err *err)
{
    TRY(ledger_begin(l, err));
    enum rc rc = query_run(l, Q_STREAM_SET, err, "iiit", src_no, (int64_t)up, now, note);
    if (rc == RC_OK && !up)
        rc = query_run(l, Q_STREAM_DUE, err, "ii", src_no, now);
    if (rc == RC_OK && level < LEVEL_RESTRICTED)
        rc = show(l, src_no, now, err);
    return ledger_end(l, rc, err);
}
