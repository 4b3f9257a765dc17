/* canaries: a world in which all that is withheld carries a canary, and ways to ask every row of
 * the route tables about it. A row or a variable that this file does not know fails the tests: a
 * new address cannot be forgotten.
 *
 * The world of service.h, and: `wells` (generalized), `graves` (restricted) and a second sovereign
 * source, all three with places, properties, keys and addresses that carry canaries, published at
 * odd times, with checks that failed with canaries in what they said. */
#ifndef FRESHET_TESTS_CANARIES_H
#define FRESHET_TESTS_CANARIES_H

#include "tests/40-service/service.h"

#include "core/log.h"

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

static struct source wells, graves, sov_two;
static struct change wells_change, graves_change, sov2_change;
static char wells_hex[SHA256_HEX], graves_hex[SHA256_HEX], sov2_hex[SHA256_HEX];
static char odd_time[16]; /* "03:33:33": when withheld things happened */
static char odd_day[16];

/* ---- the world ------------------------------------------------------------------------------- */

static inline struct source declare_geo(const char *id, const char *collection, const char *url,
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
static inline void fail_check(const struct source *s, const char *detail)
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
static inline void fail_run(const struct source *s, const char *body)
{
    struct worker *w = NULL;
    struct work_counts n = {0};
    char event[48];
    see(s, body, event);
    OK(worker_new(led, &inst, &w, &fix_err));
    OK(work_drain(w, &n, &fix_err));
    worker_free(&w);
}

static inline void publish_hidden(void)
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

static inline int make_canaries(void **state)
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

/* ---- addresses ------------------------------------------------------------------------------- */

/* What can stand between the braces of a pattern, of one source. */
struct thing {
    const char *source, *collection, *item, *change_event_id, *run, *delta, *manifest, *hex, *year,
        *node, *check_id, *rollback_id, *replay_id;
};

static inline struct thing thing_of(const char *source, const char *collection,
                                    const struct change *c, const char *hex)
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
static inline const char *beside(const char *s)
{
    char *t = arena_strdup(&fix_arena, s);
    size_t n = strlen(t);
    t[n - 1] = t[n - 1] == '0' ? '1' : '0';
    return t;
}

static inline struct thing nobody_beside(const struct thing *t)
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

static inline const char *value_in(const struct thing *t, struct str name)
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
    fail_msg("{%.*s}: tell canaries.h what a withheld one would be", STR_FMT(name));
    return "";
}

static inline const char *path_of(const char *pattern, const struct thing *t)
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

static inline void name_things(void)
{
    things[A_PUBLIC] = thing_of("roads", "kansas", &roads_change, roads_hex);
    things[A_GENERALIZED] = thing_of("wells", "water", &wells_change, wells_hex);
    things[A_RESTRICTED] = thing_of("graves", "water", &graves_change, graves_hex);
    things[A_SOVEREIGN] = thing_of(SOV_ID, "canary-sov-collection", &sov_change, sov_hex);
    things[A_SOVEREIGN_TOO] = thing_of(SOV2_ID, "canary-sov-places", &sov2_change, sov2_hex);
}

#define EACH_ROW(t, r) for (const struct route *r = (t)->routes; r < (t)->routes + (t)->n; r++)

/* ---- asking ---------------------------------------------------------------------------------- */

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

static inline const char *body_of(const struct route *r, const char *about)
{
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct str form = str_of(bodies[i].body);
        size_t at = (size_t)(strstr(form.p, "%s") - form.p);
        if (strcmp(bodies[i].method, r->method) == 0 && strcmp(bodies[i].pattern, r->pattern) == 0)
            return arena_printf(&fix_arena, "%.*s%s%s", (int)at, form.p, about, form.p + at + 2);
    }
    if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "DELETE") != 0 &&
        strcmp(r->method, "OPTIONS") != 0)
        fail_msg("%s %s: tell canaries.h what is sent there", r->method, r->pattern);
    return NULL;
}

static char tok_walk[TOKEN_PLAIN_MAX]; /* may do all, but not read what is restricted */

static inline struct answer send_to(const struct router *t, struct ask q)
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

/* ---- judging --------------------------------------------------------------------------------- */

/* The bytes of no withheld thing; `asked` is what the client said itself and may get back. */
static inline void assert_clean(const char *text, size_t n, const char *asked, const char *where)
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

static inline void replace(struct answer *a, const char *from, const char *to)
{
    assert_int_equal(strlen(from), strlen(to));
    for (char *p = a->raw;
         a->raw && (p = memmem(p, a->n - (size_t)(p - a->raw), from, strlen(from)));)
        p = (char *)memcpy(p, to, strlen(to)) + strlen(to);
}

static inline const char *where(const struct route *r, const char *method, const char *path,
                                const char *query)
{
    return arena_printf(&fix_arena, "%s %s (%s?%s)", method, r->pattern, path, query ? query : "");
}

static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH"};
static const struct router *const routers[] = {&router_api, &router_intake};

/* Whoever asked for a source is told of the wish, by the id that they gave it; of the
 * source nothing. */
static inline bool is_wish(const struct route *r, const char *method)
{
    bool post = strcmp(method, "POST") == 0;
    return (post && strcmp(r->pattern, "/admin/sources") == 0) ||
           (!post && strcmp(r->pattern, "/admin/sources/{source}") == 0);
}

static inline int make_walk(void **state)
{
    int64_t no;
    make_canaries(state);
    OK(token_create(led, "walker",
                    SCOPE_CHECK | SCOPE_SOURCES | SCOPE_ROLLBACK | SCOPE_APPROVE | SCOPE_REPLAY, -1,
                    clock_now(), tok_walk, &no, &fix_err));
    name_things();
    return 0;
}

#endif
