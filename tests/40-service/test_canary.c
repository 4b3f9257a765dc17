/* test_canary: one walk over every row of the route table, with every method, representation and parameter
 * that it offers (I8). A row, a variable or a parameter that this file does not know fails it: a new address
 * cannot be forgotten.
 *
 * The world of service.h, and: `wells` (generalized), `graves` (restricted) and a second sovereign source, all
 * three with places, properties, keys and addresses that carry canaries, published at odd times, with
 * checks that failed with canaries in what they said. */
#include "tests/40-service/service.h"

#include <time.h>
#include "core/log.h"
#include "ledger/query.h"

#define GEN_URL "https://wells-host.example/canary-gen-path"
#define GEN_BODY(n)                                                                                \
    "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"properties\":{\"key\":" \
    "\"canary-gen-key\",\"canary-gen-name\":" n "},\"geometry\":{\"type\":\"Polygon\","            \
    "\"coordinates\":[[[-98.1234,38.5678],[-98.0567,38.5678],[-98.0567,38.6543],"                  \
    "[-98.1234,38.5678]]]}}]}"
#define HIDDEN_BODY(who, n)                                                                        \
    "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"properties\":{\"key\":" \
    "\"canary-" who "-key\",\"canary-" who "-name\":" n "},\"geometry\":{\"type\":\"Point\","      \
    "\"coordinates\":[-77.7711,-33.3377]}}]}"
#define SOV2_ID "canary-sov-two"
#define GRID 0.1  /* the default of grid_deg */
#define ROUNDS 31 /* of each kind, when times are compared */

static struct source wells, graves, sov_two;
static struct change wells_change, graves_change, sov2_change;
static char wells_hex[SHA256_HEX], graves_hex[SHA256_HEX], sov2_hex[SHA256_HEX];
static char odd_time[16]; /* "03:33:33": when withheld things happened */
static char odd_day[16];

/* ---- the world -------------------------------------------------------------------------------- */

static struct source declare_geo(const char *id, const char *collection, const char *url,
                                 const char *level)
{
    struct source s = fix_source(
        led, arena_printf(&fix_arena,
                          "{\"id\":\"%s\",\"title\":\"Title of %s\",\"url\":\"%s\",\"sensitivity\":"
                          "\"%s\",\"collection\":\"%s\",\"media_type\":\"application/geo+json\","
                          "\"feature_key\":\"key\",\"triggers\":[{\"type\":\"manual\"}]}",
                          id, id, url, level, collection));
    OK(ledger_begin(led, &fix_err));
    OK(project_source(led, &inst, &s, clock_now(), &fix_err));
    OK(ledger_commit(led, &fix_err));
    return s;
}

/* The upstream says something that must not be repeated. */
static void fail_check(const struct source *s, const char *detail)
{
    struct check_result r = fix_result(s, OUTCOME_wrong_shape, 0);
    r.has_sha = false;
    r.started_at = r.ended_at = r.state.checked_at = clock_now();
    r.state.reached_at = clock_now();
    r.state.failures = 3;
    snprintf(r.detail, sizeof r.detail, "%s", detail);
    snprintf(r.state.last_outcome, sizeof r.state.last_outcome, "wrong_shape");
    snprintf(r.state.last_detail, sizeof r.state.last_detail, "%s", detail);
    OK(check_commit(led, &r, 1, clock_now(), &fix_err));
}

/* Bytes that no rule lets through: the run fails, and says why. */
static void fail_run(const struct source *s, const char *body)
{
    struct worker *w = NULL;
    struct work_counts n = {0};
    char event[48];
    see(s, body, event);
    OK(worker_new(led, &inst, &w, &fix_err));
    OK(work_drain(w, &n, &fix_err));
    worker_free(&w);
}

