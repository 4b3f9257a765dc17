/* etag: what is asked, and what answers mean that carry no bytes. Every row is one trap of HTTP,
 * without a network. Bodies are in test_etag_bodies.c. */
#include "tests/10-unit/etag_case.h"

#include "ledger/health.h"

/* ---- plan ------------------------------------------------------------------------------------ */

static void plan_by_state(void **state)
{
    (void)state;
    struct check_state st = unseen();
    assert_ask(etag_plan(&st, &conf, NOW), false, false, false, ASK_FIRST);
    st = seen();
    assert_ask(etag_plan(&st, &conf, NOW), true, true, true, ASK_VALIDATE);
    st.head_refused = true;
    assert_ask(etag_plan(&st, &conf, NOW), false, true, true, ASK_VALIDATE);
    st.last_modified[0] = '\0';
    assert_ask(etag_plan(&st, &conf, NOW), false, true, false, ASK_VALIDATE);
    st.etag[0] = '\0';
    assert_ask(etag_plan(&st, &conf, NOW), false, false, false, ASK_BLIND);
}

static void plan_audit(void **state)
{
    (void)state;
    struct check_state st = seen();
    st.since_audit = 18;
    assert_int_equal(etag_plan(&st, &conf, NOW).why, ASK_VALIDATE);
    st.since_audit = 19;
    assert_ask(etag_plan(&st, &conf, NOW), false, false, false, ASK_AUDIT);
    st.since_audit = 0; /* few checks, but long ago */
    st.verified_at = NOW - ETAG_AUDIT_MS;
    assert_int_equal(etag_plan(&st, &conf, NOW).why, ASK_VALIDATE);
    st.verified_at--;
    assert_ask(etag_plan(&st, &conf, NOW), false, false, false, ASK_AUDIT);
    assert_true(ETAG_AUDIT_MS + 90 * DAY_MS < HEALTH_VERIFIED_MS); /* also when swept */
    struct conf never = {.audit_every = 0};
    st.since_audit = 1000000;
    assert_int_equal(etag_plan(&st, &never, NOW).why, ASK_VALIDATE);
}

/* E4, E5: a date ahead of our clock, and an ETag that flaps, are not sent. */
static void plan_untrusted_validators(void **state)
{
    (void)state;
    struct check_state st = seen();
    snprintf(st.last_modified, sizeof st.last_modified, "%s", FUTURE_DATE);
    assert_ask(etag_plan(&st, &conf, NOW), true, true, false, ASK_VALIDATE);
    snprintf(st.last_modified, sizeof st.last_modified, "yesterday"); /* its server may read it */
    assert_true(etag_plan(&st, &conf, NOW).if_modified_since);
    st = seen();
    st.etag_flaps = ETAG_FLAPS_MAX - 1;
    assert_true(etag_plan(&st, &conf, NOW).if_none_match);
    st.etag_flaps = ETAG_FLAPS_MAX;
    assert_ask(etag_plan(&st, &conf, NOW), true, false, true, ASK_VALIDATE);
}

/* ---- not modified ---------------------------------------------------------------------------- */

static void not_modified_304(void **state)
{
    (void)state;
    struct check_state st = seen();
    struct fetch_res r = response(304, "", "");
    assert_outcome(judge_planned(&st, &r), not_modified);
    assert_string_equal(st.etag, "\"a\""); /* none given: the old one stays */
    assert_string_equal(st.last_modified, OLD_DATE);
    assert_int_equal(st.since_audit, 1);
    assert_false(st.head_refused);

    r = response(304, "\"a2\"", NEW_DATE); /* given: stored exactly so */
    assert_outcome(judge(&st, conditional_get, &r, no_body), not_modified);
    assert_string_equal(st.etag, "\"a2\"");
    assert_string_equal(st.last_modified, NEW_DATE);
    assert_false(st.date_doubted);
    r = response(304, "", FUTURE_DATE);
    assert_outcome(judge(&st, conditional_get, &r, no_body), not_modified);
    assert_true(st.date_doubted);
}

/* E2: new validators in a 304 to HEAD are believed when GET says them. */
static void renewed_by_head(void **state)
{
    (void)state;
    struct check_state st = seen(), before = st;
    struct fetch_res r = response(304, "\"a2\"", OLD_DATE);
    assert_next(judge_planned(&st, &r), false, true, true, ASK_HEAD_SAID);
    r = response(304, "\"a\"", NEW_DATE);
    assert_next(judge_planned(&st, &r), false, true, true, ASK_HEAD_SAID);
    assert_memory_equal(&st, &before, sizeof st);
    r = response(304, "\"a\"", OLD_DATE);
    assert_outcome(judge_planned(&st, &r), not_modified);
}

