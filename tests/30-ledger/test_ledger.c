/* test_ledger: roles, the status machine, append-only tables, inbox order, leases and fencing.
 * Tests open the file a second time with plain SQLite where they must do what no statement of ours
 * can: that is the point of triggers and authorizer. */
#include "tests/30-ledger/fixture.h"

#include <sqlite3.h>
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

#define SOURCE_A "{\"id\":\"a\",\"url\":\"https://example.org/a.json\"}"

/* Runs SQL past all our rules, as an intruder or a bug would. */
static int raw_sql(const char *sql)
{
    char path[128];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_close(db);
    return code;
}

/* ---- roles ----------------------------------------------------------------------------------- */

static int prepares(struct ledger *l, const char *sql)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(l->db, sql, -1, &s, NULL);
    sqlite3_finalize(s);
    return code;
}

/* I8: the api's handle cannot even prepare a statement on a private table. */
static void test_reader_sees_public_tables_only(void **state)
{
    (void)state;
    assert_int_equal(raw_sql("CREATE VIEW public_trick AS SELECT id FROM sources"), SQLITE_OK);
    struct ledger *l = fix_open(LEDGER_READ);
    const char *refused[] = {
        "SELECT * FROM sources",
        "SELECT count(*) FROM sources",
        "SELECT 1 FROM public_meta WHERE EXISTS (SELECT 1 FROM tokens)",
        "SELECT (SELECT max(spec) FROM sources) FROM public_meta",
        "WITH x AS (SELECT * FROM ledger) SELECT * FROM x",
        "SELECT p.seq FROM public_changes p JOIN inbox i ON i.event_id = p.event_id",
        "SELECT * FROM public_trick",
        "SELECT * FROM sqlite_master",
        "SELECT seq FROM public_changes UNION SELECT seq FROM replay_log",
        "PRAGMA table_info(sources)",
        "ATTACH 'x' AS y",
        "INSERT INTO public_changes SELECT * FROM public_changes",
        "DELETE FROM public_changes",
        "UPDATE public_meta SET generation = 0",
        "CREATE TABLE t (x)",
        "CREATE TEMP TABLE t AS SELECT * FROM sources",
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (prepares(l, refused[i]) == SQLITE_OK)
            fail_msg("the reader may run: %s", refused[i]);
    assert_int_equal(prepares(l, "SELECT * FROM public_changes"), SQLITE_OK);
    assert_int_equal(prepares(l, "SELECT * FROM public_items_box"), SQLITE_OK);
    ledger_close(&l);
}

static void test_inbox_role_cannot_promote(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_INBOX);
    const char *refused[] = {"SELECT * FROM artifacts",
                             "INSERT INTO heads DEFAULT VALUES",
                             "UPDATE sources SET spec = ''",
                             "UPDATE tokens SET scopes = 'all'",
                             "DELETE FROM inbox",
                             "INSERT INTO public_changes DEFAULT VALUES",
                             "UPDATE ledger SET status = 'finalized'"};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (prepares(l, refused[i]) == SQLITE_OK)
            fail_msg("the inbox role may run: %s", refused[i]);
    struct head h;
    assert_int_equal(head_get(l, &fix_arena, 1, &h, &fix_err), RC_DENIED); /* registry */
    ledger_close(&l);
}

static void test_every_statement_prepares_in_its_role(void **state)
{
    (void)state;
    static const enum ledger_role roles[] = {LEDGER_READ, LEDGER_INBOX, LEDGER_WRITE};
    for (size_t r = 0; r < ARRAY_LEN(roles); r++) {
        struct ledger *l = fix_open(roles[r]);
        for (int i = 0; i < Q_COUNT; i++) {
            struct query q = {0};
            enum rc rc = query_open(l, (enum stmt_id)i, &q, &fix_err, "");
            bool above = rc == RC_DENIED && strstr(fix_err.msg, "above the role");
            if (rc != RC_OK && !above)
                fail_msg("role %zu: %s", r, fix_err.msg);
            query_close(&q);
        }
        ledger_close(&l);
    }
}

