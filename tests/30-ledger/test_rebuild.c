/* test_rebuild: the public projections come back as they were, byte for byte, and nothing else does
 * (handler/rebuild.h). */
#include "tests/30-ledger/world.h"

#include "handler/rebuild.h"

#define POINT "{\"type\":\"Point\",\"coordinates\":[-97.3312345,37.6923456]}"

/* ---- every public row as text ---------------------------------------------------------------- */

static const char *const tables[] = {
    "public_meta",        "public_changes",      "public_sources",    "public_freshness",
    "public_items",       "public_items_box",    "public_heads",      "public_prov",
    "public_collections", "public_datasets",     "public_deltas",     "public_assets",
    "public_checks",      "public_check_totals", "public_heartbeats", "public_change_counts"};

static void dump_table(sqlite3 *db, const char *table, bool generations, struct buf *out)
{
    sqlite3_stmt *s;
    const char *sql = arena_printf(&fix_arena, "SELECT * FROM %s ORDER BY 1, 2", table);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW) {
        buf_printf(out, "%s", table);
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            const char *name = sqlite3_column_name(s, i), *text;
            bool stamp = strcmp(name, "gen") == 0 || strcmp(name, "generation") == 0 ||
                         strcmp(name, "changed_at") == 0;
            if (stamp && !generations)
                continue;
            text = (const char *)sqlite3_column_text(s, i);
            buf_printf(out, "|%d:%s", sqlite3_column_bytes(s, i), text ? text : "NULL");
        }
        buf_printf(out, "\n");
    }
    sqlite3_finalize(s);
}

