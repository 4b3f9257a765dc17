/* test_api: what freshet-api answers: every route, conditions, methods, parameters, the
 * feed, health. */
#include "core/version.h"
#include "tests/40-service/service.h"

/* ---- every route ----------------------------------------------------------------------------- */

/* Pages of other sites may read what is public, but not the numbers of this machine. */
static const char *allowed(const struct route *r)
{
    return strcmp(r->pattern, "/metrics") == 0 ? "" : "*";
}

static void every_route_answers(void **state)
{
    (void)state;
    EACH_ROUTE(r)
    {
        struct answer a = get(address(r->pattern, value_of(r->pattern, PUBLIC)), "");
        if (a.status != 200)
            fail_msg("%s: %s", r->pattern, a.raw);
        assert_string_equal(answer_header(&a, "X-Freshet-Route"), r->pattern);
        assert_string_equal(answer_header(&a, "Cache-Control"), r->cache);
        assert_string_equal(answer_header(&a, "Vary"), "Accept");
        assert_string_equal(answer_header(&a, "Access-Control-Allow-Origin"), allowed(r));
        bool handed_over = answer_header(&a, "X-Accel-Redirect")[0] != 0;
        if (strcmp(r->produces, "application/json") == 0 && !handed_over)
            assert_non_null(parsed(a.body));
        bool health = strcmp(r->cache, "no-store") == 0;
        assert_int_equal(answer_header(&a, "ETag")[0] == '"', !health);
        bool built = !(r->flags & ROUTE_LEDGER); /* its date is that of the build, if it has one */
        bool dated = !health && (!built || freshet_commit_at >= 0);
        assert_int_equal(answer_header(&a, "Last-Modified")[0] != 0, dated);
        answer_free(&a);
    }
}

static void bodies_say_what_happened(void **state)
{
    (void)state;
    struct answer a = get(address("/changes/{x}", roads_change.event_id), "");
    assert_string_equal(member(a.body, "source_id"), "roads");
    assert_string_equal(member(a.body, "change_event_id"), roads_change.event_id);
    assert_true(strncmp(member(a.body, "prov_ref"), "http://test.example/prov/", 25) == 0);
    answer_free(&a);
    a = get("/freshness/roads", "");
    assert_string_equal(member(a.body, "state"), "current");
    assert_string_equal(member(a.body, "run_id"), roads_change.run_id);
    answer_free(&a);
    a = get(address("/deltas/{x}", roads_change.delta_id), "");
    assert_null(strstr(a.body, "\\u001")); /* no base mark is left */
    assert_non_null(strstr(a.body, roads_hex));
    answer_free(&a);
    a = get("/badges/roads.svg", "");
    assert_non_null(strstr(a.body, "role=\"img\""));
    assert_non_null(strstr(a.raw, roads_change.run_id)); /* Link */
    answer_free(&a);
    a = get("/sources", "");
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(parsed(a.body), "results")), 3);
    answer_free(&a);
}

static void assets_are_handed_to_nginx(void **state)
{
    char want[160];
    (void)state;
    struct answer a = get(address("/assets/sha256/{x}", roads_hex), "");
    snprintf(want, sizeof want, "/_store/sha256/%.2s/%.2s/%s", roads_hex, roads_hex + 2, roads_hex);
    assert_string_equal(answer_header(&a, "X-Accel-Redirect"), want);
    assert_string_equal(answer_header(&a, "Content-Type"), "application/json");
    assert_string_equal(answer_header(&a, "Content-Length"), "");
    answer_free(&a);
    snprintf(want, sizeof want, "HTTP_IF_NONE_MATCH=\"%s\"", roads_hex);
    a = ask(&(struct ask){.path = address("/assets/sha256/{x}", roads_hex), .headers = {want}});
    assert_int_equal(a.status, 304);
    assert_string_equal(answer_header(&a, "X-Accel-Redirect"), "");
    answer_free(&a);
}