/* ---- status machine and append-only tables --------------------------------------------------- */

static const char *const statuses[] = {"pending",  "fetched",   "validated", "held",       "staged",
                                       "promoted", "finalized", "failed",    "rolled_back"};
/* I7, written down a second time: rows from, columns to. */
static const char legal[9][10] = {
    ".x.....x.", /* pending */
    "..x....x.", /* fetched */
    "...xx..x.", /* validated */
    "..x....x.", /* held */
    ".....x.x.", /* staged */
    "......xx.", /* promoted */
    ".........", /* finalized */
    "........x", /* failed */
    ".........", /* rolled_back */
};

static void test_status_moves_only_along_the_path(void **state)
{
    (void)state;
    char sql[256];
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source s = fix_source(l, SOURCE_A);
    struct check_result r = fix_result(&s, OUTCOME_new, 1);
    struct candidate c;
    char run[37];
    bool resumed;
    OK(check_commit(l, &r, 1, 2000, &fix_err));
    OK(inbox_claim(l, &fix_arena, "w0", 2000, 1000, &fix_tags, &c, run, &resumed, &fix_err));
    ledger_close(&l);
    for (size_t from = 0; from < 9; from++)
        for (size_t to = 0; to < 9; to++) {
            /* Put the row where the move starts, with the trigger out of the way. */
            assert_int_equal(raw_sql("DROP TRIGGER IF EXISTS ledger_moves"), SQLITE_OK);
            snprintf(sql, sizeof sql, "UPDATE ledger SET status = '%s'", statuses[from]);
            assert_int_equal(raw_sql(sql), SQLITE_OK);
            assert_int_equal(
                raw_sql("CREATE TRIGGER ledger_moves BEFORE UPDATE OF status ON ledger WHEN NOT"
                        " EXISTS (SELECT 1 FROM status_moves WHERE old = OLD.status AND new ="
                        " NEW.status) BEGIN SELECT RAISE (ABORT, 'illegal status move'); END"),
                SQLITE_OK);
            snprintf(sql, sizeof sql, "UPDATE ledger SET status = '%s'", statuses[to]);
            bool moved = raw_sql(sql) == SQLITE_OK;
            if (moved != (legal[from][to] == 'x'))
                fail_msg("%s -> %s was %s", statuses[from], statuses[to],
                         moved ? "allowed" : "refused");
        }
}

static void test_the_shipped_trigger_refuses(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source s = fix_source(l, SOURCE_A);
    struct check_result r = fix_result(&s, OUTCOME_new, 1);
    struct candidate c;
    char run[37];
    bool resumed;
    OK(check_commit(l, &r, 1, 2000, &fix_err));
    OK(inbox_claim(l, &fix_arena, "w0", 2000, 1000, &fix_tags, &c, run, &resumed, &fix_err));
    ledger_close(&l);
    assert_int_not_equal(raw_sql("UPDATE ledger SET status = 'finalized'"), SQLITE_OK);
    assert_int_not_equal(raw_sql("DELETE FROM ledger"), SQLITE_OK);
    assert_int_not_equal(
        raw_sql("INSERT INTO ledger (run_id, src_no, cand_no, event_id, status,"
                " pending_at, moved_at) VALUES ('x', 1, 1, 'e', 'promoted', 1, 1)"),
        SQLITE_OK);
    assert_int_equal(raw_sql("UPDATE ledger SET status = 'fetched'"), SQLITE_OK);
}

static int sources_seen(void)
{
    struct ledger *other = fix_open(LEDGER_WRITE);
    int64_t first = 0, n = 0;
    enum rc rc = query_i64(other, Q_REPLAY_TIP, &first, &fix_err, "");
    assert_true(rc == RC_OK || rc == RC_NOT_FOUND);
    n = rc == RC_OK ? first : 0;
    ledger_close(&other);
    return (int)n;
}