/* generations: also the stamps that ETags are made of. */
static const char *dump(bool generations)
{
    sqlite3 *db;
    struct buf out;
    buf_init(&out, 16u << 20);
    const char *path = arena_printf(&fix_arena, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        dump_table(db, tables[i], generations, &out);
    sqlite3_close(db);
    const char *text = arena_str(&fix_arena, buf_view(&out));
    buf_release(&out);
    assert_non_null(text);
    return text;
}

static struct rebuild_counts rebuild_now(void)
{
    struct rebuild_counts n;
    OK(rebuild(led, &inst, 9000000, NULL, NULL, &n, &fix_err));
    return n;
}

static void assert_intact(void)
{
    const char *before = dump(true);
    struct rebuild_counts n = rebuild_now();
    assert_int_equal(n.sources_mended, 0);
    assert_int_equal(n.changes_mended, 0);
    assert_int_equal(n.removed, 0);
    assert_false(n.tip);
    assert_string_equal(dump(true), before);
}

/* ---- a rich world ---------------------------------------------------------------------------- */

static void change(const struct source *s, const char *body)
{
    serve(s->id, body);
    found(s, body);
    drain();
}

static void change_approved(const struct source *s, const char *body)
{
    serve(s->id, body);
    const char *event = found(s, body);
    assert_int_equal(drain().held, 1);
    fix_decide(led, event, true, "R. Viewer", "fine", 3000);
    assert_int_equal(drain().done, 1);
}

static void remove_upstream(const struct source *s)
{
    struct check_result r = fix_result(s, OUTCOME_gone, 0);
    r.has_sha = r.state.has_seen = false;
    r.deleted = true;
    r.hint = "deleted";
    OK(check_commit(led, &r, 1, 2000, &fix_err));
    assert_int_equal(drain().done, 1);
}

/* All levels, a return to earlier bytes, geometry, a deletion, a source never seen, a retired one.
 * Times are real: what a lost row gets must be what it had. */
static void populate(void)
{
    struct source open = add_source("open", "public"), grid = add_source("grid", "generalized");
    struct source kept = add_source("kept", "restricted"), own = add_source("own", "sovereign");
    struct source late = add_source("late", "public"), gone = add_source("gone", "public");
    (void)add_source("idle", "public");
    clock_set(1782986400000LL);
    change(&open, BODY_A);
    change(&grid, POINT);
    clock_set(1782986401000LL);
    change(&open, BODY_B);
    change(&open, BODY_A);
    change_approved(&kept, POINT);
    change_approved(&own, BODY_A);
    clock_set(1782986402000LL);
    change(&gone, POINT);
    remove_upstream(&gone);
    change(&late, BODY_A);
    OK(ledger_begin(led, &fix_err));
    OK(source_retire(led, late.no, 1782986403000LL, &fix_err));
    OK(source_by_no(led, &fix_arena, late.no, &late, &fix_err));
    OK(project_source(led, &inst, &late, 1782986403000LL, &fix_err));
    OK(ledger_commit(led, &fix_err));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void intact_projections_are_not_touched(void **state)
{
    (void)state;
    assert_intact();
    populate();
    assert_intact();
}

static void lost_rows_come_back_byte_for_byte(void **state)
{
    static const char *const derived[] = {
        "public_changes",   "public_sources", "public_freshness",   "public_items",
        "public_items_box", "public_prov",    "public_collections", "public_deltas",
        "public_assets",    "public_checks"};
    (void)state;
    populate();
    const char *before = dump(false);
    int64_t generation = meta_now().generation;
    for (size_t i = 0; i < ARRAY_LEN(derived); i++)
        (void)ask_number(arena_printf(&fix_arena, "DELETE FROM %s", derived[i]));
    assert_string_not_equal(dump(false), before);
    struct rebuild_counts n = rebuild_now();
    assert_int_equal(n.sources, 7);
    assert_int_equal(n.sources_mended, 6); /* nobody hears of the sovereign one */
    assert_int_equal(n.changes, 9);
    assert_int_equal(n.changes_mended, 8);
    assert_string_equal(dump(false), before);
    assert_true(meta_now().generation > generation); /* no ETag of a lost row comes back */
    assert_intact();
}

static void lost_tip_comes_back_above_every_old_one(void **state)
{
    (void)state;
    populate();
    struct public_meta before = meta_now();
    (void)ask_number("DELETE FROM public_meta");
    assert_true(rebuild_now().tip);
    assert_int_equal(meta_now().last_seq, before.last_seq);
    assert_int_equal(meta_now().first_seq, before.first_seq);
    assert_true(meta_now().generation > before.generation);
    assert_intact();
}

static void altered_and_stray_rows_are_put_right(void **state)
{
    static const char *const damage[] = {
        "UPDATE public_changes SET doc = '{}' WHERE seq = 2",
        "UPDATE public_freshness SET updated_at = 1 WHERE source_id = 'open'",
        "UPDATE public_checks SET failures = 7",
        "UPDATE public_checks SET stream_down_at = 7",
        "UPDATE public_checks SET refused = 'NOBODY'",
        "UPDATE public_items SET doc = '{}'",
        "UPDATE public_items_box SET north = 80, east = 10",
        "UPDATE public_items SET version = 9 - version",
        "UPDATE public_heads SET item_id = 'nobody', version = 0",
        "DELETE FROM public_heads",
        "UPDATE public_assets SET size = 1",
        "UPDATE public_collections SET doc = '{}'",
        "DELETE FROM public_deltas WHERE delta_id = (SELECT max(delta_id) FROM public_deltas)",
        "INSERT INTO public_prov VALUES ('nobody', 1, '{}', 0, 0)",
        "INSERT INTO public_assets VALUES (zeroblob(32), 1, 'nobody', 1, 'x', 0)",
        "INSERT INTO public_collections VALUES ('nobody', '{}', 0)",
        "UPDATE public_meta SET last_seq = 99"};
    (void)state;
    populate();
    const char *before = dump(false);
    for (size_t i = 0; i < ARRAY_LEN(damage); i++) {
        (void)ask_number(damage[i]);
        assert_string_not_equal(dump(false), before);
        (void)rebuild_now();
        assert_string_equal(dump(false), before);
    }
}

/* Which item is the newest follows every item that comes, goes or is renumbered. */
static void heads_follow_items(void **state)
{
    static const char *const moves[] = {
        "SELECT 1",
        "DELETE FROM public_items WHERE item_id = 'open-v3'",
        "DELETE FROM public_items WHERE item_id = 'open-v1'",
        "UPDATE public_items SET version = 9 - version",
        "UPDATE public_items SET src_no = 1 WHERE item_id = 'late-v1'",
        "DELETE FROM public_items"};
    (void)state;
    populate();
    assert_true(ask_number("SELECT count(*) FROM public_heads") > 1);
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        (void)ask_number(moves[i]);
        assert_int_equal(
            ask_number("SELECT (SELECT count(*) FROM public_heads) <>"
                       " (SELECT count(DISTINCT src_no) FROM public_items) OR EXISTS"
                       " (SELECT 1 FROM public_items i LEFT JOIN public_heads h USING (src_no)"
                       " WHERE h.version IS NOT (SELECT max(version) FROM public_items n WHERE"
                       " n.src_no = i.src_no))"),
            0);
    }
}

struct seen {
    int64_t n;
};

static enum rc count_one(void *ctx, const struct public_change *c, struct err *err)
{
    struct seen *s = ctx;
    (void)c;
    (void)err;
    s->n++;
    return RC_OK;
}

/* What is left behind a page, both ways, is what can still be read. */
static void assert_pending_is_true(void)
{
    for (int64_t at = 0; at <= 9000; at = at * 3 + 1)
        for (int down = 0; down < 2; down++) {
            struct seen seen = {0};
            int64_t left, none;
            struct public_change_query q = {.after = at, .limit = 0, .descending = down};
            OK(public_changes(led, &q, count_one, &seen, &left, &fix_err));
            assert_int_equal(seen.n, 0);
            q.limit = 100000;
            OK(public_changes(led, &q, count_one, &seen, &none, &fix_err));
            assert_int_equal(left, seen.n);
            assert_int_equal(none, 0);
        }
}

/* Numbers that were withdrawn are gaps, and gaps are not pending. */
static void pending_counts_what_is_there(void **state)
{
    static const char *const moves[] = {
        "SELECT 1", "DELETE FROM public_changes WHERE seq IN (2, 3)",
        /* as many as fill blocks of both sizes */
        "WITH RECURSIVE n(i) AS (SELECT 60 UNION ALL SELECT i + 1 FROM n WHERE i < 8300) INSERT INTO"
        " public_changes SELECT i, 'evt' || i, 1, 'open', 'c', '', '', '', 1, 1, NULL, NULL, NULL, NULL,"
        " NULL, '{}' FROM n",
        "DELETE FROM public_changes WHERE seq % 5 = 0 OR seq BETWEEN 100 AND 300 OR seq > 8200",
        "UPDATE public_changes SET gen = gen + 1", "DELETE FROM public_changes"};
    (void)state;
    populate();
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        (void)ask_number(moves[i]);
        assert_pending_is_true();
    }
    (void)rebuild_now();
    assert_pending_is_true();
}

