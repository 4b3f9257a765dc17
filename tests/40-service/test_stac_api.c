/* test_stac_api: the routes below /stac through the route table, over a real ledger in the READ
 * role that holds items of two public sources, a generalized and a sovereign one
 * (with canaries). */
#include "tests/30-ledger/fixture.h"

#include <sys/stat.h>
#include "api/route.h"
#include "handler/project.h"
#include "handler/work.h"
#include "tests/10-unit/unit.h"

#define VERSIONS 25

static struct instance inst;
static struct ledger *led, *reader;
static struct resp answer;
static struct arena asked;

static void publish(const struct source *s, const char *body)
{
    char path[192], hex[SHA256_HEX];
    struct check_result r = fix_result(s, OUTCOME_changed, 0);
    struct worker *w = NULL;
    struct work_counts n = {0};
    int64_t now = clock_now();
    digest_sha256(body, strlen(body), &r.sha);
    sha256_hex(&r.sha, hex);
    r.state.seen_sha = r.sha;
    r.started_at = r.ended_at = r.state.checked_at = r.state.reached_at = now;
    r.state.next_check_at = now + DAY_MS;
    snprintf(path, sizeof path, "%s/spool/%s", fix_dir, hex);
    unit_write(path, body);
    OK(check_commit(led, &r, 1, now, &fix_err));
    OK(worker_new(led, &inst, &w, &fix_err));
    OK(work_drain(w, &n, &fix_err));
    if (s->level == LEVEL_SOVEREIGN) {
        fix_decide(led, r.event_id, true, "reviewer", "fine", now);
        OK(work_drain(w, &n, &fix_err));
    }
    worker_free(&w);
    assert_int_equal(n.failed + n.dead + n.retry, 0);
}

static struct source declare(const char *id, const char *collection, const char *level)
{
    char json[512];
    snprintf(json, sizeof json,
             "{\"id\":\"%s\",\"title\":\"Title of %s\",\"url\":\"https://data.example/%s\","
             "\"sensitivity\":\"%s\",\"collection\":\"%s\",\"media_type\":\"application/json\","
             "\"triggers\":[{\"type\":\"manual\"}]}",
             id, id, id, level, collection);
    struct source s = fix_source(led, json);
    OK(ledger_begin(led, &fix_err));
    OK(project_source(led, &inst, &s, clock_now(), &fix_err));
    OK(ledger_commit(led, &fix_err));
    return s;
}

static int setup(void **state)
{
    char path[128], body[256];
    (void)state;
    clock_set(20000 * DAY_MS);
    fix_make();
    static const char *const folders[] = {"spool", "store",  "store/public", "store/restricted",
                                          "run",   "secrets"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", fix_dir, folders[i]);
        (void)mkdir(path, 0750);
    }
    snprintf(path, sizeof path, "%s/freshet.json", fix_dir);
    unit_write(path, "{}");
    OK(instance_load(&fix_arena, fix_dir, &inst, &fix_err));
    led = fix_open(LEDGER_WRITE);
    resp_init(&answer);
    arena_init(&asked, 16u << 20);
    struct source roads = declare("roads", "kansas", "public"),
                  dams = declare("dams", "water", "public"),
                  secret = declare("canary-sov", "canary-col", "sovereign");
    for (int i = 0; i < VERSIONS; i++) {
        clock_set(20000 * DAY_MS + i * 3600000LL);
        snprintf(body, sizeof body, "{\"roads\":%d}", i);
        publish(&roads, body);
    }
    publish(&dams, "{\"dams\":1}");
    publish(&secret, "{\"canary\":1}");
    reader = fix_open(LEDGER_READ);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ledger_close(&reader);
    ledger_close(&led);
    resp_release(&answer);
    arena_release(&asked);
    fix_drop();
    return 0;
}

static const char *ask(const char *method, const char *path, const char *query, const char *body)
{
    resp_clear(&answer);
    arena_reset(&asked);
    struct req r = {.method = str_of(method),
                    .path = str_of(path),
                    .query = str_of(query),
                    .base = STR("http://x"),
                    .content_type = STR("application/json"),
                    .body = str_of(body),
                    .arena = &asked,
                    .ledger = reader,
                    .inst = &inst,
                    .now = clock_now()};
    route_serve(&router_api, &r, &answer);
    assert_null(strstr(buf_view(&answer.body).p, "canary"));
    return buf_view(&answer.body).p;
}