static void publish_hidden(void)
{
    int64_t day = clock_now() / DAY_MS * DAY_MS - DAY_MS;
    bool clash = clock_now() % DAY_MS / 3600000 == 3;
    char text[40];
    clock_set(day + (clash ? 15 : 3) * 3600000LL + 33 * 60000 + 33337);
    time_format(clock_now(), text);
    snprintf(odd_day, sizeof odd_day, "%.10s", text);
    snprintf(odd_time, sizeof odd_time, "%.8s", text + 11);
    graves_change = publish(&graves, HIDDEN_BODY("res", "1"));
    graves_change = publish(&graves, HIDDEN_BODY("res", "2"));
    sov2_change = publish(&sov_two, HIDDEN_BODY("sov", "1"));
    sov2_change = publish(&sov_two, HIDDEN_BODY("sov", "2"));
    fail_check(&graves, "canary-res-error");
    fail_check(&sov_two, "canary-sov-error");
    fail_run(&graves, "<html>canary-res-failed</html>");
    fail_run(&sov_two, "<html>canary-sov-failed</html>");
    clock_set(-1);
}

static int make_canaries(void **state)
{
    struct sha256 sha;
    char log[192];
    make_world(state);
    snprintf(log, sizeof log, "%s/log/handler.log", fix_dir);
    OK(log_open("handler", log, &fix_err)); /* the worker is in this process */
    wells = declare_geo("wells", "water", GEN_URL "?canary-gen-query=1", "generalized");
    graves = declare_geo("graves", "water", "https://canary-res-host.example/canary-res-graves",
                         "restricted");
    sov_two = declare_geo(SOV2_ID, "canary-sov-places",
                          "https://canary-sov-host.example/canary-sov-two-path", "sovereign");
    wells_change = publish(&wells, GEN_BODY("1"));
    wells_change = publish(&wells, GEN_BODY("2"));
    fail_check(&wells, "canary-gen-error");
    publish_hidden();
    hex_of(GEN_BODY("2"), &sha, wells_hex);
    hex_of(HIDDEN_BODY("res", "2"), &sha, graves_hex);
    hex_of(HIDDEN_BODY("sov", "2"), &sha, sov2_hex);
    return 0;
}

/* ---- addresses -------------------------------------------------------------------------------- */

/* What can stand between the braces of a pattern, of one source. */
struct thing {
    const char *source, *collection, *item, *change_event_id, *run, *delta, *manifest, *hex, *year,
        *node, *check_id, *rollback_id, *replay_id;
};

static struct thing thing_of(const char *source, const char *collection, const struct change *c,
                             const char *hex)
{
    return (struct thing){
        source,
        collection,
        arena_printf(&fix_arena, "%s-v1", source),
        c->event_id,
        c->run_id,
        c->delta_id,
        arena_printf(&fix_arena, "man_%s", c->run_id),
        hex,
        "2026",
        "1-0",
        "chk_01980000-0000-7000-8000-000000000000",
        "rbk_01980000-0000-7000-8000-000000000000",
        "rpl_01980000-0000-7000-8000-000000000000",
    };
}

/* As long and as well formed as s, and nobody's: the last character is another. */
static const char *beside(const char *s)
{
    char *t = arena_strdup(&fix_arena, s);
    size_t n = strlen(t);
    t[n - 1] = t[n - 1] == '0' ? '1' : '0';
    return t;
}

static struct thing nobody_beside(const struct thing *t)
{
    struct thing n = *t;
    n.source = beside(t->source);
    n.collection = beside(t->collection);
    n.item = arena_printf(&fix_arena, "%s-v1", n.source);
    n.change_event_id = beside(t->change_event_id);
    n.run = beside(t->run);
    n.delta = beside(t->delta);
    n.manifest = beside(t->manifest);
    n.hex = beside(t->hex);
    n.node = "1-9";
    return n;
}