/* Transactions that are durable together: all are there, or none; nobody sees some of them. */
static void test_groups_are_whole(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    int before = sources_seen();
    for (int whole = 0; whole < 2; whole++) {
        OK(ledger_group_begin(l, &fix_err));
        (void)fix_source(l, SOURCE_A); /* a transaction of its own, and a row of the log */
        assert_int_equal(sources_seen(), before);
        OK(ledger_begin(l, &fix_err));
        OK(replay_append(l, 5, "test", 0, "", STR("{}"), &fix_err));
        if (!whole) {
            ledger_abort(l);
            assert_int_equal(ledger_group_commit(l, &fix_err), RC_INTERNAL);
            assert_int_equal(sources_seen(), before);
        }
    }
    OK(ledger_commit(l, &fix_err));
    OK(ledger_group_commit(l, &fix_err));
    assert_int_equal(sources_seen(), before + 2);
    ledger_close(&l);
}

static void test_append_only_tables_refuse_change(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    fix_source(l, SOURCE_A);
    ledger_close(&l);
    assert_int_not_equal(raw_sql("UPDATE replay_log SET body = '{}'"), SQLITE_OK);
    assert_int_not_equal(raw_sql("DELETE FROM replay_log"), SQLITE_OK);
    assert_int_not_equal(raw_sql("INSERT OR REPLACE INTO replay_log SELECT * FROM replay_log"),
                         SQLITE_OK);
    assert_int_equal(
        raw_sql("PRAGMA foreign_keys = OFF; INSERT INTO approvals (event_id, run_id,"
                " decision, reviewer, note, at) VALUES ('e', 'r', 'approve', 'p', '', 1)"),
        SQLITE_OK);
    assert_int_not_equal(raw_sql("UPDATE approvals SET reviewer = 'q'"), SQLITE_OK);
    assert_int_not_equal(raw_sql("DELETE FROM approvals"), SQLITE_OK);
}

/* ---- verify ---------------------------------------------------------------------------------- */

static int problems;
static char first_problem[512];

static void count_problem(void *ctx, const char *sentence)
{
    (void)ctx;
    if (!problems++)
        snprintf(first_problem, sizeof first_problem, "%s", sentence);
}

static void run_verify(void)
{
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct verify_counts counts;
    problems = 0;
    OK(ledger_verify(l, fix_dir, true, count_problem, NULL, &counts, &fix_err));
    ledger_close(&l);
}

static void test_verify_finds_an_altered_replay_row(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    fix_source(l, SOURCE_A);
    fix_source(l, "{\"id\":\"b\",\"url\":\"https://example.org/b\",\"sensitivity\":\"sovereign\"}");
    ledger_close(&l);
    run_verify();
    assert_int_equal(problems, 1); /* "a" was not projected here: the handler does that */
    assert_non_null(strstr(first_problem, "lacks its public rows"));
    assert_int_equal(raw_sql("DROP TRIGGER replay_append_u; UPDATE replay_log SET at = at + 1"
                             " WHERE seq = 1"),
                     SQLITE_OK);
    run_verify();
    assert_true(problems > 1);
    assert_non_null(strstr(first_problem, "row 1 was altered"));
}

static void test_verify_finds_public_rows_of_a_sovereign_source(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    fix_source(l, "{\"id\":\"b\",\"url\":\"https://example.org/b\",\"sensitivity\":\"sovereign\"}");
    ledger_close(&l);
    run_verify();
    assert_int_equal(problems, 0);
    assert_int_equal(raw_sql("INSERT INTO public_sources VALUES ('b', 1, 'b', '{}', 1, 1)"),
                     SQLITE_OK);
    run_verify();
    assert_int_equal(problems, 1);
}

/* ---- inbox ----------------------------------------------------------------------------------- */

