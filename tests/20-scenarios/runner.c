/* runner: plays the scenario files of this folder against freshet-upstream and says which hold.
 *
 *   runner [-v] [FILE...]      B=build names the folder of the programs; no FILE: all of them
 *
 * Each expectation of a file gets an upstream at its beginning and an instance of its own; checks
 * run through detectors/, candidates through handler/, as in the real programs. README.md says what
 * an expectation can hold. One line per expectation, then "N passed, N failed".
 */
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fetch.h"
#include "core/file.h"
#include "core/json.h"
#include "detectors/detect.h"
#include "handler/work.h"
#include "ledger/promote.h"
#include "tests/10-unit/scratch.h"

#define HERE "tests/20-scenarios"
#define READY_MS 20000 /* for the upstream to start, under a sanitizer on a busy machine */
#define CHECKS_MAX 64

struct runner {
    const char *build;
    char dir[64], ca[96];
    pid_t upstream;
    int port, tls_port;
    struct conf conf; /* of the control connection */
    const char *hosts[1];
    struct fetch *fetch;
    bool verbose;
    int passed, failed;
};

/* One expectation while it is played. */
struct play {
    struct runner *r;
    struct arena arena;
    char dir[96], name[200];
    struct instance inst;
    struct ledger *ledger;
    struct detect *detect;
    struct worker *worker;
    struct source source;
    struct check_result last;
    const char *outcomes[CHECKS_MAX]; /* of the checks so far */
    yyjson_val *wire[CHECKS_MAX];     /* what each of them sent */
    int n;
    int64_t seq; /* newest request of the wire log that is known */
    struct buf trouble;
};

static noreturn void die(const char *what, const struct err *err)
{
    fprintf(stderr, "runner: %s: %s %s\n", what, err->field, err->msg);
    exit(2);
}

/* What does not hold is said, and the play goes on, so that one run shows all of it. */
#define complain(p, ...)                                                                           \
    (buf_puts(&(p)->trouble, "\n     "), buf_printf(&(p)->trouble, __VA_ARGS__))

/* ---- the upstream ---------------------------------------------------------------------------- */

static void start_upstream(struct runner *r)
{
    char program[128], port_file[96];
    snprintf(program, sizeof program, "%s/freshet-upstream", r->build);
    snprintf(port_file, sizeof port_file, "%s/ports", r->dir);
    snprintf(r->ca, sizeof r->ca, "%s/ca.pem", r->dir);
    r->upstream = fork();
    if (r->upstream == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(program, program, "--port", "0", "--tls-port", "0", "--scenario", HERE, "--port-file",
              port_file, "--cert-out", r->ca, "--quiet", (char *)NULL);
        fprintf(stderr, "runner: cannot start %s: %s\n", program, strerror(errno));
        _exit(127);
    }
    for (int64_t until = clock_mono() + READY_MS; access(port_file, R_OK) != 0;) {
        if (clock_mono() > until || waitpid(r->upstream, NULL, WNOHANG) != 0) {
            fprintf(stderr, "runner: the upstream did not start\n");
            exit(2);
        }
        usleep(2000);
    }
    struct err err = {0};
    struct arena a;
    yyjson_val *ports;
    arena_init(&a, 65536);
    if (json_parse_file(&a, port_file, 0, &ports, &err) != RC_OK)
        die("the port file", &err);
    r->port = yyjson_get_int(yyjson_obj_get(ports, "http"));
    r->tls_port = yyjson_get_int(yyjson_obj_get(ports, "https"));
    arena_release(&a);
}

static enum rc keep_body(void *ctx, const void *p, size_t n)
{
    buf_add(ctx, p, n);
    return buf_rc(ctx);
}

struct reply {
    struct buf *body;
    struct fetch_res res;
};

static enum rc on_reply_body(void *ctx, const void *p, size_t n)
{
    struct reply *reply = ctx;
    return keep_body(reply->body, p, n);
}

static void on_reply(void *ctx, const struct fetch_res *res)
{
    struct reply *reply = ctx;
    reply->res = *res;
}