static const char *value_in(const struct thing *t, struct str name)
{
    const struct {
        const char *name, *value;
    } all[] = {{"source", t->source},
               {"collection", t->collection},
               {"item", t->item},
               {"change_event_id", t->change_event_id},
               {"run", t->run},
               {"delta", t->delta},
               {"hex", t->hex},
               {"manifest", t->manifest},
               {"year", t->year},
               {"node", t->node},
               {"check_id", t->check_id},
               {"rollback_id", t->rollback_id},
               {"replay_id", t->replay_id}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (str_is(name, all[i].name))
            return all[i].value;
    fail_msg("{%.*s}: tell test_canary.c what a withheld one would be", STR_FMT(name));
    return "";
}

static const char *path_of(const char *pattern, const struct thing *t)
{
    struct buf b;
    buf_init(&b, 1024);
    for (const char *p = pattern; *p; p++) {
        if (*p != '{') {
            buf_byte(&b, *p);
            continue;
        }
        struct str name = {p + 1, strcspn(p + 1, "}")};
        buf_puts(&b, value_in(t, name));
        p += name.n + 1;
    }
    const char *path = arena_str(&fix_arena, buf_view(&b));
    buf_release(&b);
    return path;
}

enum { A_PUBLIC, A_GENERALIZED, A_RESTRICTED, A_SOVEREIGN, A_SOVEREIGN_TOO, THINGS };
static struct thing things[THINGS];

static void name_things(void)
{
    things[A_PUBLIC] = thing_of("roads", "kansas", &roads_change, roads_hex);
    things[A_GENERALIZED] = thing_of("wells", "water", &wells_change, wells_hex);
    things[A_RESTRICTED] = thing_of("graves", "water", &graves_change, graves_hex);
    things[A_SOVEREIGN] = thing_of(SOV_ID, "canary-sov-collection", &sov_change, sov_hex);
    things[A_SOVEREIGN_TOO] = thing_of(SOV2_ID, "canary-sov-places", &sov2_change, sov2_hex);
}

#define EACH_ROW(t, r) for (const struct route *r = (t)->routes; r < (t)->routes + (t)->n; r++)

/* ---- asking ----------------------------------------------------------------------------------- */

/* Every representation that media.def knows, by f= and by Accept, and some that nobody has. */
static const struct {
    const char *f, *accept;
} formats[] = {
#define X(gives, f, type, schema) {f, type},
#include "api/media.def"
#undef X
    {"", "*/*"},
    {"canary", "text/x-nothing"},
    {"", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}};

/* Bodies of the rows that take one; %s: who it is about. */
static const struct {
    const char *method, *pattern, *body;
} bodies[] = {
    {"POST", "/hooks/{source}", "{\"about\":\"%s\"}"},
    {"POST", "/stac/search", "{\"ids\":[\"%s-v1\"]}"},
    {"POST", "/hooks/{source}", "{\"id\":\"%s\"}"},
    {"OPTIONS", "/hooks/{source}", "%s"},
    {"POST", "/admin/checks", "{\"source\":\"%s\"}"},
    {"POST", "/admin/rollbacks", "{\"delta\":\"dlt_%s\",\"reason\":\"a test\"}"},
    {"POST", "/admin/sources", "{\"id\":\"%s\",\"url\":\"https://data.example/declared\"}"},
    {"PUT", "/admin/sources/{source}", "{\"id\":\"%s\",\"url\":\"https://data.example/declared\"}"},
    {"POST", "/admin/replays", "{\"since\":\"2026-07-01T00:00:00Z\",\"source\":\"%s\"}"},
    {"POST", "/admin/approvals", "{\"event\":\"%s\",\"decision\":\"approve\",\"note\":\"a test\"}"},
    {"POST", "/hooks/{source}", "{\"about\":\"%s\"}"},
    {"POST", "/admin/dead-letters", "{\"event\":\"%s\",\"action\":\"retry\"}"},
    {"POST", "/hooks/{source}", "{\"after\":\"%s\"}"},
    {"OPTIONS", "/hooks/{source}", "%s"},
};

static const char *body_of(const struct route *r, const char *about)
{
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct str form = str_of(bodies[i].body);
        size_t at = (size_t)(strstr(form.p, "%s") - form.p);
        if (strcmp(bodies[i].method, r->method) == 0 && strcmp(bodies[i].pattern, r->pattern) == 0)
            return arena_printf(&fix_arena, "%.*s%s%s", (int)at, form.p, about, form.p + at + 2);
    }
    if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "DELETE") != 0 &&
        strcmp(r->method, "OPTIONS") != 0)
        fail_msg("%s %s: tell test_canary.c what is sent there", r->method, r->pattern);
    return NULL;
}

static char tok_walk[TOKEN_PLAIN_MAX]; /* may do all, but not read what is restricted */

