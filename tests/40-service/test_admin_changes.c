/* test_admin_changes: the routes of operators in freshet-intake that are about changes: rollbacks,
 * dead letters, approvals, replays. */
#include "tests/40-service/admin.h"

/* ---- rollbacks ------------------------------------------------------------------------------- */

static struct answer ask_back(const char *token, const char *delta, const char *key)
{
    char body[160];
    snprintf(body, sizeof body, "{\"delta\":\"%s\",\"reason\":\"wrong\"}", delta);
    return admin("POST", "/admin/rollbacks", token, body, key);
}

static void admin_takes_a_rollback(void **state)
{
    char path[128];
    (void)state;
    struct answer a = ask_back(tok_check, roads_change.delta_id, NULL);
    assert_int_equal(a.status, 403);
    answer_free(&a);
    a = ask_back(tok_back, roads_change.delta_id, "key-back");
    struct answer b = ask_back(tok_back, roads_change.delta_id, "key-back");
    assert_int_equal(a.status, 202);
    assert_same(&a, &b, "repeated rollbacks");
    snprintf(path, sizeof path, "/admin/rollbacks/%s", member(a.body, "rollback_id"));
    assert_string_equal(answer_header(&a, "Location"), member(a.body, "status_url"));
    answer_free(&a);
    answer_free(&b);
    a = admin("GET", path, tok_back, NULL, NULL);
    assert_string_equal(member(a.body, "state"), "open");
    assert_string_equal(member(a.body, "source_id"), "roads");
    answer_free(&a);
    drain();
    a = admin("GET", path, tok_back, NULL, NULL);
    assert_string_equal(member(a.body, "state"), "done");
    answer_free(&a);
    a = ask_back(tok_back, roads_change.delta_id, NULL);
    assert_int_equal(a.status, 409);
    assert_non_null(strstr(a.body, "{\"field\":\"delta\",\"message\":\"take back dlt_"));
    answer_free(&a);
    snprintf(path, sizeof path, "{\"delta\":\"%s\",\"reason\":\"other\"}", roads_change.delta_id);
    a = admin("POST", "/admin/rollbacks", tok_back, path, "key-back");
    assert_int_equal(a.status, 409); /* for the key, whatever stands before the change */
    assert_non_null(strstr(a.body, "Idempotency-Key"));
    assert_null(strstr(a.body, "take back dlt_"));
    answer_free(&a);
}

static struct answer post_back(const char *member_name, const char *value, const char *key)
{
    char body[160];
    snprintf(body, sizeof body, "{\"%s\":\"%s\",\"reason\":\"wrong\"}", member_name, value);
    return admin("POST", "/admin/rollbacks", tok_back, body, key);
}

/* All that goes first, as a member; then the state itself, and the blocks that it left. */
static void admin_goes_back_to_a_state(void **state)
{
    char path[128], wanted[48], body[64];
    size_t n = 20;
    (void)state;
    struct change c = publish(&roads, "{\"roads\":\"wanted\"}");
    snprintf(wanted, sizeof wanted, "%s", c.delta_id);
    for (size_t i = 0; i < n; i++) {
        snprintf(body, sizeof body, "{\"roads\":\"wrong %zu\"}", i);
        c = publish(&roads, body);
    }
    struct answer a = ask_back(tok_back, wanted, NULL);
    assert_int_equal(a.status, 409);
    yyjson_val *deltas = yyjson_obj_get(parsed(a.body), "deltas");
    assert_int_equal(yyjson_arr_size(deltas), n);
    assert_string_equal(yyjson_get_str(yyjson_arr_get_first(deltas)), c.delta_id);
    assert_true(yyjson_is_false(yyjson_obj_get(parsed(a.body), "more")));
    answer_free(&a);

    a = post_back("to", wanted, "key-to");
    assert_int_equal(a.status, 202);
    snprintf(path, sizeof path, "/admin/rollbacks/%s", member(a.body, "rollback_id"));
    drain();
    struct answer b = post_back("to", wanted, "key-to");
    assert_same(&a, &b, "repeated ways to a state");
    answer_free(&a);
    answer_free(&b);
    a = admin("GET", path, tok_back, NULL, NULL);
    assert_string_equal(member(a.body, "state"), "done");
    answer_free(&a);
    a = post_back("to", wanted, NULL);
    assert_int_equal(a.status, 200); /* it is there */
    assert_string_equal(member(a.body, "to"), wanted);
    answer_free(&a);

    a = post_back("lift", "roads", "key-lift");
    b = post_back("lift", "roads", "key-lift");
    assert_int_equal(a.status, 200);
    assert_true(yyjson_get_int(yyjson_obj_get(parsed(a.body), "lifted")) >= (int)n);
    assert_same(&a, &b, "repeated liftings");
    answer_free(&a);
    answer_free(&b);
    a = post_back("lift", "roads", NULL);
    assert_int_equal(yyjson_get_int(yyjson_obj_get(parsed(a.body), "lifted")), 0);
    answer_free(&a);
}