static int status(const char *path, const char *query)
{
    (void)ask("GET", path, query, "");
    return answer.status;
}

static int64_t matched(const char *query)
{
    const char *at = strstr(ask("GET", "/stac/search", query, ""), "\"numberMatched\":");
    if (answer.status != 200 || !at)
        fail_msg("%s: %s", query, buf_view(&answer.body).p);
    return strtoll(at + 16, NULL, 10);
}

static void bad_requests(void **state)
{
    static const char *const bad[] = {
        "limit=0",
        "limit=-1",
        "limit=x",
        "bbox=1,2,3",
        "bbox=1,2,3,4,5",
        "bbox=0,2,1,1",
        "bbox=a,b,c,d",
        "bbox=0,0,1,1,",
        "datetime=/",
        "datetime=../..",
        "datetime=2026-01-01",
        "datetime=2026-01-01T00:00:00",
        "datetime=2026-01-01T00:00:00%2B0100",
        "datetime=2026-01-01T00:00:00,5Z",
        "datetime=2026-01-01T00:00:61Z",
        "datetime=2026-01-02T00:00:00Z/2026-01-01T00:00:00Z",
        "datetime=",
        "intersects=%7B%7D",
        "intersects=x",
        "filter=a%20%3D",
        "filter=nofunction(1)",
        "filter-lang=x",
        "filter-crs=x",
        "sortby=",
        "token=abc",
        "token=n0123456789abcdef5b5d",
        "colour=blue",
        "ids=",
        "bbox=0,0,1,1&intersects=%7B%22type%22:%22Point%22,%22coordinates%22:%5B0,0%5D%7D"};
    static const char *const bodies[] = {
        "",
        "[]",
        "{\"fields\":null}",
        "{\"bbox\":\"0,0,1,1\"}",
        "{\"limit\":0}",
        "{\"limit\":\"5\"}",
        "{\"colour\":1}",
        "{\"ids\":[1]}",
        "{\"limit\":1,\"limit\":2}",
        "{\"filter\":{\"op\":\"=\",\"op\":\"=\",\"args\":[1,1]}}",
        "{\"intersects\":{\"type\":\"Point\",\"coordinates\":[1,2,3,4]}}",
        "{\"datetime\":5}",
        "{\"filter\":{\"op\":\"nothing\",\"args\":[]}}",
        "{\"sortby\":[{\"field\":\"a\",\"direction\":\"up\"}]}"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (status("/stac/search", bad[i]) != 400)
            fail_msg("%s: %d", bad[i], answer.status);
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        (void)ask("POST", "/stac/search", "", bodies[i]);
        if (answer.status != 400)
            fail_msg("%s: %d", bodies[i], answer.status);
    }
    assert_int_equal(status("/stac/collections/canary-col", ""), 404);
    assert_int_equal(status("/stac/collections/never", ""), 404);
    assert_int_equal(status("/stac/collections/canary-col/items", ""), 404);
    assert_int_equal(status("/stac/catalogs/1-99", ""), 404);
    assert_int_equal(status("/stac/collections/kansas/years/1999", ""), 404);
}

