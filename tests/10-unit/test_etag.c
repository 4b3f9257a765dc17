/* etag: what is asked, and what answers mean. Every row is one trap of HTTP, without a network.
 * Invariants of detectors/detector.h and detectors/etag.h are cited as D1… and E1…. */
#include "tests/10-unit/unit.h"
#include "core/clock.h"
#include "detectors/etag.h"
#include "ledger/health.h"

#define NOW 1780000000000LL
#define URL "https://data.example/a.zip"
#define OLD_DATE "Mon, 01 Jan 2024 00:00:00 GMT"
#define NEW_DATE "Tue, 02 Jan 2024 00:00:00 GMT"
#define FUTURE_DATE "Mon, 01 Jan 2035 00:00:00 GMT"
#define IN_2036 2082758400000LL

static const struct conf conf = {.audit_every = 20};

/* A source that was seen once: 1000 bytes of 'A', both validators known. */
static struct check_state seen(void)
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

static struct check_state unseen(void)
{
    return (struct check_state){.seen_size = -1, .checked_at = -1, .gone_since = -1};
}

static struct fetch_res response(int http, const char *etag, const char *date)
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

static struct body_facts body(char letter, int64_t size)
{
    struct body_facts b = {.read = true, .size = size};
    memset(b.sha.b, letter, sizeof b.sha.b);
    return b;
}

static struct verdict judge(struct check_state *st, struct ask ask, const struct fetch_res *res,
                            struct body_facts b)
{
    struct answer a = {.ask = ask, .res = res, .body = b};
    return etag_judge(st, &a, NOW);
}

static struct verdict judge_planned(struct check_state *st, const struct fetch_res *res)
{
    return judge(st, etag_plan(st, &conf, NOW), res, (struct body_facts){0});
}

static const struct body_facts no_body;
static const struct ask conditional_get = {
    .if_none_match = true, .if_modified_since = true, .why = ASK_HEAD_SAID};
static const struct ask plain_get = {.why = ASK_FIRST};
static const struct ask audit = {.why = ASK_AUDIT};

#define assert_outcome(v, o) is_outcome((v), #o, __LINE__)
static void is_outcome(struct verdict v, const char *want, int line)
{
    if (v.again || strcmp(outcome_name(v.outcome), want) != 0)
        fail_msg("line %d: %s (%s), not %s", line, v.again ? "asks again" : outcome_name(v.outcome),
                 v.detail, want);
}

static void assert_ask(struct ask a, bool head, bool inm, bool ims, enum ask_why why)
{
    assert_int_equal(a.head, head);
    assert_int_equal(a.if_none_match, inm);
    assert_int_equal(a.if_modified_since, ims);
    assert_int_equal(a.why, why);
}

static void assert_next(struct verdict v, bool head, bool inm, bool ims, enum ask_why why)
{
    assert_true(v.again);
    assert_ask(v.next, head, inm, ims, why);
}

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

/* ---- bodies ---------------------------------------------------------------------------------- */

static void first_bytes_are_new(void **state)
{
    (void)state;
    struct check_state st = unseen();
    struct fetch_res r = response(200, "\"a\"", OLD_DATE);
    assert_outcome(judge(&st, plain_get, &r, body('A', 1000)), new);
    assert_true(st.has_seen);
    assert_int_equal(st.seen_size, 1000);
    assert_string_equal(st.etag, "\"a\"");
    assert_string_equal(st.last_modified, OLD_DATE);
    assert_string_equal(st.validator_url, URL);
    assert_int_equal(st.verified_at, NOW);
    assert_int_equal(st.changed_at, NOW);
}

struct body_case {
    const char *etag, *date;
    char letter;
    enum outcome outcome;
    int flaps;
    bool doubted; /* the date */
};

