/* test_service: freshet-api and freshet-intake as processes, driven by FastCGI without nginx, over a
 * real ledger that the real handler has filled.
 *
 * The world: `roads` (public, many versions), `rivers` (public, a listing), `caves` (restricted,
 * approved), and a sovereign source. Everything that must stay inside carries a canary string.
 */
#include "tests/30-ledger/fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "api/route.h"
#include "handler/project.h"
#include "handler/work.h"
#include "ledger/public.h"
#include "ledger/request.h"
#include "tests/10-unit/unit.h"
#include "tests/40-service/fcgi_client.h"

#define ROADS 80 /* versions: their feed does not fit into one FastCGI record */
#define API_PROCESSES 3
#define WAIT_MS 20000

#define SOV_ID "canary-sov-id"
#define SOV_URL "https://canary-sov-host.example/canary-sov-path"
#define SOV_TITLE "canary-sov-title"
#define SOV_BODY "{\"canary-sov-content\":1}"
#define RES_URL "https://canary-res-host.example/canary-res-path"
#define RES_BODY "{\"canary-res-content\":1}"
/* The listing without entries. */
#define RIVERS_BODY                                                                                \
    "{\"checksum\":\"sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945\","   \
    "\"count\":0,\"entries\":[],\"listing_version\":1}"

static struct instance inst;
static struct ledger *led;
static struct source roads, rivers, caves, sovereign;
static char api_sock[100], intake_sock[100]; /* what a unix address takes */
static pid_t api_pid, intake_pid;
static char tok_check[TOKEN_PLAIN_MAX], tok_all[TOKEN_PLAIN_MAX], tok_replay[TOKEN_PLAIN_MAX],
    tok_back[TOKEN_PLAIN_MAX];
static struct change roads_change, rivers_change, caves_change, sov_change;
static char roads_hex[SHA256_HEX], caves_hex[SHA256_HEX], sov_hex[SHA256_HEX];

/* ---- the world -------------------------------------------------------------------------------- */

static struct source declare(const char *id, const char *title, const char *url, const char *level)
{
    char json[1024];
    snprintf(
        json, sizeof json,
        "{\"id\":\"%s\",\"title\":\"%s\",\"url\":\"%s\",\"sensitivity\":\"%s\",\"collection\":\"%s\","
        "\"media_type\":\"application/json\",\"triggers\":[{\"type\":\"manual\"}],"
        "\"detector\":\"%s\"}",
        id, title, url, level, strcmp(level, "sovereign") == 0 ? "canary-sov-collection" : "kansas",
        strcmp(id, "rivers") == 0 ? "manifest" : "etag");
    struct source s = fix_source(led, json);
    OK(ledger_begin(led, &fix_err));
    OK(project_source(led, &inst, &s, clock_now(), &fix_err));
    OK(ledger_commit(led, &fix_err));
    return s;
}

static void hex_of(const char *body, struct sha256 *sha, char hex[SHA256_HEX])
{
    digest_sha256(body, strlen(body), sha);
    sha256_hex(sha, hex);
}

/* A detector saw these bytes and left them in the spool; the event waits in the inbox. */
static void see(const struct source *s, const char *body, char event[48])
{
    char hex[SHA256_HEX], path[192];
    int64_t now = clock_now();
    struct check_result r = fix_result(s, OUTCOME_changed, 0);
    hex_of(body, &r.sha, hex);
    r.state.seen_sha = r.sha;
    r.started_at = r.ended_at = r.state.checked_at = r.state.reached_at = now;
    r.state.next_check_at = now + DAY_MS;
    snprintf(path, sizeof path, "%s/spool/%s", fix_dir, hex);
    unit_write(path, body);
    OK(check_commit(led, &r, 1, now, &fix_err));
    snprintf(event, 48, "%s", r.event_id);
}

static void drain(void)
{
    struct worker *w = NULL;
    struct work_counts n = {0};
    OK(worker_new(led, &inst, &w, &fix_err));
    OK(work_drain(w, &n, &fix_err));
    worker_free(&w);
    assert_int_equal(n.failed + n.dead + n.retry, 0);
}

static struct change change_of(const char *event)
{
    struct change c;
    OK(change_get(led, &fix_arena, event, &c, &fix_err));
    assert_string_equal(c.status, "finalized");
    return c;
}

