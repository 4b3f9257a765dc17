/* request_key: Idempotency-Keys. Apart from request.c, as who replays a log meets keys and takes
 * no requests. */
#include "ledger/request.h"

#include "ledger/query.h"

#define KEY_SCOPE_MAX 48

static void key_scope(struct ledger *l, const struct request_key *k, char out[KEY_SCOPE_MAX],
                      struct sha256 *ret_body)
{
    snprintf(out, KEY_SCOPE_MAX, "%s/%lld", k->kind, (long long)k->by->no);
    l->hash(k->body.p, k->body.n, ret_body);
}

enum rc request_key_find(struct ledger *l, const struct request_key *k, char ret_id[48],
                         bool *ret_repeated, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct sha256 old = {0}, body;
    char scope[KEY_SCOPE_MAX];
    if (!k->by || !k->key.n)
        return RC_OK;
    key_scope(l, k, scope, &body);
    TRY(query_open(l, Q_NONCE_GET, &q, err, "ts", scope, k->key));
    enum rc rc = query_next(l, &q, err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    col_sha(&q, 0, &old);
    if (!sha256_eq(&old, &body))
        return err_set(err, RC_CONFLICT, "Idempotency-Key",
                       "was used with another body: send a new key");
    col_copy(&q, 1, ret_id, 48);
    *ret_repeated = true;
    return RC_OK;
}

enum rc request_key_add(struct ledger *l, const struct request_key *k, const char *id, int64_t now,
                        struct err *err)
{
    struct sha256 body;
    char scope[KEY_SCOPE_MAX];
    if (!k->by || !k->key.n)
        return RC_OK;
    key_scope(l, k, scope, &body);
    return query_run(l, Q_NONCE_ADD, err, "tshtim", scope, k->key, &body, id, now, (int64_t)-1);
}
