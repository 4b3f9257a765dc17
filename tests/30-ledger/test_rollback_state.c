/* test_rollback_state: a source goes back to a state by a rollback for each change since, and a
 * rollback that was asked for goes on whoever asks, dies or waits (ledger/rollback.h). */
#include "tests/30-ledger/rollback_case.h"

/* ---- back to a state ------------------------------------------------------------------------- */

/* However many: the plan names a few, the list all. */
static void all_that_goes_first_is_listed(void **state)
{
    struct source s = add_source("one", "public");
    const char *deltas[21];
    struct rollback_plan p;
    struct rollback_list list;
    char body[32];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(deltas); i++) {
        snprintf(body, sizeof body, "{\"n\":%zu}", i);
        deltas[i] = put(&s, body);
    }
    OK(rollback_plan(led, deltas[0], &p, &fix_err));
    assert_int_equal(p.n_first, ROLLBACK_NAMED_MAX);
    assert_true(p.more);
    OK(rollback_first(led, &fix_arena, deltas[0], &list, &fix_err));
    assert_int_equal(list.n, 20);
    assert_false(list.more);
    for (size_t i = 0; i < list.n; i++)
        assert_string_equal(list.ids[i], deltas[20 - i]);
    OK(rollback_first(led, &fix_arena, deltas[20], &list, &fix_err));
    assert_int_equal(list.n, 0);
}

