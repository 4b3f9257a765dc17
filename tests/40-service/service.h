/* service: freshet-api and freshet-intake as processes, driven by FastCGI without nginx, over a
 * real ledger that the real handler has filled. For the tests of the two programs.
 *
 * The world: `roads` (public, many versions), `rivers` (public, a listing), `caves` (restricted,
 * approved), and a sovereign source. Everything that must stay inside carries a canary string. */
#ifndef FRESHET_TESTS_SERVICE_H
#define FRESHET_TESTS_SERVICE_H

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

/* ---- the world ------------------------------------------------------------------------------- */

static inline struct source declare(const char *id, const char *title, const char *url,
                                    const char *level)
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

static inline void hex_of(const char *body, struct sha256 *sha, char hex[SHA256_HEX])
{
    digest_sha256(body, strlen(body), sha);
    sha256_hex(sha, hex);
}

/* A detector saw these bytes and left them in the spool; the event waits in the inbox. */
static inline void see(const struct source *s, const char *body, char event[48])
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

static inline void drain(void)
{
    struct worker *w = NULL;
    struct work_counts n = {0};
    OK(worker_new(led, &inst, &w, &fix_err));
    OK(work_drain(w, &n, &fix_err));
    worker_free(&w);
    assert_int_equal(n.failed + n.dead + n.retry, 0);
}

static inline struct change change_of(const char *event)
{
    struct change c;
    OK(change_get(led, &fix_arena, event, &c, &fix_err));
    assert_string_equal(c.status, "finalized");
    return c;
}

/* Through hold and approval where the level asks for it. */
static inline struct change publish(const struct source *s, const char *body)
{
    char event[48];
    see(s, body, event);
    drain();
    if (s->level >= LEVEL_RESTRICTED) {
        fix_decide(led, event, true, "reviewer", "fine", clock_now());
        drain();
    }
    return change_of(event);
}

static inline void fill(void)
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

static inline void make_tokens(void)
{
    int64_t no;
    OK(token_create(led, "checker", SCOPE_CHECK, -1, clock_now(), tok_check, &no, &fix_err));
    OK(token_create(led, "steward", SCOPE_CHECK | SCOPE_READ_RESTRICTED, -1, clock_now(), tok_all,
                    &no, &fix_err));
    OK(token_create(led, "back", SCOPE_ROLLBACK, -1, clock_now(), tok_back, &no, &fix_err));
    OK(token_create(led, "other", SCOPE_REPLAY, -1, clock_now(), tok_replay, &no, &fix_err));
}

/* ---- the programs ---------------------------------------------------------------------------- */

static inline void program_path(const char *name, char out[512])
{
    const char *build = env_get("B");
    snprintf(out, 512, "%s/%s", build ? build : "build", name);
}

static inline pid_t start(const char *name, const char *log)
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

static inline void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

static inline void await_socket(const char *path)
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

static inline int stop(pid_t pid)
{
    int status = -1;
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void start_api(void)
{
    api_pid = start("freshet-api", "api.log");
    await_socket(api_sock);
}

static inline void beat(int64_t at)
{
    OK(ledger_heartbeat(led, "handler", at, &fix_err));
    OK(ledger_heartbeat(led, "scheduler", at, &fix_err));
}

static inline int make_world(void **state)
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
    unit_write(
        path,
        "{\"api_processes\": 3, \"intake_processes\": 2, \"admin_max_body\": 4096, \"hook_max_body\": 800000, \"inbox_max\": 3,"
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

static inline int drop_world(void **state)
{
    (void)state;
    assert_int_equal(stop(api_pid), 0);
    assert_int_equal(stop(intake_pid), 0);
    assert_int_not_equal(access(api_sock, F_OK), 0);
    ledger_close(&led);
    fix_drop();
    return 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static inline struct answer ask_at(const char *sock, const struct ask *q)
{
    struct client c = client_open(sock);
    struct answer a = client_ask(&c, q);
    if (!a.complete || !a.raw)
        fail_msg("no answer to %s %s", q->method ? q->method : "GET", q->path);
    client_close(&c);
    return a;
}

static inline struct answer ask(const struct ask *q)
{
    return ask_at(api_sock, q);
}

static inline struct answer get(const char *path, const char *query)
{
    return ask(&(struct ask){.path = path, .query = query});
}

static inline int status_of(const struct ask *q)
{
    struct answer a = ask(q);
    int status = a.status;
    answer_free(&a);
    return status;
}

static inline yyjson_val *parsed(const char *body)
{
    yyjson_val *v = NULL;
    OK(json_parse(&fix_arena, str_of(arena_strdup(&fix_arena, body)), 0, "answer", &v, &fix_err));
    return v;
}

static inline const char *member(const char *body, const char *key)
{
    const char *s = yyjson_get_str(yyjson_obj_get(parsed(body), key));
    return s ? s : "";
}

/* The address of a pattern with its variables, and what is between them, filled in. */
static inline const char *address(const char *pattern, const char *value)
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
static inline const char *value_of(const char *pattern, enum whose who)
{
    const struct change *c = who == PUBLIC       ? &roads_change
                             : who == RESTRICTED ? &caves_change
                                                 : &sov_change;
    if (strstr(pattern, "{item}"))
        return who == PUBLIC       ? "kansas/items/roads-v1"
               : who == RESTRICTED ? "kansas/items/caves-v1"
               : who == SOVEREIGN  ? "canary-sov-collection/items/" SOV_ID "-v1"
                                   : "never-was-here/items/never-was-here-v1";
    if (strstr(pattern, "catalogs/{node}"))
        return who == SOVEREIGN ? "1-7" : who == NOBODY ? "1-8" : "1-0";
    if (strstr(pattern, "{collection}")) {
        bool year = strstr(pattern, "{year}"), node = strstr(pattern, "{node}");
        return arena_printf(&fix_arena, "%s%s%s",
                            who == PUBLIC || who == RESTRICTED ? "kansas"
                            : who == SOVEREIGN                 ? "canary-sov-collection"
                                                               : "never-was-here",
                            year ? "/years/2026" : "", node ? "/1-0" : "");
    }
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

/* Rows that read by GET: a question in a body has tests of its own (test_stac_api.c). */
#define EACH_ROUTE(r)                                                                              \
    for (const struct route *r = router_api.routes; r < router_api.routes + router_api.n; r++)     \
        if (strcmp(r->method, "GET") == 0)

/* ---- the ledger, past its doors -------------------------------------------------------------- */

static inline void sql(const char *text)
{
    char path[128];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static inline int64_t sql_number(const char *text)
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

/* ---- comparing ------------------------------------------------------------------------------- */

static inline void assert_same(const struct answer *a, const struct answer *b, const char *what)
{
    if (!a->raw || !b->raw || a->n != b->n || memcmp(a->raw, b->raw, a->n) != 0)
        fail_msg("%s differ:\n%s\n----\n%s", what, a->raw, b->raw);
}

#endif
