/* orders: what admins asked for is worked off beside everything else, by whole checks against a
 * small server and a real ledger. O1… are the invariants of detectors/orders.h. */
#include "tests/10-unit/detect_world.h"

static const char *order(const char *body)
{
    static char plain[TOKEN_PLAIN_MAX];
    struct token token;
    int64_t no;
    bool repeated;
    char *id = arena_alloc(&t.arena, 48);
    if (plain[0] == '\0' ||
        token_find(t.ledger, &t.arena, str_of(plain), clock_now(), &token, &err) != RC_OK)
        assert_ok(token_create(t.ledger, "test", SCOPE_CHECK, -1, clock_now(), plain, &no, &err));
    assert_ok(token_find(t.ledger, &t.arena, str_of(plain), clock_now(), &token, &err));
    assert_ok(
        request_add(t.ledger, &token, str_of(body), STR(""), clock_now(), id, &repeated, &err));
    return id;
}

static void assert_order(const char *id, const char *want, int64_t total, const char *outcomes)
{
    struct check_request r;
    assert_ok(request_get(t.ledger, &t.arena, id, &r, &err));
    assert_string_equal(r.state, want);
    assert_int_equal(r.total, total);
    assert_str(r.outcomes, outcomes);
}

static void work_off(int turns)
{
    size_t open;
    for (int i = 0; i < turns; i++) {
        assert_ok(orders_take(t.orders, clock_now(), &err));
        assert_ok(orders_feed(t.orders, t.detect, &err));
        assert_ok(detect_drive(t.detect, 20, &open, &err));
        assert_ok(orders_finish(t.orders, clock_now(), &err));
    }
}

static void work_off_all(int checks)
{
    while (t.done < checks)
        work_off(1);
    work_off(1);
}

static void orders_of_each_kind(void **state)
{
    (void)state;
    source("a", "/a", "");
    source("b", "/none", ",\"triggers\":[{\"type\":\"annual\",\"month\":7}]");
    char *by_url = arena_printf(&t.arena, "{\"url\":\"http://%s/a\"}", t.host);
    const char *one = order("{\"source\":\"a\"}"), *url = order(by_url);
    const char *trigger = order("{\"trigger\":\"annual\"}"),
               *none = order("{\"trigger\":\"census\"}");
    const char *unknown = order("{\"source\":\"zz\"}"), *odd = order("{\"trigger\":\"zz\"}");
    work_off_all(3);
    assert_order(one, "done", 1, "{\"new\":1}");
    assert_order(url, "done", 1, "{\"not_modified\":1}");
    assert_order(trigger, "done", 1, "{\"gone\":1}");
    assert_order(none, "done", 0, "{}");
    assert_order(unknown, "failed", 0, "{}");
    assert_order(odd, "failed", 0, "{}");
    const char *all = order("{\"all\":true}");
    work_off_all(5);
    assert_order(all, "done", 2, "{\"not_modified\":1,\"gone\":1}");
}

/* O1, O2 and that a slow one holds up nobody else. */
static void orders_side_by_side(void **state)
{
    (void)state;
    source("hang", "/hang", "");
    source("a", "/a", "");
    const char *slow = order("{\"source\":\"hang\"}"), *again = order("{\"source\":\"hang\"}");
    const char *quick = order("{\"source\":\"a\"}");
    work_off_all(1);
    assert_order(quick, "done", 1, "{\"new\":1}");
    assert_order(slow, "running", 1, "{}");
    assert_order(again, "running", 1, "{}");
    assert_int_equal(t.done, 1);
}

/* O3 */
static void orders_left_behind(void **state)
{
    (void)state;
    source("a", "/a", "");
    const char *id = order("{\"all\":true}");
    assert_ok(orders_take(t.orders, clock_now(), &err));
    assert_order(id, "running", 1, "{}");
    orders_free(&t.orders); /* killed here */
    assert_ok(orders_new(t.ledger, &t.orders, &err));
    work_off_all(1);
    assert_order(id, "done", 1, "{\"new\":1}");
}

static void more_sources_than_a_page(void **state)
{
    (void)state;
    enum { MANY = 600 };
    static struct source s[MANY];
    many_sources(s, MANY, "/a");
    const char *id = order("{\"all\":true}");
    work_off_all(MANY);
    assert_order(id, "done", MANY, "{\"new\":600}");
    assert_int_equal(t.done, MANY);
}

/* O4: sources of a slow host at the front, more of them than a page holds. */
static void slow_ones_in_front(void **state)
{
    (void)state;
    enum { SLOW = 700, QUICK = 20 };
    assert_ok(ledger_begin(t.ledger, &err));
    for (int i = 0; i < SLOW + QUICK; i++)
        declare_at(arena_printf(&t.arena, "s%d", i),
                   i < SLOW ? arena_printf(&t.arena, "http://127.0.0.1:1/%d", i)
                            : arena_printf(&t.arena, "http://%s/a", t.host),
                   "");
    assert_ok(ledger_commit(t.ledger, &err));
    static const char *hosts[] = {"127.0.0.1"};
    t.inst.conf.allow_hosts = (struct conf_list){hosts, 1};
    t.inst.conf.breaker_failures = 1000000;
    t.inst.conf.per_host_rate = 1; /* so slow that it cannot be done with */
    detect_free(&t.detect);
    assert_ok(detect_new(t.ledger, &t.inst, on_done, &t, &t.detect, &err));
    const char *id = order("{\"all\":true}");
    while (t.by_outcome[OUTCOME_new] == 0)
        work_off(1);
    struct check_request r;
    assert_ok(request_get(t.ledger, &t.arena, id, &r, &err));
    assert_string_equal(r.state, "running");
    assert_int_equal(r.total, SLOW + QUICK);
    assert_true(t.done < SLOW);
}

/* O4: an order is not refused for one declaration that cannot be read; that one is told. */
static void orders_with_an_unreadable_declaration(void **state)
{
    (void)state;
    source("a", "/a", ",\"triggers\":[{\"type\":\"annual\",\"month\":7}]");
    source("odd", "/a", "");
    source("b", "/a", "");
    tamper("UPDATE sources SET spec = '{\"id\":\"odd\",\"no_such\":1}' WHERE id = 'odd'");
    const char *all = order("{\"all\":true}");
    work_off_all(3);
    assert_order(all, "done", 3, "{\"blocked\":1,\"new\":2}");
    const char *annual = order("{\"trigger\":\"annual\"}");
    work_off_all(5);
    assert_order(annual, "done", 2, "{\"blocked\":1,\"not_modified\":1}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(orders_of_each_kind), TEST(orders_side_by_side),
        TEST(orders_left_behind),  TEST(more_sources_than_a_page),
        TEST(slow_ones_in_front),  TEST(orders_with_an_unreadable_declaration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
