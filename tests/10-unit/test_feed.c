/* feed: parameters, paging both ways, cursors, validators. The ledger is a table in here: the three
 * functions that the feed reads through are defined below and taken instead of the real ones. */
#include "tests/10-unit/unit.h"

#include "api/feed.h"
#include "core/clock.h"

#define ROWS 57
#define NOON (time_civil(2026, 7, 2) + 12 * 3600 * 1000LL)

static struct {
    bool gone;
    const char *source;
    int64_t at, gen;
} rows[ROWS + 1]; /* by seq */
static int64_t tip, first;
static void (*between)(void); /* what happens after the tip was read, before the rows are */

enum rc public_meta_get(struct ledger *l, struct arena *a, struct public_meta *ret, struct err *err)
{
    (void)l;
    (void)a;
    (void)err;
    *ret = (struct public_meta){
        .generation = 1, .last_seq = tip, .first_seq = first, .policy_version = "1"};
    if (between)
        between();
    return RC_OK;
}

static bool wanted(const struct public_change_query *q, int64_t seq)
{
    bool all = q->n_sources == 0;
    for (size_t i = 0; i < q->n_sources; i++)
        all = all || str_is(q->sources[i], rows[seq].source);
    return all && !rows[seq].gone && (q->descending ? seq < q->after : seq > q->after);
}

enum rc public_changes(struct ledger *l, const struct public_change_query *q, public_change_fn *fn,
                       void *ctx, int64_t *ret_pending, struct err *err)
{
    int64_t given = 0, pending = 0;
    (void)l;
    for (int64_t i = first; i <= tip; i++) {
        int64_t seq = q->descending ? tip - (i - first) : i;
        if (!wanted(q, seq))
            continue;
        if (given == q->limit) {
            pending++;
            continue;
        }
        given++;
        struct public_change c = {
            seq, rows[seq].at, rows[seq].gen,
            STR("{\"change_event_id\":\"e\",\"prov_ref\":\"\\u001F/prov/1\"}")};
        TRY(fn(ctx, &c, err));
    }
    *ret_pending = pending > 0 ? pending : 0;
    return RC_OK;
}

enum rc public_change_get(struct ledger *l, struct arena *a, struct str id,
                          struct public_change *ret, struct err *err)
{
    (void)l;
    (void)a;
    (void)err;
    if (!str_is(id, "evt_20260702T100000Z_abcdef"))
        return RC_NOT_FOUND;
    *ret = (struct public_change){7, NOON, 3, STR("{\"x\":1}")};
    return RC_OK;
}

/* ---- fixture ---- */

static struct arena memory;
static struct buf out;
static struct feed_query q;
static struct err err;

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, 8u << 20);
    buf_init(&out, 1u << 20);
    feed_query_init(&q);
    err = (struct err){0};
    tip = ROWS;
    first = 1;
    between = NULL;
    for (int64_t i = 1; i <= ROWS; i++) {
        rows[i].gone = false;
        rows[i].source = i % 3 ? "roads" : "rivers";
        rows[i].at = NOON + i * 1000;
        rows[i].gen = i;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buf_release(&out);
    arena_release(&memory);
    return 0;
}

static enum rc set(const char *name, const char *value)
{
    return feed_query_set(&q, name, str_of(value), &err);
}

/* Renders and parses the page. */
static yyjson_val *page(void)
{
    yyjson_val *v = NULL;
    buf_clear(&out);
    assert_rc(feed_render(NULL, &memory, &q, STR("http://h"), &out, &err), RC_OK);
    char *copy = arena_str(&memory, buf_view(&out));
    assert_non_null(copy);
    assert_rc(json_parse(&memory, str_of(copy), 0, "page", &v, &err), RC_OK);
    return v;
}

static int64_t seq_member(yyjson_val *o, const char *key)
{
    int64_t v = -1;
    const char *text = yyjson_get_str(yyjson_obj_get(o, key));
    assert_non_null(text);
    assert_rc(str_to_i64(str_of(text), &v), RC_OK);
    return v;
}

static size_t count(yyjson_val *p)
{
    return yyjson_arr_size(yyjson_obj_get(p, "results"));
}

static int64_t seq_at(yyjson_val *p, size_t i)
{
    return seq_member(yyjson_arr_get(yyjson_obj_get(p, "results"), i), "seq");
}

static int64_t pending(yyjson_val *p)
{
    return yyjson_get_sint(yyjson_obj_get(p, "pending"));
}