static int64_t inbox_count(struct ledger *l)
{
    struct inbox_stats st;
    OK(inbox_stats(l, &st, &fix_err));
    return st.ready + st.leased + st.done + st.dead + st.held;
}

static void test_only_the_newest_open_candidate_absorbs(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source s = fix_source(l, SOURCE_A);
    struct check_result a = fix_result(&s, OUTCOME_new, 1);
    struct check_result again = a;
    OK(check_commit(l, &a, 1, 2000, &fix_err));
    OK(check_commit(l, &again, 1, 2001, &fix_err));
    assert_string_equal(again.event_id, a.event_id);
    assert_int_equal(inbox_count(l), 1);
    /* A, B, A while the handler sleeps: three candidates, or the last A would be lost (I10). */
    struct check_result b = fix_result(&s, OUTCOME_changed, 2);
    struct check_result back = fix_result(&s, OUTCOME_changed, 1);
    OK(check_commit(l, &b, 1, 2002, &fix_err));
    OK(check_commit(l, &back, 1, 2003, &fix_err));
    assert_int_equal(inbox_count(l), 3);
    assert_string_not_equal(back.event_id, a.event_id);
    ledger_close(&l);
}

static void test_state_and_candidate_commit_together(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_INBOX);
    struct ledger *w = fix_open(LEDGER_WRITE);
    struct source s = fix_source(w, SOURCE_A);
    struct check_state st;
    struct check_result r = fix_result(&s, OUTCOME_new, 1);
    snprintf(r.state.etag, sizeof r.state.etag, "\"v1\"");
    /* The inbox refuses the candidate: neither receipt nor validators may stay (I3). */
    assert_int_equal(
        raw_sql("CREATE TRIGGER t BEFORE INSERT ON inbox BEGIN SELECT RAISE(ABORT,'no');"
                " END"),
        SQLITE_OK);
    assert_int_not_equal(check_commit(l, &r, 1, 2000, &fix_err), RC_OK);
    OK(check_state_get(l, s.no, &st, &fix_err));
    assert_string_equal(st.etag, "");
    assert_false(st.has_seen);
    assert_int_equal(raw_sql("DROP TRIGGER t"), SQLITE_OK);
    OK(check_commit(l, &r, 1, 2000, &fix_err));
    OK(check_state_get(l, s.no, &st, &fix_err));
    assert_string_equal(st.etag, "\"v1\"");
    assert_int_equal(inbox_count(w), 1);
    ledger_close(&l);
    ledger_close(&w);
}

static enum rc claim(struct ledger *l, const char *owner, int64_t now, struct candidate *c,
                     char run[37])
{
    bool resumed;
    return inbox_claim(l, &fix_arena, owner, now, 1000, &fix_tags, c, run, &resumed, &fix_err);
}

static void test_one_job_per_source_in_order(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source a = fix_source(l, SOURCE_A);
    struct source b = fix_source(l, "{\"id\":\"b\",\"url\":\"https://example.org/b\"}");
    struct check_result rs[] = {fix_result(&a, OUTCOME_new, 1), fix_result(&a, OUTCOME_changed, 2),
                                fix_result(&b, OUTCOME_new, 3)};
    struct candidate c;
    char run[37];
    OK(check_commit(l, rs, 3, 2000, &fix_err));
    OK(claim(l, "w0", 3000, &c, run));
    assert_string_equal(c.event_id, rs[0].event_id);
    OK(claim(l, "w1", 3000, &c, run));
    assert_string_equal(c.event_id, rs[2].event_id); /* not a's second: a is busy */
    assert_int_equal(claim(l, "w2", 3000, &c, run), RC_NOT_FOUND);
    ledger_close(&l);
}