/* (I8) Rows that a level does not allow, however they came in, are taken out. */
static void withheld_rows_do_not_survive(void **state)
{
    static const char *const leaks[] = {
        "INSERT INTO public_sources SELECT id, src_no, collection, spec, 1, 1 FROM sources"
        " WHERE id = 'own'",
        "INSERT INTO public_checks SELECT src_no, 1, 1, 0, 1, 'new', 1, 1, 0, NULL, NULL FROM sources"
        " WHERE id = 'kept'",
        "INSERT INTO public_prov SELECT run_id, src_no, doc, 1, 1 FROM prov_bundles JOIN ledger"
        " USING (run_id) WHERE status = 'finalized' AND src_no IN (SELECT src_no FROM sources"
        " WHERE id IN ('kept', 'own'))",
        "INSERT INTO public_deltas SELECT delta_id, src_no, doc, 1, 1 FROM deltas WHERE src_no IN"
        " (SELECT src_no FROM sources WHERE id IN ('kept', 'own'))",
        "INSERT INTO public_items (item_no, item_id, src_no, collection, at, doc, gen) SELECT 77, item_id, src_no, 'tests', 1, doc, 1 FROM stac_items"
        " WHERE src_no = (SELECT src_no FROM sources WHERE id = 'kept')",
        "INSERT INTO public_assets SELECT sha, src_no, run_id, 1, 'x', 1 FROM ledger WHERE src_no ="
        " (SELECT src_no FROM sources WHERE id = 'grid') AND status = 'finalized'"};
    (void)state;
    populate();
    const char *before = dump(false);
    for (size_t i = 0; i < ARRAY_LEN(leaks); i++) {
        (void)ask_number(leaks[i]);
        assert_string_not_equal(dump(false), before);
        (void)rebuild_now();
        assert_string_equal(dump(false), before);
    }
}

