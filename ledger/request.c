/* request: tokens, admin requests, and their audit trail in the replay log. */
#include "ledger/request.h"

#include "core/clock.h"
#include "core/json.h"
#include "ledger/query.h"

static const char *const scope_names[] = {
#define X(bit, name) [SCOPE_BIT_##bit] = name,
#include "ledger/scopes.def"
#undef X
};
static const char scope_list[] =
#define X(bit, name) name ", "
#include "ledger/scopes.def"
#undef X
    "all";
#define ALL_SCOPES ((1u << ARRAY_LEN(scope_names)) - 1)

static bool scope_bit(struct str name, unsigned *bits)
{
    for (size_t i = 0; i < ARRAY_LEN(scope_names); i++)
        if (str_is(name, scope_names[i])) {
            *bits |= 1u << i;
            return true;
        }
    return false;
}

enum rc scopes_parse(struct str list, unsigned *ret, struct err *err)
{
    unsigned bits = 0;
    struct str item;
    while (list.n) {
        size_t end = 0;
        while (end < list.n && list.p[end] != ',' && list.p[end] != ' ')
            end++;
        item = (struct str){list.p, end};
        list.p += end + (end < list.n);
        list.n -= end + (end < list.n);
        if (str_is(item, "all"))
            bits = ALL_SCOPES;
        else if (item.n && !scope_bit(item, &bits))
            return err_set(err, RC_INVALID, "scope", "\"%.*s\" is no scope; scopes are %s",
                           STR_FMT(item), scope_list);
    }
    if (!bits)
        return err_set(err, RC_INVALID, "scope", "a token needs at least one scope");
    *ret = bits;
    return RC_OK;
}

void scopes_format(unsigned scopes, char out[128])
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(scope_names); i++)
        if (scopes & (1u << i))
            n += (size_t)snprintf(out + n, 128 - n, "%s%s", n ? " " : "", scope_names[i]);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void make_plain(char out[TOKEN_PLAIN_MAX])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint8_t bytes[43];
    rand_bytes(bytes, sizeof bytes);
    memcpy(out, "fr_", 3);
    for (size_t i = 0; i < sizeof bytes; i++)
        out[3 + i] = digits[bytes[i] & 63];
    out[3 + sizeof bytes] = '\0';
}

static enum rc add_token(struct ledger *l, const char *plain, const char *name, unsigned scopes,
                         int64_t expires_at, int64_t now, int64_t *ret_no, struct err *err)
{
    struct sha256 hash;
    char text[128];
    int64_t no;
    l->hash(plain, strlen(plain), &hash);
    scopes_format(scopes, text);
    TRY(query_i64(l, Q_TOKEN_ADD, &no, err, "httim", &hash, name, text, now, expires_at));
    TRY(replay_append(l, now, "token.create", 0, name, STR("{}"), err));
    *ret_no = no;
    return RC_OK;
}

enum rc token_create(struct ledger *l, const char *name, unsigned scopes, int64_t expires_at,
                     int64_t now, char plain[TOKEN_PLAIN_MAX], int64_t *ret_no, struct err *err)
{
    make_plain(plain);
    TRY(ledger_begin(l, err));
    return ledger_end(l, add_token(l, plain, name, scopes, expires_at, now, ret_no, err), err);
}

static enum rc read_token(struct arena *a, const struct query *q, struct token *ret,
                          struct err *err)
{
    struct token t = {.no = col_i64(q, 0),
                      .name = col_text(a, q, 1),
                      .created_at = col_i64(q, 3),
                      .expires_at = col_time(q, 4),
                      .revoked_at = col_time(q, 5)};
    TRY(scopes_parse(col_view(q, 2), &t.scopes, err));
    *ret = t;
    return RC_OK;
}

enum rc token_find(struct ledger *l, struct arena *a, struct str plain, int64_t now,
                   struct token *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct sha256 hash;
    struct token t;
    l->hash(plain.p, plain.n, &hash);
    TRY(query_open(l, Q_TOKEN_FIND, &q, err, "h", &hash));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_OK) {
        TRY(read_token(a, &q, &t, err));
        if (t.revoked_at >= 0 || (t.expires_at >= 0 && t.expires_at <= now))
            rc = RC_NOT_FOUND;
    }
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_UNAUTHORIZED, "authorization",
                       "The token is not known or not valid.");
    TRY(rc);
    *ret = t;
    return RC_OK;
}