/* The bound counts what waits and what runs, whichever way it came and went. */
static void test_the_inbox_has_a_bound(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE), *in = fix_open(LEDGER_INBOX);
    struct source s = fix_source(l, SOURCE_A);
    struct candidate c;
    char run[37];
    bool dead;
    int64_t n;
    struct check_result rs[] = {fix_result(&s, OUTCOME_new, 1), fix_result(&s, OUTCOME_changed, 2)};
    OK(inbox_room(in, 1, &fix_err));
    OK(check_commit(in, rs, 2, 2000, &fix_err));
    OK(inbox_room(in, 3, &fix_err));
    assert_int_equal(inbox_room(in, 2, &fix_err), RC_FULL);
    OK(claim(l, "w", 3000, &c, run));
    assert_int_equal(inbox_room(in, 2, &fix_err), RC_FULL); /* what runs is still open */
    OK(inbox_reclaim(l, "w", 3000, &n, &fix_err));
    assert_int_equal(inbox_room(in, 2, &fix_err), RC_FULL);
    OK(claim(l, "w", 4000, &c, run));
    struct inbox_finish f = {.cand_no = c.no,
                             .src_no = s.no,
                             .lease_token = c.lease_token,
                             .run_id = run,
                             .end = INBOX_NOOP,
                             .reason = "SAME_BYTES"};
    OK(inbox_finish(l, &f, 4000, &dead, &fix_err));
    OK(inbox_room(in, 2, &fix_err));
    assert_int_equal(inbox_room(in, 1, &fix_err), RC_FULL);
    ledger_close(&in);
    ledger_close(&l);
    run_verify();
    n = problems;
    assert_int_equal(raw_sql("UPDATE inbox_depth SET open = open - 1"), SQLITE_OK);
    run_verify();
    assert_int_equal(problems, n + 1);
}

static void test_a_lost_lease_cannot_finish(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source s = fix_source(l, SOURCE_A);
    struct check_result r = fix_result(&s, OUTCOME_new, 1);
    struct candidate slow, quick;
    char run1[37], run2[37];
    int64_t n;
    bool dead;
    OK(check_commit(l, &r, 1, 2000, &fix_err));
    OK(claim(l, "w0", 3000, &slow, run1));
    OK(inbox_reclaim(l, NULL, 3500, &n, &fix_err));
    assert_int_equal(n, 0); /* not yet expired */
    OK(inbox_reclaim(l, NULL, 4000, &n, &fix_err));
    assert_int_equal(n, 1);
    OK(claim(l, "w1", 4001, &quick, run2));
    assert_string_equal(run1, run2); /* the open run goes on under the new lease */
    assert_true(quick.lease_token > slow.lease_token);
    struct inbox_finish f = {.cand_no = slow.no,
                             .src_no = s.no,
                             .lease_token = slow.lease_token,
                             .run_id = run1,
                             .end = INBOX_NOOP,
                             .reason = "SAME_BYTES"};
    assert_int_equal(inbox_finish(l, &f, 4002, &dead, &fix_err), RC_CONFLICT);
    f.lease_token = quick.lease_token;
    OK(inbox_finish(l, &f, 4003, &dead, &fix_err));
    assert_int_equal(inbox_finish(l, &f, 4004, &dead, &fix_err), RC_CONFLICT); /* once */
    ledger_close(&l);
}

static void test_retries_end_in_the_dead_letters(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source s = fix_source(l, SOURCE_A);
    struct check_result r = fix_result(&s, OUTCOME_new, 1);
    bool dead = false;
    int tries = 0;
    OK(check_commit(l, &r, 1, 2000, &fix_err));
    for (int64_t now = 3000; !dead; now += 100) {
        struct candidate c;
        char run[37];
        OK(claim(l, "w0", now, &c, run));
        assert_int_equal(c.attempts, ++tries);
        struct inbox_finish f = {.cand_no = c.no,
                                 .src_no = s.no,
                                 .lease_token = c.lease_token,
                                 .run_id = run,
                                 .end = INBOX_RETRY,
                                 .reason = "UNAVAILABLE",
                                 .next_attempt_at = now + 50,
                                 .max_attempts = 3};
        OK(inbox_finish(l, &f, now, &dead, &fix_err));
        assert_int_equal(claim(l, "w0", now + 49, &c, run), RC_NOT_FOUND);
    }
    assert_int_equal(tries, 3);
    ledger_close(&l);
}