static struct answer send_to(const struct router *t, struct ask q)
{
    if (t == &router_intake)
        q.headers[ASK_HEADERS - 2] =
            arena_printf(&fix_arena, "HTTP_AUTHORIZATION=Bearer %s", tok_walk);
    if (q.body)
        q.type = "application/json";
    /* Headers end at the first gap. */
    for (int i = 0; i < ASK_HEADERS - 2; i++)
        if (!q.headers[i])
            q.headers[i] = "HTTP_X_NOTHING=1";
    struct answer a = ask_at(t == &router_intake ? intake_sock : api_sock, &q);
    return a;
}

/* ---- judging ---------------------------------------------------------------------------------- */

/* The bytes of no withheld thing; `asked` is what the client said itself and may get back. */
static void assert_clean(const char *text, size_t n, const char *asked, const char *where)
{
    const char *hidden[] = {"canary",
                            "98.1234",
                            "98.0567",
                            "38.6543",
                            "38.5678",
                            "77.7711",
                            "33.3377",
                            odd_time,
                            caves_hex,
                            graves_hex,
                            sov_hex,
                            sov2_hex,
                            tok_walk,
                            caves_change.run_id,
                            graves_change.run_id,
                            sov_change.run_id,
                            sov2_change.run_id,
                            sov_change.event_id,
                            sov2_change.event_id};
    for (size_t i = 0; text && i < ARRAY_LEN(hidden); i++)
        if (memmem(text, n, hidden[i], strlen(hidden[i])) && !(asked && strstr(asked, hidden[i])))
            fail_msg("%s: %s came out:\n%.3000s", where, hidden[i], text);
}

static void replace(struct answer *a, const char *from, const char *to)
{
    assert_int_equal(strlen(from), strlen(to));
    for (char *p = a->raw;
         a->raw && (p = memmem(p, a->n - (size_t)(p - a->raw), from, strlen(from)));)
        p = (char *)memcpy(p, to, strlen(to)) + strlen(to);
}

/* Lists hash what was asked for, and so does their ETag: where the words differ, it must. */
static void blank_etag(struct answer *a)
{
    char *p = a->raw ? strstr(a->raw, "\r\nETag: \"") : NULL;
    for (p = p && p < a->body ? p + 9 : NULL; p && *p != '"'; p++)
        *p = '-';
}

/* Whoever asks is counted: all but the numbers of requests, which stand last. */
static void cut_requests(struct answer *a)
{
    const char *at = a->body ? strstr(a->body, "# HELP freshet_http_") : NULL;
    if (!at)
        return;
    a->n = (size_t)(at - a->body);
    memmove(a->raw, a->body, a->n);
    a->raw[a->n] = '\0';
}

/* Number and time of a wish are each time others. */
static void blank_order(struct answer *a)
{
    static const char *const begins[] = {"\"ord_", "null,\"created_at\":\"20"};
    for (size_t i = 0; a->raw && i < ARRAY_LEN(begins); i++) {
        char *p = strstr(a->raw, begins[i]);
        for (p = p ? p + strlen(begins[i]) : NULL; p && *p && *p != '"'; p++)
            *p = '-';
    }
}

static const char *where(const struct route *r, const char *method, const char *path,
                         const char *query)
{
    return arena_printf(&fix_arena, "%s %s (%s?%s)", method, r->pattern, path, query ? query : "");
}

/* ---- the walk --------------------------------------------------------------------------------- */

static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH"};
static const struct router *const routers[] = {&router_api, &router_intake};

/* Whoever asked for a source is told of the wish, by the id that they gave it; of the source nothing. */
static bool is_wish(const struct route *r, const char *method)
{
    bool post = strcmp(method, "POST") == 0;
    return (post && strcmp(r->pattern, "/admin/sources") == 0) ||
           (!post && strcmp(r->pattern, "/admin/sources/{source}") == 0);
}