/* A 304 that nobody asked for proves nothing. */
static void unasked_304_is_a_failure(void **state)
{
    (void)state;
    struct check_state st = seen(), before = st;
    struct fetch_res r = response(304, "\"b\"", "");
    assert_outcome(judge(&st, audit, &r, no_body), wrong_shape);
    assert_memory_equal(&st, &before, sizeof st);
}

static void head_same_validator(void **state)
{
    (void)state;
    struct check_state st = seen();
    struct fetch_res r = response(200, "\"a\"", NEW_DATE);
    assert_outcome(judge_planned(&st, &r), not_modified);
    assert_string_equal(st.last_modified, OLD_DATE); /* E2 */

    st = seen(); /* E3: a date alone proves nothing, whatever the length */
    st.etag[0] = '\0';
    r = response(200, "", OLD_DATE);
    assert_next(judge_planned(&st, &r), false, false, true, ASK_HEAD_SAID);
    r.content_length = 1000;
    assert_next(judge_planned(&st, &r), false, false, true, ASK_HEAD_SAID);
    r = response(200, "\"x\"", OLD_DATE);
    assert_next(judge_planned(&st, &r), false, false, true, ASK_HEAD_SAID);
    r = response(304, "", ""); /* that is a word */
    assert_outcome(judge_planned(&st, &r), not_modified);
}

/* E3: everything less than the same strong ETag asks for the body. */
static void head_that_settles_nothing(void **state)
{
    (void)state;
    static const char *const etags[] = {"\"b\"", "", "W/\"a\"", "\"a-gzip\""};
    for (size_t i = 0; i < ARRAY_LEN(etags); i++) {
        struct check_state st = seen(), before = st;
        struct fetch_res r = response(200, etags[i], OLD_DATE);
        assert_next(judge_planned(&st, &r), false, true, true, ASK_HEAD_SAID);
        assert_memory_equal(&st, &before, sizeof st);
    }
    struct check_state st = seen(); /* weak on both sides */
    snprintf(st.etag, sizeof st.etag, "W/\"a\"");
    struct fetch_res r = response(200, "W/\"a\"", OLD_DATE);
    assert_true(judge_planned(&st, &r).again);
}

static void head_of_another_length(void **state)
{
    (void)state;
    struct check_state st = seen();
    struct fetch_res r = response(200, "\"a\"", OLD_DATE);
    r.content_length = 1001;
    assert_next(judge_planned(&st, &r), false, false, false, ASK_HEAD_LIED);
    r.content_length = 1000;
    assert_outcome(judge_planned(&st, &r), not_modified);
    r.content_length = 0; /* many servers say so to HEAD */
    assert_outcome(judge_planned(&st, &r), not_modified);
}

/* E1: validators belong to their place. */
static void another_place(void **state)
{
    (void)state;
    struct check_state st = seen();
    struct fetch_res r = response(304, "", "");
    snprintf(r.final_url, sizeof r.final_url, "https://other.example/a.zip");
    assert_next(judge_planned(&st, &r), false, false, false, ASK_ELSEWHERE);
    r = response(200, "\"a\"", OLD_DATE);
    snprintf(r.final_url, sizeof r.final_url, "https://other.example/a.zip");
    assert_next(judge_planned(&st, &r), false, true, true, ASK_HEAD_SAID);

    /* A fresh signature in the query: a strong ETag still tells, a date or a weak one does not. */
    r = response(304, "", "");
    snprintf(r.final_url, sizeof r.final_url, URL "?sig=2");
    assert_outcome(judge_planned(&st, &r), not_modified);
    snprintf(st.etag, sizeof st.etag, "W/\"a\"");
    assert_next(judge_planned(&st, &r), false, false, false, ASK_ELSEWHERE);
    st.etag[0] = '\0';
    assert_next(judge_planned(&st, &r), false, false, false, ASK_ELSEWHERE);
}

static void place_hides_the_query(void **state)
{
    (void)state;
    char one[FETCH_URL_MAX], two[FETCH_URL_MAX];
    fetch_url_place(URL "?token=hush", one);
    fetch_url_place(URL "?token=other", two);
    assert_null(strstr(one, "hush"));
    assert_string_not_equal(one, two);
    fetch_url_place(URL, two);
    assert_string_equal(two, URL);
    assert_memory_equal(one, two, strlen(two));
}

/* ---- HEAD ------------------------------------------------------------------------------------ */