static const char *next_link(yyjson_val *p)
{
    yyjson_val *links = yyjson_obj_get(p, "links");
    for (size_t i = 0; i < yyjson_arr_size(links); i++) {
        yyjson_val *l = yyjson_arr_get(links, i);
        if (strcmp(yyjson_get_str(yyjson_obj_get(l, "rel")), "next") == 0)
            return yyjson_get_str(yyjson_obj_get(l, "href"));
    }
    return NULL;
}

/* Sets the query from a link, as a client that follows it. */
static void follow(const char *href)
{
    struct str rest = str_of(href), pair, name;
    assert_true(str_starts(rest, STR("http://h/changes?")));
    assert_true(str_next(&rest, '?', &pair));
    feed_query_init(&q);
    while (str_next(&rest, '&', &pair)) {
        assert_true(str_next(&pair, '=', &name));
        assert_rc(set(arena_str(&memory, name), arena_str(&memory, pair)), RC_OK);
    }
}

/* ---- parameters ---- */

static void parameters_are_checked(void **state)
{
    static const char *const bad[][2] = {
        {"since", ""},     {"since", "-1"},   {"since", "01"},    {"since", "x"},
        {"since", "1.0"},  {"since", "Now"},  {"since", " 1"},    {"since", "99999999999999999999"},
        {"before", "0"},   {"before", "now"}, {"limit", "0"},     {"limit", "-5"},
        {"limit", "x"},    {"order", "up"},   {"order", ""},      {"source", ""},
        {"source", "a,"},  {"source", ",a"},  {"source", "a,,b"}, {"source", "A"},
        {"source", "a b"}, {"source", "a'"},  {"colour", "blue"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        feed_query_init(&q);
        assert_rc(set(bad[i][0], bad[i][1]), RC_INVALID);
        assert_string_equal(err.field, bad[i][0]);
    }
}

static void source_lists_are_bounded(void **state)
{
    char list[2 * (FEED_LIST_MAX + 1)];
    (void)state;
    for (size_t i = 0; i < FEED_LIST_MAX; i++)
        memcpy(list + 2 * i, "a,", 2);
    list[2 * FEED_LIST_MAX - 1] = 0;
    assert_rc(set("source", list), RC_OK);
    assert_int_equal(q.n_sources, FEED_LIST_MAX);
    memcpy(list + 2 * FEED_LIST_MAX - 1, ",a", 3);
    assert_rc(set("source", list), RC_INVALID);
}

/* ---- pages ---- */

static void newest_first_without_since(void **state)
{
    (void)state;
    assert_rc(set("limit", "10"), RC_OK);
    yyjson_val *p = page();
    assert_int_equal(count(p), 10);
    assert_int_equal(seq_at(p, 0), ROWS);
    assert_int_equal(seq_at(p, 9), ROWS - 9);
    assert_int_equal(seq_member(p, "last_seq"), ROWS);
    assert_int_equal(seq_member(p, "first_seq"), 1);
    assert_int_equal(pending(p), ROWS - 10);
}

static void entries_carry_seq_first_and_real_links(void **state)
{
    (void)state;
    assert_rc(set("limit", "1"), RC_OK);
    page();
    assert_non_null(strstr(out.data, "{\"results\":[{\"seq\":\"57\",\"change_event_id\":\"e\","
                                     "\"prov_ref\":\"http://h/prov/1\"}],\"last_seq\":\"57\""));
}

static void going_back_meets_every_entry_once(void **state)
{
    int64_t want = ROWS;
    (void)state;
    assert_rc(set("limit", "7"), RC_OK);
    for (int pages = 0; pages < 20; pages++) {
        yyjson_val *p = page();
        for (size_t i = 0; i < count(p); i++)
            assert_int_equal(seq_at(p, i), want--);
        assert_int_equal(pending(p), want);
        if (!next_link(p))
            break;
        follow(next_link(p));
    }
    assert_int_equal(want, 0);
}

static void following_meets_every_entry_once(void **state)
{
    int64_t want = 1;
    (void)state;
    tip = 40;
    assert_rc(set("since", "0"), RC_OK);
    assert_rc(set("limit", "7"), RC_OK);
    for (int turns = 0; turns < 30; turns++) {
        yyjson_val *p = page();
        for (size_t i = 0; i < count(p); i++)
            assert_int_equal(seq_at(p, i), want++);
        q.since = seq_member(p, "last_seq");
        if (tip < ROWS)
            tip++; /* the feed grows while we read it */
    }
    assert_int_equal(want, ROWS + 1);
}

static void filtered_following_moves_to_the_tip(void **state)
{
    (void)state;
    assert_rc(set("since", "0"), RC_OK);
    assert_rc(set("source", "rivers"), RC_OK);
    assert_rc(set("limit", "10"), RC_OK);
    yyjson_val *p = page();
    assert_int_equal(count(p), 10);
    assert_int_equal(seq_member(p, "last_seq"), 30);
    assert_int_equal(pending(p), 9);
    assert_non_null(strstr(next_link(p), "since=30"));
    assert_non_null(strstr(next_link(p), "source=rivers"));
    q.since = 30;
    p = page();
    assert_int_equal(count(p), 9);
    assert_int_equal(seq_member(p, "last_seq"), ROWS);
    assert_null(next_link(p));
    q.since = ROWS;
    p = page();
    assert_int_equal(count(p), 0);
    assert_int_equal(seq_member(p, "last_seq"), ROWS);
}

static void since_now_is_the_tip(void **state)
{
    (void)state;
    assert_rc(set("since", "now"), RC_OK);
    yyjson_val *p = page();
    assert_int_equal(count(p), 0);
    assert_int_equal(seq_member(p, "last_seq"), ROWS);
    assert_int_equal(pending(p), 0);
}

static void order_overrides_and_since_bounds(void **state)
{
    (void)state;
    assert_rc(set("order", "asc"), RC_OK);
    assert_rc(set("limit", "3"), RC_OK);
    assert_int_equal(seq_at(page(), 0), 1);
    feed_query_init(&q);
    assert_rc(set("since", "50"), RC_OK);
    assert_rc(set("order", "desc"), RC_OK);
    assert_rc(set("limit", "4"), RC_OK);
    yyjson_val *p = page();
    assert_int_equal(seq_at(p, 0), 57);
    assert_int_equal(count(p), 4);
    assert_int_equal(pending(p), 3);
    follow(next_link(p));
    p = page();
    assert_int_equal(count(p), 3);
    assert_int_equal(seq_at(p, 2), 51);
    assert_int_equal(pending(p), 0);
    assert_null(next_link(p));
}

/* An entry that is published between reading the tip and the rows may be shown now or later, but
 * the cursor must not step over it. */
static void grow(void)
{
    tip = ROWS;
}

static void the_cursor_never_runs_ahead(void **state)
{
    (void)state;
    tip = ROWS - 1;
    between = grow;
    assert_rc(set("since", "50"), RC_OK);
    assert_rc(set("source", "roads"), RC_OK);
    yyjson_val *p = page();
    int64_t last = seq_member(p, "last_seq");
    assert_true(last == ROWS - 1 || seq_at(p, count(p) - 1) == last);
}

/* Rows taken away later (a level was raised) leave holes; paging still ends. */
static void holes_end_no_page_early_and_no_loop(void **state)
{
    int64_t seen = 0;
    (void)state;
    for (int64_t i = 20; i <= ROWS; i += 2)
        rows[i].gone = true;
    rows[ROWS].gone = rows[ROWS - 1].gone = true;
    assert_rc(set("since", "0"), RC_OK);
    assert_rc(set("limit", "5"), RC_OK);
    for (int pages = 0; pages < 30; pages++) {
        yyjson_val *p = page();
        seen += (int64_t)count(p);
        assert_true(seq_member(p, "last_seq") >= q.since);
        if (!next_link(p))
            break;
        follow(next_link(p));
    }
    assert_int_equal(seen, 19 + 18);
}

static void cursors_of_the_future_are_refused(void **state)
{
    (void)state;
    q.has_since = true;
    q.since = ROWS + 1;
    assert_rc(feed_render(NULL, &memory, &q, STR("http://h"), &out, &err), RC_INVALID);
    assert_string_equal(err.field, "since");
    q.since = ROWS;
    assert_rc(feed_render(NULL, &memory, &q, STR("http://h"), &out, &err), RC_OK);
    feed_query_init(&q);
    q.before = ROWS + 2;
    assert_rc(feed_render(NULL, &memory, &q, STR("http://h"), &out, &err), RC_INVALID);
    q.before = 5;
    q.order = FEED_ORDER_ASC;
    assert_rc(feed_render(NULL, &memory, &q, STR("http://h"), &out, &err), RC_INVALID);
}

static void cursors_before_the_retention_are_gone(void **state)
{
    int64_t start = -1;
    (void)state;
    first = 21;
    q.has_since = true;
    q.since = 19;
    assert_rc(feed_render_page(NULL, &memory, &q, STR("http://h"), &out, NULL, &start, &err),
              RC_GONE);
    assert_int_equal(start, 21);
    q.since = 20;
    assert_int_equal(seq_at(page(), 0), 21);
    q.since = 0;
    assert_int_equal(seq_at(page(), 0), 21);
}

/* ---- validators ---- */

static struct feed_page validators(const char *base)
{
    struct feed_page p;
    buf_clear(&out);
    assert_rc(feed_render_page(NULL, &memory, &q, str_of(base), &out, &p, NULL, &err), RC_OK);
    return p;
}

static void etag_moves_with_what_is_shown(void **state)
{
    (void)state;
    uint64_t a = validators("http://h").etag.h;
    assert_true(a == validators("http://h").etag.h);
    assert_true(a != validators("http://i").etag.h);
    rows[30].gen++; /* rewritten: redacted, say */
    assert_true(a != validators("http://h").etag.h);
    rows[30].gen--;
    rows[30].gone = true;
    assert_true(a != validators("http://h").etag.h);
    rows[30].gone = false;
    tip--;
    assert_true(a != validators("http://h").etag.h);
}

static void coarse_dates_are_told(void **state)
{
    (void)state;
    assert_false(validators("http://h").coarse);
    assert_int_equal(validators("http://h").newest, NOON + ROWS * 1000);
    rows[40].at = time_civil(2026, 7, 2);
    assert_true(validators("http://h").coarse);
}

/* ---- routes ---- */

/* Rows of our own: the real table would bring the real ledger functions along. */
static const struct route routes[] = {
    {"GET", "/changes", feed_list, "since before limit order source", 0, ROUTE_LEDGER, "no-cache",
     "application/json", ""},
    {"GET", "/changes/{id}", feed_entry, "", 0, ROUTE_LEDGER, "no-cache", "application/json", ""},
};
static const struct router router = {.routes = routes, .n = ARRAY_LEN(routes)};

static int serve(const char *path, const char *query, struct resp *w)
{
    struct req r = {.arena = &memory,
                    .base = STR("http://h"),
                    .method = STR("GET"),
                    .ledger = (struct ledger *)&memory};
    r.path = str_of(path);
    r.query = str_of(query);
    resp_clear(w);
    route_serve(&router, &r, w);
    return w->status;
}

static void routes_answer(void **state)
{
    struct resp w;
    (void)state;
    resp_init(&w);
    assert_int_equal(serve("/changes", "limit=2", &w), 200);
    assert_true(w.etag[0] == '"');
    assert_non_null(strstr(w.headers.data, "X-Poll-Interval: "));
    assert_int_equal(serve("/changes", "limit=0", &w), 400);
    assert_int_equal(serve("/changes", "bogus=1", &w), 400);
    first = 30;
    assert_int_equal(serve("/changes", "since=3", &w), 410);
    assert_non_null(strstr(w.body.data, ",\"first_seq\":\"30\"}"));
    assert_int_equal(serve("/changes/evt_20260702T100000Z_abcdef", "", &w), 200);
    assert_str(buf_view(&w.body), "{\"seq\":\"7\",\"x\":1}");
    assert_int_equal(serve("/changes/evt_20260702T100000Z_abcdee", "", &w), 404);
    assert_int_equal(serve("/changes/nonsense", "", &w), 404);
    resp_release(&w);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(parameters_are_checked),
        TEST(source_lists_are_bounded),
        TEST(newest_first_without_since),
        TEST(entries_carry_seq_first_and_real_links),
        TEST(going_back_meets_every_entry_once),
        TEST(following_meets_every_entry_once),
        TEST(filtered_following_moves_to_the_tip),
        TEST(since_now_is_the_tip),
        TEST(order_overrides_and_since_bounds),
        TEST(the_cursor_never_runs_ahead),
        TEST(holes_end_no_page_early_and_no_loop),
        TEST(cursors_of_the_future_are_refused),
        TEST(cursors_before_the_retention_are_gone),
        TEST(etag_moves_with_what_is_shown),
        TEST(coarse_dates_are_told),
        TEST(routes_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