/* Nothing withheld in any answer, whoever is asked for, however. */
static void every_route_in_every_way(void **state)
{
    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(routers); t++)
        EACH_ROW(routers[t], r)
    for (size_t who = 0; who < THINGS; who++) {
        const char *path = path_of(r->pattern, &things[who]);
        const char *body = body_of(r, things[who].source);
        for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
            /* What operators change would be done to the public source: a refused method is enough. */
            if (t == 1 && strcmp(methods[m], r->method) == 0 && strcmp(r->method, "GET") != 0 &&
                who < A_SOVEREIGN)
                continue;
            struct answer a = send_to(
                routers[t], (struct ask){.method = methods[m],
                                         .path = path,
                                         .body = strcmp(methods[m], "GET") != 0 ? body : NULL});
            assert_clean(a.raw, a.n, is_wish(r, methods[m]) ? things[who].source : NULL,
                         where(r, methods[m], path, ""));
            answer_free(&a);
        }
    }
}

static void every_representation(void **state)
{
    (void)state;
    EACH_ROW(&router_api, r)
    for (size_t who = 0; who < THINGS && strcmp(r->method, "GET") == 0; who++)
        for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
            const char *path = path_of(r->pattern, &things[who]);
            const char *by_name = arena_printf(&fix_arena, "f=%s", formats[i].f);
            const char *accept = arena_printf(&fix_arena, "HTTP_ACCEPT=%s", formats[i].accept);
            struct answer a = send_to(&router_api, (struct ask){.path = path, .query = by_name});
            struct answer b = send_to(&router_api, (struct ask){.path = path, .headers = {accept}});
            assert_clean(a.raw, a.n, by_name, where(r, "GET", path, by_name));
            assert_clean(b.raw, b.n, NULL, where(r, "GET", path, accept));
            answer_free(&a);
            answer_free(&b);
        }
}

/* A value that would find something withheld, and one as long that finds nothing: the answers may differ in
 * the word itself alone. `form` has %s where the word goes. */
struct probe {
    const char *param, *form, *hidden, *nothing;
};

/* "param=value", with the word wherever the form has %s. */
static const char *query_of(const struct probe *p, const char *word)
{
    struct buf b;
    buf_init(&b, 1024);
    buf_printf(&b, "%s=", p->param);
    for (const char *c = p->form; *c; c++)
        if (c[0] == '%' && c[1] == 's') {
            buf_puts(&b, word);
            c++;
        } else {
            buf_byte(&b, *c);
        }
    const char *query = arena_str(&fix_arena, buf_view(&b));
    buf_release(&b);
    return query;
}

static const char *encoded(const char *word)
{
    struct buf b;
    buf_init(&b, 1024);
    http_encode(&b, str_of(word));
    const char *text = arena_str(&fix_arena, buf_view(&b));
    buf_release(&b);
    return text;
}

static void ask_probe(const struct route *r, const struct probe *p, const char *path)
{
    const char *words[] = {p->hidden, p->nothing};
    struct answer got[2] = {{0}};
    for (size_t i = 0; i < (p->hidden ? 2 : 1); i++) {
        const char *query = query_of(p, words[i]);
        got[i] = send_to(&router_api, (struct ask){.path = path, .query = query});
        assert_clean(got[i].raw, got[i].n, query, where(r, "GET", path, query));
    }
    if (p->hidden) {
        replace(&got[0], p->hidden, p->nothing);
        replace(&got[0], encoded(p->hidden), encoded(p->nothing));
        blank_etag(&got[0]);
        blank_etag(&got[1]);
        assert_same(&got[0], &got[1], where(r, p->param, path, p->hidden));
    }
    answer_free(&got[0]);
    answer_free(&got[1]);
}