/* ---- requests and tokens --------------------------------------------------------------------- */

static void test_tokens_are_stored_as_digests(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    char plain[TOKEN_PLAIN_MAX], cmd[256];
    int64_t no;
    struct token t;
    OK(token_create(l, "ci", SCOPE_CHECK, -1, 5, plain, &no, &fix_err));
    snprintf(cmd, sizeof cmd, "grep -qr -- '%s' '%s'", plain, fix_dir);
    assert_int_not_equal(system(cmd), 0); /* I12: nowhere in any file */
    OK(token_find(l, &fix_arena, str_of(plain), 6, &t, &fix_err));
    assert_int_equal(t.scopes, SCOPE_CHECK);
    OK(token_revoke(l, no, 7, &fix_err));
    assert_int_equal(token_find(l, &fix_arena, str_of(plain), 8, &t, &fix_err), RC_UNAUTHORIZED);
    ledger_close(&l);
}

static void test_idempotency_key_repeats_or_conflicts(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    char plain[TOKEN_PLAIN_MAX], id1[48], id2[48];
    int64_t no;
    bool repeated;
    struct token t;
    OK(token_create(l, "ci", SCOPE_CHECK, -1, 5, plain, &no, &fix_err));
    OK(token_find(l, &fix_arena, str_of(plain), 6, &t, &fix_err));
    OK(request_add(l, &t, STR("{\"all\":true}"), STR("k1"), 7, id1, &repeated, &fix_err));
    assert_false(repeated);
    OK(request_add(l, &t, STR("{\"all\":true}"), STR("k1"), 8, id2, &repeated, &fix_err));
    assert_true(repeated);
    assert_string_equal(id1, id2);
    assert_int_equal(
        request_add(l, &t, STR("{\"source\":\"a\"}"), STR("k1"), 9, id2, &repeated, &fix_err),
        RC_CONFLICT);
    ledger_close(&l);
}

/* ---- sources --------------------------------------------------------------------------------- */

