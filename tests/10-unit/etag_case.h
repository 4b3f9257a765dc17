/* etag_case: a source that was seen, answers, and what is made of them, for the tests of etag.c.
 * Invariants of detectors/detector.h and detectors/etag.h are cited as D1… and E1…. */
#ifndef FRESHET_TESTS_ETAG_CASE_H
#define FRESHET_TESTS_ETAG_CASE_H

#include "core/clock.h"
#include "detectors/etag.h"
#include "tests/10-unit/unit.h"

#define NOW 1780000000000LL
#define URL "https://data.example/a.zip"
#define OLD_DATE "Mon, 01 Jan 2024 00:00:00 GMT"
#define NEW_DATE "Tue, 02 Jan 2024 00:00:00 GMT"
#define FUTURE_DATE "Mon, 01 Jan 2035 00:00:00 GMT"
#define IN_2036 2082758400000LL

static const struct conf conf = {.audit_every = 20};

/* A source that was seen once: 1000 bytes of 'A', both validators known. */
static inline struct check_state seen(void)
{
    struct check_state st = {.etag = "\"a\"",
                             .last_modified = OLD_DATE,
                             .validator_url = URL,
                             .has_seen = true,
                             .seen_size = 1000,
                             .checked_at = NOW - 1000,
                             .verified_at = NOW - 1000,
                             .gone_since = -1};
    memset(st.seen_sha.b, 'A', sizeof st.seen_sha.b);
    return st;
}

static inline struct check_state unseen(void)
{
    return (struct check_state){.seen_size = -1, .checked_at = -1, .gone_since = -1};
}

static inline struct fetch_res response(int http, const char *etag, const char *date)
{
    struct fetch_res r = {.end = FETCH_OK,
                          .http = http,
                          .attempts = 1,
                          .final_url = URL,
                          .content_length = -1,
                          .retry_after_ms = -1,
                          .date_ms = NOW};
    snprintf(r.etag, sizeof r.etag, "%s", etag);
    snprintf(r.last_modified, sizeof r.last_modified, "%s", date);
    return r;
}

static inline struct body_facts body(char letter, int64_t size)
{
    struct body_facts b = {.read = true, .size = size};
    memset(b.sha.b, letter, sizeof b.sha.b);
    return b;
}

static inline struct verdict judge(struct check_state *st, struct ask ask,
                                   const struct fetch_res *res, struct body_facts b)
{
    struct answer a = {.ask = ask, .res = res, .body = b};
    return etag_judge(st, &a, NOW);
}

static inline struct verdict judge_planned(struct check_state *st, const struct fetch_res *res)
{
    return judge(st, etag_plan(st, &conf, NOW), res, (struct body_facts){0});
}

static const struct body_facts no_body;
static const struct ask conditional_get = {
    .if_none_match = true, .if_modified_since = true, .why = ASK_HEAD_SAID};
static const struct ask plain_get = {.why = ASK_FIRST};
static const struct ask audit = {.why = ASK_AUDIT};

#define assert_outcome(v, o) is_outcome((v), #o, __LINE__)
static inline void is_outcome(struct verdict v, const char *want, int line)
{
    if (v.again || strcmp(outcome_name(v.outcome), want) != 0)
        fail_msg("line %d: %s (%s), not %s", line, v.again ? "asks again" : outcome_name(v.outcome),
                 v.detail, want);
}

static inline void assert_ask(struct ask a, bool head, bool inm, bool ims, enum ask_why why)
{
    assert_int_equal(a.head, head);
    assert_int_equal(a.if_none_match, inm);
    assert_int_equal(a.if_modified_since, ims);
    assert_int_equal(a.why, why);
}

static inline void assert_next(struct verdict v, bool head, bool inm, bool ims, enum ask_why why)
{
    assert_true(v.again);
    assert_ask(v.next, head, inm, ims, why);
}

#endif