/* What the digest says decides (I2); validators only name the kind of change. */
static void bodies_against_a_seen_state(void **state)
{
    (void)state;
    static const struct body_case cases[] = {
        {"\"a\"", OLD_DATE, 'A', OUTCOME_unchanged, 0, false},
        {"\"b\"", OLD_DATE, 'A', OUTCOME_validator_drift, 1, false},
        {"W/\"a\"", OLD_DATE, 'A', OUTCOME_validator_drift, 1, false},
        {"\"a\"", NEW_DATE, 'A', OUTCOME_validator_drift, 0, false},
        {"\"a\"", FUTURE_DATE, 'A', OUTCOME_validator_drift, 0, true},
        {"", OLD_DATE, 'A', OUTCOME_validator_drift, 1, false},
        {"\"b\"", NEW_DATE, 'B', OUTCOME_changed, 0, false},
        {"\"b\"", OLD_DATE, 'B', OUTCOME_changed, 0, true},
        {"\"a\"", NEW_DATE, 'B', OUTCOME_changed, ETAG_FLAPS_LIED, false},
        {"", "", 'B', OUTCOME_changed, 0, false},
        {"\"a\"", OLD_DATE, 'B', OUTCOME_silent_change, ETAG_FLAPS_LIED, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct check_state st = seen();
        struct fetch_res r = response(200, cases[i].etag, cases[i].date);
        struct verdict v = judge(&st, conditional_get, &r, body(cases[i].letter, 990));
        assert_false(v.again);
        assert_string_equal(outcome_name(v.outcome), outcome_name(cases[i].outcome));
        assert_string_equal(st.etag, cases[i].etag); /* on every 200 both, exactly as given */
        assert_string_equal(st.last_modified, cases[i].date);
        assert_int_equal(st.etag_flaps, cases[i].flaps);
        assert_int_equal(st.date_doubted, cases[i].doubted);
        assert_int_equal(st.seen_sha.b[0], cases[i].letter);
        assert_int_equal(st.since_audit, 0);
        assert_int_equal(st.changed_at == NOW, outcome_candidate(v.outcome));
    }
}

/* "a" was seen last, "b" before it; a handler found that both say the same. */
static struct check_state two_forms(void)
{
    struct check_state st = seen();
    st.has_other = st.other_same = true;
    st.other_size = 990;
    memset(st.other_sha.b, 'B', sizeof st.other_sha.b);
    snprintf(st.other_etag, sizeof st.other_etag, "\"b\"");
    snprintf(st.other_last_modified, sizeof st.other_last_modified, "%s", NEW_DATE);
    return st;
}

static void assert_turned(const struct check_state *st)
{
    assert_int_equal(st->seen_sha.b[0], 'B');
    assert_int_equal(st->other_sha.b[0], 'A');
    assert_int_equal(st->seen_size, 990);
    assert_int_equal(st->other_size, 1000);
    assert_string_equal(st->etag, "\"b\"");
    assert_string_equal(st->other_etag, "\"a\"");
    assert_string_equal(st->last_modified, NEW_DATE);
    assert_true(st->other_moved && st->other_met && st->other_same);
    assert_int_equal(st->changed_at == NOW, false);
}

static void the_other_form_is_no_change(void **state)
{
    (void)state;
    struct check_state st = two_forms();
    struct fetch_res r = response(200, "\"b\"", NEW_DATE);
    assert_outcome(judge(&st, conditional_get, &r, body('B', 990)), unchanged);
    assert_turned(&st);
    st = two_forms(); /* HEAD shows its ETag: nothing is read */
    assert_outcome(judge_planned(&st, &r), not_modified);
    assert_turned(&st);
    st = two_forms(); /* a list was sent, and this one of it fits */
    r = response(304, "\"b\"", NEW_DATE);
    assert_outcome(judge(&st, conditional_get, &r, no_body), not_modified);
    assert_turned(&st);
    st = two_forms(); /* its ETag, but not its length */
    r = response(200, "\"b\"", NEW_DATE);
    r.content_length = 5;
    assert_next(judge_planned(&st, &r), false, true, true, ASK_HEAD_SAID);
    assert_int_equal(st.seen_sha.b[0], 'A'); /* what is not settled moves nothing */
    assert_false(st.other_met);
}

static void what_nobody_vouched_for_is_a_change(void **state)
{
    (void)state;
    struct check_state st = two_forms();
    struct fetch_res r = response(200, "\"b\"", NEW_DATE);
    st.other_same = false;
    assert_outcome(judge(&st, conditional_get, &r, body('B', 990)), changed);
    st = two_forms();
    r = response(200, "\"c\"", NEW_DATE);
    assert_outcome(judge(&st, conditional_get, &r, body('C', 990)), changed);
    assert_int_equal(st.other_sha.b[0], 'A'); /* until a handler has read it */
    assert_string_equal(st.other_etag, "\"a\"");
    assert_false(st.other_same);
    assert_false(st.other_met);
    assert_true(st.other_moved);
}

static void bodies_without_validators(void **state)
{
    (void)state;
    struct check_state st = seen();
    st.etag[0] = st.last_modified[0] = '\0';
    struct fetch_res r = response(200, "", "");
    struct ask blind = {.why = ASK_BLIND};
    assert_outcome(judge(&st, blind, &r, body('A', 1000)), unchanged);
    assert_outcome(judge(&st, blind, &r, body('B', 1000)), changed);
    assert_false(st.head_refused);
}

/* The same tag and date of another target say nothing about ours. */
static void change_of_place_is_not_silent(void **state)
{
    (void)state;
    struct check_state st = seen();
    struct fetch_res r = response(200, "\"a\"", OLD_DATE);
    snprintf(r.final_url, sizeof r.final_url, "https://other.example/a.zip");
    assert_outcome(judge(&st, conditional_get, &r, body('B', 1000)), changed);
    assert_string_equal(st.validator_url, "https://other.example/a.zip");
    assert_int_equal(st.etag_flaps, 0); /* nor do they prove each other liars */
    assert_false(st.date_doubted);
}

/* E4, E5: what did not tell a change is given up, until it tells one. */
static void validators_that_lied(void **state)
{
    (void)state;
    struct check_state st = seen();
    struct fetch_res r = response(200, "\"a\"", OLD_DATE);
    assert_null(etag_doubt(&st));
    assert_outcome(judge(&st, audit, &r, body('B', 1000)), silent_change);
    assert_string_equal(etag_doubt(&st), "constant");
    assert_ask(etag_plan(&st, &conf, NOW), false, false, false, ASK_BLIND);
    assert_outcome(judge(&st, etag_plan(&st, &conf, NOW), &r, body('B', 1000)), unchanged);
    assert_string_equal(etag_doubt(&st), "constant");
    assert_ask(etag_plan(&st, &conf, NOW), false, false, false, ASK_BLIND); /* teaches nothing */
    r = response(200, "\"c\"", NEW_DATE);
    assert_outcome(judge(&st, etag_plan(&st, &conf, NOW), &r, body('C', 1000)), changed);
    assert_ask(etag_plan(&st, &conf, NOW), true, true, true, ASK_VALIDATE);

    st = seen(); /* a weak tag may stay when bytes move */
    snprintf(st.etag, sizeof st.etag, "W/\"a\"");
    r = response(200, "W/\"a\"", NEW_DATE);
    assert_outcome(judge(&st, audit, &r, body('B', 1000)), changed);
    assert_ask(etag_plan(&st, &conf, NOW), true, true, true, ASK_VALIDATE);
}

static void audit_finds_false_304(void **state)
{
    (void)state;
    struct check_state st = seen();
    st.since_audit = 19;
    struct fetch_res r = response(200, "\"a\"", OLD_DATE);
    assert_outcome(judge(&st, etag_plan(&st, &conf, NOW), &r, body('B', 1000)), silent_change);
    assert_int_equal(st.since_audit, 0);
}

/* E5: ahead of the server's own Date, or of our clock when it has none; or before the web. Kept as
 * given, which is all that drift needs, but not sent. */
static void impossible_dates(void **state)
{
    (void)state;
    static const struct {
        const char *date;
        int64_t server_clock;
        bool doubted;
    } cases[] = {
        {FUTURE_DATE, NOW, true},
        {FUTURE_DATE, -1, true},
        {"Mon, 01 Jan 2035 00:00:00 GMT", IN_2036, false}, /* its clock is ahead as a whole */
        {"Thu, 01 Jan 1970 00:00:01 GMT", NOW, true},
        {"Tue, 01 Jan 1980 00:00:00 GMT", -1, true},
        {"yesterday", NOW, false},
        {OLD_DATE, NOW, false},
        {"", NOW, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct check_state st = unseen();
        struct fetch_res r = response(200, "", cases[i].date);
        r.date_ms = cases[i].server_clock;
        assert_outcome(judge(&st, plain_get, &r, body('A', 10)), new);
        assert_string_equal(st.last_modified, cases[i].date);
        assert_int_equal(st.date_doubted, cases[i].doubted);
        assert_outcome(judge(&st, plain_get, &r, body('A', 10)), unchanged);
        bool sent = etag_plan(&st, &conf, NOW).if_modified_since;
        assert_int_equal(sent, strcmp(cases[i].date, OLD_DATE) == 0 || cases[i].date[0] == 'y');
    }
}

/* E4 */
static void flapping_tag_is_given_up(void **state)
{
    (void)state;
    struct check_state st = seen();
    static const char *const nodes[] = {"\"n1\"", "\"n2\"", "\"n3\""};
    for (int i = 0; i < ETAG_FLAPS_MAX; i++) {
        assert_true(etag_plan(&st, &conf, NOW).if_none_match);
        struct fetch_res r = response(200, nodes[i], OLD_DATE);
        assert_outcome(judge(&st, conditional_get, &r, body('A', 1000)), validator_drift);
    }
    assert_ask(etag_plan(&st, &conf, NOW), true, false, true, ASK_VALIDATE);
    struct fetch_res r =
        response(200, "\"n1\"", OLD_DATE); /* now a 304 to the date is what counts */
    assert_next(judge_planned(&st, &r), false, false, true, ASK_HEAD_SAID);
    r = response(304, "", "");
    assert_outcome(judge_planned(&st, &r), not_modified);
    r = response(200, "\"z\"", NEW_DATE); /* a real change gives the tag another chance */
    assert_outcome(judge(&st, conditional_get, &r, body('B', 1000)), changed);
    assert_true(etag_plan(&st, &conf, NOW).if_none_match);
}

static void wrong_bodies(void **state)
{
    (void)state;
    struct check_state st = seen(), before = st;
    struct fetch_res r = response(200, "\"b\"", NEW_DATE);
    struct body_facts html = body('H', 900);
    html.wrong = "HTML where a zip was expected";
    assert_outcome(judge(&st, conditional_get, &r, html), wrong_shape);
    assert_outcome(judge(&st, conditional_get, &r, no_body), wrong_shape);
    assert_outcome(judge(&st, conditional_get, &r, body('B', 99)), wrong_shape);
    snprintf(r.content_encoding, sizeof r.content_encoding, "gzip");
    assert_outcome(judge(&st, conditional_get, &r, body('B', 1000)), wrong_shape);
    assert_memory_equal(&st, &before, sizeof st); /* D2 */
    snprintf(r.content_encoding, sizeof r.content_encoding, "Identity");
    assert_outcome(judge(&st, conditional_get, &r, body('B', 100)), changed);
}

/* D4: what could break a request line out of its header is not a validator. */
static void unclean_validators_are_none(void **state)
{
    (void)state;
    struct check_state st = unseen();
    struct fetch_res r = response(200, "\"a\r\nX-Evil: 1\"", "Mon, 01 Jan 2024\n00:00:00 GMT");
    assert_outcome(judge(&st, plain_get, &r, body('A', 10)), new);
    assert_string_equal(st.etag, "");
    assert_string_equal(st.last_modified, "");
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
        cmocka_unit_test(first_bytes_are_new),
        cmocka_unit_test(bodies_against_a_seen_state),
        cmocka_unit_test(the_other_form_is_no_change),
        cmocka_unit_test(what_nobody_vouched_for_is_a_change),
        cmocka_unit_test(bodies_without_validators),
        cmocka_unit_test(change_of_place_is_not_silent),
        cmocka_unit_test(audit_finds_false_304),
        cmocka_unit_test(validators_that_lied),
        cmocka_unit_test(impossible_dates),
        cmocka_unit_test(flapping_tag_is_given_up),
        cmocka_unit_test(wrong_bodies),
        cmocka_unit_test(unclean_validators_are_none),
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