/* Through hold and approval where the level asks for it. */
static struct change publish(const struct source *s, const char *body)
{
    char event[48];
    see(s, body, event);
    drain();
    if (s->level >= LEVEL_RESTRICTED) {
        OK(inbox_decide(led, event, true, "reviewer", "fine", clock_now(), &fix_err));
        drain();
    }
    return change_of(event);
}

static void fill(void)
{
    struct sha256 sha;
    char body[64] = "";
    rivers = declare("rivers", "Rivers", "https://data.example/rivers", "public");
    roads = declare("roads", "Roads", "https://data.example/roads", "public");
    caves = declare("caves", "Caves", RES_URL, "restricted");
    sovereign = declare(SOV_ID, SOV_TITLE, SOV_URL, "sovereign");
    rivers_change = publish(&rivers, RIVERS_BODY);
    caves_change = publish(&caves, RES_BODY);
    sov_change = publish(&sovereign, SOV_BODY);
    for (int i = 1; i <= ROADS; i++) {
        snprintf(body, sizeof body, "{\"roads\":%d}", i);
        roads_change = publish(&roads, body);
    }
    hex_of(body, &sha, roads_hex);
    hex_of(RES_BODY, &sha, caves_hex);
    hex_of(SOV_BODY, &sha, sov_hex);
}

static void make_tokens(void)
{
    int64_t no;
    OK(token_create(led, "checker", SCOPE_CHECK, -1, clock_now(), tok_check, &no, &fix_err));
    OK(token_create(led, "steward", SCOPE_CHECK | SCOPE_READ_RESTRICTED, -1, clock_now(), tok_all,
                    &no, &fix_err));
    OK(token_create(led, "back", SCOPE_ROLLBACK, -1, clock_now(), tok_back, &no, &fix_err));
    OK(token_create(led, "other", SCOPE_REPLAY, -1, clock_now(), tok_replay, &no, &fix_err));
}

/* ---- the programs ----------------------------------------------------------------------------- */

static void program_path(const char *name, char out[512])
{
    const char *build = env_get("B");
    snprintf(out, 512, "%s/%s", build ? build : "build", name);
}