static void every_parameter(void **state)
{
    const char *hour = arena_printf(&fix_arena, "%sT%.5s", odd_day, odd_time);
    const char *other = arena_printf(&fix_arena, "%sT%.3s55", odd_day, odd_time);
    const struct probe probes[] = {
        {"after", "%s", SOV_ID, beside(SOV_ID)},
        {"after", "%s", "canary-sov-collection", beside("canary-sov-collection")},
        {"bbox", "-%s,-34,-70,-33", "77.8123", "77.7023"},
        {"before", "%s", sov_change.run_id, beside(sov_change.run_id)},
        {"class", "content,new", NULL, NULL},
        {"collection", "%s", "canary-sov-collection", beside("canary-sov-collection")},
        {"collections", "%s", "canary-sov-places", beside("canary-sov-places")},
        {"datetime", "%s:00Z/%s:59Z", hour, other},
        {"detector", "etag", NULL, NULL},
        {"f", "json", NULL, NULL},
        {"feed", "longpoll", NULL, NULL},
        {"fields", "id,properties.title", NULL, NULL},
        {"filter", "title%20LIKE%20'%25%s%25'", "canary", "nevera"},
        {"filter",
         "S_INTERSECTS(geometry,POLYGON((-%s%20-34,-70%20-34,-70%20-33,-%s%20-33,-%s%20-34)))",
         "77.8123", "77.7023"},
        {"filter-crs", "http://www.opengis.net/def/crs/OGC/1.3/CRS84", NULL, NULL},
        {"filter-lang", "cql2-text", NULL, NULL},
        {"ids", "%s-v1", SOV_ID, beside(SOV_ID)},
        {"ids", "%s-v1", "graves", "gravez"},
        {"intersects", "%7B%22type%22:%22Point%22,%22coordinates%22:[-%s,-33.3377]%7D", "77.7711",
         "77.7702"},
        {"limit", "1000", NULL, NULL},
        {"order", "asc", NULL, NULL},
        {"q", "%s", "canary", "nevera"},
        {"q", "%s", SOV2_ID, beside(SOV2_ID)},
        {"since", "0", NULL, NULL},
        {"size", "s", NULL, NULL},
        {"sortby", "-datetime", NULL, NULL},
        {"source", "%s", SOV_ID, beside(SOV_ID)},
        {"state", "restricted", NULL, NULL},
        {"token", "canary", NULL, NULL},
        {"timeout", "0&feed=longpoll", NULL, NULL},
        {"type", "new", NULL, NULL},
        {"unexpected", "true", NULL, NULL},
        {"version", "3", NULL, NULL},
    };
    (void)state;
    EACH_ROW(&router_api, r)
    {
        struct str rest = str_of(r->params), name;
        while (str_next(&rest, ' ', &name)) {
            size_t asked = 0;
            for (size_t i = 0; i < ARRAY_LEN(probes); i++)
                for (size_t who = A_PUBLIC; who <= A_GENERALIZED; who++)
                    if (str_is(name, probes[i].param)) {
                        ask_probe(r, &probes[i], path_of(r->pattern, &things[who]));
                        asked++;
                    }
            if (!asked)
                fail_msg("%s?%.*s=: tell test_canary.c what would find something withheld",
                         r->pattern, STR_FMT(name));
        }
    }
}

/* ---- unknown ---------------------------------------------------------------------------------- */

static int64_t nanoseconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The median time of an answer, in turns with the other, so that both meet the same machine. */
static void compare_times(const char *pattern, const char *const paths[2])
{
    int64_t took[2][ROUNDS], median[2];
    for (size_t i = 0; i < ROUNDS; i++)
        for (size_t k = 0; k < 2; k++) {
            int64_t begin = nanoseconds();
            struct answer a = get(paths[k], "");
            took[k][i] = nanoseconds() - begin;
            answer_free(&a);
        }
    for (size_t k = 0; k < 2; k++) {
        qsort(took[k], ROUNDS, sizeof took[k][0], by_value);
        median[k] = took[k][ROUNDS / 2];
    }
    int64_t apart = median[0] > median[1] ? median[0] - median[1] : median[1] - median[0];
    int64_t less = median[0] < median[1] ? median[0] : median[1];
    if (apart > 1000000 && apart > less / 2)
        fail_msg("%s: sovereign takes %lld ns, unknown %lld ns", pattern, (long long)median[0],
                 (long long)median[1]);
}

/* Steps of SQLite's machine and bytes, of one answer in this process. Times waver with the machine, these do
 * not: a single row looked at more would tell. */
struct effort {
    int64_t steps, statements;
    size_t bytes;
    int status;
};

