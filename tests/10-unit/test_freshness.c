/* freshness: verdicts from facts and clock, what is shown of which level, lists. The ledger is a
 * table in here (see test_feed.c). */
#include "tests/10-unit/unit.h"

#include "api/freshness.h"
#include "core/clock.h"

#define NOW (time_civil(2026, 7, 20) + 10 * 3600 * 1000LL)
#define MAX 600

static struct public_fresh table[MAX];
static int64_t n_table;

enum rc public_meta_get(struct ledger *l, struct arena *a, struct public_meta *ret, struct err *err)
{
    (void)l;
    (void)a;
    (void)err;
    *ret = (struct public_meta){.generation = 1, .policy_version = "1"};
    return RC_OK;
}

enum rc public_fresh_get(struct ledger *l, struct arena *a, struct str id, struct public_fresh *ret,
                         struct err *err)
{
    (void)l;
    (void)a;
    (void)err;
    for (int64_t i = 0; i < n_table; i++)
        if (str_is(id, table[i].source_id)) {
            *ret = table[i];
            return RC_OK;
        }
    return RC_NOT_FOUND;
}

enum rc public_fresh_each(struct ledger *l, struct str after, int64_t limit, public_fresh_fn *fn,
                          void *ctx, struct err *err)
{
    (void)l;
    char from[64];
    snprintf(from, sizeof from, "%.*s", STR_FMT(after));
    for (int64_t i = 0; i < n_table && limit > 0; i++) {
        if (strcmp(table[i].source_id, from) <= 0)
            continue;
        TRY(fn(ctx, &table[i], err));
        limit--;
    }
    return RC_OK;
}

/* ---- fixture ---- */

static struct arena memory;
static struct resp w;

static struct public_fresh facts(const char *id)
{
    return (struct public_fresh){.source_id = id,
                                 .title = "Counties",
                                 .collection = "kansas",
                                 .level = "public",
                                 .window = "",
                                 .run_id = "0198-run",
                                 .identity = "ab12",
                                 .delta_id = "dlt_0198-run",
                                 .qa_status = "pass",
                                 .qa_note = "",
                                 .freshness_days = 30,
                                 .updated_at = NOW - 3 * DAY_MS,
                                 .checked_at = NOW - 1000,
                                 .reached_at = NOW - 1000,
                                 .next_check_at = NOW + 1000,
                                 .removed_at = -1,
                                 .gen = 5};
}

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, 8u << 20);
    resp_init(&w);
    table[0] = facts("counties");
    n_table = 1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    resp_release(&w);
    arena_release(&memory);
    return 0;
}

static const struct route routes[] = {
    {"GET", "/freshness", freshness_list, "state collection limit after", 0, ROUTE_LEDGER,
     "no-cache", "application/json", ""},
    {"GET", "/freshness/{source}", freshness_one, "", 0, ROUTE_LEDGER, "no-cache",
     "application/json", ""},
};
static const struct router router = {.routes = routes, .n = ARRAY_LEN(routes)};

static int serve_at(const char *path, const char *query, int64_t now)
{
    struct req r = {.arena = &memory,
                    .base = STR("http://h"),
                    .method = STR("GET"),
                    .now = now,
                    .ledger = (struct ledger *)&memory};
    r.path = str_of(path);
    r.query = str_of(query);
    resp_clear(&w);
    route_serve(&router, &r, &w);
    return w.status;
}

static int serve(const char *path, const char *query)
{
    return serve_at(path, query, NOW);
}

static struct verdict judged(const struct public_fresh *f)
{
    struct verdict v;
    freshness_judge(f, NOW, &v);
    return v;
}

#define assert_verdict(f, want_state, want_rule, want_label)                                       \
    do {                                                                                           \
        struct verdict got_ = judged(&(f));                                                        \
        assert_string_equal(fresh_state_name(got_.state), want_state);                             \
        assert_string_equal(got_.rule, want_rule);                                                 \
        assert_string_equal(got_.label, want_label);                                               \
    } while (0)

/* ---- verdicts ---- */

static void young_and_reachable_is_current(void **state)
{
    struct public_fresh f = facts("x");
    (void)state;
    assert_verdict(f, "current", "within_window", "Updated on 2026-07-17");
    assert_int_equal(judged(&f).data_age_days, 3);
}

static void never_promoted_is_unknown(void **state)
{
    struct public_fresh f = facts("x");
    (void)state;
    f.updated_at = -1;
    assert_verdict(f, "unknown", "never_promoted", "No verified update yet");
    f.freshness_days = 0;
    assert_verdict(f, "unknown", "never_promoted", "No verified update yet");
}

static void age_is_counted_from_promotion_not_from_checks(void **state)
{
    struct public_fresh f = facts("x");
    (void)state;
    f.updated_at = NOW - 30 * DAY_MS;
    assert_verdict(f, "current", "within_window", "Updated on 2026-06-20");
    f.updated_at--;
    assert_verdict(f, "past_window", "older_than_allowed", "Past freshness window");
}

