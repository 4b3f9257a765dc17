/* test_admin: the routes of operators in freshet-intake: tokens, checks, sources. What they do with
 * changes has a test of its own (test_admin_changes.c). */
#include "tests/40-service/admin.h"

/* ---- checks ---------------------------------------------------------------------------------- */

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

/* ---- sources --------------------------------------------------------------------------------- */

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
        cmocka_unit_test(admin_says_when_the_inbox_is_full),
        cmocka_unit_test(admin_declares_a_source),
        cmocka_unit_test(admin_names_the_field_of_a_source),
        cmocka_unit_test(admin_raises_at_once_and_lowers_by_two),
        cmocka_unit_test(admin_hides_declarations),
        cmocka_unit_test(admin_pages_sources),
    };
    return cmocka_run_group_tests(tests, make_operators, drop_world);
}