static pid_t start(const char *name, const char *log)
{
    char path[512], file[192];
    program_path(name, path);
    snprintf(file, sizeof file, "%s/log/%s", fix_dir, log);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0640);
        dup2(fd, STDERR_FILENO);
        execl(path, path, "-C", fix_dir, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

static void await_socket(const char *path)
{
    int64_t end = clock_mono() + WAIT_MS;
    struct client c = client_open(path);
    while (c.fd < 0) {
        if (clock_mono() > end)
            fail_msg("nobody serves %s", path);
        pause_ms(10);
        c = client_open(path);
    }
    client_close(&c);
}

static int stop(pid_t pid)
{
    int status = -1;
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void start_api(void)
{
    api_pid = start("freshet-api", "api.log");
    await_socket(api_sock);
}

static void beat(int64_t at)
{
    OK(ledger_heartbeat(led, "handler", at, &fix_err));
    OK(ledger_heartbeat(led, "scheduler", at, &fix_err));
}

static int make_world(void **state)
{
    static const char *const folders[] = {"run", "log", "spool", "store", "runs", "secrets"};
    char path[192];
    struct err err = {0};
    (void)state;
    OK(clock_init(&err));
    fix_make();
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", fix_dir, folders[i]);
        assert_int_equal(mkdir(path, 0750), 0);
    }
    snprintf(path, sizeof path, "%s/freshet.json", fix_dir);
    unit_write(path, "{\"api_processes\": 3, \"intake_processes\": 2, \"admin_max_body\": 4096,"
                     " \"free_bytes_min\": 0}");
    OK(instance_load(&fix_arena, fix_dir, &inst, &fix_err));
    inst.programs = env_get("B") ? env_get("B") : "build";
    led = fix_open(LEDGER_WRITE);
    fill();
    make_tokens();
    beat(clock_now());
    snprintf(api_sock, sizeof api_sock, "%s/run/api.sock", fix_dir);
    snprintf(intake_sock, sizeof intake_sock, "%s/run/intake.sock", fix_dir);
    start_api();
    intake_pid = start("freshet-intake", "intake.log");
    await_socket(intake_sock);
    return 0;
}

static int drop_world(void **state)
{
    (void)state;
    assert_int_equal(stop(api_pid), 0);
    assert_int_equal(stop(intake_pid), 0);
    assert_int_not_equal(access(api_sock, F_OK), 0);
    ledger_close(&led);
    fix_drop();
    return 0;
}

/* ---- asking ----------------------------------------------------------------------------------- */

static struct answer ask_at(const char *sock, const struct ask *q)
{
    struct client c = client_open(sock);
    struct answer a = client_ask(&c, q);
    if (!a.complete || !a.raw)
        fail_msg("no answer to %s %s", q->method ? q->method : "GET", q->path);
    client_close(&c);
    return a;
}

static struct answer ask(const struct ask *q)
{
    return ask_at(api_sock, q);
}

static struct answer get(const char *path, const char *query)
{
    return ask(&(struct ask){.path = path, .query = query});
}

static int status_of(const struct ask *q)
{
    struct answer a = ask(q);
    int status = a.status;
    answer_free(&a);
    return status;
}

static yyjson_val *parsed(const char *body)
{
    yyjson_val *v = NULL;
    OK(json_parse(&fix_arena, str_of(arena_strdup(&fix_arena, body)), 0, "answer", &v, &fix_err));
    return v;
}

static const char *member(const char *body, const char *key)
{
    const char *s = yyjson_get_str(yyjson_obj_get(parsed(body), key));
    return s ? s : "";
}

/* The address of a pattern with its variables, and what is between them, filled in. */
static const char *address(const char *pattern, const char *value)
{
    static char out[256];
    const char *open = strchr(pattern, '{'), *close = strrchr(pattern, '}');
    if (open && close)
        snprintf(out, sizeof out, "%.*s%s%s", (int)(open - pattern), pattern, value, close + 1);
    else
        snprintf(out, sizeof out, "%s", pattern);
    return out;
}

enum whose { PUBLIC, RESTRICTED, SOVEREIGN, NOBODY };

/* What stands in a pattern's braces for a thing of that kind. NOBODY's names are as well formed. */
static const char *value_of(const char *pattern, enum whose who)
{
    const struct change *c = who == PUBLIC       ? &roads_change
                             : who == RESTRICTED ? &caves_change
                                                 : &sov_change;
    if (strstr(pattern, "{item}"))
        return who == PUBLIC       ? "kansas/items/roads-v1"
               : who == RESTRICTED ? "kansas/items/caves-v1"
               : who == SOVEREIGN  ? "canary-sov-collection/items/" SOV_ID "-v1"
                                   : "never-was-here/items/never-was-here-v1";
    if (strstr(pattern, "{collection}"))
        return who == PUBLIC || who == RESTRICTED ? "kansas"
               : who == SOVEREIGN                 ? "canary-sov-collection"
                                                  : "never-was-here";
    if (strstr(pattern, "{source}"))
        return who == PUBLIC       ? "roads"
               : who == RESTRICTED ? "caves"
               : who == SOVEREIGN  ? SOV_ID
                                   : "never-was-here";
    if (strstr(pattern, "{change_event_id}"))
        return who == NOBODY ? "evt_20200101T000000Z_000000" : c->event_id;
    if (strstr(pattern, "{run}"))
        return who == NOBODY ? "01980000-0000-7000-8000-000000000000" : c->run_id;
    if (strstr(pattern, "{delta}"))
        return who == NOBODY ? "dlt_01980000-0000-7000-8000-000000000000" : c->delta_id;
    if (strstr(pattern, "{manifest}")) /* of others there is none, but a name can be made up */
        return who == NOBODY ? "man_01980000-0000-7000-8000-000000000000"
                             : arena_printf(&fix_arena, "man_%s",
                                            who == PUBLIC ? rivers_change.run_id : c->run_id);
    if (strstr(pattern, "{hex}"))
        return who == PUBLIC       ? roads_hex
               : who == RESTRICTED ? caves_hex
               : who == SOVEREIGN
                   ? sov_hex
                   : "00000000000000000000000000000000000000000000000000000000000000aa";
    return "";
}

#define EACH_ROUTE(r)                                                                              \
    for (const struct route *r = router_api.routes; r < router_api.routes + router_api.n; r++)

/* ---- every route ------------------------------------------------------------------------------ */

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
        assert_int_equal(answer_header(&a, "Last-Modified")[0] != 0, !health);
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

/* ---- conditional, HEAD, OPTIONS, methods, parameters ------------------------------------------- */

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

/* ---- the feed --------------------------------------------------------------------------------- */

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

/* Follows links[rel=next] to the end; returns how many entries came, each seq one step from the last. */
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

static void sql(const char *text)
{
    char path[128];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static int64_t sql_number(const char *text)
{
    char path[128];
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return n;
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

/* ---- what is withheld ------------------------------------------------------------------------- */

static void assert_same(const struct answer *a, const struct answer *b, const char *what)
{
    if (!a->raw || !b->raw || a->n != b->n || memcmp(a->raw, b->raw, a->n) != 0)
        fail_msg("%s differ:\n%s\n----\n%s", what, a->raw, b->raw);
}

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

/* ---- health ----------------------------------------------------------------------------------- */

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

/* ---- admin ------------------------------------------------------------------------------------ */

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

/* ---- processes -------------------------------------------------------------------------------- */

static int children_of(pid_t pid, pid_t *ret, int max)
{
    char path[64], text[4096];
    struct str rest, item;
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    unit_read(path, text, sizeof text);
    rest = str_of(text);
    while (n < max && str_next(&rest, ' ', &item)) {
        int64_t v;
        if (str_to_i64(str_trim(item), &v) == RC_OK)
            ret[n++] = (pid_t)v;
    }
    return n;
}

/* A client that asks as fast as it can until the service is gone. Exit code 0: every request that
 * could be sent was answered, whole, with 200. */
static int hammer(bool keep)
{
    int asked = 0;
    for (;;) {
        struct client c = client_open(api_sock);
        if (c.fd < 0)
            return asked > 0 ? 0 : 2;
        for (bool again = true; again; again = keep) {
            struct answer a = client_ask(
                &c, &(struct ask){.path = "/changes", .query = "limit=50", .keep = keep});
            bool bad = a.sent && (!a.complete || a.status != 200);
            bool over = !a.sent;
            answer_free(&a);
            if (bad)
                return 1;
            if (over)
                break;
            asked++;
        }
        client_close(&c);
    }
}

/* Signals all children and waits until others have taken their place. */
static void assert_replaced_after(int sig)
{
    pid_t before[16], after[16];
    int64_t end = clock_mono() + WAIT_MS;
    assert_int_equal(children_of(api_pid, before, 16), API_PROCESSES);
    for (int i = 0; i < API_PROCESSES; i++)
        assert_int_equal(kill(before[i], sig), 0);
    for (;;) {
        int n = children_of(api_pid, after, 16);
        bool fresh = n == API_PROCESSES;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < API_PROCESSES; j++)
                fresh = fresh && after[i] != before[j];
        if (fresh)
            break;
        if (clock_mono() > end)
            fail_msg("%d children after signal %d, not all of them new", n, sig);
        pause_ms(20);
    }
    assert_int_equal(status_of(&(struct ask){.path = "/changes"}), 200);
}

static void a_killed_child_is_replaced(void **state)
{
    (void)state;
    assert_replaced_after(SIGKILL);
}

/* One that never waits must hear the signal too, and answers what it was asked before. */
static void a_busy_child_ends_when_told(void **state)
{
    pid_t clients[2 * API_PROCESSES];
    int ended;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        clients[i] = fork();
        if (clients[i] == 0)
            _exit(hammer(true));
    }
    assert_replaced_after(SIGTERM);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        kill(clients[i], SIGKILL);
        assert_int_equal(waitpid(clients[i], &ended, 0), clients[i]);
        assert_true(WIFSIGNALED(ended)); /* it had not given up: no request went unanswered */
    }
}

