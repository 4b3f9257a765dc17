/* Checks in the ledger: what is due among a million sources, receipts, what the public may see. */
#include "tests/30-ledger/fixture.h"

#include <sqlite3.h>
#include "ledger/inbox.h"
#include "ledger/public.h"
#include "ledger/query.h"
#include "ledger/request.h"
#include "ledger/verify.h"

static int setup(void **state)
{
    (void)state;
    fix_make();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fix_drop();
    return 0;
}

static sqlite3 *open_raw(void)
{
    char path[128];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

/* ---- a million sources ----------------------------------------------------------------------- */

#define MILLION 1000000
#define DUE 50
#define DUE_MS 5 /* what a due query may take at that size; it takes a tenth of one */

/* Sources that are due at 1 to a million, straight into the table: seconds, not a minute. */
static void register_a_million(void)
{
    sqlite3 *db = open_raw();
    const char *sql =
        "PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;"
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)"
        " INSERT INTO source_state (src_no, next_check_at) SELECT i, i FROM n";
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static const char *statement(const char *name)
{
    static const struct {
        const char *name, *sql;
    } all[] = {
#define X(name, role, sql) {#name, sql},
#include "ledger/statements.def"
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].sql;
    fail_msg("no statement %s", name);
    return NULL;
}

/* Runs a statement of the registry as it is, and says how many steps of SQLite's machine
 * that took. */
static int steps_of(sqlite3 *db, const char *name, int64_t p1, int64_t p2, int *ret_rows)
{
    sqlite3_stmt *s;
    int rows = 0;
    assert_int_equal(sqlite3_prepare_v2(db, statement(name), -1, &s, NULL), SQLITE_OK);
    sqlite3_bind_int64(s, 1, p1);
    sqlite3_bind_int64(s, 2, p2);
    sqlite3_bind_int64(s, 3, INT64_MIN); /* CHECK_DUE: from the first; others have no third */
    sqlite3_bind_int64(s, 4, 0);
    while (sqlite3_step(s) == SQLITE_ROW)
        rows++;
    assert_int_equal(sqlite3_stmt_status(s, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0), 0);
    assert_int_equal(sqlite3_stmt_status(s, SQLITE_STMTSTATUS_SORT, 0), 0);
    int steps = sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 0);
    sqlite3_finalize(s);
    *ret_rows = rows;
    return steps;
}

static enum rc count_due(void *ctx, int64_t src_no, int64_t due_at, struct err *err)
{
    (void)src_no, (void)err;
    assert_true(due_at <= DUE);
    ++*(int *)ctx;
    return RC_OK;
}

static enum rc walk_due(void *ctx, int64_t src_no, int64_t due_at, struct err *err)
{
    int64_t *last = ctx;
    (void)err;
    assert_true(due_at > last[0] || (due_at == last[0] && src_no > last[1]));
    last[0] = due_at;
    last[1] = src_no;
    return RC_OK;
}

/* The due query touches due rows only, at any size. */
static void test_due_among_a_million(void **state)
{
    (void)state;
    int rows, n = 0;
    int64_t fastest = INT64_MAX, next;
    register_a_million();
    sqlite3 *db = open_raw();
    assert_in_range(steps_of(db, "CHECK_DUE", DUE, MILLION, &rows), 1, DUE * 10 + 50);
    assert_int_equal(rows, DUE);
    assert_in_range(steps_of(db, "CHECK_NEXT", 0, 0, &rows), 1, 50);
    assert_in_range(steps_of(db, "CHECK_LOAD", MILLION, 0, &rows), 1, 100);
    assert_in_range(steps_of(db, "CHECK_LIST", MILLION, 10, &rows), 1, 200);
    sqlite3_close(db);
    struct ledger *l = fix_open(LEDGER_INBOX);
    for (int i = 0; i < 5; i++, n = 0) { /* whatever else the machine does can only slow it down */
        int64_t began = clock_mono();
        OK(check_due(l, DUE, MILLION, count_due, &n, &fix_err));
        int64_t took = clock_mono() - began;
        fastest = took < fastest ? took : fastest;
        assert_int_equal(n, DUE);
    }
    assert_true(fastest <= DUE_MS);
    OK(check_next_due(l, &next, &fix_err));
    assert_int_equal(next, 1);
    int64_t last[2] = {INT64_MIN, 0};
    for (int i = 0; i < DUE / 10; i++) /* in pages: each once, in order */
        OK(check_due_after(l, DUE, last[0], last[1], 10, walk_due, last, &fix_err));
    assert_int_equal(last[0], DUE);
    OK(check_due_after(l, DUE, last[0], last[1], 10, count_due, &n, &fix_err));
    assert_int_equal(n, 0);
    ledger_close(&l);
}

