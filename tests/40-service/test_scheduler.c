/* freshet-scheduler as a process: it looks when something is due or asked for, there is one per
 * instance, and it ends without losing what has ended. S1… are the invariants of main_scheduler.c.
 * Waiting is always for a state of the ledger, with a limit, never for time to pass. */
#include "tests/40-service/scheduler.h"

#include <sqlite3.h>
#include "ledger/push.h"
#include "ledger/inbox.h"

static void looks_by_itself(void **state)
{
    (void)state;
    struct source once = source("once", "/a", HOURLY), often = source("often", "/a", OFTEN),
                  never = source("never", "/a", MANUAL);
    t.pid = start();
    await(checks(&often) >= 3);
    assert_int_equal(checks(&once), 1);
    assert_int_equal(checks(&never), 0);
    struct source late = source("late", "/a", HOURLY); /* added while it runs */
    await(checks(&late) == 1);
    assert_int_equal(end(SIGTERM), 0);
}

static void works_off_requests(void **state)
{
    (void)state;
    struct source s = source("s", "/a", MANUAL);
    t.pid = start();
    const char *id = order("{\"source\":\"s\"}"), *unknown = order("{\"source\":\"x\"}");
    await(order_is(id, "done"));
    await(order_is(unknown, "failed"));
    assert_int_equal(checks(&s), 1);
    assert_int_equal(end(SIGINT), 0);
}

/* What does not fit into memory is its own trouble: the others are looked at, and the log
 * is quiet. */
static void one_that_is_too_long_hinders_nobody(void **state)
{
    (void)state;
    struct source odd = source("odd", "/a", OFTEN), good = source("good", "/a", OFTEN);
    sqlite3 *db;
    char *path = arena_printf(&t.arena, "%s/ledger.db", t.dir);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "UPDATE sources SET spec = json_set(spec, '$.adapter_options',"
                                  " json_object('x', hex(zeroblob(4000000)))) WHERE id = 'odd'",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    t.pid = start();
    await(checks(&good) >= 3);
    assert_int_equal(checks(&odd), 1);
    assert_int_equal(end(SIGTERM), 0);
    CLEANUP(buf_release) struct buf log = {0};
    buf_init(&log, 1u << 20);
    assert_ok(file_read(arena_printf(&t.arena, "%s/log", t.dir), &log, &err));
    assert_null(strstr(log.data, "scheduler.waits"));
}

static void gives_signs_of_life(void **state)
{
    (void)state;
    int64_t before = clock_now(), at = -1;
    t.pid = start();
    await(public_heartbeat_get(t.ledger, "scheduler", &at, &err) == RC_OK && at >= before);
    assert_int_equal(end(SIGTERM), 0);
}

static void set(const char *settings)
{
    char *path = arena_printf(&t.arena, "%s/freshet.json", t.dir);
    assert_ok(file_replace(path, str_of(settings), 0600, &err));
}

static int64_t full_since(void)
{
    int64_t at = -1;
    assert_ok(public_heartbeat_get(t.ledger, HEARTBEAT_FULL, &at, &err));
    return at;
}

/* As a handler would. */
static void work_one_off(void)
{
    static const struct run_tags tags = {"0", "test", "1", "1"};
    struct candidate c;
    char run[37];
    bool resumed, dead;
    int64_t now = clock_now();
    assert_ok(inbox_claim(t.ledger, &t.arena, "w", now, 1000, &tags, &c, run, &resumed, &err));
    struct inbox_finish f = {.cand_no = c.no,
                             .src_no = c.src_no,
                             .lease_token = c.lease_token,
                             .run_id = run,
                             .end = INBOX_NOOP,
                             .reason = "SAME_BYTES"};
    assert_ok(inbox_finish(t.ledger, &f, now, &dead, &err));
}

/* S4: one candidate is all that fits; what comes due meanwhile, and what is ordered, is looked
 * at later. */
static void waits_while_the_inbox_is_full(void **state)
{
    (void)state;
    set("{\"allow_hosts\":[\"127.0.0.1\"],\"fetch_attempts\":1,\"inbox_max\":1}");
    struct source a = source("a", "/a", HOURLY), b;
    t.pid = start();
    await(checks(&a) == 1 && full_since() >= 0);
    b = source("b", "/a", HOURLY);
    const char *id = order("{\"source\":\"a\"}");
    await(order_is(id, "running")); /* it was polled since, and found no room */
    assert_int_equal(checks(&b), 0);
    assert_int_equal(checks(&a), 1);
    work_one_off();
    await(checks(&b) == 1 || checks(&a) == 2);
    while (full_since() >= 0) { /* b's own candidate fills it again */
        struct inbox_stats n;
        assert_ok(inbox_stats(t.ledger, &n, &err));
        if (n.ready)
            work_one_off();
    }
    await(order_is(id, "done") && checks(&b) == 1);
    assert_int_equal(end(SIGTERM), 0);
}

/* S1 */
static void one_per_instance(void **state)
{
    (void)state;
    struct source s = source("s", "/a", HOURLY);
    t.pid = start();
    await(checks(&s) == 1);
    int status;
    pid_t second = start();
    await(waitpid(second, &status, WNOHANG) == second);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    (void)end(SIGKILL); /* the lock goes with its holder */
    t.pid = start();
    const char *id = order("{\"source\":\"s\"}");
    await(order_is(id, "done"));
    assert_int_equal(end(SIGTERM), 0);
}