/* A source that was set by hand has the same rows from `set` and from a rebuild. */
static void changed_level_rebuilds_the_same(void **state)
{
    static const enum level levels[] = {LEVEL_GENERALIZED, LEVEL_RESTRICTED, LEVEL_SOVEREIGN,
                                        LEVEL_PUBLIC};
    struct source s;
    (void)state;
    populate();
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        OK(source_by_id(led, &fix_arena, "open", &s, &fix_err));
        yyjson_val *v;
        const char *json = arena_printf(
            &fix_arena,
            "{\"id\":\"open\",\"url\":\"%s\",\"sensitivity\":\"%s\",\"collection\":\"c%zu\"}",
            s.url, level_name(levels[i]), i);
        struct source set;
        OK(json_parse(&fix_arena, str_of(json), 0, "test", &v, &fix_err));
        OK(source_parse(&fix_arena, v, &set, &fix_err));
        set.no = s.no;
        set.retired_at = -1;
        OK(ledger_begin(led, &fix_err));
        OK(source_put(led, &set, 1782986409000LL, &fix_err));
        OK(project_all_of_source(led, &inst, &set, 1782986409000LL, &fix_err));
        OK(ledger_commit(led, &fix_err));
        assert_intact();
    }
}

/* What rows of sources and changes do not tell: the rows are there again, with what is
 * still known. */
static void sums_are_counted_again(void **state)
{
    (void)state;
    populate();
    int64_t runs = ask_number("SELECT n FROM public_runs WHERE result = 'promoted'"),
            checks = ask_number("SELECT sum(checks) FROM public_check_totals");
    assert_true(runs > 0 && checks > 0);
    static const char *const emptied[] = {"runs", "noise", "replays", "pushes", "check_totals"};
    for (size_t i = 0; i < ARRAY_LEN(emptied); i++)
        (void)ask_number(arena_printf(&fix_arena, "DELETE FROM public_%s", emptied[i]));
    assert_true(rebuild_now().removed > 0);
    assert_int_equal(ask_number("SELECT n FROM public_runs WHERE result = 'promoted'"), runs);
    assert_int_equal(ask_number("SELECT sum(checks) FROM public_check_totals"), checks);
    assert_int_equal(ask_number("SELECT count(*) FROM public_runs WHERE result = 'absorbed'"), 1);
    assert_int_equal(ask_number("SELECT count(*) FROM public_noise"), 2);
    assert_int_equal(ask_number("SELECT count(*) FROM public_replays"), 2);
    assert_int_equal(ask_number("SELECT count(*) FROM public_pushes"), 2);
    assert_intact();
}

/* ---- what verify notices --------------------------------------------------------------------- */

static void copy_db(const char *from, const char *to)
{
    sqlite3 *x, *y;
    assert_int_equal(sqlite3_open(from, &x), SQLITE_OK);
    assert_int_equal(sqlite3_open(to, &y), SQLITE_OK);
    sqlite3_backup *b = sqlite3_backup_init(y, "main", x, "main");
    assert_non_null(b);
    assert_int_equal(sqlite3_backup_step(b, -1), SQLITE_DONE);
    sqlite3_backup_finish(b);
    sqlite3_close(x);
    sqlite3_close(y);
}

static void count_problem(void *ctx, const char *sentence)
{
    (void)sentence;
    ++*(int *)ctx;
}

static int problems(void)
{
    struct verify_counts counts;
    int n = 0;
    const char *store = arena_printf(&fix_arena, "%s/store", fix_dir);
    OK(ledger_verify(led, store, false, count_problem, &n, &counts, &fix_err));
    OK(rebuild_check(led, &inst, 9000000, count_problem, &n, &fix_err));
    return n;
}

