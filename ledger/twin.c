/* twin: see the header. */
#include "ledger/twin.h"

#include "core/clock.h"
#include "ledger/query.h"

/* Of one source: an upstream that never writes the same twice must not fill the table. */
#define FORMS_MAX 16

enum rc twin_known(struct ledger *l, int64_t src_no, const struct sha256 *head,
                   const struct sha256 *sha, bool *ret, struct err *err)
{
    int64_t one;
    enum rc rc = query_i64(l, Q_TWIN_KNOWN, &one, err, "ihh", src_no, sha, head);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = rc == RC_OK;
    return RC_OK;
}

enum rc twin_meet(struct ledger *l, int64_t src_no, const struct sha256 *head,
                  const struct sha256 *sha, struct err *err)
{
    return query_run(l, Q_TWIN_MEET, err, "ihh", src_no, sha, head);
}

enum rc twin_learn(struct ledger *l, int64_t src_no, const struct sha256 *head,
                   const struct sha256 *sha, int64_t now, struct err *err)
{
    TRY(query_run(l, Q_TWIN_ADD, err, "ihhi", src_no, sha, head, now));
    TRY(query_run(l, Q_TWIN_THIN, err, "ihi", src_no, head, (int64_t)FORMS_MAX));
    return twin_meet(l, src_no, head, sha, err);
}

enum rc noise_count(struct ledger *l, const char *kind, enum level level, int64_t now,
                    struct err *err)
{
    TRY(query_run(l, Q_NOISE_DAY, err, "it", now - now % DAY_MS, kind));
    return level < LEVEL_RESTRICTED ? query_run(l, Q_NOISE_PUBLIC, err, "t", kind) : RC_OK;
}

enum rc noise_between(struct ledger *l, int64_t from, int64_t until, int64_t *ret, struct err *err)
{
    return query_i64(l, Q_NOISE_BETWEEN, ret, err, "ii", from, until);
}