struct seen {
    int n;
    int64_t last;
};

static enum rc see_receipt(void *ctx, const struct check_receipt *r, struct err *err)
{
    struct seen *s = ctx;
    (void)err;
    assert_true(r->check_no < s->last);
    assert_string_equal(r->outcome, "not_modified");
    s->last = r->check_no;
    s->n++;
    return RC_OK;
}

/* The receipts of a source are its own, newest first, and no more than asked for. */
static void test_receipts_are_a_chain(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source a = fix_source(l, "{\"id\":\"a\",\"url\":\"https://a.example/x\"}");
    struct source b = fix_source(l, "{\"id\":\"b\",\"url\":\"https://a.example/y\"}");
    struct check_result rs[] = {
        fix_result(&a, OUTCOME_not_modified, 1), fix_result(&b, OUTCOME_unavailable, 1),
        fix_result(&a, OUTCOME_not_modified, 1), fix_result(&b, OUTCOME_unavailable, 1)};
    for (int i = 0; i < 3; i++)
        OK(check_commit(l, rs, ARRAY_LEN(rs), 2000, &fix_err));
    struct seen all = {.last = INT64_MAX}, some = all;
    OK(check_receipts(l, a.no, 100, see_receipt, &all, &fix_err));
    assert_int_equal(all.n, 6);
    OK(check_receipts(l, a.no, 2, see_receipt, &some, &fix_err));
    assert_int_equal(some.n, 2);
    ledger_close(&l);
}

static int refuse_row(void *ctx, int n, char **values, char **names)
{
    (void)ctx, (void)n, (void)values, (void)names;
    return 1;
}