static struct effort effort_of(struct ledger *reader, const char *path)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct req r = {.method = STR("GET"),
                    .path = str_of(path),
                    .base = STR("http://127.0.0.1:8080"),
                    .remote_addr = STR("127.0.0.1"),
                    .arena = &a,
                    .ledger = reader,
                    .inst = &inst,
                    .now = clock_now()};
    struct effort e = {0};
    struct resp w;
    arena_init(&a, REQ_ARENA_MAX);
    resp_init(&w);
    route_serve(&router_api, &r, &w);
    for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(reader->db, s));) {
        int steps = sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 1);
        e.steps += steps;
        e.statements += steps > 0;
    }
    e.bytes = w.body.len + w.headers.len;
    e.status = w.status;
    resp_release(&w);
    return e;
}

static void sovereign_costs_what_unknown_costs(void **state)
{
    struct ledger *reader = fix_open(LEDGER_READ);
    size_t read = 0;
    (void)state;
    EACH_ROW(&router_api, r)
    for (size_t who = A_SOVEREIGN; who < THINGS; who++) {
        struct thing nobody = nobody_beside(&things[who]), one = things[who];
        if (!strchr(r->pattern, '{') || strcmp(r->method, "GET") != 0)
            continue;
        if (strstr(r->pattern, "/catalogs/{node}"))
            one.node = "1-8";
        struct effort s = effort_of(reader, path_of(r->pattern, &one));
        struct effort n = effort_of(reader, path_of(r->pattern, &nobody));
        if (s.steps != n.steps || s.statements != n.statements || s.bytes != n.bytes ||
            s.status != n.status)
            fail_msg(
                "%s: sovereign takes %lld steps of %lld statements for %zu bytes (%d), unknown "
                "%lld of %lld for %zu (%d)",
                r->pattern, (long long)s.steps, (long long)s.statements, s.bytes, s.status,
                (long long)n.steps, (long long)n.statements, n.bytes, n.status);
        read += s.steps > 0;
    }
    assert_true(read > 20); /* the ledger was asked, so there was something to count */
    struct effort found = effort_of(reader, "/sources/roads"),
                  none = effort_of(reader, "/sources/nobody");
    assert_int_not_equal(found.steps, none.steps);
    ledger_close(&reader);
}

/* Byte for byte, headers and size among them, and as fast. */
static void sovereign_is_unknown(void **state)
{
    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(routers); t++)
        EACH_ROW(routers[t], r)
    for (size_t who = A_SOVEREIGN; who < THINGS; who++) {
        struct thing nobody = nobody_beside(&things[who]), one = things[who];
        if (strstr(r->pattern, "/catalogs/{node}"))
            one.node = "1-8"; /* places in a list, whosever it is */
        const char *paths[2] = {path_of(r->pattern, &one), path_of(r->pattern, &nobody)};
        for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
            struct ask q = {.method = methods[m], .path = paths[0]};
            bool sent = strcmp(methods[m], r->method) == 0 && strcmp(methods[m], "GET") != 0;
            q.body = sent ? body_of(r, one.source) : NULL;
            struct answer s = send_to(routers[t], q);
            q.path = paths[1];
            q.body = sent ? body_of(r, nobody.source) : NULL;
            struct answer n = send_to(routers[t], q);
            if (is_wish(r, methods[m])) {
                replace(&s, one.source, nobody.source);
                blank_order(&s);
                blank_order(&n);
            }
            if (strcmp(r->pattern, "/metrics") == 0) {
                cut_requests(&s);
                cut_requests(&n);
            }
            assert_same(&s, &n, where(r, methods[m], paths[0], ""));
            answer_free(&s);
            answer_free(&n);
        }
        if (t == 0 && strchr(r->pattern, '{') && strcmp(r->method, "GET") == 0)
            compare_times(r->pattern, paths);
    }
}

/* ---- places ----------------------------------------------------------------------------------- */

static bool on_grid(double v)
{
    double n = v / GRID;
    return n - (double)(int64_t)(n + (n < 0 ? -0.5 : 0.5)) < 1e-6 &&
           (double)(int64_t)(n + (n < 0 ? -0.5 : 0.5)) - n < 1e-6;
}