/* More idle kept connections than processes: with blocking workers this is a deadlock (TRAPS). */
static void idle_connections_keep_nobody_waiting(void **state)
{
    struct client idle[4 * API_PROCESSES];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        idle[i] = client_open(api_sock);
        struct answer a = client_ask(&idle[i], &(struct ask){.path = "/healthz", .keep = true});
        assert_int_equal(a.status, 200);
        answer_free(&a);
    }
    assert_int_equal(status_of(&(struct ask){.path = "/healthz"}), 200);
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        struct answer a = client_ask(
            &idle[i], &(struct ask){.path = "/changes", .query = "limit=1", .keep = true});
        assert_int_equal(a.status, 200);
        answer_free(&a);
        client_close(&idle[i]);
    }
}

static void a_stop_under_load_answers_everything(void **state)
{
    pid_t clients[6];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        clients[i] = fork();
        if (clients[i] == 0)
            _exit(hammer(i % 2 == 0));
    }
    pause_ms(400); /* let them get going; the result does not depend on how far they come */
    int64_t begun = clock_mono();
    assert_int_equal(stop(api_pid), 0);
    assert_true(clock_mono() - begun < 9000); /* by itself, not by SIGKILL */
    int ended[ARRAY_LEN(clients)];
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        assert_int_equal(waitpid(clients[i], &ended[i], 0), clients[i]);
    start_api(); /* first, for the tests that follow a failure */
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        if (!WIFEXITED(ended[i]) || WEXITSTATUS(ended[i]) != 0)
            fail_msg("client %zu ended with %x", i, (unsigned)ended[i]);
    assert_int_equal(status_of(&(struct ask){.path = "/changes"}), 200);
}