/* Sends a command to /control/ and gives its parsed answer. */
static yyjson_val *control(struct runner *r, struct arena *a, const char *method, const char *what,
                           struct str body)
{
    CLEANUP(buf_release) struct buf out;
    struct reply reply = {.body = &out};
    struct err err = {0};
    yyjson_val *doc = NULL;
    buf_init(&out, 64u << 20);
    struct fetch_req req = {.method = method,
                            .url = arena_printf(a, "http://127.0.0.1:%d/control/%s", r->port, what),
                            .body = body,
                            .max_body = 64 << 20,
                            .timeout_ms = READY_MS,
                            .attempts = 1,
                            .on_body = on_reply_body,
                            .on_done = on_reply,
                            .ctx = &reply};
    if (fetch_one(r->fetch, &req, &err) != RC_OK)
        die(what, &err);
    struct str text = {arena_str(a, buf_view(&out)), out.len};
    if (reply.res.http != 200 || json_parse(a, text, 0, "answer", &doc, &err) != RC_OK) {
        fprintf(stderr, "runner: /control/%s: %s %s\n", what, reply.res.detail, text.p);
        exit(2);
    }
    return doc;
}

/* ---- an instance ----------------------------------------------------------------------------- */

/* {port} and {tls_port} in a document become numbers. */
static struct str with_ports(struct play *p, struct str doc)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, 1u << 20);
    while (doc.n > 0) {
        bool http = str_starts(doc, STR("{port}")), https = str_starts(doc, STR("{tls_port}"));
        size_t n = http ? 6 : https ? 10 : 1;
        if (http || https)
            buf_printf(&out, "%d", http ? p->r->port : p->r->tls_port);
        else
            buf_byte(&out, doc.p[0]);
        doc = (struct str){doc.p + n, doc.n - n};
    }
    return (struct str){arena_str(&p->arena, buf_view(&out)), out.len};
}

static struct str written(struct play *p, yyjson_mut_doc *d)
{
    struct str text;
    struct err err = {0};
    if (json_write(&p->arena, d, 0, &text, &err) != RC_OK)
        die("json", &err);
    return with_ports(p, text);
}

static void make_file(struct play *p, const char *name, struct str text)
{
    struct err err = {0};
    if (file_replace(arena_printf(&p->arena, "%s/%s", p->dir, name), text, 0600, &err) != RC_OK)
        die(name, &err);
}

/* Quick retries and the upstream as the one host allowed, unless the expectation says otherwise. */
static void make_settings(struct play *p, yyjson_val *expect)
{
    yyjson_mut_doc *d = json_doc(&p->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d), *hosts = yyjson_mut_arr(d);
    yyjson_mut_doc_set_root(d, o);
    yyjson_mut_arr_add_str(d, hosts, "127.0.0.1:{port}");
    yyjson_mut_arr_add_str(d, hosts, "localhost:{tls_port}");
    yyjson_mut_obj_add_val(d, o, "allow_hosts", hosts);
    yyjson_mut_obj_add_int(d, o, "fetch_retry_ms", 5);
    size_t i, n;
    yyjson_val *key, *val, *given = yyjson_obj_get(expect, "settings");
    yyjson_obj_foreach(given, i, n, key, val)
    {
        yyjson_mut_obj_remove_key(o, yyjson_get_str(key));
        yyjson_mut_obj_add_val(d, o, yyjson_get_str(key), yyjson_val_mut_copy(d, val));
    }
    make_file(p, "freshet.json", written(p, d));
}

static void make_secrets(struct play *p, yyjson_val *expect)
{
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(yyjson_obj_get(expect, "secrets"), i, n, key, val)
    {
        const char *name = arena_printf(&p->arena, "secrets/%s", yyjson_get_str(key));
        make_file(p, name, str_of(yyjson_get_str(val)));
    }
}