static void manifests_are_listings_under_the_name_of_their_run(void **state)
{
    char hex[SHA256_HEX], want[160], path[128];
    struct sha256 sha;
    (void)state;
    hex_of(RIVERS_BODY, &sha, hex);
    snprintf(path, sizeof path, "/manifests/man_%s", rivers_change.run_id);
    struct answer a = get(path, "");
    snprintf(want, sizeof want, "/_store/sha256/%.2s/%.2s/%s", hex, hex + 2, hex);
    assert_string_equal(answer_header(&a, "X-Accel-Redirect"), want);
    assert_string_equal(answer_header(&a, "Content-Type"), "application/json");
    assert_string_equal(answer_header(&a, "Cache-Control"), "no-cache");
    answer_free(&a);
    /* Bytes that are no listing have no manifest, though they have a delta. */
    snprintf(path, sizeof path, "/manifests/man_%s", roads_change.run_id);
    assert_int_equal(status_of(&(struct ask){.path = path}), 404);
    assert_int_equal(status_of(&(struct ask){.path = "/manifests/man_"}), 404);
    assert_int_equal(status_of(&(struct ask){.path = "/manifests/dlt_"}), 404);
}

/* ---- conditional, HEAD, OPTIONS, methods, parameters ----------------------------------------- */

static void every_route_answers_304(void **state)
{
    char tag[2048], weak[2100], list[2100];
    (void)state;
    EACH_ROUTE(r)
    {
        const char *at = address(r->pattern, value_of(r->pattern, PUBLIC));
        struct answer a = get(at, "");
        snprintf(tag, sizeof tag, "%s", answer_header(&a, "ETag"));
        answer_free(&a);
        if (!tag[0])
            continue;
        snprintf(weak, sizeof weak, "HTTP_IF_NONE_MATCH=W/%s", tag);
        snprintf(list, sizeof list, "HTTP_IF_NONE_MATCH=\"other\", %s", tag);
        a = ask(&(struct ask){.path = at, .headers = {weak}});
        assert_int_equal(a.status, 304);
        assert_string_equal(a.body, "");
        assert_string_equal(answer_header(&a, "ETag"), tag);
        answer_free(&a);
        assert_int_equal(status_of(&(struct ask){.path = at, .headers = {list}}), 304);
        assert_int_equal(
            status_of(&(struct ask){.path = at, .headers = {"HTTP_IF_NONE_MATCH=\"other\""}}), 200);
    }
}

#define BADGES 200

/* A page of badges that a browser has seen: each is asked once, and costs a 304 without a body. */
static void page_of_badges_costs_as_many_304s(void **state)
{
    char id[32], path[64], tag[BADGES][32], held[64];
    (void)state;
    for (int i = 0; i < BADGES; i++) {
        snprintf(id, sizeof id, "badge-%03d", i);
        (void)declare(id, "A badge", address("https://data.example/{x}", id), "public");
    }
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < BADGES; i++) {
            snprintf(path, sizeof path, "/badges/badge-%03d.svg", i);
            snprintf(held, sizeof held, "HTTP_IF_NONE_MATCH=%.31s", again ? tag[i] : "\"none\"");
            struct answer a = ask(&(struct ask){.path = path, .headers = {held}});
            assert_int_equal(a.status, again ? 304 : 200);
            assert_int_equal(a.body[0] != 0, !again);
            assert_string_equal(answer_header(&a, "Cache-Control"), "no-cache");
            snprintf(tag[i], sizeof tag[i], "%.31s", answer_header(&a, "ETag"));
            answer_free(&a);
        }
}

static void modified_since_works_where_dates_are_exact(void **state)
{
    char since[2100];
    const char *at = address("/changes/{x}", roads_change.event_id);
    (void)state;
    struct answer a = get(at, "");
    snprintf(since, sizeof since, "HTTP_IF_MODIFIED_SINCE=%s", answer_header(&a, "Last-Modified"));
    answer_free(&a);
    assert_int_equal(status_of(&(struct ask){.path = at, .headers = {since}}), 304);
    assert_int_equal(
        status_of(&(struct ask){.path = at, .headers = {since, "HTTP_IF_NONE_MATCH=\"x\""}}), 200);
    assert_int_equal(
        status_of(&(struct ask){
            .path = at, .headers = {"HTTP_IF_MODIFIED_SINCE=Thu, 01 Jan 1970 00:00:00 GMT"}}),
        200);
    a = ask(&(struct ask){.path = "/changes", .query = "limit=5", .headers = {since}});
    assert_int_equal(a.status, 304);
    answer_free(&a);
}

