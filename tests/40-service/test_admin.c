/* test_admin: the routes of operators in freshet-intake: tokens, checks, rollbacks,
 * dead letters. */
#include "tests/40-service/service.h"

static struct answer admin(const char *method, const char *path, const char *token,
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

static struct answer post(const char *token, const char *body, const char *key)
{
    return admin("POST", "/admin/checks", token, body, key);
}

static void admin_asks_for_tokens(void **state)
{
    (void)state;
    struct answer a = post(NULL, "{\"all\":true}", NULL);
    assert_int_equal(a.status, 401);
    assert_string_equal(answer_header(&a, "WWW-Authenticate"), "Bearer realm=\"freshet\"");
    assert_string_equal(answer_header(&a, "Access-Control-Allow-Origin"), "");
    answer_free(&a);
    a = post("fr_0000000000000000000000000000000000000000000", "{\"all\":true}", NULL);
    assert_int_equal(a.status, 401);
    answer_free(&a);
    a = post(tok_replay, "{\"all\":true}", NULL);
    assert_int_equal(a.status, 403);
    assert_non_null(strstr(member(a.body, "detail"), "`check`"));
    assert_non_null(strstr(answer_header(&a, "WWW-Authenticate"), "insufficient_scope"));
    answer_free(&a);
}

static void admin_refuses_bad_bodies(void **state)
{
    static const char *const bad[] = {
        "",
        "null",
        "[]",
        "{",
        "{}",
        "{\"source\":\"roads\",\"all\":true}",
        "{\"source\":7}",
        "{\"source\":\"\"}",
        "{\"all\":false}",
        "{\"all\":\"yes\"}",
        "{\"trigger\":\"sometimes\"}",
        "{\"sauce\":\"roads\"}",
        "{\"source\":\"roads\",\"extra\":1}",
        "{\"source\":null}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct answer a = post(tok_check, bad[i], NULL);
        if (a.status != 400)
            fail_msg("%s: %s", bad[i], a.raw);
        answer_free(&a);
    }
    struct answer a = post(tok_check, "{\"source\":\"roads\",\"extra\":1}", NULL);
    assert_non_null(strstr(a.body, "{\"field\":\"extra\","));
    answer_free(&a);
    a = post(tok_check, "{\"all\":true}", "bad\tkey");
    assert_int_equal(a.status, 400);
    answer_free(&a);
}

static void admin_refuses_size_and_type(void **state)
{
    static char large[6000];
    char auth[128];
    (void)state;
    memset(large, ' ', sizeof large - 1);
    struct answer a = post(tok_check, large, NULL);
    assert_int_equal(a.status, 413);
    answer_free(&a);
    snprintf(auth, sizeof auth, "HTTP_AUTHORIZATION=Bearer %s", tok_check);
    a = ask_at(intake_sock, &(struct ask){.method = "POST",
                                          .path = "/admin/checks",
                                          .type = "text/plain",
                                          .body = "{\"all\":true}",
                                          .headers = {auth}});
    assert_int_equal(a.status, 415);
    answer_free(&a);
    a = admin("GET", "/admin/checks", tok_check, NULL, NULL);
    assert_int_equal(a.status, 405);
    assert_string_equal(answer_header(&a, "Allow"), "POST, OPTIONS");
    answer_free(&a);
}

static void admin_takes_a_check(void **state)
{
    char path[128];
    (void)state;
    struct answer a = post(tok_check, "{\"source\":\"roads\"}", NULL);
    assert_int_equal(a.status, 202);
    const char *id = member(a.body, "check_id"), *url = member(a.body, "status_url");
    assert_true(strncmp(id, "chk_", 4) == 0);
    assert_string_equal(answer_header(&a, "Location"), url);
    snprintf(path, sizeof path, "/admin/checks/%s", id);
    assert_string_equal(url + strlen("http://test.example"), path);
    answer_free(&a);
    a = admin("GET", path, tok_check, NULL, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(member(a.body, "state"), "open");
    assert_non_null(yyjson_obj_get(yyjson_obj_get(parsed(a.body), "progress"), "total"));
    answer_free(&a);
    a = admin("GET", path, NULL, NULL, NULL);
    assert_int_equal(a.status, 401);
    answer_free(&a);
    a = admin("GET", "/admin/checks/chk_01980000-0000-7000-8000-000000000000", tok_check, NULL,
              NULL);
    assert_int_equal(a.status, 404);
    answer_free(&a);
}

static void admin_repeats_by_key(void **state)
{
    (void)state;
    struct answer a = post(tok_check, "{\"source\":\"roads\"}", "key-1");
    struct answer b = post(tok_check, " { \"source\" : \"roads\" } ", "key-1");
    assert_int_equal(a.status, 202);
    assert_same(&a, &b, "repeated answers");
    answer_free(&b);
    b = post(tok_check, "{\"source\":\"rivers\"}", "key-1");
    assert_int_equal(b.status, 409);
    answer_free(&b);
    b = post(tok_all, "{\"source\":\"rivers\"}", "key-1"); /* another caller's key is another key */
    assert_int_equal(b.status, 202);
    answer_free(&a);
    answer_free(&b);
}

static void admin_hides_sovereign_sources(void **state)
{
    char path[128];
    (void)state;
    struct answer s = post(tok_check, "{\"source\":\"" SOV_ID "\"}", NULL);
    struct answer n = post(tok_check, "{\"source\":\"never-was-id0\"}", NULL);
    assert_int_equal(s.status, 404);
    assert_same(&s, &n, "checks of sovereign and unknown ids");
    answer_free(&s);
    answer_free(&n);
    s = post(tok_check, "{\"url\":\"" RES_URL "\"}", NULL);
    n = post(tok_check, "{\"url\":\"https://never-was.example/\"}", NULL);
    assert_same(&s, &n, "checks of withheld and unknown addresses");
    answer_free(&s);
    answer_free(&n);
    s = post(tok_all, "{\"source\":\"" SOV_ID "\"}", NULL);
    assert_int_equal(s.status, 202);
    snprintf(path, sizeof path, "/admin/checks/%s", member(s.body, "check_id"));
    answer_free(&s);
    s = admin("GET", path, tok_check, NULL, NULL);
    n = admin("GET", "/admin/checks/chk_01980000-0000-7000-8000-000000000000", tok_check, NULL,
              NULL);
    assert_same(&s, &n, "status of a sovereign check");
    answer_free(&s);
    answer_free(&n);
}

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

/* Nothing is taken in that there is no room for; with room the same request is. */
static void admin_says_when_the_inbox_is_full(void **state)
{
    char event[48], body[64];
    (void)state;
    for (int i = 0; i < 3; i++) { /* inbox_max */
        snprintf(body, sizeof body, "{\"roads\":\"full %d\"}", i);
        see(&roads, body, event);
    }
    struct answer a = post(tok_check, "{\"source\":\"roads\"}", "full");
    assert_int_equal(a.status, 503);
    assert_string_equal(answer_header(&a, "Retry-After"), "30");
    assert_string_equal(member(a.body, "code"), "FULL");
    answer_free(&a);
    drain();
    a = post(tok_check, "{\"source\":\"roads\"}", "full");
    assert_int_equal(a.status, 202);
    answer_free(&a);
}

/* A count over all sources would tell how many are withheld. */
static void admin_withholds_counts(void **state)
{
    char path[128];
    (void)state;
    struct answer a = post(tok_check, "{\"all\":true}", NULL);
    snprintf(path, sizeof path, "/admin/checks/%s", member(a.body, "check_id"));
    answer_free(&a);
    a = admin("GET", path, tok_check, NULL, NULL);
    assert_true(yyjson_is_null(yyjson_obj_get(parsed(a.body), "progress")));
    answer_free(&a);
    a = admin("GET", path, tok_all, NULL, NULL);
    assert_true(yyjson_is_obj(yyjson_obj_get(parsed(a.body), "progress")));
    answer_free(&a);
}

/* ---- sources --------------------------------------------------------------------------------- */

static char tok_sources[TOKEN_PLAIN_MAX], tok_steward[TOKEN_PLAIN_MAX];

static void make_source_tokens(void)
{
    int64_t no;
    if (*tok_sources)
        return;
    OK(token_create(led, "declarer", SCOPE_SOURCES, -1, clock_now(), tok_sources, &no, &fix_err));
    OK(token_create(led, "keeper", SCOPE_SOURCES | SCOPE_REPLAY | SCOPE_READ_RESTRICTED, -1,
                    clock_now(), tok_steward, &no, &fix_err));
}

static struct answer sources(const char *method, const char *id, const char *token,
                             const char *body, const char *key)
{
    char path[128];
    snprintf(path, sizeof path, "/admin/sources%s%s", *id ? "/" : "", id);
    return admin(method, path, token, body, key);
}

#define PONDS(more)                                                                                \
    "{\"id\":\"ponds\",\"url\":\"https://data.example/ponds\",\"title\":\"Ponds\"" more "}"

static const char *order_state(const char *id, const char *token)
{
    struct answer a = sources("GET", id, token, NULL, NULL);
    assert_int_equal(a.status, 200);
    const char *state = arena_strdup(
        &fix_arena,
        yyjson_get_str(yyjson_obj_get(yyjson_obj_get(parsed(a.body), "order"), "state")));
    answer_free(&a);
    return state;
}

/* Asked for, carried out by a handler, shown, changed, retired. */
static void admin_declares_a_source(void **state)
{
    (void)state;
    make_source_tokens();
    struct answer a = sources("POST", "", tok_sources, PONDS(""), "ponds-1");
    assert_int_equal(a.status, 202);
    assert_string_equal(member(a.body, "source_id"), "ponds");
    assert_string_equal(member(a.body, "status_url"), "http://test.example/admin/sources/ponds");
    assert_string_equal(answer_header(&a, "Location"), member(a.body, "status_url"));
    struct answer b = sources("POST", "", tok_sources, PONDS(""), "ponds-1");
    assert_same(&a, &b, "repeated wishes");
    answer_free(&b);
    b = sources("POST", "", tok_sources, PONDS(",\"collection\":\"x\""), "ponds-1");
    assert_int_equal(b.status, 409);
    answer_free(&a);
    answer_free(&b);
    assert_string_equal(order_state("ponds", tok_sources), "open");
    drain();
    assert_string_equal(order_state("ponds", tok_sources), "done");
    a = sources("GET", "ponds", tok_sources, NULL, NULL);
    assert_string_equal(member(a.body, "title"), "Ponds");
    assert_string_equal(
        yyjson_get_str(yyjson_obj_get(yyjson_obj_get(parsed(a.body), "declaration"), "url")),
        "https://data.example/ponds");
    answer_free(&a);
    a = get("/sources/ponds", "");
    assert_int_equal(a.status, 200);
    answer_free(&a);
    a = sources("POST", "", tok_sources, PONDS(""), NULL);
    assert_int_equal(a.status, 409);
    assert_non_null(strstr(a.body, "{\"field\":\"id\","));
    answer_free(&a);
    a = sources("PUT", "ponds", tok_sources, PONDS(",\"collection\":\"waters\""), NULL);
    assert_int_equal(a.status, 202);
    answer_free(&a);
    a = sources("DELETE", "ponds", tok_sources, NULL, "ponds-2");
    assert_int_equal(a.status, 202);
    answer_free(&a);
    drain(); /* in the order of asking */
    a = sources("GET", "ponds", tok_sources, NULL, NULL);
    assert_string_equal(member(a.body, "collection"), "waters");
    assert_true(yyjson_get_bool(yyjson_obj_get(parsed(a.body), "retired")));
    answer_free(&a);
    a = sources("DELETE", "ponds", tok_sources, NULL, NULL);
    assert_int_equal(a.status, 409);
    answer_free(&a);
    a = sources("DELETE", "ponds", tok_sources, NULL, "ponds-2"); /* the answer from before */
    assert_int_equal(a.status, 202);
    answer_free(&a);
}

static void admin_names_the_field_of_a_source(void **state)
{
    static const struct {
        const char *body, *field;
    } bad[] = {{"{\"id\":\"a b\",\"url\":\"https://x.example/\"}", "id"},
               {"{\"id\":\"lakes\"}", "url"},
               {"{\"id\":\"lakes\",\"url\":\"ftp://x.example/\"}", "url"},
               {"{\"id\":\"lakes\",\"url\":\"https://x.example/\",\"urls\":1}", "urls"},
               {"{\"id\":\"lakes\",\"url\":\"https://x.example/\",\"sensitivity\":\"top\"}",
                "sensitivity"},
               {"{\"id\":\"lakes\",\"url\":\"https://x.example/\",\"triggers\":[{\"type\":"
                "\"hourly\"}]}",
                "triggers.type"}};
    (void)state;
    make_source_tokens();
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct answer a = sources("POST", "", tok_sources, bad[i].body, NULL);
        assert_int_equal(a.status, 400);
        if (!strstr(a.body, arena_printf(&fix_arena, "\"field\":\"%s\"", bad[i].field)))
            fail_msg("%s: %s", bad[i].field, a.body);
        answer_free(&a);
    }
    struct answer a = sources("PUT", "roads", tok_sources, PONDS(""), NULL);
    assert_int_equal(a.status, 400); /* another id than the address */
    answer_free(&a);
    a = sources("PUT", "never-was", tok_sources, PONDS(""), NULL);
    assert_int_equal(a.status, 404);
    answer_free(&a);
    a = sources("POST", "", tok_check, PONDS(""), NULL);
    assert_int_equal(a.status, 403);
    answer_free(&a);
    a = sources("POST", "", NULL, PONDS(""), NULL);
    assert_int_equal(a.status, 401);
    answer_free(&a);
    assert_int_equal(sql_number("SELECT count(*) FROM source_orders WHERE source_id = 'lakes'"), 0);
}

/* A raised level takes everything public away with the wish; a lowered one waits for
 * somebody else. */
static void admin_raises_at_once_and_lowers_by_two(void **state)
{
    (void)state;
    make_source_tokens();
    struct answer a =
        sources("POST", "", tok_sources,
                "{\"id\":\"wetlands\",\"url\":\"https://data.example/wetlands\"}", NULL);
    answer_free(&a);
    drain();
    a = sources("PUT", "wetlands", tok_sources,
                "{\"id\":\"wetlands\",\"url\":\"https://data.example/wetlands\",\"sensitivity\":"
                "\"sovereign\"}",
                NULL);
    assert_int_equal(a.status, 202);
    answer_free(&a);
    drain();
    assert_int_equal(sql_number("SELECT count(*) FROM public_sources WHERE source_id = 'wetlands'"),
                     0);
    a = sources("GET", "wetlands", tok_sources, NULL, NULL);
    assert_int_equal(a.status, 404);
    answer_free(&a);
    a = sources("PUT", "wetlands", tok_steward,
                "{\"id\":\"wetlands\",\"url\":\"https://data.example/wetlands\",\"sensitivity\":"
                "\"public\"}",
                NULL);
    assert_int_equal(a.status, 202);
    answer_free(&a);
    drain();
    a = sources("GET", "wetlands", tok_steward, NULL, NULL);
    assert_string_equal(member(a.body, "sensitivity"), "sovereign");
    assert_non_null(strstr(a.body, "until a second person approves lvl_"));
    answer_free(&a);
    assert_int_equal(sql_number("SELECT count(*) FROM level_requests WHERE decision IS NULL AND"
                                " asked_by = 'keeper' AND new = 'public'"),
                     1);
}

/* Sovereign sources are none, also in wishes about them; restricted ones show what the
 * public sees. */
static void admin_hides_declarations(void **state)
{
    (void)state;
    make_source_tokens();
    struct answer s = sources("GET", SOV_ID, tok_sources, NULL, NULL);
    struct answer n = sources("GET", "never-was-id0", tok_sources, NULL, NULL);
    assert_int_equal(s.status, 404);
    assert_same(&s, &n, "unknown sources");
    answer_free(&s);
    answer_free(&n);
    s = sources("DELETE", SOV_ID, tok_sources, NULL, NULL);
    n = sources("DELETE", "never-was-id0", tok_sources, NULL, NULL);
    assert_same(&s, &n, "unknown sources to retire");
    answer_free(&s);
    answer_free(&n);
    s = sources("POST", "", tok_sources,
                "{\"id\":\"" SOV_ID "\",\"url\":\"https://data.example/x\"}", NULL);
    assert_int_equal(s.status, 202); /* taken like any other */
    answer_free(&s);
    drain();
    s = sources("GET", SOV_ID, tok_sources, NULL, NULL);
    assert_int_equal(s.status, 200); /* its own wish, and nothing of the source */
    assert_true(yyjson_is_null(yyjson_obj_get(parsed(s.body), "title")));
    assert_null(strstr(s.body, "canary-sov-host"));
    answer_free(&s);
    assert_int_equal(sql_number("SELECT count(*) FROM source_orders WHERE source_id = '" SOV_ID
                                "' AND state ="
                                " 'failed'"),
                     1);
    s = sources("GET", "", tok_sources, NULL, NULL);
    assert_int_equal(s.status, 200);
    assert_null(strstr(s.body, "canary"));
    assert_non_null(strstr(s.body, "\"id\":\"caves\",\"title\":\"Caves\",\"collection\":\"kansas\","
                                   "\"sensitivity\":\"restricted\",\"retired\":false,"
                                   "\"declaration\":null"));
    answer_free(&s);
    s = sources("GET", "", tok_steward, NULL, NULL);
    assert_non_null(strstr(s.body, SOV_ID));
    answer_free(&s);
    s = sources("GET", SOV_ID, tok_steward, NULL, NULL);
    assert_string_equal(member(s.body, "sensitivity"), "sovereign");
    answer_free(&s);
}

static void admin_pages_sources(void **state)
{
    char after[64];
    int n = 0;
    (void)state;
    make_source_tokens();
    struct answer a = admin("GET", "/admin/sources", tok_steward, NULL, NULL);
    size_t all = yyjson_arr_size(yyjson_obj_get(parsed(a.body), "sources"));
    answer_free(&a);
    struct ask q = {.method = "GET", .path = "/admin/sources", .query = "limit=1"};
    q.headers[0] = arena_printf(&fix_arena, "HTTP_AUTHORIZATION=Bearer %s", tok_steward);
    for (bool more = true; more; n++) {
        a = ask_at(intake_sock, &q);
        assert_int_equal(a.status, 200);
        yyjson_val *one = yyjson_arr_get_first(yyjson_obj_get(parsed(a.body), "sources"));
        more = yyjson_arr_size(yyjson_obj_get(parsed(a.body), "links")) == 1;
        const char *id = yyjson_get_str(yyjson_obj_get(one, "id"));
        snprintf(after, sizeof after, "limit=1&after=%s", id ? id : "");
        q.query = after;
        answer_free(&a);
    }
    assert_int_equal(n, all);
    q.query = "after=never-was";
    a = ask_at(intake_sock, &q);
    assert_int_equal(a.status, 400);
    answer_free(&a);
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
    make_source_tokens();
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
    make_source_tokens();
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

static void admin_audits_every_call(void **state)
{
    static const char count[] = "SELECT count(*) FROM replay_log WHERE kind LIKE 'admin.%'";
    (void)state;
    int64_t before = sql_number(count);
    struct answer a[] = {post(NULL, "{}", NULL), post(tok_replay, "{}", NULL),
                         post(tok_check, "{}", NULL), post(tok_check, "{\"all\":true}", NULL),
                         admin("GET", "/admin/checks/chk_0", tok_check, NULL, NULL)};
    for (size_t i = 0; i < ARRAY_LEN(a); i++)
        answer_free(&a[i]);
    assert_int_equal(sql_number(count) - before, ARRAY_LEN(a));
    assert_int_equal(sql_number("SELECT count(*) FROM replay_log WHERE body LIKE '%fr_%'"
                                " OR ref LIKE '%fr_%'"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admin_asks_for_tokens),
        cmocka_unit_test(admin_refuses_bad_bodies),
        cmocka_unit_test(admin_refuses_size_and_type),
        cmocka_unit_test(admin_takes_a_check),
        cmocka_unit_test(admin_repeats_by_key),
        cmocka_unit_test(admin_hides_sovereign_sources),
        cmocka_unit_test(admin_withholds_counts),
        cmocka_unit_test(admin_audits_every_call),
        cmocka_unit_test(admin_hides_sovereign_rollbacks),
        cmocka_unit_test(admin_refuses_bad_decisions),
        cmocka_unit_test(admin_takes_a_rollback),
        cmocka_unit_test(admin_goes_back_to_a_state),
        cmocka_unit_test(admin_wants_one_kind_of_rollback),
        cmocka_unit_test(admin_approves_what_waits),
        cmocka_unit_test(admin_retries_a_dead_letter),
        cmocka_unit_test(admin_says_when_the_inbox_is_full),
        cmocka_unit_test(admin_declares_a_source),
        cmocka_unit_test(admin_names_the_field_of_a_source),
        cmocka_unit_test(admin_raises_at_once_and_lowers_by_two),
        cmocka_unit_test(admin_hides_declarations),
        cmocka_unit_test(admin_pages_sources),
        cmocka_unit_test(admin_refuses_bad_replays),
        cmocka_unit_test(admin_replays_the_log),
    };
    return cmocka_run_group_tests(tests, make_world, drop_world);
}