static void do_all(const char *sql)
{
    sqlite3 *db;
    const char *path = arena_printf(&fix_arena, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

#define TRIGGER                                                                                    \
    "CREATE TRIGGER replay_append_d BEFORE DELETE ON replay_log BEGIN SELECT RAISE (ABORT, "       \
    "'append-only'); END;"
#define UNLOCKED(sql) "DROP TRIGGER replay_append_d;" sql ";" TRIGGER

/* Whatever somebody with a shell of SQLite does to it. */
static void damage_is_noticed(void **state)
{
    static const char *const damage[] = {
        "DROP TRIGGER replay_append_d",
        "DROP INDEX blocks_live",
        UNLOCKED("DELETE FROM replay_log WHERE seq >= (SELECT max(seq) FROM replay_log"
                 " WHERE kind = 'run.promoted')"),
        UNLOCKED("DELETE FROM replay_log WHERE seq > 3"),
        UNLOCKED("DELETE FROM replay_log"),
        "DELETE FROM heads WHERE src_no = 1",
        "DELETE FROM deltas",
        "DELETE FROM prov_bundles",
        "UPDATE stac_items SET doc = '{}'",
        "DELETE FROM public_changes WHERE seq = 2",
        "DELETE FROM public_changes WHERE seq = (SELECT max(seq) FROM public_changes)",
        "UPDATE public_changes SET doc = '{}' WHERE seq = 2",
        "UPDATE public_changes SET change_type = 'deleted' WHERE seq = 2",
        "DELETE FROM public_items WHERE item_id = 'open-v1'",
        "DELETE FROM public_deltas",
        "DELETE FROM public_prov",
        "DELETE FROM public_collections",
        "DELETE FROM public_assets",
        "DELETE FROM public_extents",
        "UPDATE public_extents SET items = 99",
        "DELETE FROM public_heads",
        "UPDATE public_heads SET version = 99",
        "DELETE FROM public_items_box",
        "UPDATE public_deltas SET doc = '{}'",
        "UPDATE public_prov SET doc = '{}'",
        "UPDATE public_sources SET doc = '{}'",
        "UPDATE public_items SET west = 0 WHERE item_id = 'grid-v1'"};
    const char *ours = arena_printf(&fix_arena, "%s/ledger.db", fix_dir),
               *kept = arena_printf(&fix_arena, "%s/kept.db", fix_dir);
    (void)state;
    populate();
    assert_int_equal(problems(), 0);
    const char *before = dump(true);
    copy_db(ours, kept);
    for (size_t i = 0; i < ARRAY_LEN(damage); i++) {
        do_all(damage[i]);
        const char *damaged = dump(true);
        if (problems() == 0)
            fail_msg("not noticed: %s", damage[i]);
        assert_string_equal(dump(true), damaged); /* the check wrote nothing that is kept */
        copy_db(kept, ours);
        assert_string_equal(dump(true), before);
    }
    assert_int_equal(problems(), 0);
}

static void failure_in_the_middle_leaves_everything(void **state)
{
    struct rebuild_counts n;
    (void)state;
    populate();
    (void)ask_number("DELETE FROM public_items");
    (void)ask_number("UPDATE deltas SET doc = '{' || doc WHERE run_id = (SELECT run_id FROM ledger"
                     " WHERE public_seq = 8)");
    const char *before = dump(true);
    assert_rc(rebuild(led, &inst, 9000000, NULL, NULL, &n, &fix_err), RC_INVALID);
    assert_string_equal(dump(true), before);
    OK(ledger_begin(led, &fix_err)); /* and no transaction is left open */
    ledger_abort(led);
    (void)ask_number("UPDATE deltas SET doc = substr(doc, 2) WHERE doc LIKE '{{%'");
    assert_true(rebuild_now().changes_mended > 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(intact_projections_are_not_touched),
                                       T(lost_rows_come_back_byte_for_byte),
                                       T(lost_tip_comes_back_above_every_old_one),
                                       T(altered_and_stray_rows_are_put_right),
                                       T(heads_follow_items),
                                       T(pending_counts_what_is_there),
                                       T(withheld_rows_do_not_survive),
                                       T(changed_level_rebuilds_the_same),
                                       T(sums_are_counted_again),
                                       T(damage_is_noticed),
                                       T(failure_in_the_middle_leaves_everything)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
