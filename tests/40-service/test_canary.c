/* test_canary: one walk over every row of the route table, with every method, representation and
 * parameter that it offers (I8), over the world of canaries.h. A parameter that this file does not
 * know fails it. */
#include "tests/40-service/canaries.h"

#define GRID 0.1 /* the default of grid_deg */

/* ---- the walk -------------------------------------------------------------------------------- */

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

/* Lists hash what was asked for, and so does their ETag: where the words differ, it must. */
static void blank_etag(struct answer *a)
{
    char *p = a->raw ? strstr(a->raw, "\r\nETag: \"") : NULL;
    for (p = p && p < a->body ? p + 9 : NULL; p && *p != '"'; p++)
        *p = '-';
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
            /* What operators change would be done to the public source: a refused method
             * is enough. */
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

/* A value that would find something withheld, and one as long that finds nothing: the answers may
 * differ in the word itself alone. `form` has %s where the word goes. */
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
                fail_msg("%s?%.*s=: tell this file what would find something withheld", r->pattern,
                         STR_FMT(name));
        }
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

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

/* ---- logs, files ----------------------------------------------------------------------------- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_in_every_way),
        cmocka_unit_test(every_representation),
        cmocka_unit_test(every_parameter),
        cmocka_unit_test(generalized_places_are_their_grid),
        cmocka_unit_test(logs_and_files_are_clean),
        cmocka_unit_test(a_leak_would_be_noticed),
    };
    return cmocka_run_group_tests(tests, make_walk, drop_world);
}