static void failing_checks_are_not_current(void **state)
{
    struct public_fresh f = facts("x");
    (void)state;
    f.failures = 1;
    assert_verdict(f, "unknown", "checks_fail", "Checks failing, last updated on 2026-07-17");
    f.freshness_days = 0;
    assert_verdict(f, "unknown", "checks_fail", "Checks failing, last updated on 2026-07-17");
    f.freshness_days = 1;
    assert_verdict(f, "past_window", "older_than_allowed", "Past freshness window");
}

static void historical_is_never_past_its_window_and_says_so(void **state)
{
    struct public_fresh f = facts("x");
    (void)state;
    f.freshness_days = 0;
    f.updated_at = time_civil(1999, 1, 1);
    assert_verdict(f, "current", "historical", "Historical, updated on 1999-01-01");
}

/* Whatever the window says: what the upstream no longer has is not current. */
static void removed_upstream_is_never_current(void **state)
{
    struct public_fresh f = facts("x");
    (void)state;
    f.removed_at = f.updated_at;
    assert_verdict(f, "past_window", "removed_upstream", "Removed upstream on 2026-07-17");
    f.freshness_days = 0;
    assert_verdict(f, "past_window", "removed_upstream", "Removed upstream on 2026-07-17");
    f.failures = 3; /* it is gone: of course its checks fail */
    assert_verdict(f, "past_window", "removed_upstream", "Removed upstream on 2026-07-17");
    f.held = true;
    assert_verdict(f, "held", "held_for_review", "Update awaiting review");
    table[0] = facts("counties");
    table[0].removed_at = table[0].updated_at;
    assert_int_equal(serve("/freshness/counties", ""), 200);
    assert_non_null(strstr(w.body.data, "\"rule\":\"removed_upstream\""));
    assert_non_null(strstr(w.body.data, "The upstream no longer has it"));
    assert_int_equal(w.last_modified, table[0].checked_at); /* not the day it would have aged */
}

static void held_restricted_and_retired_come_first(void **state)
{
    struct public_fresh f = facts("x");
    (void)state;
    f.held = true;
    assert_verdict(f, "held", "held_for_review", "Update awaiting review");
    f.updated_at = -1;
    assert_verdict(f, "held", "held_for_review", "First version awaiting review");
    struct verdict v;
    char text[FRESH_REASON_MAX];
    freshness_judge(&f, NOW, &v);
    freshness_reason(&f, &v, text);
    assert_string_equal(text, "A first version waits for a reviewer.");
    f.updated_at = facts("x").updated_at;
    f.level = "restricted";
    assert_verdict(f, "restricted", "restricted", "Updated on 2026-07-17");
    f.retired = true;
    assert_verdict(f, "retired", "retired", "Retired, last updated on 2026-07-17");
    f.updated_at = -1;
    assert_verdict(f, "retired", "retired", "Retired");
    f.retired = false;
    assert_verdict(f, "restricted", "restricted", "No verified update yet");
}

static void extreme_numbers_overflow_nothing(void **state)
{
    struct public_fresh f = facts("x");
    (void)state;
    f.freshness_days = INT64_MAX;
    assert_verdict(f, "current", "within_window", "Updated on 2026-07-17");
    f.updated_at = NOW + 5 * DAY_MS; /* a clock that was set back */
    assert_int_equal(judged(&f).data_age_days, 0);
}

/* ---- bodies ---- */

static void one_source_is_explained(void **state)
{
    (void)state;
    assert_int_equal(serve("/freshness/counties", ""), 200);
    assert_str(
        buf_view(&w.body),
        "{\"source_id\":\"counties\",\"title\":\"Counties\",\"collection\":\"kansas\",\"state\":\"current\","
        "\"label\":\"Updated on 2026-07-17\",\"updated_at\":\"2026-07-17T10:00:00.000Z\","
        "\"checked_at\":\"2026-07-20T09:59:59.000Z\",\"next_check_at\":\"2026-07-20T10:00:01.000Z\","
        "\"window\":null,\"run_id\":\"0198-run\",\"object_identity\":{\"sha256\":\"ab12\"},"
        "\"delta_manifest_ref\":\"http://h/deltas/dlt_0198-run\",\"prov_ref\":\"http://h/prov/0198-run\","
        "\"qa_status\":\"pass\",\"qa_disclaimer\":null,\"explanation\":{\"rule\":\"within_window\","
        "\"text\":\"The data is 3 days old, 30 are allowed, and the last check worked.\","
        "\"data_age_days\":3,\"allowed_age_days\":30,\"last_check\":\"2026-07-20T09:59:59.000Z\","
        "\"last_answer\":\"2026-07-20T09:59:59.000Z\",\"failed_checks\":0},\"links\":[{\"rel\":\"self\","
        "\"href\":\"http://h/freshness/counties\",\"type\":\"application/json\"},{\"rel\":\"icon\","
        "\"href\":\"http://h/badges/counties.svg\",\"type\":\"image/svg+xml\"},{\"rel\":\"about\","
        "\"href\":\"http://h/sources/counties\",\"type\":\"application/json\"}]}");
}