static void searches(void **state)
{
    (void)state;
    assert_int_equal(matched(""), VERSIONS + 1);
    assert_int_equal(matched("limit=99999"), VERSIONS + 1);
    assert_int_equal(matched("collections=water"), 1);
    assert_int_equal(matched("ids=roads-v1,roads-v2,nothing"), 2);
    assert_int_equal(matched("q=dams"), 1);
    assert_int_equal(matched("q=dam"), 0);
    assert_int_equal(matched("q=dams,roads"), VERSIONS + 1);
    assert_int_equal(matched("bbox=-180,-90,180,90"), 0); /* none has a place */
    assert_int_equal(matched("filter=geometry%20IS%20NULL"), VERSIONS + 1);
    assert_int_equal(matched("filter=version='3'"), 1);
    assert_int_equal(matched("filter=title%20LIKE%20'Title%25dams'"), 1);
    assert_int_equal(matched("filter=title%20LIKE%20'title%25dams'"), 0);
    assert_int_equal(matched("filter=nothing=1"), 0);
    assert_int_equal(matched("filter=nothing%20IS%20NULL"), VERSIONS + 1);
    assert_int_equal(matched("filter=deprecated=false"), VERSIONS + 1);
    assert_int_equal(
        matched("filter=id%20IN%20('roads-v1','dams-v1')%20AND%20NOT%20collection='water'"), 1);
    assert_int_equal(matched("filter=datetime%20%3E%20TIMESTAMP('2024-10-04T20:00:00Z')%20AND%20"
                             "collection='kansas'"),
                     VERSIONS - 21);
    assert_int_equal(matched("filter=T_BEFORE(datetime,TIMESTAMP('2024-10-04T02:00:00Z'))"), 2);
    assert_int_equal(
        matched(
            "filter=T_DURING(datetime,INTERVAL('2024-10-04T00:00:00Z','2024-10-04T03:00:00Z'))"),
        2);
    assert_int_equal(matched("datetime=2024-10-04T00:00:00Z/2024-10-04t03:00:00.000000000z"), 4);
    assert_int_equal(matched("datetime=2024-10-04T00:00:00Z"), 1);
    assert_int_equal(matched("datetime=../2024-10-04T00:00:00Z"), 1);
    assert_non_null(strstr(
        ask("GET", "/stac/search", "ids=roads-v1&fields=id", ""),
        "[{\"type\":\"Feature\",\"stac_version\":\"1.1.0\",\"id\":\"roads-v1\",\"collection\":\"kansas\"}]"));
    assert_non_null(strstr(
        ask("GET", "/stac/collections/kansas/items/roads-v1", "", ""),
        "\"rel\":\"successor-version\",\"href\":\"http://x/stac/collections/kansas/items/roads-v2\""));
    assert_non_null(strstr(
        buf_view(&answer.body).p,
        "\"rel\":\"latest-version\",\"href\":\"http://x/stac/collections/kansas/items/roads-v25\""));
    assert_non_null(strstr(ask("GET", "/stac/collections", "", ""), "\"numberMatched\":2"));
}

/* The address of the link of this rel in the answer, without its host. */
static const char *link_query(const char *rel)
{
    static char query[4096];
    char mark[64];
    snprintf(mark, sizeof mark, "{\"rel\":\"%s\",\"href\":\"http://x/stac/search?", rel);
    const char *at = strstr(buf_view(&answer.body).p, mark);
    if (!at)
        fail_msg("no %s: %s", rel, buf_view(&answer.body).p);
    at += strlen(mark);
    snprintf(query, sizeof query, "%.*s", (int)strcspn(at, "\""), at);
    return query;
}

/* A page of one has nothing to turn. */
static void back_to_a_page_of_one(void **state)
{
    (void)state;
    assert_int_equal(status("/stac/search", "limit=1"), 200);
    assert_int_equal(status("/stac/search", link_query("next")), 200);
    assert_int_equal(status("/stac/search", link_query("prev")), 200);
    assert_non_null(strstr(buf_view(&answer.body).p, "\"numberReturned\":1}"));
}

/* (I8) What a raised level takes away is told by no count and no extent. */
static void withheld_items_leave_no_trace(void **state)
{
    struct source s;
    (void)state;
    assert_non_null(strstr(ask("GET", "/stac/collections/water", "", ""), "\"summaries\""));
    OK(ledger_begin(led, &fix_err));
    OK(source_by_id(led, &fix_arena, "dams", &s, &fix_err));
    s.level = LEVEL_RESTRICTED;
    OK(project_all_of_source(led, &inst, &s, clock_now(), &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_int_equal(matched(""), VERSIONS);
    assert_null(strstr(ask("GET", "/stac/collections/water", "", ""), "\"summaries\""));
    assert_int_equal(status("/stac/collections/water/items/dams-v1", ""), 404);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bad_requests), cmocka_unit_test(searches),
                                       cmocka_unit_test(back_to_a_page_of_one),
                                       cmocka_unit_test(withheld_items_leave_no_trace)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