/* When a withheld source was looked at leaves no trace in the public tables (I8). */
static void test_checks_of_withheld_sources_are_not_shown(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source s = fix_source(
        l, "{\"id\":\"r\",\"url\":\"https://a.example/x\",\"sensitivity\":\"restricted\"}");
    struct check_result r = fix_result(&s, OUTCOME_not_modified, 1);
    OK(check_commit(l, &r, 1, 2000, &fix_err));
    r.level =
        LEVEL_PUBLIC; /* it was raised while the check was under way: there is no row to move */
    OK(check_commit(l, &r, 1, 2001, &fix_err));
    ledger_close(&l);
    sqlite3 *db = open_raw();
    assert_int_equal(sqlite3_exec(db, "SELECT 1 FROM public_checks", refuse_row, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
}

/* ---- looks that are outrun ------------------------------------------------------------------- */

/* A look that has read the state of a source, and will find the bytes `fill`. */
static struct check_result look(struct ledger *l, const struct source *s, enum outcome o, int fill)
{
    struct check_result r = fix_result(s, o, fill);
    struct check_state st;
    OK(check_state_get(l, s->no, &st, &fix_err));
    r.state.writes = st.writes;
    r.state.checks = st.checks + 1;
    snprintf(r.state.etag, sizeof r.state.etag, "\"%d\"", fill);
    return r;
}

static struct check_state put(struct ledger *l, struct check_result *r, int64_t now)
{
    struct check_state st;
    OK(check_commit(l, r, 1, now, &fix_err));
    OK(check_state_get(l, r->src_no, &st, &fix_err));
    return st;
}

static int64_t waiting(struct ledger *l)
{
    struct inbox_stats stats;
    OK(inbox_stats(l, &stats, &fix_err));
    return stats.ready;
}

/* What it leaves: a receipt that says so, a source that is due; nothing of what it found. */
static void assert_outrun(struct ledger *l, const struct check_result *r,
                          const struct check_state *st, int64_t now)
{
    assert_int_equal(r->outcome, OUTCOME_unavailable);
    assert_string_equal(r->event_id, "");
    assert_non_null(strstr(r->detail, "meanwhile"));
    assert_int_equal(st->next_check_at, now);
    CLEANUP(query_close) struct query q = {0};
    OK(query_open(l, Q_CHECK_LIST, &q, &fix_err, "ii", r->src_no, (int64_t)1));
    OK(query_next(l, &q, &fix_err));
    assert_true(str_is(col_view(&q, 2), "unavailable"));
    assert_true(str_is(col_view(&q, 3), r->detail));
}

/* The older of two looks at once does not undo the newer one. */
static void test_of_two_looks_the_first_to_end_counts(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source s = fix_source(l, "{\"id\":\"a\",\"url\":\"https://a.example/x\"}");
    struct check_result seed = look(l, &s, OUTCOME_new, 1);
    put(l, &seed, 2000);
    struct check_result slow = look(l, &s, OUTCOME_not_modified, 1);
    struct check_result quick = look(l, &s, OUTCOME_changed, 2);
    put(l, &quick, 3000);
    struct check_state st = put(l, &slow, 4000);
    assert_outrun(l, &slow, &st, 4000);
    assert_string_equal(st.etag, "\"2\"");
    assert_string_equal(st.last_outcome, "changed");
    assert_int_equal(st.failures, 0);
    assert_int_equal(st.checks, 3);
    assert_int_equal(waiting(l), 2);
    struct check_result next = look(l, &s, OUTCOME_unchanged, 2); /* and it goes on */
    st = put(l, &next, 5000);
    assert_string_equal(st.last_outcome, "unchanged");
    ledger_close(&l);
}

/* Bytes of an old URL are not taken in as coming from the new one; a level that was raised while a
 * check was under way leaves no exact time behind (I8). */
static void test_a_declaration_outruns_a_look(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "{\"id\":\"a\",\"url\":\"https://b.example/y\"}",
        "{\"id\":\"a\",\"url\":\"https://b.example/y\",\"sensitivity\":\"restricted\"}"};
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source s = fix_source(l, "{\"id\":\"a\",\"url\":\"https://a.example/x\"}"), to;
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        yyjson_val *v;
        struct check_result r = look(l, &s, OUTCOME_new, 1);
        OK(json_parse(&fix_arena, str_of(specs[i]), 0, "test", &v, &fix_err));
        OK(source_parse(&fix_arena, v, &to, &fix_err));
        to.no = s.no;
        OK(ledger_begin(l, &fix_err));
        OK(source_put(l, &to, 1000, &fix_err)); /* the clock may stand still meanwhile */
        OK(ledger_commit(l, &fix_err));
        struct check_state st = put(l, &r, 3000);
        assert_int_equal(st.next_check_at, 1000); /* since it was declared */
        assert_string_equal(st.etag, "");
        assert_string_equal(r.event_id, "");
        assert_int_equal(r.level, LEVEL_SOVEREIGN); /* for the log */
        assert_int_equal(waiting(l), 0);
    }
    ledger_close(&l);
}

/* A rollback has a source forgotten: a look from before does not remember for it. */
static void test_what_is_forgotten_stays_forgotten(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source s = fix_source(l, "{\"id\":\"a\",\"url\":\"https://a.example/x\"}");
    struct check_result first = look(l, &s, OUTCOME_new, 1);
    put(l, &first, 2000);
    struct check_result late = look(l, &s, OUTCOME_not_modified, 1);
    OK(ledger_begin(l, &fix_err));
    OK(check_forget(l, s.no, 2500, &fix_err));
    OK(ledger_commit(l, &fix_err));
    struct check_state st = put(l, &late, 3000);
    assert_false(st.has_seen);
    assert_int_equal(st.next_check_at, 2500);
    ledger_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(test_due_among_a_million),
        T(test_receipts_are_a_chain),
        T(test_checks_of_withheld_sources_are_not_shown),
        T(test_of_two_looks_the_first_to_end_counts),
        T(test_a_declaration_outruns_a_look),
        T(test_what_is_forgotten_stays_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
