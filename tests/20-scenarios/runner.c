/* runner: plays the scenario files of this folder against freshet-upstream and says which hold.
 *
 *   runner [-v] [FILE...]      B=build names the folder of the programs; no FILE: all of them
 *
 * Each expectation of a file gets an upstream at its beginning and an instance of its own; checks
 * run through detectors/, candidates through handler/, as in the real programs. README.md says what
 * an expectation can hold. One line per expectation, then "N passed, N failed".
 */
#include <fnmatch.h>
#include <sys/stat.h>
#include "core/file.h"
#include "detectors/detect.h"
#include "handler/work.h"
#include "ledger/promote.h"
#include "tests/10-unit/scratch.h"
#include "tests/20-scenarios/upstream.h"

#define CHECKS_MAX 64

struct runner {
    const char *build;
    char dir[64];
    struct upstream upstream;
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
    struct check_result last, results[CHECKS_MAX]; /* of the checks so far */
    yyjson_val *sent;                              /* by the last of them */
    int n;
    int64_t seq; /* newest request of the wire log that is known */
    struct buf trouble;
};

/* What does not hold is said, and the play goes on, so that one run shows all of it. */
#define complain(p, ...)                                                                           \
    (buf_puts(&(p)->trouble, "\n     "), buf_printf(&(p)->trouble, __VA_ARGS__))

/* A word that nobody reads would expect nothing. */
static void known_keys(struct play *p, yyjson_val *o, const char *known)
{
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(o, i, n, key, val)
    {
        struct str list = str_of(known), word;
        bool found = false;
        while (!found && str_next(&list, ' ', &word))
            found = str_is(word, yyjson_get_str(key));
        if (!found)
            complain(p, "no such key: %s", yyjson_get_str(key));
    }
}

static yyjson_val *control(struct play *p, const char *method, const char *what, struct str body)
{
    return upstream_control(&p->r->upstream, &p->arena, method, what, body);
}

/* ---- an instance ----------------------------------------------------------------------------- */