static void refused_head_falls_back(void **state)
{
    (void)state;
    static const int statuses[] = {400, 403, 404, 405, 410, 500, 501, 204, 206, 300};
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        struct check_state st = seen(), before = st;
        struct fetch_res r = response(statuses[i], "", "");
        assert_next(judge_planned(&st, &r), false, true, true, ASK_NO_HEAD);
        assert_memory_equal(&st, &before, sizeof st);
    }
    static const enum fetch_end ends[] = {FETCH_TIMEOUT, FETCH_BROKEN, FETCH_SLOW, FETCH_PROTOCOL};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct check_state st = seen();
        struct fetch_res r = response(0, "", "");
        r.end = ends[i];
        assert_next(judge_planned(&st, &r), false, true, true, ASK_NO_HEAD);
    }
}

/* These say as much about GET as about HEAD: no second request. */
static void head_failures_that_are_final(void **state)
{
    (void)state;
    static const struct {
        enum fetch_end end;
        int http;
        enum outcome outcome;
    } cases[] = {
        {FETCH_OK, 202, OUTCOME_not_ready},      {FETCH_OK, 401, OUTCOME_denied},
        {FETCH_OK, 451, OUTCOME_denied},         {FETCH_OK, 429, OUTCOME_rate_limited},
        {FETCH_OK, 503, OUTCOME_unavailable},    {FETCH_OK, 502, OUTCOME_unavailable},
        {FETCH_DNS, 0, OUTCOME_unavailable},     {FETCH_TLS, 0, OUTCOME_unavailable},
        {FETCH_CONNECT, 0, OUTCOME_unavailable}, {FETCH_BLOCKED, 0, OUTCOME_blocked},
        {FETCH_REDIRECTS, 302, OUTCOME_blocked}, {FETCH_PIN, 0, OUTCOME_blocked},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct check_state st = seen(), before = st;
        struct fetch_res r = response(cases[i].http, "\"b\"", NEW_DATE);
        r.end = cases[i].end;
        struct verdict v = judge_planned(&st, &r);
        assert_false(v.again);
        assert_string_equal(outcome_name(v.outcome), outcome_name(cases[i].outcome));
        assert_memory_equal(&st, &before, sizeof st);
    }
}

static void head_refusal_is_learned_from_success_only(void **state)
{
    (void)state;
    struct ask get = {.if_none_match = true, .if_modified_since = true, .why = ASK_NO_HEAD};
    struct check_state st = seen();
    struct fetch_res r = response(404, "", "");
    assert_outcome(judge(&st, get, &r, no_body), gone);
    assert_false(st.head_refused);
    r = response(304, "", "");
    assert_outcome(judge(&st, get, &r, no_body), not_modified);
    assert_true(st.head_refused);
    st = seen();
    r = response(200, "\"b\"", NEW_DATE);
    assert_outcome(judge(&st, get, &r, body('B', 1000)), changed);
    assert_true(st.head_refused);
}

static void head_without_use_is_learned(void **state)
{
    (void)state;
    struct ask get = conditional_get;
    struct check_state st = seen();
    struct fetch_res r = response(304, "", ""); /* HEAD could not say what GET says */
    assert_outcome(judge(&st, get, &r, no_body), not_modified);
    assert_true(st.head_refused);
    st = seen();
    r = response(200, "\"a\"", OLD_DATE);
    assert_outcome(judge(&st, get, &r, body('A', 1000)), unchanged);
    assert_true(st.head_refused);
    st = seen(); /* a tag that is not asked about is none that HEAD could tell */
    st.etag_flaps = ETAG_FLAPS_MAX;
    get.if_none_match = false;
    r = response(200, "\"b\"", OLD_DATE);
    assert_outcome(judge(&st, get, &r, body('A', 1000)), validator_drift);
    assert_true(st.head_refused);
    get = conditional_get;
    st = seen(); /* a real move: HEAD did its work */
    r = response(200, "\"b\"", OLD_DATE);
    assert_outcome(judge(&st, get, &r, body('B', 1000)), changed);
    assert_false(st.head_refused);
}

/* ---- failures -------------------------------------------------------------------------------- */

struct failure_case {
    enum fetch_end end;
    int http;
    int64_t retry_after_ms;
    enum outcome outcome;
    int64_t bytes_in;
};