static void admin_wants_one_kind_of_rollback(void **state)
{
    static const char *const bad[] = {
        "{\"reason\":\"x\"}",
        "{\"delta\":\"dlt_x\",\"to\":\"dlt_x\",\"reason\":\"x\"}",
        "{\"to\":\"dlt_x\",\"lift\":\"roads\",\"reason\":\"x\"}",
        "{\"to\":\"dlt_x\"}",
        "{\"lift\":\"roads\"}",
        "{\"lift\":\"roads\",\"reason\":\" \"}",
        "{\"delta\":\"\",\"reason\":\"x\"}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct answer a = admin("POST", "/admin/rollbacks", tok_back, bad[i], NULL);
        if (a.status != 400)
            fail_msg("%s: %s", bad[i], a.raw);
        answer_free(&a);
    }
    struct answer s = post_back("to", sov_change.delta_id, NULL);
    struct answer n = post_back("to", "dlt_01980000-0000-7000-8000-000000000000", NULL);
    assert_int_equal(n.status, 404);
    assert_same(&s, &n, "states of sovereign and unknown sources");
    answer_free(&s);
    answer_free(&n);
    s = post_back("lift", SOV_ID, NULL);
    n = post_back("lift", "never-was-id0", NULL);
    assert_int_equal(n.status, 404);
    assert_same(&s, &n, "blocks of sovereign and unknown sources");
    answer_free(&s);
    answer_free(&n);
}

static void admin_hides_sovereign_rollbacks(void **state)
{
    (void)state;
    struct answer s = ask_back(tok_back, sov_change.delta_id, NULL);
    struct answer n = ask_back(tok_back, "dlt_01980000-0000-7000-8000-000000000000", NULL);
    assert_int_equal(n.status, 404);
    assert_same(&s, &n, "rollbacks of sovereign and unknown changes");
    answer_free(&s);
    answer_free(&n);
}

/* ---- decisions ------------------------------------------------------------------------------- */

static void admin_refuses_bad_decisions(void **state)
{
    static const char *const bad[] = {
        "{}", "{\"event\":\"evt_x\"}", "{\"event\":\"evt_x\",\"action\":\"burn\"}",
        "{\"event\":\"evt_x\",\"action\":\"drop\"}", "{\"action\":\"retry\"}"};
    char body[160];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct answer a = admin("POST", "/admin/dead-letters", tok_replay, bad[i], NULL);
        assert_int_equal(a.status, 400);
        answer_free(&a);
    }
    snprintf(body, sizeof body, "{\"event\":\"%s\",\"action\":\"retry\"}", sov_change.event_id);
    struct answer s = admin("POST", "/admin/dead-letters", tok_replay, body, NULL);
    struct answer n =
        admin("POST", "/admin/dead-letters", tok_replay,
              "{\"event\":\"evt_20200101T000000Z_000000\",\"action\":\"retry\"}", NULL);
    assert_same(&s, &n, "dead letters of sovereign and unknown events");
    answer_free(&s);
    answer_free(&n);
    snprintf(body, sizeof body, "{\"event\":\"%s\",\"action\":\"retry\"}", roads_change.event_id);
    s = admin("POST", "/admin/dead-letters", tok_replay, body, NULL);
    assert_int_equal(s.status, 409); /* it is not dead */
    answer_free(&s);
    s = admin("GET", "/admin/dead-letters", tok_replay, NULL, NULL);
    assert_string_equal(s.body, "{\"dead_letters\":[]}");
    answer_free(&s);
}

