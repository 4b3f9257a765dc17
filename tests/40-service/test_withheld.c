/* test_withheld: what is restricted or sovereign reaches no answer, no log line, no
 * validator (I8). */
#include "tests/40-service/service.h"

static void sovereign_is_unknown_byte_for_byte(void **state)
{
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "POST"};
    (void)state;
    EACH_ROUTE(r)
    {
        if (!strchr(r->pattern, '{'))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
            char path[256];
            snprintf(path, sizeof path, "%s", address(r->pattern, value_of(r->pattern, SOVEREIGN)));
            struct answer s = ask(&(struct ask){.method = methods[i], .path = path});
            struct answer n = ask(&(struct ask){
                .method = methods[i], .path = address(r->pattern, value_of(r->pattern, NOBODY))});
            if (strcmp(methods[i], "GET") == 0)
                assert_int_equal(s.status, 404);
            assert_same(&s, &n, r->pattern);
            answer_free(&s);
            answer_free(&n);
        }
    }
}

/* The self link repeats the filter that was asked for; everything else must not differ. */
static void filters_do_not_tell_sovereign_from_unknown(void **state)
{
    (void)state;
    struct answer s = get("/changes", "source=" SOV_ID),
                  n = get("/changes", "source=never-was-id0");
    assert_int_equal(strlen(SOV_ID), strlen("never-was-id0"));
    char *echo = s.raw ? strstr(s.raw, SOV_ID) : NULL;
    assert_non_null(echo);
    for (size_t i = 0; echo && i < strlen(SOV_ID); i++)
        echo[i] = "never-was-id0"[i];
    assert_same(&s, &n, "filtered feeds");
    answer_free(&s);
    answer_free(&n);
    s = get("/freshness", "collection=canary-sov-collection");
    n = get("/freshness", "collection=never-was-collection0");
    echo = s.raw ? strstr(s.raw, "canary-sov-collection") : NULL; /* the self link says it back */
    assert_non_null(echo);
    for (size_t i = 0; echo && i < strlen("canary-sov-collection"); i++)
        echo[i] = "never-was-collection0"[i];
    assert_same(&s, &n, "filtered lists");
    answer_free(&s);
    answer_free(&n);
}

static const char *const canaries[] = {"canary-", SOV_TITLE, RES_BODY, SOV_BODY};

static void assert_clean(const char *text, size_t n, const char *where)
{
    const char *private_ids[] = {caves_hex,           sov_hex,
                                 caves_change.run_id, caves_change.delta_id,
                                 sov_change.run_id,   sov_change.event_id,
                                 sov_change.delta_id};
    for (size_t i = 0; text && i < ARRAY_LEN(canaries); i++)
        if (memmem(text, n, canaries[i], strlen(canaries[i])))
            fail_msg("%s: %s came out: %.2000s", where, canaries[i], text);
    for (size_t i = 0; text && i < ARRAY_LEN(private_ids); i++)
        if (memmem(text, n, private_ids[i], strlen(private_ids[i])))
            fail_msg("%s: %s came out: %.2000s", where, private_ids[i], text);
}

static void log_is_clean(const char *name)
{
    static char text[1u << 20];
    char path[192];
    snprintf(path, sizeof path, "%s/log/%s", fix_dir, name);
    unit_read(path, text, sizeof text);
    assert_clean(text, strlen(text), name);
}

static void canaries_stay_inside(void **state)
{
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "DELETE"};
    (void)state;
    EACH_ROUTE(r)
    for (int who = PUBLIC; who <= NOBODY; who++)
        for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
            const char *at = address(r->pattern, value_of(r->pattern, (enum whose)who));
            struct answer a = ask(&(struct ask){.method = methods[i], .path = at});
            assert_clean(a.raw, a.n, at);
            answer_free(&a);
        }
    struct answer a = get("/changes", "since=0&limit=1000");
    assert_clean(a.raw, a.n, "the whole feed");
    answer_free(&a);
    log_is_clean("api.log");
    log_is_clean("intake.log");
}

/* All public answers before and after: not a byte, a validator or a place in the sequence moves. */
static void withheld_activity_moves_nothing(void **state)
{
    static const char *const at[] = {"/changes",         "/freshness",        "/sources",
                                     "/freshness/roads", "/badges/roads.svg", "/badges/caves.json",
                                     "/freshness/caves", "/sources/caves"};
    struct answer before[ARRAY_LEN(at)];
    char event[48];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(at); i++)
        before[i] = get(at[i], "");
    publish(&sovereign, "{\"canary-sov-content\":2}");
    struct check_result r = fix_result(&caves, OUTCOME_not_modified, 0);
    r.started_at = r.ended_at = r.state.checked_at = r.state.reached_at = clock_now();
    OK(check_commit(led, &r, 1, clock_now(), &fix_err));
    see(&caves, "{\"canary-res-content\":2}", event); /* found, not yet approved */
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        struct answer after = get(at[i], "");
        assert_same(&before[i], &after, at[i]);
        answer_free(&before[i]);
        answer_free(&after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sovereign_is_unknown_byte_for_byte),
        cmocka_unit_test(filters_do_not_tell_sovereign_from_unknown),
        cmocka_unit_test(canaries_stay_inside),
        cmocka_unit_test(withheld_activity_moves_nothing),
    };
    return cmocka_run_group_tests(tests, make_world, drop_world);
}