/* Even when a row held more than it may, nothing but the day comes out. */
static void of_restricted_only_the_day_is_shown(void **state)
{
    static const char *const withheld[] = {"0198-run", "ab12", "dlt_", "T10:00", "09:59", "/prov/"};
    (void)state;
    table[0].level = "restricted";
    assert_int_equal(serve("/freshness/counties", ""), 200);
    assert_non_null(strstr(w.body.data, "\"updated_at\":\"2026-07-17\""));
    for (size_t i = 0; i < ARRAY_LEN(withheld); i++)
        assert_null(strstr(w.body.data, withheld[i]));
    assert_int_equal(w.last_modified % DAY_MS, 0);
}

static void unknown_and_malformed_ids_answer_alike(void **state)
{
    char first[1024];
    (void)state;
    assert_int_equal(serve("/freshness/nobody", ""), 404);
    snprintf(first, sizeof first, "%s", w.body.data);
    assert_null(strstr(first, "nobody"));
    assert_int_equal(serve("/freshness/NO%20BODY", ""), 404);
    assert_string_equal(w.body.data, first);
}

/* ---- validators ---- */

static void etag_moves_with_row_verdict_and_day_only(void **state)
{
    char etag[80];
    (void)state;
    serve("/freshness/counties", "");
    snprintf(etag, sizeof etag, "%s", w.etag);
    serve_at("/freshness/counties", "", NOW + 3600 * 1000);
    assert_string_equal(w.etag, etag);
    serve_at("/freshness/counties", "", NOW + DAY_MS);
    assert_string_not_equal(w.etag, etag);
    table[0].gen++;
    serve("/freshness/counties", "");
    assert_string_not_equal(w.etag, etag);
    table[0].gen--;
    table[0].updated_at = NOW - 30 * DAY_MS;
    serve("/freshness/counties", "");
    snprintf(etag, sizeof etag, "%s", w.etag);
    serve_at("/freshness/counties", "", NOW + 1);
    assert_string_not_equal(w.etag, etag);
}

/* ---- lists ---- */

static void fill(int64_t n)
{
    static char ids[MAX][16];
    for (int64_t i = 0; i < n; i++) {
        snprintf(ids[i], sizeof ids[i], "s%04d", (int)i);
        table[i] = facts(ids[i]);
        table[i].collection = i % 2 ? "odd" : "even";
        table[i].failures = i % 5 == 0;
    }
    n_table = n;
}

static size_t occurrences(const char *text)
{
    size_t n = 0;
    for (const char *p = w.body.data; (p = strstr(p, text)); p++)
        n++;
    return n;
}

static void lists_filter(void **state)
{
    (void)state;
    fill(20);
    assert_int_equal(serve("/freshness", ""), 200);
    assert_int_equal(occurrences("\"source_id\""), 20);
    serve("/freshness", "state=unknown");
    assert_int_equal(occurrences("\"source_id\""), 4);
    serve("/freshness", "state=unknown&collection=odd");
    assert_int_equal(occurrences("\"source_id\""), 2);
    serve("/freshness", "collection=none");
    assert_string_equal(
        w.body.data,
        "{\"results\":[],\"links\":[{\"rel\":\"self\",\"href\":"
        "\"http://h/freshness?limit=100&collection=none\",\"type\":\"application/json\"}]}");
    assert_int_equal(serve("/freshness", "state=fine"), 400);
    assert_int_equal(serve("/freshness", "limit=0"), 400);
    assert_int_equal(serve("/freshness", "after=A"), 400);
}

static void lists_page_without_loss(void **state)
{
    char query[64] = "limit=7&state=current", *cut;
    size_t seen = 0;
    (void)state;
    fill(600);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(serve("/freshness", query), 200);
        seen += occurrences("\"source_id\"");
        static const char link[] = "\"rel\":\"next\",\"href\":\"http://h/freshness?";
        const char *next = strstr(w.body.data, link);
        if (!next)
            break;
        snprintf(query, sizeof query, "%.40s", next + strlen(link));
        if ((cut = strchr(query, '"')))
            *cut = 0;
    }
    assert_int_equal(seen, 480);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(young_and_reachable_is_current),
        TEST(never_promoted_is_unknown),
        TEST(age_is_counted_from_promotion_not_from_checks),
        TEST(failing_checks_are_not_current),
        TEST(historical_is_never_past_its_window_and_says_so),
        TEST(removed_upstream_is_never_current),
        TEST(held_restricted_and_retired_come_first),
        TEST(extreme_numbers_overflow_nothing),
        TEST(one_source_is_explained),
        TEST(of_restricted_only_the_day_is_shown),
        TEST(unknown_and_malformed_ids_answer_alike),
        TEST(etag_moves_with_row_verdict_and_day_only),
        TEST(lists_filter),
        TEST(lists_page_without_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