/* What a handler gave up is listed, shown and put back. */
static void admin_retries_a_dead_letter(void **state)
{
    char event[48], path[128], body[160];
    (void)state;
    see(&roads, "{\"roads\":\"given up\"}", event);
    sql("UPDATE inbox SET state = 'dead', reason = 'POISON' WHERE state = 'ready'");
    struct answer a = admin("GET", "/admin/dead-letters", tok_replay, NULL, NULL);
    assert_non_null(strstr(a.body, event));
    answer_free(&a);
    snprintf(path, sizeof path, "/admin/dead-letters/%s", event);
    a = admin("GET", path, tok_replay, NULL, NULL);
    assert_string_equal(member(a.body, "source_id"), "roads");
    assert_string_equal(member(a.body, "reason"), "POISON");
    answer_free(&a);
    snprintf(body, sizeof body, "{\"event\":\"%s\",\"action\":\"retry\"}", event);
    a = admin("POST", "/admin/dead-letters", tok_replay, body, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(member(a.body, "decision"), "retry");
    answer_free(&a);
    assert_int_equal(sql_number("SELECT count(*) FROM inbox WHERE state = 'dead'"), 0);
    drain();
    assert_string_equal(change_of(event).status, "finalized");
}

/* A held change is promoted after the decision of a reviewer, whose name is the token's. */
static void admin_approves_what_waits(void **state)
{
    char event[48], body[160];
    char token[TOKEN_PLAIN_MAX];
    int64_t no;
    (void)state;
    OK(token_create(led, "warden", SCOPE_APPROVE, -1, clock_now(), token, &no, &fix_err));
    see(&caves, "{\"canary-res-content\":7}", event);
    drain();
    struct answer a = admin("GET", "/admin/approvals", token, NULL, NULL);
    assert_non_null(strstr(a.body, event));
    answer_free(&a);
    snprintf(body, sizeof body,
             "{\"event\":\"%s\",\"decision\":\"approve\",\"note\":\"looked at it\"}", event);
    a = admin("POST", "/admin/approvals", token, body, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(member(a.body, "reviewer"), "warden");
    answer_free(&a);
    drain();
    assert_string_equal(change_of(event).status, "finalized");
}

/* ---- replays --------------------------------------------------------------------------------- */

static struct answer replays(const char *method, const char *id, const char *token,
                             const char *body, const char *key)
{
    char path[128];
    snprintf(path, sizeof path, "/admin/replays%s%s", *id ? "/" : "", id);
    return admin(method, path, token, body, key);
}

static void admin_refuses_bad_replays(void **state)
{
    static const struct {
        const char *body, *field;
    } bad[] = {{"{}", "since"},
               {"{\"since\":\"yesterday\"}", "since"},
               {"{\"since\":\"2026-07-02T00:00:00Z\",\"until\":\"2026-07-01T00:00:00Z\"}", "until"},
               {"{\"since\":\"2020-07-02T00:00:00Z\"}", "approved_by"},
               {"{\"since\":\"2020-07-02T00:00:00Z\",\"approved_by\":\" Keeper\"}", "approved_by"},
               {"{\"since\":\"2026-07-02T00:00:00Z\",\"dry\":true}", "dry"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct answer a = replays("POST", "", tok_steward, bad[i].body, NULL);
        assert_int_equal(a.status, 400);
        if (!strstr(a.body, arena_printf(&fix_arena, "\"field\":\"%s\"", bad[i].field)))
            fail_msg("%s: %s", bad[i].field, a.body);
        answer_free(&a);
    }
    struct answer a = replays("POST", "", tok_replay,
                              "{\"since\":\"2026-07-02T00:00:00Z\",\"source\":\"" SOV_ID
                              "\",\"approved_by\":\"x\"}",
                              NULL);
    assert_int_equal(a.status, 404);
    answer_free(&a);
}

/* On an intact ledger: every row is a no-op. One at a time; numbers for those who may know
 * of all. */
static void admin_replays_the_log(void **state)
{
    static const char wish[] = "{\"since\":\"2020-01-01T00:00:00Z\",\"approved_by\":\"A. Nother\"}";
    char id[64];
    (void)state;
    struct answer a = replays("POST", "", tok_replay, wish, "again");
    assert_int_equal(a.status, 202);
    snprintf(id, sizeof id, "%s", member(a.body, "replay_id"));
    struct answer b = replays("POST", "", tok_replay, wish, "again");
    assert_same(&a, &b, "repeated replays");
    answer_free(&a);
    answer_free(&b);
    a = replays("POST", "", tok_replay, wish, NULL);
    assert_int_equal(a.status, 409);
    answer_free(&a);
    a = replays("GET", id, tok_replay, NULL, NULL);
    assert_string_equal(member(a.body, "state"), "open");
    answer_free(&a);
    drain();
    a = replays("GET", id, tok_steward, NULL, NULL);
    assert_string_equal(member(a.body, "state"), "done");
    assert_string_equal(member(a.body, "approved_by"), "A. Nother");
    int64_t rows = yyjson_get_sint(yyjson_obj_get(parsed(a.body), "rows"));
    assert_true(rows > ROADS);
    assert_int_equal(rows, yyjson_get_sint(yyjson_obj_get(parsed(a.body), "noop")));
    answer_free(&a);
    a = replays("GET", id, tok_replay, NULL, NULL);
    assert_true(yyjson_is_null(yyjson_obj_get(parsed(a.body), "rows")));
    answer_free(&a);
    a = replays("GET", "", tok_replay, NULL, NULL);
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(parsed(a.body), "replays")), 1);
    answer_free(&a);
    a = replays("GET", "rpl_01980000-0000-7000-8000-000000000000", tok_replay, NULL, NULL);
    assert_int_equal(a.status, 404);
    answer_free(&a);
    a = replays(
        "POST", "", tok_replay,
        arena_printf(&fix_arena, "{\"since\":\"%s\",\"source\":\"roads\"}", "2099-01-01T00:00:00Z"),
        NULL);
    assert_int_equal(a.status, 400); /* nothing can have happened since */
    answer_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admin_hides_sovereign_rollbacks),
        cmocka_unit_test(admin_refuses_bad_decisions),
        cmocka_unit_test(admin_takes_a_rollback),
        cmocka_unit_test(admin_goes_back_to_a_state),
        cmocka_unit_test(admin_wants_one_kind_of_rollback),
        cmocka_unit_test(admin_approves_what_waits),
        cmocka_unit_test(admin_retries_a_dead_letter),
        cmocka_unit_test(admin_refuses_bad_replays),
        cmocka_unit_test(admin_replays_the_log),
    };
    return cmocka_run_group_tests(tests, make_operators, drop_world);
}
