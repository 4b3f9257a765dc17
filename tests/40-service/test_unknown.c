/* test_unknown: a sovereign source is answered like one that never was, in every row of the route
 * tables: byte for byte, with as much work, in as much time (I8). */
#include "tests/40-service/canaries.h"

#include <time.h>
#include "ledger/query.h"

#define ROUNDS 31 /* of each kind, when times are compared */

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

/* Steps of SQLite's machine and bytes, of one answer in this process. Times waver with the machine,
 * these do not: a single row looked at more would tell. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sovereign_is_unknown),
        cmocka_unit_test(sovereign_costs_what_unknown_costs),
    };
    return cmocka_run_group_tests(tests, make_walk, drop_world);
}
