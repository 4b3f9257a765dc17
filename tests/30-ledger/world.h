/* world: an instance with a real ledger, store and upstream, for the tests of the handler. After
 * every test `verify` must find nothing wrong. */
#ifndef FRESHET_TESTS_LEDGER_WORLD_H
#define FRESHET_TESTS_LEDGER_WORLD_H

#include <dirent.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include "handler/project.h"
#include "handler/work.h"
#include "ledger/public.h"
#include "ledger/public_items.h"
#include "ledger/verify.h"
#include "tests/10-unit/tiny_server.h"
#include "tests/30-ledger/fixture.h"

#define BODY_A "{\"version\":\"A\"}"
#define BODY_B "{\"version\":\"B\"}"
#define HOUR_MS 3600000LL

static struct server server;
static struct instance inst;
static struct ledger *led;

/* The first column of the first row, of tables that have no reader yet. */
static inline int64_t ask_number(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    char path[128];
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    int64_t n = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
    sqlite3_finalize(s);
    sqlite3_close(db);
    return n;
}

/* ---- a world --------------------------------------------------------------------------------- */

static inline void problem(void *ctx, const char *sentence)
{
    ++*(int *)ctx;
    print_error("verify: %s\n", sentence);
}

static inline int files_in(const char *sub)
{
    char path[128];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", fix_dir, sub);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static inline int setup(void **state)
{
    static const char *hosts[] = {"127.0.0.1"};
    char path[128];
    (void)state;
    fix_make();
    server_start(&server);
    inst = (struct instance){.dir = fix_dir};
    conf_defaults(&inst.conf);
    inst.conf.allow_hosts = (struct conf_list){hosts, 1};
    inst.conf.fetch_attempts = 1;
    inst.conf.free_bytes_min = 0;
    inst.programs = env_get("B") ? env_get("B") : "build";
    snprintf(path, sizeof path, "%s/spool", fix_dir);
    assert_int_equal(mkdir(path, 0750), 0);
    led = fix_open(LEDGER_WRITE);
    return 0;
}

static inline int teardown(void **state)
{
    struct verify_counts counts;
    char store[128];
    int problems = 0;
    (void)state;
    snprintf(store, sizeof store, "%s/store", fix_dir);
    OK(ledger_verify(led, store, true, problem, &problems, &counts, &fix_err));
    assert_int_equal(problems, 0);
    assert_int_equal(files_in("store/tmp"), 0);
    ledger_close(&led);
    server_stop(&server);
    clock_set(-1);
    fix_drop();
    return 0;
}

static inline struct source add_source(const char *id, const char *level)
{
    char json[512];
    snprintf(json, sizeof json,
             "{\"id\":\"%s\",\"title\":\"Title of %s\",\"url\":\"http://127.0.0.1:%d/%s\","
             "\"sensitivity\":\"%s\",\"collection\":\"tests\",\"media_type\":\"application/json\"}",
             id, id, server.port, id, level);
    struct source s = fix_source(led, json);
    OK(ledger_begin(led, &fix_err));
    OK(project_source(led, &inst, &s, 1000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    return s;
}

/* The entry of a listing, or the vintage of a template. */
static inline struct source child_of(const struct source *parent, const char *entry)
{
    struct source s;
    OK(source_child(led, &fix_arena, parent->no, entry, &s, &fix_err));
    return s;
}

/* The upstream answers with these bytes from now on. */
static inline void serve(const char *id, const char *body)
{
    char path[64];
    snprintf(path, sizeof path, "/%s", id);
    pthread_mutex_lock(&server.lock);
    for (size_t i = 0; i < server.n_routes; i++)
        if (strcmp(server.routes[i].path, path) == 0)
            server.routes[i].uses = 0;
    pthread_mutex_unlock(&server.lock);
    server_route(&server, path, KEEP,
                 "HTTP/1.1 200 OK\r\nETag: \"%zu\"\r\nContent-Length: %zu\r\n\r\n%s", strlen(body),
                 strlen(body), body);
}

static inline void spool(const char *name_of, const char *body)
{
    struct sha256 sha;
    char hex[SHA256_HEX], path[256];
    digest_sha256(name_of, strlen(name_of), &sha);
    sha256_hex(&sha, hex);
    snprintf(path, sizeof path, "%s/spool/%s", fix_dir, hex);
    unit_write(path, body);
}

/* A detector saw these bytes. */
static inline const char *found(const struct source *s, const char *body)
{
    static struct check_result r;
    r = fix_result(s, OUTCOME_changed, 0);
    digest_sha256(body, strlen(body), &r.sha);
    r.state.seen_sha = r.sha;
    OK(check_commit(led, &r, 1, 2000, &fix_err));
    return r.event_id;
}

static inline struct work_counts drain(void)
{
    struct worker *w = NULL;
    struct work_counts n = {0};
    OK(worker_new(led, &inst, &w, &fix_err));
    OK(work_drain(w, &n, &fix_err));
    worker_free(&w);
    return n;
}

static inline struct head head_of(const struct source *s)
{
    struct head h;
    OK(head_get(led, &fix_arena, s->no, &h, &fix_err));
    return h;
}

static inline void assert_head(const struct source *s, int64_t version, const char *body)
{
    struct head h = head_of(s);
    struct sha256 sha;
    digest_sha256(body, strlen(body), &sha);
    assert_int_equal(h.version, version);
    assert_true(sha256_eq(&h.sha, &sha));
}

static inline struct change change_of(const char *event)
{
    struct change c;
    OK(change_get(led, &fix_arena, event, &c, &fix_err));
    return c;
}

static inline enum rc count_change(void *ctx, const struct public_change *c, struct err *err)
{
    (void)c, (void)err;
    ++*(int *)ctx;
    return RC_OK;
}

static inline int feed_length(void)
{
    struct ledger *r = fix_open(LEDGER_READ);
    const struct public_change_query q = {.limit = 1000};
    int64_t pending;
    int n = 0;
    OK(public_changes(r, &q, count_change, &n, &pending, &fix_err));
    ledger_close(&r);
    return n;
}

/* What the public is told of a version. */
static inline const char *item_of(const char *id)
{
    struct ledger *r = fix_open(LEDGER_READ);
    struct public_item d;
    OK(public_item_get(r, &fix_arena, STR("tests"), str_of(id), &d, &fix_err));
    ledger_close(&r);
    return d.doc.p;
}

static inline struct public_meta meta_now(void)
{
    struct ledger *r = fix_open(LEDGER_READ);
    struct public_meta m;
    OK(public_meta_get(r, &fix_arena, &m, &fix_err));
    ledger_close(&r);
    return m;
}

#endif