/* While all children are stopped, requests pile up in the accept queue; then the end is asked for. */
static void what_waits_to_be_accepted_is_answered(void **state)
{
    static struct wire w;
    struct client waiting[40];
    pid_t children[16];
    int status = -1;
    (void)state;
    int n = children_of(api_pid, children, 16);
    for (int i = 0; i < n; i++)
        assert_int_equal(kill(children[i], SIGSTOP), 0);
    wire_ask(&w, &(struct ask){.path = "/changes", .query = "limit=3"});
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
        waiting[i] = client_open(api_sock);
        assert_true(waiting[i].fd >= 0 && wire_send(waiting[i].fd, &w));
    }
    kill(api_pid, SIGTERM);
    int64_t end = clock_mono() + WAIT_MS;
    while (access(api_sock, F_OK) == 0 && clock_mono() < end)
        pause_ms(5); /* the parent has begun: nobody new comes in */
    for (int i = 0; i < n; i++)
        kill(children[i], SIGCONT);
    int answered = 0;
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
        struct answer a = {0};
        bool whole = answer_read(&a, waiting[i].fd);
        answer_take_apart(&a);
        answered += whole && a.status == 200;
        answer_free(&a);
        client_close(&waiting[i]);
    }
    assert_int_equal(waitpid(api_pid, &status, 0), api_pid);
    start_api();
    assert_int_equal(answered, ARRAY_LEN(waiting));
}

static void a_second_instance_is_refused(void **state)
{
    int status = -1;
    (void)state;
    pid_t second = start("freshet-api", "second.log");
    assert_int_equal(waitpid(second, &status, 0), second);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_int_equal(status_of(&(struct ask){.path = "/healthz"}), 200);
}

static void the_socket_is_not_for_everybody(void **state)
{
    struct stat st;
    (void)state;
    assert_int_equal(stat(api_sock, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
}

static void it_is_a_cgi_program_too(void **state)
{
    char path[512];
    static char out[65536];
    int fds[2];
    size_t n = 0;
    (void)state;
    program_path("freshet-api", path);
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *env[] = {(char *)(uintptr_t) "GATEWAY_INTERFACE=CGI/1.1",
                       (char *)(uintptr_t) "REQUEST_METHOD=GET",
                       (char *)(uintptr_t) "PATH_INFO=/freshness/roads",
                       (char *)(uintptr_t) "HTTP_HOST=test.example", NULL};
        dup2(fds[1], STDOUT_FILENO);
        dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
        close(fds[0]);
        close(fds[1]);
        execle(path, path, "-C", fix_dir, (char *)NULL, env);
        _exit(127);
    }
    close(fds[1]);
    for (ssize_t got; (got = read(fds[0], out + n, sizeof out - 1 - n)) > 0;)
        n += (size_t)got;
    close(fds[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    struct answer a = get("/freshness/roads", "");
    assert_int_equal(n, a.n);
    assert_memory_equal(out, a.raw, n);
    answer_free(&a);
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
        cmocka_unit_test(sovereign_is_unknown_byte_for_byte),
        cmocka_unit_test(filters_do_not_tell_sovereign_from_unknown),
        cmocka_unit_test(canaries_stay_inside),
        cmocka_unit_test(withheld_activity_moves_nothing),
        cmocka_unit_test(readiness_follows_the_heartbeats),
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
        cmocka_unit_test(a_killed_child_is_replaced),
        cmocka_unit_test(a_busy_child_ends_when_told),
        cmocka_unit_test(idle_connections_keep_nobody_waiting),
        cmocka_unit_test(a_stop_under_load_answers_everything),
        cmocka_unit_test(what_waits_to_be_accepted_is_answered),
        cmocka_unit_test(a_second_instance_is_refused),
        cmocka_unit_test(the_socket_is_not_for_everybody),
        cmocka_unit_test(it_is_a_cgi_program_too),
        cmocka_unit_test(admin_takes_a_rollback),
    };
    return cmocka_run_group_tests(tests, make_world, drop_world);
}