static void failures_of_a_get(void **state)
{
    (void)state;
    static const struct failure_case cases[] = {
        {FETCH_OK, 404, -1, OUTCOME_gone, 0},
        {FETCH_OK, 410, -1, OUTCOME_gone, 0},
        {FETCH_OK, 401, -1, OUTCOME_denied, 0},
        {FETCH_OK, 403, -1, OUTCOME_denied, 0},
        {FETCH_OK, 451, -1, OUTCOME_denied, 0},
        {FETCH_OK, 429, -1, OUTCOME_rate_limited, 0},
        {FETCH_OK, 503, 0, OUTCOME_rate_limited, 0},
        {FETCH_OK, 503, -1, OUTCOME_unavailable, 0},
        {FETCH_OK, 500, -1, OUTCOME_unavailable, 0},
        {FETCH_OK, 405, -1, OUTCOME_unavailable, 0},
        {FETCH_OK, 202, -1, OUTCOME_not_ready, 0},
        {FETCH_OK, 204, -1, OUTCOME_not_ready, 0},
        {FETCH_OK, 206, -1, OUTCOME_not_ready, 0},
        {FETCH_STOPPED, 404, -1, OUTCOME_gone, 0},
        {FETCH_TIMEOUT, 0, -1, OUTCOME_unavailable, 0},
        {FETCH_TIMEOUT, 200, -1, OUTCOME_unavailable, 0},
        {FETCH_BROKEN, 200, -1, OUTCOME_unavailable, 0},
        {FETCH_SLOW, 200, -1, OUTCOME_unavailable, 0},
        {FETCH_DNS, 0, -1, OUTCOME_unavailable, 0},
        {FETCH_TLS, 0, -1, OUTCOME_unavailable, 0},
        {FETCH_PROTOCOL, 0, -1, OUTCOME_unavailable, 0},
        {FETCH_TRUNCATED, 200, -1, OUTCOME_wrong_shape, 5},
        {FETCH_TOO_LARGE, 200, -1, OUTCOME_wrong_shape, 5},
        {FETCH_TOO_LARGE, 200, -1, OUTCOME_unavailable, 0}, /* endless headers */
        {FETCH_BLOCKED, 0, -1, OUTCOME_blocked, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct check_state st = seen(), before = st;
        struct fetch_res r = response(cases[i].http, "\"b\"", NEW_DATE);
        r.end = cases[i].end;
        r.retry_after_ms = cases[i].retry_after_ms;
        r.bytes_in = cases[i].bytes_in;
        struct verdict v = judge(&st, conditional_get, &r, no_body);
        assert_false(v.again);
        assert_string_equal(outcome_name(v.outcome), outcome_name(cases[i].outcome));
        assert_memory_equal(&st, &before, sizeof st); /* D2: no failure moves what we know */
    }
}

static void books(void **state)
{
    (void)state;
    struct check_state st = seen();
    state_settle(&st, OUTCOME_gone, "HTTP 404", NOW);
    state_settle(&st, OUTCOME_unavailable, "HTTP 500", NOW + 1);
    state_settle(&st, OUTCOME_gone, "HTTP 410", NOW + 2);
    assert_int_equal(st.failures, 3);
    assert_int_equal(st.gone_count, 1); /* nobody saw it gone in between: it begins anew */
    assert_int_equal(st.gone_since, NOW + 2);
    assert_int_equal(st.checks, 3);
    assert_string_equal(st.last_outcome, "gone");
    assert_string_equal(st.last_detail, "HTTP 410");
    assert_int_equal(st.reached_at, 0);
    state_settle(&st, OUTCOME_not_modified, "HTTP 304", NOW + 3);
    assert_int_equal(st.failures, 0);
    assert_int_equal(st.gone_count, 0);
    assert_int_equal(st.gone_since, -1);
    assert_int_equal(st.reached_at, NOW + 3);
    assert_int_equal(st.checked_at, NOW + 3);
}

static void kinds(void **state)
{
    (void)state;
    assert_ptr_equal(detector_find("etag")->judge, etag_judge);
    assert_null(detector_find("telepathy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_by_state),
        cmocka_unit_test(plan_audit),
        cmocka_unit_test(plan_untrusted_validators),
        cmocka_unit_test(not_modified_304),
        cmocka_unit_test(renewed_by_head),
        cmocka_unit_test(unasked_304_is_a_failure),
        cmocka_unit_test(head_same_validator),
        cmocka_unit_test(head_that_settles_nothing),
        cmocka_unit_test(head_of_another_length),
        cmocka_unit_test(another_place),
        cmocka_unit_test(place_hides_the_query),
        cmocka_unit_test(refused_head_falls_back),
        cmocka_unit_test(head_failures_that_are_final),
        cmocka_unit_test(head_refusal_is_learned_from_success_only),
        cmocka_unit_test(head_without_use_is_learned),
        cmocka_unit_test(failures_of_a_get),
        cmocka_unit_test(books),
        cmocka_unit_test(kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