/* {port} and {tls_port} in a document become numbers. */
static struct str with_ports(struct play *p, struct str doc)
{
    CLEANUP(buf_release) struct buf out = {0};
    buf_init(&out, 1u << 20);
    while (doc.n > 0) {
        bool http = str_starts(doc, STR("{port}")), https = str_starts(doc, STR("{tls_port}"));
        size_t n = http ? 6 : https ? 10 : 1;
        if (http || https)
            buf_printf(&out, "%d", http ? p->r->upstream.port : p->r->upstream.tls_port);
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
    make_file(
        p, "policy.json",
        STR("{\"version\":\"1\",\"levels\":{\"public\":{},\"generalized\":{},\"restricted\":{},\"sovereign\":{}}}"));
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

/* A url without a host means the upstream. */
static void make_whole(struct play *p, yyjson_mut_val *url)
{
    const char *path = yyjson_mut_get_str(url);
    if (path && path[0] == '/')
        yyjson_mut_set_str(url, arena_printf(&p->arena, "http://127.0.0.1:{port}%s", path));
}

/* The declaration with what it may leave out. */
static struct str declaration(struct play *p, yyjson_val *expect)
{
    yyjson_mut_doc *d = json_doc(&p->arena);
    yyjson_mut_val *o = yyjson_val_mut_copy(d, yyjson_obj_get(expect, "source"));
    yyjson_mut_doc_set_root(d, o);
    make_whole(p, yyjson_mut_obj_get(o, "url"));
    make_whole(p, yyjson_mut_obj_get(yyjson_mut_obj_get(o, "probe"), "url"));
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
    p->inst.programs = p->r->build;
    if (rc == RC_OK)
        rc = ledger_open(p->dir, LEDGER_WRITE, digest_sha256, &p->ledger, &err);
    if (rc == RC_OK)
        rc = detect_new(p->ledger, &p->inst, on_checked, p, &p->detect, &err);
    if (rc == RC_OK)
        rc = worker_new(p->ledger, &p->inst, &p->worker, &err);
    if (rc != RC_OK)
        die(p->name, &err);
    add_source(p, expect);
    control(p, "POST", "reset", STR(""));
}

static void close_play(struct play *p)
{
    worker_free(&p->worker);
    detect_free(&p->detect);
    ledger_close(&p->ledger);
    buf_release(&p->trouble);
    arena_release(&p->arena);
    clock_set(-1);
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
    yyjson_val *log = control(p, "GET", what, STR(""));
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
    known_keys(p, what, "advance set pass_s");
    const char *path = yyjson_get_str(yyjson_obj_get(what, "advance"));
    if (path)
        control(p, "POST", arena_printf(&p->arena, "advance?path=%s", path), STR(""));
    yyjson_val *set = yyjson_obj_get(what, "set");
    if (set) {
        yyjson_mut_doc *d = json_doc(&p->arena);
        yyjson_mut_doc_set_root(d, yyjson_val_mut_copy(d, set));
        control(p, "POST", "set", written(p, d));
    }
    yyjson_val *pass = yyjson_obj_get(what, "pass_s");
    if (pass)
        clock_set(clock_now() + yyjson_get_sint(pass) * 1000);
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
    p->results[p->n++] = p->last;
    p->sent = new_wire(p);
}

/* ---- what was sent --------------------------------------------------------------------------- */

/* Headers that every request has; all others are sent on purpose and must be expected. */
static bool is_usual(const char *line)
{
    static const char *const names[] = {"Host", "User-Agent", "Accept", "Accept-Encoding"};
    struct str name = {line, strcspn(line, ":")};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ieq(name, str_of(names[i])))
            return true;
    return false;
}

/* "GET /path?query", for an expectation that names only the method: of the source. */
static const char *request_line(struct play *p, yyjson_val *want)
{
    const char *line = yyjson_get_str(yyjson_is_str(want) ? want : yyjson_arr_get_first(want));
    if (!line || strchr(line, ' '))
        return line ? line : "";
    const char *host = strstr(p->source.url, "://"), *path = host ? strchr(host + 3, '/') : NULL;
    return arena_printf(&p->arena, "%s %s", line, path ? path : "/");
}

static const char *got_line(struct play *p, yyjson_val *request)
{
    const char *query = yyjson_get_str(yyjson_obj_get(request, "query"));
    return arena_printf(&p->arena, "%s %s%s%s", yyjson_get_str(yyjson_obj_get(request, "method")),
                        yyjson_get_str(yyjson_obj_get(request, "path")), query && *query ? "?" : "",
                        query ? query : "");
}

/* The lines after the first of `want` are in the request, byte for byte and in this order, and
 * beside them only what is usual. */
static void expect_headers(struct play *p, int at, yyjson_val *want, yyjson_val *request)
{
    size_t i, n, next = 1;
    yyjson_val *line;
    bool identity = false;
    yyjson_arr_foreach(yyjson_obj_get(request, "headers"), i, n, line)
    {
        const char *text = yyjson_get_str(line);
        const char *due = yyjson_get_str(yyjson_arr_get(want, next));
        identity |= strcmp(text, "Accept-Encoding: identity") == 0;
        if (due && str_eq(with_ports(p, str_of(due)), str_of(text)))
            next++;
        else if (!is_usual(text))
            complain(p, "check %d: request %d has %s", p->n, at, text);
    }
    for (; next < yyjson_arr_size(want); next++)
        complain(p, "check %d: request %d lacks %s", p->n, at,
                 yyjson_get_str(yyjson_arr_get(want, next)));
    if (!identity)
        complain(p, "check %d: request %d does not ask for identity", p->n, at);
}

/* The requests of `log` are those of `want`, in this order. */
static void expect_sent(struct play *p, const char *who, yyjson_val *want, yyjson_val *log)
{
    size_t i, n;
    yyjson_val *request;
    yyjson_arr_foreach(log, i, n, request)
    {
        yyjson_val *due = yyjson_arr_get(want, i);
        const char *got = got_line(p, request), *line = due ? request_line(p, due) : NULL;
        if (!line || strcmp(got, line) != 0)
            complain(p, "check %d: %s sent %s, not %s", p->n, who, got, line ? line : "that");
        else
            expect_headers(p, (int)i + 1, due, request);
    }
    for (; n < yyjson_arr_size(want); n++)
        complain(p, "check %d: %s did not send %s", p->n, who,
                 request_line(p, yyjson_arr_get(want, n)));
}

/* What the detector saw lies in the spool, so the handler needs nobody, unless `fetched`
 * says so. */
static void drain(struct play *p, yyjson_val *step)
{
    struct err err = {0};
    struct work_counts counts;
    if (work_drain(p->worker, &counts, &err) != RC_OK)
        die(p->name, &err);
    expect_sent(p, "the handler", yyjson_obj_get(step, "fetched"), new_wire(p));
}

/* ---- the receipt and the state --------------------------------------------------------------- */

/* v is a number, true or false, or [LOW, HIGH]. */
static void expect_number(struct play *p, yyjson_val *o, const char *key, double got)
{
    yyjson_val *v = yyjson_obj_get(o, key);
    double low = yyjson_is_bool(v) ? yyjson_get_bool(v) : yyjson_get_num(v), high = low;
    if (yyjson_is_arr(v)) {
        low = yyjson_get_num(yyjson_arr_get(v, 0));
        high = yyjson_get_num(yyjson_arr_get(v, 1));
    }
    if (v && (got < low || got > high))
        complain(p, "check %d: %s is %.10g", p->n, key, got);
}

static void expect_text(struct play *p, yyjson_val *o, const char *key, const char *got)
{
    const char *want = yyjson_get_str(yyjson_obj_get(o, key));
    if (want && !str_eq(with_ports(p, str_of(want)), str_of(got)))
        complain(p, "check %d: %s is %s, not %s", p->n, key, got, want);
}

/* What a step says about the receipt beside its outcome. */
static void expect_receipt(struct play *p, yyjson_val *step)
{
    const struct check_result *r = &p->last;
    const char *detail = yyjson_get_str(yyjson_obj_get(step, "detail"));
    char sha[SHA256_HEX] = "";
    if (r->has_sha)
        sha256_hex(&r->sha, sha);
    if (detail && fnmatch(detail, r->detail, 0) != 0)
        complain(p, "check %d: says \"%s\", not \"%s\"", p->n, r->detail, detail);
    expect_text(p, step, "sha256", sha);
    expect_number(p, step, "attempts", r->attempts);
    expect_number(p, step, "http", r->http);
    expect_number(p, step, "bytes_in", (double)r->bytes_in);
    expect_number(p, step, "bytes_saved", (double)r->bytes_saved);
    expect_number(p, step, "next_in_s", (double)(r->state.next_check_at - r->ended_at) / 1000);
}

#define STATE_TEXTS(X) X(etag) X(last_modified) X(validator_url)
#define STATE_NUMBERS(X)                                                                           \
    X(head_refused)                                                                                \
    X(etag_flaps) X(date_doubted) X(since_audit) X(seen_size) X(failures) X(gone_count)

/* What is remembered of the source, as the ledger has it. */
static void expect_state(struct play *p, yyjson_val *want)
{
    struct check_state st;
    struct err err = {0};
    if (check_state_get(p->ledger, p->source.no, &st, &err) != RC_OK)
        die(p->name, &err);
#define NAME(field) " " #field
#define TEXT(field) expect_text(p, want, #field, st.field);
#define NUMBER(field) expect_number(p, want, #field, (double)st.field);
    known_keys(p, want, STATE_TEXTS(NAME) STATE_NUMBERS(NAME));
    STATE_TEXTS(TEXT)
    STATE_NUMBERS(NUMBER)
#undef NAME
#undef TEXT
#undef NUMBER
}

static void expect_step(struct play *p, yyjson_val *step)
{
    yyjson_val *sent = yyjson_obj_get(step, "sent");
    const char *got = outcome_name(p->last.outcome);
    if (!is_one_of(yyjson_obj_get(step, "outcome"), got))
        complain(p, "check %d: %s (%s)", p->n, got, p->last.detail);
    expect_receipt(p, step);
    expect_state(p, yyjson_obj_get(step, "state"));
    if (sent)
        expect_sent(p, "it", sent, p->sent);
}

static void play_step(struct play *p, yyjson_val *step)
{
    yyjson_val *until = yyjson_obj_get(step, "until"), *times = yyjson_obj_get(step, "times");
    known_keys(p, step,
               "about do outcome until times drain fetched sent state attempts http detail sha256"
               " bytes_in bytes_saved next_in_s");
    if (yyjson_obj_get(step, "do"))
        command(p, yyjson_obj_get(step, "do"));
    if (!yyjson_obj_get(step, "outcome"))
        return;
    for (int64_t left = times ? yyjson_get_sint(times) : 1; left > 0; left--) {
        check_once(p);
        expect_step(p, step);
        if (!yyjson_is_false(yyjson_obj_get(step, "drain")))
            drain(p, step);
        if (until && is_one_of(until, outcome_name(p->last.outcome)))
            return;
    }
    if (until)
        complain(p, "check %d: still %s", p->n, outcome_name(p->last.outcome));
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
    CLEANUP(buf_release) struct buf got = {0};
    CLEANUP(buf_release) struct buf want = {0};
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
    const struct check_result *w = check < 1 ? NULL : &x->p->results[check - 1];
    if (!w || strcmp(r->outcome, outcome_name(w->outcome)) != 0 ||
        strcmp(r->detail, w->detail) != 0 || r->http != w->http || r->attempts != w->attempts ||
        r->bytes_in != w->bytes_in || r->bytes_saved != w->bytes_saved)
        complain(x->p, "receipt %d says %s (%s), HTTP %d", check, r->outcome, r->detail, r->http);
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
    static struct play p; /* too large for a stack */
    size_t i, n;
    yyjson_val *item, *feed = yyjson_obj_get(expect, "feed");
    int64_t start = clock_mono();
    p = (struct play){.r = r};
    arena_init(&p.arena, 512u << 20);
    buf_init(&p.trouble, 1u << 20);
    name_play(&p, file, expect);
    known_keys(&p, expect, "name source settings secrets checks feed");
    open_play(&p, expect);
    yyjson_arr_foreach(yyjson_obj_get(expect, "checks"), i, n, item) play_step(&p, item);
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
    upstream_start(&r->upstream, r->build, r->dir);
    setenv("SSL_CERT_FILE", r->upstream.ca, 1);
}

static void close_runner(struct runner *r)
{
    upstream_stop(&r->upstream);
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