/* S3: more sources than there is room for, and than a page holds, at a host that never answers. */
static void slow_host_delays_nobody_else(void **state)
{
    (void)state;
    enum { SLOW = 4000, FAST = 20 };
    struct source fast[FAST];
    server_start(&other);
    server_route(&other, "/hang", HANG, "HTTP/1.1 200 OK\r\n");
    assert_ok(ledger_begin(t.ledger, &err));
    for (int i = 0; i < SLOW; i++)
        (void)declare(arena_printf(&t.arena, "slow%d", i), other.port, "/hang", HOURLY);
    for (int i = 0; i < FAST; i++)
        fast[i] = declare(arena_printf(&t.arena, "fast%d", i), server.port, "/a", HOURLY);
    assert_ok(ledger_commit(t.ledger, &err));
    t.pid = start();
    for (int i = 0; i < FAST; i++)
        await(checks(&fast[i]) == 1);
    struct source late = source("late", "/a", HOURLY);
    await(checks(&late) == 1);
    assert_int_equal(end(SIGTERM), 0);
    server_stop(&other);
}

/* S2: what has ended stays, what has not is due again and leaves nothing behind. */
static void stops_cleanly(void **state)
{
    (void)state;
    struct source hang = source("hang", "/hang", HOURLY), a = source("a", "/a", HOURLY);
    t.pid = start();
    await(checks(&a) == 1 && requests_seen() == 2);
    int64_t before = clock_mono();
    assert_int_equal(end(SIGTERM), 0);
    assert_true(clock_mono() - before < LIMIT_MS / 2);
    assert_int_equal(checks(&a), 1);
    assert_int_equal(checks(&hang), 0);
    assert_int_equal(unfinished(), 0);
}

/* A request that a killed scheduler had begun is done by the next one, and leftovers are swept. */
static void recovers_after_kill(void **state)
{
    (void)state;
    source("a", "/a", MANUAL);
    source("hang", "/hang", MANUAL);
    t.pid = start();
    const char *id = order("{\"all\":true}");
    await(order_is(id, "running") && requests_seen() == 2 && unfinished() == 1);
    (void)end(SIGKILL);
    server_stop(&server);
    server_start(&server); /* another port: the hanging one is refused now */
    t.pid = start();
    await(order_is(id, "done"));
    assert_int_equal(end(SIGTERM), 0);
    assert_int_equal(unfinished(), 0);
}

static bool confirm_is(const struct source *s, const char *state)
{
    struct push_state p;
    assert_ok(push_state_get(t.ledger, s->no, &p, &err));
    return strcmp(p.confirm, state) == 0;
}

/* Intake may reach nobody: what a subscription wants fetched is fetched here, and the
 * address forgotten. */
static void confirms_subscriptions(void **state)
{
    (void)state;
    struct source a = source("a", "/a", MANUAL), gone = source("gone", "/nothing-is-here", MANUAL);
    struct push_state p;
    assert_ok(ledger_begin(t.ledger, &err));
    assert_ok(push_confirm(t.ledger, &a, a.url, clock_now(), &err));
    assert_ok(push_confirm(t.ledger, &gone, gone.url, clock_now(), &err));
    assert_ok(push_confirm(t.ledger, &gone, "http://10.1.2.3/?Token=canary", clock_now(), &err));
    assert_ok(ledger_commit(t.ledger, &err));
    t.pid = start();
    await(confirm_is(&a, "done"));
    assert_ok(push_state_get(t.ledger, a.no, &p, &err));
    assert_string_equal(p.confirm_detail, "HTTP 200");
    await(push_state_get(t.ledger, gone.no, &p, &err) == RC_OK && p.confirm_attempts == 1);
    assert_string_equal(p.confirm, "open"); /* later again */
    assert_true(p.confirm_next_at > clock_now());
    assert_null(strstr(p.confirm_detail, "canary"));
    assert_int_equal(end(SIGTERM), 0);
}

/* As a program with a wrong clock leaves it: looked at in three years. */
static void look_in_the_future(const struct source *s)
{
    int64_t at = clock_now() + 3 * 365 * DAY_MS;
    struct check_result r = {.src_no = s->no,
                             .source_id = s->id,
                             .detector = "etag",
                             .started_at = at,
                             .ended_at = at,
                             .outcome = OUTCOME_not_modified,
                             .due_because = "test"};
    assert_ok(check_state_get(t.ledger, s->no, &r.state, &err));
    r.state.checks++;
    r.state.checked_at = at;
    r.state.next_check_at = at + 3600000;
    assert_ok(check_commit(t.ledger, &r, 1, at, &err));
}

/* S5: before the start and while it runs. */
static void a_wrong_clock_costs_no_look(void **state)
{
    (void)state;
    struct source early = source("early", "/a", HOURLY), later = source("later", "/a", HOURLY);
    look_in_the_future(&early);
    t.pid = start();
    await(checks(&early) == 2 && checks(&later) == 1);
    look_in_the_future(&later);
    await(checks(&later) == 3);
    assert_int_equal(checks(&early), 2);
    assert_int_equal(end(SIGTERM), 0);
}

static void refuses_what_is_no_instance(void **state)
{
    (void)state;
    int status;
    pid_t pid = start_in("/nowhere");
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(looks_by_itself),
        TEST(works_off_requests),
        TEST(one_that_is_too_long_hinders_nobody),
        TEST(gives_signs_of_life),
        TEST(one_per_instance),
        TEST(slow_host_delays_nobody_else),
        TEST(stops_cleanly),
        TEST(recovers_after_kill),
        TEST(confirms_subscriptions),
        TEST(a_wrong_clock_costs_no_look),
        TEST(refuses_what_is_no_instance),
        TEST(waits_while_the_inbox_is_full),
    };
    alarm(10 * LIMIT_MS / 1000); /* a scheduler that does not end must not keep the test waiting */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