static void make_folders(struct play *p)
{
    static const char *const folders[] = {
        "", "/secrets", "/store", "/store/public", "/run", "/runs", "/store/restricted", "/spool"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        if (mkdir(arena_printf(&p->arena, "%s%s", p->dir, folders[i]), 0700) != 0) {
            fprintf(stderr, "runner: mkdir %s%s: %s\n", p->dir, folders[i], strerror(errno));
            exit(2);
        }
}

/* The declaration with what it may leave out; a url without a host means the upstream. */
static struct str declaration(struct play *p, yyjson_val *expect)
{
    yyjson_mut_doc *d = json_doc(&p->arena);
    yyjson_mut_val *o = yyjson_val_mut_copy(d, yyjson_obj_get(expect, "source"));
    yyjson_mut_doc_set_root(d, o);
    const char *url = yyjson_mut_get_str(yyjson_mut_obj_get(o, "url"));
    if (url && url[0] == '/') {
        char *whole = arena_printf(&p->arena, "http://127.0.0.1:{port}%s", url);
        yyjson_mut_obj_remove_key(o, "url");
        json_add_str(d, o, "url", whole);
    }
    json_add_str(d, o, "id", "case");
    if (!yyjson_mut_obj_get(o, "license"))
        json_add_str(d, o, "license", "CC0-1.0");
    if (!yyjson_mut_obj_get(o, "triggers"))
        json_add_raw(d, o, "triggers", STR("[{\"type\":\"manual\"}]"));
    return written(p, d);
}

static void add_source(struct play *p, yyjson_val *expect)
{
    struct err err = {0};
    yyjson_val *decl;
    enum rc rc = json_parse(&p->arena, declaration(p, expect), 0, "source", &decl, &err);
    if (rc == RC_OK)
        rc = source_parse(&p->arena, decl, &p->source, &err);
    if (rc == RC_OK)
        rc = ledger_begin(p->ledger, &err);
    if (rc == RC_OK)
        rc = source_add(p->ledger, &p->source, clock_now(), &err);
    if (rc == RC_OK)
        rc = ledger_commit(p->ledger, &err);
    if (rc != RC_OK)
        die(p->name, &err);
}

static void on_checked(void *ctx, const struct source *s, const struct check_result *result)
{
    struct play *p = ctx;
    (void)s;
    p->last = *result;
}

static void open_play(struct play *p, yyjson_val *expect)
{
    struct err err = {0};
    snprintf(p->dir, sizeof p->dir, "%s/i", p->r->dir);
    make_folders(p);
    make_settings(p, expect);
    make_secrets(p, expect);
    enum rc rc = ledger_create(p->dir, digest_sha256, &err);
    if (rc == RC_OK)
        rc = instance_load(&p->arena, p->dir, &p->inst, &err);
    if (rc == RC_OK)
        rc = ledger_open(p->dir, LEDGER_WRITE, digest_sha256, &p->ledger, &err);
    if (rc == RC_OK)
        rc = detect_new(p->ledger, &p->inst, on_checked, p, &p->detect, &err);
    if (rc == RC_OK)
        rc = worker_new(p->ledger, &p->inst, &p->worker, &err);
    if (rc != RC_OK)
        die(p->name, &err);
    add_source(p, expect);
    control(p->r, &p->arena, "POST", "reset", STR(""));
}

static void close_play(struct play *p)
{
    worker_free(&p->worker);
    detect_free(&p->detect);
    ledger_close(&p->ledger);
    buf_release(&p->trouble);
    arena_release(&p->arena);
    if (scratch_remove(p->dir) != 0)
        fprintf(stderr, "runner: %s could not be removed\n", p->r->dir);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Is word the string v, or one of the strings in the array v? */
static bool is_one_of(yyjson_val *v, const char *word)
{
    size_t i, n;
    yyjson_val *item;
    if (yyjson_is_str(v))
        return strcmp(yyjson_get_str(v), word) == 0;
    yyjson_arr_foreach(v, i, n, item)
    {
        if (yyjson_equals_str(item, word))
            return true;
    }
    return false;
}

/* Everything that was sent since the last call. */
static yyjson_val *new_wire(struct play *p)
{
    char what[64];
    snprintf(what, sizeof what, "log?since=%lld", (long long)p->seq);
    yyjson_val *log = control(p->r, &p->arena, "GET", what, STR(""));
    yyjson_val *newest = yyjson_arr_get_last(log);
    if (newest)
        p->seq = yyjson_get_sint(yyjson_obj_get(newest, "seq"));
    return log;
}

static void command(struct play *p, yyjson_val *what)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(what, i, n, item) command(p, item);
    const char *path = yyjson_get_str(yyjson_obj_get(what, "advance"));
    if (path)
        control(p->r, &p->arena, "POST", arena_printf(&p->arena, "advance?path=%s", path), STR(""));
    yyjson_val *set = yyjson_obj_get(what, "set");
    if (set) {
        yyjson_mut_doc *d = json_doc(&p->arena);
        yyjson_mut_doc_set_root(d, yyjson_val_mut_copy(d, set));
        control(p->r, &p->arena, "POST", "set", written(p, d));
    }
}

/* What the detector saw lies in the spool, so the handler needs nobody. */
static void drain(struct play *p)
{
    struct err err = {0};
    struct work_counts counts;
    if (work_drain(p->worker, &counts, &err) != RC_OK)
        die(p->name, &err);
    if (yyjson_arr_size(new_wire(p)) > 0)
        complain(p, "check %d: the handler fetched what lay in the spool", p->n);
}

static void check_once(struct play *p)
{
    struct err err = {0};
    if (p->n == CHECKS_MAX) {
        complain(p, "more than %d checks", CHECKS_MAX);
        return;
    }
    enum rc rc = detect_add(p->detect, &p->source, "requested", 0, &err);
    if (rc == RC_OK)
        rc = detect_finish(p->detect, &err);
    if (rc != RC_OK)
        die(p->name, &err);
    p->outcomes[p->n] = outcome_name(p->last.outcome);
    p->wire[p->n++] = new_wire(p);
}

static void expect_number(struct play *p, yyjson_val *step, const char *key, int64_t got)
{
    yyjson_val *want = yyjson_obj_get(step, key);
    if (want && yyjson_get_sint(want) != got)
        complain(p, "check %d: %s is %lld, not %lld", p->n, key, (long long)got,
                 (long long)yyjson_get_sint(want));
}

/* What a step says about the receipt beside its outcome. */
static void expect_receipt(struct play *p, yyjson_val *step)
{
    const char *detail = yyjson_get_str(yyjson_obj_get(step, "detail"));
    if (detail && fnmatch(detail, p->last.detail, 0) != 0)
        complain(p, "check %d: says \"%s\", not \"%s\"", p->n, p->last.detail, detail);
    expect_number(p, step, "attempts", p->last.attempts);
    expect_number(p, step, "http", p->last.http);
    yyjson_val *next = yyjson_obj_get(step, "next_in_s");
    double wait = (double)(p->last.state.next_check_at - p->last.ended_at) / 1000;
    if (next && (wait < yyjson_get_num(yyjson_arr_get(next, 0)) ||
                 wait > yyjson_get_num(yyjson_arr_get(next, 1))))
        complain(p, "check %d: the next one is in %.3f s", p->n, wait);
}

static void play_step(struct play *p, yyjson_val *step)
{
    yyjson_val *want = yyjson_obj_get(step, "outcome"), *until = yyjson_obj_get(step, "until");
    yyjson_val *times = yyjson_obj_get(step, "times");
    if (yyjson_obj_get(step, "do"))
        command(p, yyjson_obj_get(step, "do"));
    if (!want)
        return;
    for (int64_t left = times ? yyjson_get_sint(times) : 1; left > 0; left--) {
        check_once(p);
        const char *got = p->outcomes[p->n - 1];
        if (!is_one_of(want, got))
            complain(p, "check %d: %s (%s)", p->n, got, p->last.detail);
        expect_receipt(p, step);
        if (!yyjson_is_false(yyjson_obj_get(step, "drain")))
            drain(p);
        if (until && is_one_of(until, got))
            return;
    }
    if (until)
        complain(p, "check %d: still %s", p->n, p->outcomes[p->n - 1]);
}

/* ---- what was sent --------------------------------------------------------------------------- */

/* pattern is "Name: value" (a star stands for anything) or a name alone. */
static bool line_matches(const char *line, const char *pattern)
{
    size_t n = strcspn(line, ":"), m = strcspn(pattern, ":");
    if (!str_ieq((struct str){line, n}, (struct str){pattern, m}))
        return false;
    return pattern[m] == '\0' || fnmatch(pattern + m, line + n, FNM_NOESCAPE) == 0;
}

static bool has_header(yyjson_val *request, const char *pattern)
{
    size_t i, n;
    yyjson_val *line;
    yyjson_arr_foreach(yyjson_obj_get(request, "headers"), i, n, line)
    {
        if (line_matches(yyjson_get_str(line), pattern))
            return true;
    }
    return false;
}

static bool is_meant(yyjson_val *rule, yyjson_val *request)
{
    static const char *const keys[] = {"method", "path"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        yyjson_val *want = yyjson_obj_get(rule, keys[i]);
        if (want && !yyjson_equals(want, yyjson_obj_get(request, keys[i])))
            return false;
    }
    return true;
}

static void expect_wire(struct play *p, yyjson_val *rule)
{
    const char *header = yyjson_get_str(yyjson_obj_get(rule, "header"));
    const char *absent = yyjson_get_str(yyjson_obj_get(rule, "absent"));
    int check = yyjson_get_int(yyjson_obj_get(rule, "check")), meant = 0, with = 0;
    size_t i, n;
    yyjson_val *request, *count = yyjson_obj_get(rule, "count");
    if (check < 1 || check > p->n) {
        complain(p, "wire: there was no check %d", check);
        return;
    }
    yyjson_arr_foreach(p->wire[check - 1], i, n, request)
    {
        if (!is_meant(rule, request))
            continue;
        meant++;
        with += header && has_header(request, header);
        if (absent && has_header(request, absent))
            complain(p, "check %d: request %d was sent with %s", check, meant, absent);
    }
    if (count && meant != yyjson_get_int(count))
        complain(p, "check %d: %d requests, not %d", check, meant, yyjson_get_int(count));
    if (header && with == 0)
        complain(p, "check %d: none of %d requests has %s", check, meant, header);
}

/* ---- what became of it ----------------------------------------------------------------------- */

static enum rc add_change(void *ctx, const struct change *c, struct err *err)
{
    (void)err;
    buf_printf(ctx, "\"%s\",", c->change_type);
    return RC_OK;
}

static void expect_feed(struct play *p, yyjson_val *feed)
{
    CLEANUP(buf_release) struct buf got;
    CLEANUP(buf_release) struct buf want;
    struct err err = {0};
    size_t i, n;
    yyjson_val *item;
    buf_init(&got, 1u << 20);
    buf_init(&want, 1u << 20);
    if (change_each(p->ledger, add_change, &got, &err) != RC_OK)
        die(p->name, &err);
    yyjson_arr_foreach(feed, i, n, item) buf_printf(&want, "\"%s\",", yyjson_get_str(item));
    if (!str_eq(buf_view(&got), buf_view(&want)))
        complain(p, "feed: [%.*s], not [%.*s]", STR_FMT(buf_view(&got)), STR_FMT(buf_view(&want)));
}

struct receipts {
    struct play *p;
    int n;
};

static enum rc compare_receipt(void *ctx, const struct check_receipt *r, struct err *err)
{
    struct receipts *x = ctx;
    (void)err;
    int check = x->p->n - x->n++; /* newest first */
    if (check < 1 || strcmp(r->outcome, x->p->outcomes[check - 1]) != 0)
        complain(x->p, "receipt %d says %s", check, r->outcome);
    return RC_OK;
}

/* One receipt per check, saying the same. */
static void expect_receipts(struct play *p)
{
    struct receipts x = {p, 0};
    struct err err = {0};
    if (check_receipts(p->ledger, p->source.no, 2 * CHECKS_MAX, compare_receipt, &x, &err) != RC_OK)
        die(p->name, &err);
    if (x.n != p->n)
        complain(p, "%d checks left %d receipts", p->n, x.n);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void name_play(struct play *p, const char *file, yyjson_val *expect)
{
    const char *name = yyjson_get_str(yyjson_obj_get(expect, "name"));
    const char *url = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(expect, "source"), "url"));
    snprintf(p->name, sizeof p->name, "%s: %s", file, name ? name : url ? url : "?");
}

