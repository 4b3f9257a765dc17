/* etag: what bytes that were read mean: new, changed, silent, another form, or none at all. Without
 * a network. */
#include "tests/10-unit/etag_case.h"

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
    /* Now a 304 to the date is what counts. */
    struct fetch_res r = response(200, "\"n1\"", OLD_DATE);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
