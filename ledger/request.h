/* request: tokens, and what their holders asked for through /admin.
 *
 * Invariants
 *   1. (I12) Tokens are stored as sha256 only; the plain text is shown once, at creation.
 *   2. A request is answered 202 after its row is durable, never before.
 *   3. The same Idempotency-Key and body give the same answer; another body is RC_CONFLICT.
 */
#ifndef FRESHET_LEDGER_REQUEST_H
#define FRESHET_LEDGER_REQUEST_H

#include "ledger/ledger.h"

/* One bit each. */
enum scope_bit {
#define X(bit, name) SCOPE_BIT_##bit,
#include "ledger/scopes.def"
#undef X
};
enum scope {
#define X(bit, name) SCOPE_##bit = 1 << SCOPE_BIT_##bit,
#include "ledger/scopes.def"
#undef X
};
/* "check,sources" or "check sources" or "all" → bits. RC_INVALID names the unknown scope. */
MUST_CHECK enum rc scopes_parse(struct str list, unsigned *ret, struct err *err);
/* Space-separated names, into a buffer of at least 128 bytes. */
void scopes_format(unsigned scopes, char out[128]);

struct token {
    int64_t no;
    const char *name;
    unsigned scopes;
    int64_t created_at, expires_at, revoked_at; /* -1: never */
};
/* Makes a token; plain receives "fr_" + 43 url-safe characters, NUL-terminated. Own transaction. */
#define TOKEN_PLAIN_MAX 64
MUST_CHECK enum rc token_create(struct ledger *l, const char *name, unsigned scopes,
                                int64_t expires_at, int64_t now, char plain[TOKEN_PLAIN_MAX],
                                int64_t *ret_no, struct err *err);
/* By its plain text. RC_UNAUTHORIZED when unknown, revoked or expired (one answer for
 * all three). */
MUST_CHECK enum rc token_find(struct ledger *l, struct arena *a, struct str plain, int64_t now,
                              struct token *ret, struct err *err);
MUST_CHECK enum rc token_revoke(struct ledger *l, int64_t no, int64_t now, struct err *err);
typedef enum rc token_fn(void *ctx, const struct token *t, struct err *err);
MUST_CHECK enum rc token_each(struct ledger *l, token_fn *fn, void *ctx, struct err *err);

/* A check request: exactly one of source/url/trigger/all. */
struct check_request {
    int64_t no;
    const char *id;      /* "chk_<uuid>" */
    const char *state;   /* open, running, done, failed */
    struct str body;     /* JSON as accepted */
    struct str outcomes; /* JSON object name → count */
    const char *detail;  /* why it failed, or "" */
    int64_t total, done, created_at, finished_at;
};
/* Stores a request, the audit row and the idempotency key in one durable transaction. key "" for
 * none. *ret_repeated tells that the same key and body were seen before (ret_id is the old id). */
MUST_CHECK enum rc request_add(struct ledger *l, const struct token *by, struct str body,
                               struct str idempotency_key, int64_t now, char ret_id[48],
                               bool *ret_repeated, struct err *err);
MUST_CHECK enum rc request_get(struct ledger *l, struct arena *a, const char *id,
                               struct check_request *ret, struct err *err);
/* Scheduler: oldest request after number after_no that is open or (after a crash) running;
 * RC_NOT_FOUND when none. */
MUST_CHECK enum rc request_next(struct ledger *l, struct arena *a, int64_t after_no,
                                struct check_request *ret, struct err *err);
/* open → running with the number of sources it means; → done/failed. Own transactions. */
MUST_CHECK enum rc request_start(struct ledger *l, int64_t no, int64_t total, struct err *err);
MUST_CHECK enum rc request_finish(struct ledger *l, int64_t no, bool ok, const char *detail,
                                  int64_t now, struct err *err);
/* An Idempotency-Key of one kind of request. by NULL or an empty key: none was given, and both
 * functions do nothing. Inside the caller's transaction. */
struct request_key {
    const char *kind;
    const struct token *by;
    struct str key, body; /* body in canonical form */
};
/* Was it used before? With the same body *ret_id is what was answered, with another RC_CONFLICT. */
MUST_CHECK enum rc request_key_find(struct ledger *l, const struct request_key *k, char ret_id[48],
                                    bool *ret_repeated, struct err *err);
MUST_CHECK enum rc request_key_add(struct ledger *l, const struct request_key *k, const char *id,
                                   int64_t now, struct err *err);
/* Every admin call that was refused or read something is audited too. Own transaction. */
MUST_CHECK enum rc audit(struct ledger *l, const struct token *by, const char *what, int status,
                         int64_t now, struct err *err);

#endif