static void assert_generalized(yyjson_val *box, const char *what)
{
    static const double truth[4] = {-98.1234, 38.5678, -98.0567, 38.6543};
    assert_int_equal(yyjson_arr_size(box), 4);
    for (size_t i = 0; i < 4; i++) {
        double v = yyjson_get_num(yyjson_arr_get(box, i));
        bool covers = i < 2 ? v < truth[i] : v > truth[i];
        if (!on_grid(v) || !covers)
            fail_msg("%s: side %zu of the box is %f, the true one %f", what, i, v, truth[i]);
    }
}

/* The box covers the true one and no side of it is the true one; the geometry is that box. */
static void generalized_places_are_their_grid(void **state)
{
    (void)state;
    struct answer a = get("/stac/collections/water/items/wells-v2", "");
    yyjson_val *item = parsed(a.body), *geometry = yyjson_obj_get(item, "geometry");
    assert_generalized(yyjson_obj_get(item, "bbox"), "the item");
    yyjson_val *ring = yyjson_arr_get_first(yyjson_obj_get(geometry, "coordinates"));
    assert_int_equal(yyjson_arr_size(ring), 5);
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 2; k++)
            assert_true(on_grid(yyjson_get_num(yyjson_arr_get(yyjson_arr_get(ring, i), k))));
    answer_free(&a);
    a = get(arena_printf(&fix_arena, "/changes/%s", wells_change.event_id), "");
    assert_generalized(yyjson_obj_get(parsed(a.body), "bbox"), "the entry");
    assert_string_equal(member(a.body, "source_uri"), "https://wells-host.example/");
    answer_free(&a);
    a = get("/stac/search", "bbox=-98.15,38.55,-98,38.7");
    assert_non_null(strstr(a.body, "\"wells-v2\""));
    answer_free(&a);
}

/* ---- logs, files ------------------------------------------------------------------------------ */

static void logs_and_files_are_clean(void **state)
{
    static const char *const logs[] = {"api.log", "intake.log", "handler.log"};
    static char text[4u << 20];
    char path[256];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
        snprintf(path, sizeof path, "%s/log/%s", fix_dir, logs[i]);
        unit_read(path, text, sizeof text);
        for (char *p = text; (p = strstr(p, odd_time)); p++)
            memset(p, '-', strlen(odd_time)); /* a line has the time of its event */
        assert_clean(text, strlen(text), caves_change.run_id, logs[i]);
    }
    const char *hexes[] = {wells_hex, graves_hex, sov_hex, sov2_hex, caves_hex};
    for (size_t i = 0; i < ARRAY_LEN(hexes); i++) {
        snprintf(path, sizeof path, "%s/store/public/sha256/%.2s/%.2s/%s", fix_dir, hexes[i],
                 hexes[i] + 2, hexes[i]);
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

/* Would the walk notice? */
static void a_leak_would_be_noticed(void **state)
{
    (void)state;
    struct answer a = get("/changes", "since=0&limit=1000");
    assert_non_null(strstr(a.raw, roads_hex)); /* what is public comes out of the same route */
    assert_non_null(strstr(a.raw, "\"graves\""));
    answer_free(&a);
    sql("UPDATE public_changes SET doc = replace(doc, '\"graves\"', '\"canary\"')");
    a = get("/changes", "since=0&limit=1000");
    assert_non_null(strstr(a.raw, "\"canary\""));
    answer_free(&a);
}

static int setup(void **state)
{
    int64_t no;
    make_canaries(state);
    OK(token_create(led, "walker",
                    SCOPE_CHECK | SCOPE_SOURCES | SCOPE_ROLLBACK | SCOPE_APPROVE | SCOPE_REPLAY, -1,
                    clock_now(), tok_walk, &no, &fix_err));
    name_things();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_in_every_way),
        cmocka_unit_test(every_representation),
        cmocka_unit_test(every_parameter),
        cmocka_unit_test(sovereign_is_unknown),
        cmocka_unit_test(sovereign_costs_what_unknown_costs),
        cmocka_unit_test(generalized_places_are_their_grid),
        cmocka_unit_test(logs_and_files_are_clean),
        cmocka_unit_test(a_leak_would_be_noticed),
    };
    return cmocka_run_group_tests(tests, setup, drop_world);
}