static void test_bad_declarations_name_the_field(void **state)
{
    (void)state;
    static const struct {
        const char *json, *field;
    } bad[] = {
        {"{\"url\":\"https://x.org/\"}", "id"},
        {"{\"id\":\"A b\",\"url\":\"https://x.org/\"}", "id"},
        {"{\"id\":\"a\"}", "url"},
        {"{\"id\":\"a\",\"url\":\"ftp://x.org/\"}", "url"},
        {"{\"id\":\"a\",\"url\":\"https://u:p@x.org/\"}", "url"},
        {"{\"id\":\"a\",\"url\":\"https:///x\"}", "url"},
        {"{\"id\":\"a\",\"url\":\"https://x.org/\",\"colour\":1}", "colour"},
        {"{\"id\":\"a\",\"url\":\"https://x.org/\",\"sensitivity\":\"secret\"}", "sensitivity"},
        {"{\"id\":\"a\",\"url\":\"https://x.org/\",\"triggers\":[{\"type\":\"annual\"}]}",
         "triggers.month"},
        {"{\"id\":\"a\",\"url\":\"https://x.org/\",\"headers\":{\"Authorization\":\"Bearer x\"}}",
         "headers"},
        {"{\"id\":\"a\",\"url\":\"https://x.org/\",\"gone_after\":0}", "gone_after"},
        {"{\"id\":\"a\",\"url\":\"https://x.org/\",\"title\":\"a\\u001fb\"}", "title"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct source s;
        yyjson_val *v;
        OK(json_parse(&fix_arena, str_of(bad[i].json), 0, "test", &v, &fix_err));
        assert_int_equal(source_parse(&fix_arena, v, &s, &fix_err), RC_INVALID);
        assert_string_equal(fix_err.field, bad[i].field);
    }
}

static void test_a_moved_url_forgets_its_validators(void **state)
{
    (void)state;
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct source s = fix_source(l, SOURCE_A), moved;
    struct check_result r = fix_result(&s, OUTCOME_new, 1);
    struct check_state st;
    yyjson_val *v;
    snprintf(r.state.etag, sizeof r.state.etag, "\"v1\"");
    OK(check_commit(l, &r, 1, 2000, &fix_err));
    OK(json_parse(&fix_arena, STR("{\"id\":\"a\",\"url\":\"https://example.org/b.json\"}"), 0, "t",
                  &v, &fix_err));
    OK(source_parse(&fix_arena, v, &moved, &fix_err));
    moved.no = s.no;
    OK(ledger_begin(l, &fix_err));
    OK(source_put(l, &moved, 3000, &fix_err));
    OK(ledger_commit(l, &fix_err));
    OK(check_state_get(l, s.no, &st, &fix_err));
    assert_string_equal(st.etag, "");
    assert_true(st.has_seen); /* bytes stay identity: the same bytes elsewhere are no news */
    ledger_close(&l);
}

static void test_a_newer_schema_is_refused(void **state)
{
    (void)state;
    struct ledger *l = NULL;
    assert_int_equal(raw_sql("PRAGMA user_version = 999"), SQLITE_OK);
    assert_int_equal(ledger_open(fix_dir, LEDGER_WRITE, digest_sha256, &l, &fix_err), RC_CONFLICT);
    assert_int_equal(ledger_open(fix_dir, LEDGER_READ, NULL, &l, &fix_err), RC_CONFLICT);
}

static void test_hot_plans_use_their_index(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *index;
    } hot[] = {
        {"SELECT src_no FROM source_state WHERE next_check_at <= 5 ORDER BY next_check_at LIMIT 9",
         "source_due"},
        {"SELECT c.cand_no FROM inbox c WHERE c.state = 'ready' AND c.next_attempt_at <= 5"
         " ORDER BY c.next_attempt_at, c.cand_no LIMIT 1",
         "inbox_ready"},
        {"SELECT doc FROM public_changes WHERE seq > 5 ORDER BY seq LIMIT 9", "PRIMARY KEY"},
        {"SELECT run_id FROM outbox WHERE kind = 'artifacts' AND next_attempt_at <= 5 AND dead_at IS NULL"
         " ORDER BY next_attempt_at, out_no LIMIT 1",
         "outbox_open"},
    };
    char path[128], sql[512];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < ARRAY_LEN(hot); i++) {
        sqlite3_stmt *s;
        snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", hot[i].sql);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
        while (sqlite3_step(s) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(s, 3);
            if (!strstr(plan, hot[i].index) || strstr(plan, "TEMP B-TREE"))
                fail_msg("%s: %s", hot[i].sql, plan);
        }
        sqlite3_finalize(s);
    }
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(test_reader_sees_public_tables_only),
        T(test_inbox_role_cannot_promote),
        T(test_every_statement_prepares_in_its_role),
        T(test_status_moves_only_along_the_path),
        T(test_the_shipped_trigger_refuses),
        T(test_groups_are_whole),
        T(test_append_only_tables_refuse_change),
        T(test_verify_finds_an_altered_replay_row),
        T(test_verify_finds_public_rows_of_a_sovereign_source),
        T(test_only_the_newest_open_candidate_absorbs),
        T(test_state_and_candidate_commit_together),
        T(test_one_job_per_source_in_order),
        T(test_the_inbox_has_a_bound),
        T(test_a_lost_lease_cannot_finish),
        T(test_retries_end_in_the_dead_letters),
        T(test_tokens_are_stored_as_digests),
        T(test_idempotency_key_repeats_or_conflicts),
        T(test_bad_declarations_name_the_field),
        T(test_a_moved_url_forgets_its_validators),
        T(test_a_newer_schema_is_refused),
        T(test_hot_plans_use_their_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