static void head_is_get_without_the_body(void **state)
{
    (void)state;
    EACH_ROUTE(r)
    {
        const char *at = address(r->pattern, value_of(r->pattern, PUBLIC));
        struct answer g = get(at, ""), h = ask(&(struct ask){.method = "HEAD", .path = at});
        size_t n = (size_t)(g.body - g.raw);
        assert_int_equal(h.n, n);
        assert_memory_equal(h.raw, g.raw, n);
        answer_free(&g);
        answer_free(&h);
    }
}

static void options_and_methods(void **state)
{
    static const char *const wrong[] = {"POST", "PUT", "DELETE", "PATCH", "TRACE", "get"};
    (void)state;
    EACH_ROUTE(r)
    {
        if (strcmp(r->pattern, "/stac/search") == 0)
            continue; /* takes POST too */
        const char *at = address(r->pattern, value_of(r->pattern, SOVEREIGN));
        struct answer a = ask(&(struct ask){.method = "OPTIONS", .path = at});
        assert_int_equal(a.status, 204);
        assert_string_equal(answer_header(&a, "Allow"), "GET, HEAD, OPTIONS");
        assert_string_equal(answer_header(&a, "Access-Control-Allow-Origin"), allowed(r));
        if (*allowed(r))
            assert_string_equal(answer_header(&a, "Access-Control-Allow-Methods"),
                                "GET, HEAD, OPTIONS");
        answer_free(&a);
        for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
            a = ask(&(struct ask){.method = wrong[i], .path = at});
            assert_int_equal(a.status, 405);
            assert_string_equal(answer_header(&a, "Allow"), "GET, HEAD, OPTIONS");
            assert_string_equal(answer_header(&a, "Content-Type"), "application/problem+json");
            answer_free(&a);
        }
    }
}

static void parameters_are_refused_by_name(void **state)
{
    (void)state;
    EACH_ROUTE(r)
    {
        struct answer a = get(address(r->pattern, value_of(r->pattern, PUBLIC)), "colour=blue");
        assert_int_equal(a.status, 400);
        assert_non_null(strstr(a.body, "\"errors\":[{\"field\":\"colour\","));
        assert_string_equal(member(a.body, "code"), "INVALID");
        answer_free(&a);
    }
    struct answer a = get("/changes", "limit=5&limit=6");
    assert_int_equal(a.status, 400);
    assert_non_null(strstr(a.body, "\"field\":\"limit\",\"message\":\"is given more than once\""));
    answer_free(&a);
}

static void doubled_headers_are_refused(void **state)
{
    (void)state;
    assert_int_equal(
        status_of(&(struct ask){.path = "/changes", .headers = {"HTTP_HOST=evil.example"}}), 400);
    struct ask q = {.method = "POST",
                    .path = "/admin/checks",
                    .type = "application/json",
                    .body = "{\"all\":true}"};
    char one[128];
    snprintf(one, sizeof one, "HTTP_AUTHORIZATION=Bearer %s", tok_all);
    q.headers[0] = one;
    q.headers[1] = "HTTP_AUTHORIZATION=Bearer other";
    struct answer a = ask_at(intake_sock, &q);
    assert_int_equal(a.status, 400);
    answer_free(&a);
}

/* ---- the feed -------------------------------------------------------------------------------- */

static void limits(void **state)
{
    static const struct {
        const char *query;
        int status, n;
    } cases[] = {{"limit=1", 200, 1},
                 {"limit=1000", 200, ROADS + 2},
                 {"limit=5000", 200, ROADS + 2},
                 {"limit=0", 400, 0},
                 {"limit=-1", 400, 0},
                 {"limit=x", 400, 0},
                 {"since=0&limit=3", 200, 3},
                 {"since=now", 200, 0},
                 {"since=abc", 400, 0},
                 {"since=-1", 400, 0},
                 {"since=99999", 400, 0},
                 {"order=up", 400, 0},
                 {"source=rivers", 200, 1},
                 {"source=rivers,caves", 200, 2},
                 {"source=", 400, 0}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct answer a = get("/changes", cases[i].query);
        if (a.status != cases[i].status)
            fail_msg("%s: %s", cases[i].query, a.raw);
        if (a.status == 200)
            assert_int_equal(yyjson_arr_size(yyjson_obj_get(parsed(a.body), "results")),
                             cases[i].n);
        answer_free(&a);
    }
}