/* What the ledger refuses is done while the trigger is away; it is verified at the end. */
static void despite(const char *trigger, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    char path[128], again[512];
    snprintf(path, sizeof path, "SELECT sql FROM sqlite_schema WHERE name = '%s'", trigger);
    const char *look = arena_strdup(&fix_arena, path);
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, look, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    snprintf(again, sizeof again, "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    sqlite3_close(db);
    snprintf(path, sizeof path, "DROP TRIGGER %s", trigger);
    (void)ask_number(path);
    (void)ask_number(sql);
    (void)ask_number(again);
}

/* More than a list holds are told of, and are no way that one wish goes. */
static void a_list_of_what_goes_first_has_an_end(void **state)
{
    struct source s = add_source("one", "public");
    struct rollback_list list;
    char id[ROLLBACK_ID_MAX];
    (void)state;
    const char *a = put(&s, BODY_A);
    const struct rollback_ask ask = {
        .delta_id = a, .to = true, .reason = "wrong", .by = "Tester", .body = STR(WHY)};
    despite("ledger_starts_pending",
            "INSERT INTO ledger (run_id, src_no, cand_no, event_id, status, version,"
            " delta_id, pending_at, moved_at) WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL"
            " SELECT i + 1 FROM n WHERE i < 1002) SELECT 'many-' || i, src_no, cand_no,"
            " event_id, 'finalized', i, 'dlt_many-' || i, pending_at, moved_at"
            " FROM ledger, n WHERE version = 1");
    (void)ask_number("UPDATE heads SET version = 1002");
    OK(rollback_first(led, &fix_arena, a, &list, &fix_err));
    assert_int_equal(list.n, ROLLBACK_FIRST_MAX);
    assert_true(list.more);
    assert_string_equal(list.ids[0], "dlt_many-1002");
    assert_string_equal(list.ids[999], "dlt_many-3");
    assert_rc(rollback_ask(led, &ask, 3000, id, &fix_err), RC_CONFLICT);
    assert_holds(fix_err.msg, "1000");
    assert_int_equal(ask_number("SELECT count(*) FROM rollbacks"), 0);
    despite("ledger_stays", "DELETE FROM ledger WHERE version > 1");
    (void)ask_number("UPDATE heads SET version = 1");
}

static void go_to(const char *delta, char id[ROLLBACK_ID_MAX])
{
    struct rollback_list way;
    const struct rollback_ask ask = {
        .delta_id = delta, .to = true, .reason = "wrong since", .by = "Tester", .body = STR(WHY)};
    OK(rollback_way(led, &fix_arena, delta, &way, &fix_err));
    OK(rollback_ask(led, &ask, 3000, id, &fix_err));
    if (way.n)
        assert_string_equal(status_of(id).state, "open");
    assert_int_equal(drain().done, way.n);
    OK(rollback_way(led, &fix_arena, delta, &way, &fix_err));
    assert_int_equal(way.n, 0);
}

/* One wish is a rollback for each change, and the last is done when the state is there. */
static void a_state_is_gone_back_to(void **state)
{
    struct source s = add_source("one", "public");
    char id[ROLLBACK_ID_MAX];
    (void)state;
    const char *a = put(&s, BODY_A), *b = put(&s, BODY_B), *c = put(&s, BODY_C);
    go_to(a, id);
    assert_string_equal(status_of(id).state, "done");
    assert_head(&s, 5, BODY_A);
    go_to(a, id);
    assert_string_equal(id, ""); /* it is there */
    go_to(c, id);                /* both rollbacks are taken back */
    assert_head(&s, 7, BODY_C);
    take_back(c);
    put(&s, "{\"version\":\"D\"}");
    go_to(b, id);
    assert_head(&s, 10, BODY_B);
    go_to(c, id);
    assert_head(&s, 11, BODY_C);
}

/* The second is not tried, and refused, while the first waits to be tried again. */
static void rollbacks_of_a_source_go_one_after_the_other(void **state)
{
    struct source s = add_source("one", "public");
    char id[ROLLBACK_ID_MAX], run[37];
    struct candidate c;
    (void)state;
    const char *a = put(&s, BODY_A);
    put(&s, BODY_B);
    put(&s, BODY_C);
    const struct rollback_ask ask = {
        .delta_id = a, .to = true, .reason = "wrong", .by = "Tester", .body = STR(WHY)};
    OK(rollback_ask(led, &ask, 3000, id, &fix_err));
    OK(rollback_claim(led, &fix_arena, NULL, "worker-9", 4000, 1000, &fix_tags, &c, run, &fix_err));
    (void)ask_number("UPDATE inbox SET state = 'ready', lease_until = NULL, lease_owner = NULL,"
                     " next_attempt_at = 5000 WHERE state = 'leased'");
    assert_rc(
        rollback_claim(led, &fix_arena, NULL, "worker-9", 4000, 1000, &fix_tags, &c, run, &fix_err),
        RC_NOT_FOUND);
    assert_int_equal(drain().done, 2);
    assert_string_equal(status_of(id).state, "done");
    assert_head(&s, 5, BODY_A);
}

/* ---- who asks, who dies ---------------------------------------------------------------------- */

static void intake_asks_once_per_key(void **state)
{
    struct source s = add_source("one", "public");
    char plain[TOKEN_PLAIN_MAX], first[ROLLBACK_ID_MAX], again[ROLLBACK_ID_MAX];
    int64_t no;
    struct token t;
    (void)state;
    put(&s, BODY_A);
    const char *b = put(&s, BODY_B);
    OK(token_create(led, "ops", SCOPE_ROLLBACK, -1, 1000, plain, &no, &fix_err));
    struct ledger *in = fix_open(LEDGER_INBOX);
    OK(token_find(in, &fix_arena, str_of(plain), 2000, &t, &fix_err));
    struct rollback_ask ask = {.delta_id = b,
                               .reason = "wrong",
                               .by = t.name,
                               .token = &t,
                               .key = STR("key-1"),
                               .body = STR(WHY)};
    OK(rollback_ask(in, &ask, 3000, first, &fix_err));
    OK(rollback_ask(in, &ask, 3000, again, &fix_err));
    assert_string_equal(first, again);
    assert_int_equal(drain().done, 1);
    OK(rollback_ask(in, &ask, 3000, again, &fix_err)); /* the same answer, also when it is over */
    assert_string_equal(first, again);
    ask.body = STR("{}");
    assert_rc(rollback_ask(in, &ask, 3000, again, &fix_err), RC_CONFLICT);
    struct rollback r;
    OK(rollback_get(in, &fix_arena, first, &r, &fix_err));
    assert_string_equal(r.state, "done");
    assert_string_equal(r.by, "ops");
    ledger_close(&in);
}

static void rollback_goes_on_after_a_death(void **state)
{
    struct source s = add_source("one", "public");
    char id[ROLLBACK_ID_MAX], run[37];
    struct candidate c;
    (void)state;
    put(&s, BODY_A);
    OK(try_ask(put(&s, BODY_B), id));
    OK(rollback_claim(led, &fix_arena, NULL, "worker-9", 4000, 1000, &fix_tags, &c, run, &fix_err));
    assert_string_equal(status_of(id).state, "running");
    assert_int_equal(drain().done, 1); /* its lease is over */
    assert_string_equal(status_of(id).state, "done");
    assert_head(&s, 3, BODY_A);
    assert_int_equal(feed_length(), 3);
}

static void busy_source_is_waited_for(void **state)
{
    struct source s = add_source("one", "public");
    char id[ROLLBACK_ID_MAX], run[37];
    struct candidate c;
    bool resumed;
    (void)state;
    put(&s, BODY_A);
    OK(try_ask(put(&s, BODY_B), id));
    found(&s, BODY_C);
    OK(inbox_claim(led, &fix_arena, "worker-9", 4000, 1LL << 50, &fix_tags, &c, run, &resumed,
                   &fix_err));
    assert_rc(rollback_claim(led, &fix_arena, NULL, "w", 4000, 1000, &fix_tags, &c, run, &fix_err),
              RC_NOT_FOUND);
    assert_string_equal(status_of(id).state, "open");
}

/* What stands before it in the inbox does not come in between. */
static void rollback_goes_before_what_waits(void **state)
{
    struct source s = add_source("one", "public");
    char id[ROLLBACK_ID_MAX];
    (void)state;
    put(&s, BODY_A);
    OK(try_ask(put(&s, BODY_B), id));
    found(&s, BODY_B);
    struct work_counts n = drain();
    assert_int_equal(n.done, 1);
    assert_int_equal(n.noop, 1);
    assert_head(&s, 3, BODY_A);
}

/* News that waited while a change was taken back is no late news: it is newer than what was. */
static void what_waits_stays_news(void **state)
{
    struct source s = add_source("one", "public");
    char id[ROLLBACK_ID_MAX];
    (void)state;
    put(&s, BODY_A);
    OK(try_ask(put(&s, BODY_B), id));
    serve("one", BODY_B); /* the bytes are in the spool alone */
    spool(BODY_C, BODY_C);
    found(&s, BODY_C);
    assert_int_equal(drain().done, 2);
    assert_head(&s, 4, BODY_C);
}

static void what_is_held_can_still_be_approved(void **state)
{
    struct source s = add_source("quiet", "restricted");
    (void)state;
    serve("quiet", BODY_A);
    approve(found(&s, BODY_A));
    serve("quiet", BODY_B);
    approve(found(&s, BODY_B));
    serve("quiet", BODY_C);
    const char *event = arena_strdup(&fix_arena, found(&s, BODY_C));
    assert_int_equal(drain().held, 1);
    take_back(newest_of(&s).delta_id);
    fix_decide(led, event, true, "Reviewer", "fine", 3000);
    assert_int_equal(drain().done, 1);
    assert_head(&s, 4, BODY_C);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(all_that_goes_first_is_listed), T(a_list_of_what_goes_first_has_an_end),
        T(a_state_is_gone_back_to),       T(rollbacks_of_a_source_go_one_after_the_other),
        T(intake_asks_once_per_key),      T(rollback_goes_on_after_a_death),
        T(busy_source_is_waited_for),     T(rollback_goes_before_what_waits),
        T(what_waits_stays_news),         T(what_is_held_can_still_be_approved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