enum rc token_revoke(struct ledger *l, int64_t no, int64_t now, struct err *err)
{
    int64_t found;
    char ref[32];
    snprintf(ref, sizeof ref, "%lld", (long long)no);
    TRY(ledger_begin(l, err));
    enum rc rc = query_i64(l, Q_TOKEN_REVOKE, &found, err, "ii", no, now);
    if (rc == RC_NOT_FOUND)
        err_set(err, RC_NOT_FOUND, "token", "no active token has the number %lld", (long long)no);
    if (rc == RC_OK)
        rc = replay_append(l, now, "token.revoke", 0, ref, STR("{}"), err);
    return ledger_end(l, rc, err);
}

enum rc token_each(struct ledger *l, token_fn *fn, void *ctx, struct err *err)
{
    struct arena a;
    struct token t;
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_TOKEN_LIST, &q, err, ""));
    arena_init(&a, 1 << 20);
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        rc = read_token(&a, &q, &t, err);
        if (rc == RC_OK)
            rc = fn(ctx, &t, err);
        if (rc != RC_OK)
            break;
    }
    arena_release(&a);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* ---- requests -------------------------------------------------------------------------------- */

static enum rc add_request(struct ledger *l, const struct token *by, struct str body,
                           struct str key, int64_t now, char ret_id[48], bool *ret_repeated,
                           struct err *err)
{
    const struct request_key k = {"check", by, key, body};
    char uuid[37];
    TRY(request_key_find(l, &k, ret_id, ret_repeated, err));
    if (*ret_repeated)
        return RC_OK;
    uuid7(now, uuid);
    snprintf(ret_id, 48, "chk_%s", uuid);
    TRY(query_run(l, Q_REQUEST_ADD, err, "tsii", ret_id, body, by->no, now));
    TRY(replay_append(l, now, "admin.check", 0, ret_id, body, err));
    return request_key_add(l, &k, ret_id, now, err);
}

enum rc request_add(struct ledger *l, const struct token *by, struct str body,
                    struct str idempotency_key, int64_t now, char ret_id[48], bool *ret_repeated,
                    struct err *err)
{
    *ret_repeated = false;
    TRY(ledger_begin(l, err));
    return ledger_end(l, add_request(l, by, body, idempotency_key, now, ret_id, ret_repeated, err),
                      err);
}

static enum rc read_request(struct ledger *l, struct arena *a, struct query *q,
                            struct check_request *ret, struct err *err)
{
    TRY(query_next(l, q, err));
    *ret = (struct check_request){.no = col_i64(q, 0),
                                  .id = col_text(a, q, 1),
                                  .state = col_text(a, q, 2),
                                  .body = col_str(a, q, 3),
                                  .outcomes = col_str(a, q, 4),
                                  .detail = col_text(a, q, 5),
                                  .total = col_i64(q, 6),
                                  .done = col_i64(q, 7),
                                  .created_at = col_i64(q, 8),
                                  .finished_at = col_time(q, 9)};
    if (!ret->id || !ret->state || !ret->body.p || !ret->outcomes.p || !ret->detail)
        return err_set(err, RC_NOMEM, "", "no memory for a request");
    return RC_OK;
}

enum rc request_get(struct ledger *l, struct arena *a, const char *id, struct check_request *ret,
                    struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_REQUEST_GET, &q, err, "t", id));
    enum rc rc = read_request(l, a, &q, ret, err);
    return rc == RC_NOT_FOUND ? err_set(err, rc, "check_id", "no such check") : rc;
}

enum rc request_next(struct ledger *l, struct arena *a, int64_t after_no, struct check_request *ret,
                     struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_REQUEST_NEXT, &q, err, "i", after_no));
    return read_request(l, a, &q, ret, err);
}

/* ---- small transactions ---------------------------------------------------------------------- */

enum rc request_start(struct ledger *l, int64_t no, int64_t total, struct err *err)
{
    TRY(ledger_begin(l, err));
    return ledger_end(l, query_run(l, Q_REQUEST_START, err, "ii", no, total), err);
}

enum rc request_finish(struct ledger *l, int64_t no, bool ok, const char *detail, int64_t now,
                       struct err *err)
{
    TRY(ledger_begin(l, err));
    return ledger_end(
        l, query_run(l, Q_REQUEST_END, err, "itti", no, ok ? "done" : "failed", detail, now), err);
}

enum rc audit(struct ledger *l, const struct token *by, const char *what, int status, int64_t now,
              struct err *err)
{
    char body[96];
    int n = snprintf(body, sizeof body, "{\"status\":%d,\"token\":%lld}", status,
                     (long long)(by ? by->no : 0));
    TRY(ledger_begin(l, err));
    return ledger_end(
        l, replay_append(l, now, "admin.call", 0, what, (struct str){body, (size_t)n}, err), err);
}