/* Follows links[rel=next] to the end; returns how many entries came, each seq one step from
 * the last. */
static int walk(const char *query, int64_t first, int64_t step)
{
    char next[512];
    int n = 0;
    snprintf(next, sizeof next, "%s", query);
    while (next[0]) {
        struct answer a = get("/changes", next);
        assert_int_equal(a.status, 200);
        yyjson_val *doc = parsed(a.body), *rows = yyjson_obj_get(doc, "results");
        for (size_t i = 0; i < yyjson_arr_size(rows); i++) {
            int64_t seq = -1;
            yyjson_val *row = yyjson_arr_get(rows, i);
            assert_rc(str_to_i64(str_of(yyjson_get_str(yyjson_obj_get(row, "seq"))), &seq), RC_OK);
            assert_int_equal(seq, first + step * n++);
        }
        yyjson_val *link = yyjson_arr_get(yyjson_obj_get(doc, "links"), 1);
        const char *href = yyjson_get_str(yyjson_obj_get(link, "href"));
        snprintf(next, sizeof next, "%s", href ? strchr(href, '?') + 1 : "");
        answer_free(&a);
    }
    return n;
}

static void paging_loses_and_repeats_nothing(void **state)
{
    (void)state;
    assert_int_equal(walk("limit=7", ROADS + 2, -1), ROADS + 2);
    assert_int_equal(walk("since=0&limit=7", 1, 1), ROADS + 2);
    assert_int_equal(walk("since=40&order=desc&limit=7", ROADS + 2, -1), ROADS + 2 - 40);
}

static void cursors_before_the_retention_are_410(void **state)
{
    (void)state;
    sql("UPDATE public_meta SET first_seq = 11");
    struct answer a = get("/changes", "since=5");
    assert_int_equal(a.status, 410);
    assert_string_equal(member(a.body, "first_seq"), "11");
    answer_free(&a);
    assert_int_equal(status_of(&(struct ask){.path = "/changes", .query = "since=10"}), 200);
    assert_int_equal(status_of(&(struct ask){.path = "/changes", .query = "since=0"}), 200);
    sql("UPDATE public_meta SET first_seq = 1");
}

/* ---- health ---------------------------------------------------------------------------------- */

static void readiness_follows_the_heartbeats(void **state)
{
    (void)state;
    beat(clock_now());
    assert_int_equal(status_of(&(struct ask){.path = "/readyz"}), 200);
    OK(ledger_heartbeat(led, "scheduler", clock_now() - 31000, &fix_err));
    struct answer a = get("/readyz", "");
    assert_int_equal(a.status, 503);
    assert_non_null(strstr(a.body, "\"field\":\"scheduler\""));
    assert_null(strstr(a.body, "\"field\":\"handler\""));
    assert_string_equal(answer_header(&a, "Content-Type"), "application/problem+json");
    answer_free(&a);
    assert_int_equal(status_of(&(struct ask){.path = "/healthz"}), 200);
    beat(clock_now());
    assert_int_equal(status_of(&(struct ask){.path = "/readyz"}), 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_answers),
        cmocka_unit_test(bodies_say_what_happened),
        cmocka_unit_test(assets_are_handed_to_nginx),
        cmocka_unit_test(manifests_are_listings_under_the_name_of_their_run),
        cmocka_unit_test(every_route_answers_304),
        cmocka_unit_test(modified_since_works_where_dates_are_exact),
        cmocka_unit_test(head_is_get_without_the_body),
        cmocka_unit_test(options_and_methods),
        cmocka_unit_test(parameters_are_refused_by_name),
        cmocka_unit_test(doubled_headers_are_refused),
        cmocka_unit_test(limits),
        cmocka_unit_test(paging_loses_and_repeats_nothing),
        cmocka_unit_test(cursors_before_the_retention_are_410),
        cmocka_unit_test(readiness_follows_the_heartbeats),
        cmocka_unit_test(page_of_badges_costs_as_many_304s),
    };
    return cmocka_run_group_tests(tests, make_world, drop_world);
}
