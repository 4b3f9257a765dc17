/* admin: asking the routes of operators, and tokens of two more of them, for the tests of these
 * routes. The world is that of service.h. */
#ifndef FRESHET_TESTS_ADMIN_H
#define FRESHET_TESTS_ADMIN_H

#include "tests/40-service/service.h"

static char tok_sources[TOKEN_PLAIN_MAX];
static char tok_steward[TOKEN_PLAIN_MAX]; /* may know of all sources */

static inline struct answer admin(const char *method, const char *path, const char *token,
                                  const char *body, const char *key)
{
    static char auth[128], idem[512];
    struct ask q = {.method = method, .path = path, .body = body};
    int n = 0;
    if (body)
        q.type = "application/json; charset=utf-8";
    if (token) {
        snprintf(auth, sizeof auth, "HTTP_AUTHORIZATION=Bearer %s", token);
        q.headers[n++] = auth;
    }
    if (key) {
        snprintf(idem, sizeof idem, "HTTP_IDEMPOTENCY_KEY=%s", key);
        q.headers[n++] = idem;
    }
    return ask_at(intake_sock, &q);
}

static inline int make_operators(void **state)
{
    int64_t no;
    make_world(state);
    OK(token_create(led, "declarer", SCOPE_SOURCES, -1, clock_now(), tok_sources, &no, &fix_err));
    OK(token_create(led, "keeper", SCOPE_SOURCES | SCOPE_REPLAY | SCOPE_READ_RESTRICTED, -1,
                    clock_now(), tok_steward, &no, &fix_err));
    return 0;
}

#endif
