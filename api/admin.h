/* admin: what stands before every /admin route: who asks, may they, and the audit of it.
 *
 * Invariants
 *   1. (I12) Of a token only its sha256 meets the ledger; neither token nor key is logged.
 *   2. Every call is audited with the pattern of its route, never with an id.
 *   3. A source that the caller may not know of answers like one that never existed.
 */
#ifndef FRESHET_API_ADMIN_H
#define FRESHET_API_ADMIN_H

#include "api/route.h"
#include "core/json.h"
#include "ledger/request.h"
#include "ledger/source.h"

/* Finds the token's owner into r->token. 401 and 403 with their WWW-Authenticate lines. */
MUST_CHECK enum rc admin_authorize(struct req *r, struct resp *w, unsigned scope, struct err *err);
void admin_audit(const struct req *r, const struct route *route, const struct resp *w);

/* The source that a request means: by id, or by url where id is NULL. RC_NOT_FOUND, always in the
 * same words, when there is none or the caller may not know of it. */
MUST_CHECK enum rc admin_source(struct req *r, const char *id, const char *url, struct source *ret,
                                struct err *err);

/* The same by number, with the same words; for what belongs to a source. */
MUST_CHECK enum rc admin_source_no(struct req *r, int64_t no, struct source *ret, struct err *err);

/* RC_INVALID when the Idempotency-Key cannot be one. */
MUST_CHECK enum rc admin_key(const struct req *r, struct err *err);
/* The body as a JSON object, whatever its fields. */
MUST_CHECK enum rc admin_json(struct req *r, yyjson_val **ret, struct err *err);
/* The body as a JSON object of these fields and no others; *ret_known counts those that are there.
 * canon receives its canonical form: two bodies of the same meaning are one for Idempotency-Key. */
MUST_CHECK enum rc admin_body(struct req *r, struct resp *w, const char *const *fields, size_t n,
                              yyjson_val **ret, size_t *ret_known, struct buf *canon,
                              struct err *err);

/* A list of a route: each callback gets it and writes objects (put_object) into w->body. */
struct admin_list {
    struct req *r;
    struct resp *w;
    int64_t limit; /* how many are asked for at most */
};
#define ADMIN_LIST_DEFAULT 100
#define ADMIN_LIST_MAX 1000
/* Reads ?limit=, and begins the body: {"<key>":[ */
MUST_CHECK enum rc admin_list_begin(struct admin_list *l, struct req *r, struct resp *w,
                                    const char *key, struct err *err);
void admin_list_end(struct admin_list *l);

/* "status_url": where the caller hears how it goes on; path ends with a slash. */
void admin_status_url(struct buf *b, const struct req *r, const char *path, const char *id);
/* Answers 202: ends the object that the body holds so far with its status_url, the Location too. */
void admin_accepted(const struct req *r, struct resp *w, const char *path, const char *id);

route_fn checks_post, checks_get;                       /* admin_checks.c */
route_fn rollbacks_post, rollbacks_get, rollbacks_list; /* admin_rollbacks.c */
route_fn approvals_post, approvals_list;                /* admin_approvals.c */
route_fn dead_post, dead_list, dead_one;                /* admin_dead.c */
route_fn replays_post, replays_one, replays_list;       /* admin_replays.c */
route_fn sources_post, sources_put, sources_delete;     /* admin_sources.c */
route_fn sources_declared, sources_declared_one;

#endif