static void play(struct runner *r, const char *file, yyjson_val *expect)
{
    struct play p = {.r = r};
    size_t i, n;
    yyjson_val *item, *feed = yyjson_obj_get(expect, "feed");
    int64_t start = clock_mono();
    arena_init(&p.arena, 512u << 20);
    buf_init(&p.trouble, 1u << 20);
    name_play(&p, file, expect);
    open_play(&p, expect);
    yyjson_arr_foreach(yyjson_obj_get(expect, "checks"), i, n, item) play_step(&p, item);
    yyjson_arr_foreach(yyjson_obj_get(expect, "wire"), i, n, item) expect_wire(&p, item);
    if (feed)
        expect_feed(&p, feed);
    expect_receipts(&p);
    bool ok = p.trouble.len == 0;
    printf("%s %s%.*s", ok ? "ok" : "not ok", p.name, STR_FMT(buf_view(&p.trouble)));
    if (r->verbose)
        printf(" (%lld ms)", (long long)(clock_mono() - start));
    printf("\n");
    fflush(stdout);
    r->passed += ok;
    r->failed += !ok;
    close_play(&p);
}

static void play_file(struct runner *r, const char *path)
{
    struct arena a;
    struct err err = {0};
    yyjson_val *doc, *expect, *item;
    size_t i, n;
    arena_init(&a, 64u << 20);
    if (json_parse_file(&a, path, JSON_RELAXED, &doc, &err) != RC_OK)
        die(path, &err);
    const char *name = yyjson_get_str(yyjson_obj_get(doc, "name"));
    expect = yyjson_obj_get(doc, "expect");
    if (yyjson_is_obj(expect))
        play(r, name ? name : path, expect);
    yyjson_arr_foreach(expect, i, n, item) play(r, name ? name : path, item);
    arena_release(&a);
}

static int is_scenario(const struct dirent *e)
{
    return str_ends(str_of(e->d_name), STR(".json"));
}

static void play_folder(struct runner *r)
{
    struct dirent **list;
    int n = scandir(HERE, &list, is_scenario, alphasort);
    if (n < 0) {
        fprintf(stderr, "runner: no folder %s: run it from the root of the tree\n", HERE);
        exit(2);
    }
    for (int i = 0; i < n; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s", HERE, list[i]->d_name);
        play_file(r, path);
        free(list[i]);
    }
    free(list);
}

static void open_runner(struct runner *r)
{
    struct err err = {0};
    r->build = env_get("B") ? env_get("B") : "build";
    snprintf(r->dir, sizeof r->dir, "/tmp/freshet-scenarios-XXXXXX");
    if (!mkdtemp(r->dir) || clock_init(&err) != RC_OK) {
        fprintf(stderr, "runner: cannot make %s\n", r->dir);
        exit(2);
    }
    start_upstream(r);
    setenv("SSL_CERT_FILE", r->ca, 1);
    conf_defaults(&r->conf);
    r->hosts[0] = "127.0.0.1";
    r->conf.allow_hosts = (struct conf_list){r->hosts, 1};
    if (fetch_new(&r->conf, &r->fetch, &err) != RC_OK)
        die("fetch", &err);
}

static void close_runner(struct runner *r)
{
    fetch_free(&r->fetch);
    kill(r->upstream, SIGTERM);
    waitpid(r->upstream, NULL, 0);
    if (scratch_remove(r->dir) != 0)
        fprintf(stderr, "runner: %s could not be removed\n", r->dir);
}

int main(int argc, char **argv)
{
    struct runner r = {0};
    int at = 1;
    if (at < argc && strcmp(argv[at], "-v") == 0) {
        r.verbose = true;
        at++;
    }
    open_runner(&r);
    if (at == argc)
        play_folder(&r);
    for (; at < argc; at++)
        play_file(&r, argv[at]);
    close_runner(&r);
    printf("%d passed, %d failed\n", r.passed, r.failed);
    return r.failed > 0;
}
