/* test_tally: sums of checks, counts of health, and that asking for them stays cheap. */
#include "tests/30-ledger/fixture.h"

#include <sqlite3.h>
#include "core/instance.h"
#include "handler/project.h"
#include "ledger/public_metrics.h"
#include "ledger/query.h"
#include "ledger/tally.h"
#include "ledger/unexpected.h"
#include "ledger/unhealthy.h"

#define DAY_1 (20000 * DAY_MS)
#define NOW (DAY_1 + 3600000)

static struct ledger *led;
static struct instance inst;

static int setup(void **state)
{
    struct err err;
    (void)state;
    fix_make();
    char path[128];
    snprintf(path, sizeof path, "%s/freshet.json", fix_dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("{}", f);
    fclose(f);
    assert_int_equal(instance_load(&fix_arena, fix_dir, &inst, &err), RC_OK);
    led = fix_open(LEDGER_WRITE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ledger_close(&led);
    fix_drop();
    return 0;
}

static struct source declare(const char *id, const char *level)
{
    char json[256];
    snprintf(json, sizeof json,
             "{\"id\":\"%s\",\"url\":\"https://example.org/%s\",\"sensitivity\":\"%s\"}", id, id,
             level);
    struct source s = fix_source(led, json);
    OK(ledger_begin(led, &fix_err));
    OK(project_source(led, &inst, &s, NOW, &fix_err));
    OK(ledger_commit(led, &fix_err));
    return s;
}

/* A check that ended now; the bytes were digested at verified_at. */
static struct check_result checked(const struct source *s, enum outcome o, int64_t verified_at)
{
    struct check_result r = fix_result(s, o, 'A');
    bool failed = outcome_failure(o);
    r.started_at = r.ended_at = r.state.checked_at = NOW;
    r.state.reached_at = failed ? -1 : NOW;
    r.state.verified_at = verified_at;
    r.state.failures = failed;
    r.state.next_check_at = NOW + DAY_MS;
    r.http = o == OUTCOME_not_modified ? 304 : 200;
    r.attempts = 2;
    r.bytes_in = 10;
    r.bytes_saved = 90;
    return r;
}

static void commit(struct check_result *r, size_t n, int64_t now)
{
    OK(check_commit(led, r, n, now, &fix_err));
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void sums_by_day_and_outcome(void **state)
{
    (void)state;
    struct source s = declare("a", "public");
    struct tally_sums sums;
    struct check_result r[3] = {checked(&s, OUTCOME_not_modified, DAY_1),
                                checked(&s, OUTCOME_not_modified, DAY_1),
                                checked(&s, OUTCOME_unchanged, NOW)};
    int64_t first, last;
    OK(tally_range(led, &first, &last, &fix_err));
    assert_int_equal(first, -1);
    commit(r, 3, NOW);
    commit(r, 2, NOW + DAY_MS);
    OK(tally_range(led, &first, &last, &fix_err));
    assert_int_equal(first, DAY_1);
    assert_int_equal(last, DAY_1 + DAY_MS);
    OK(tally_between(led, DAY_1, DAY_1 + DAY_MS, &sums, &fix_err));
    assert_int_equal(sums.all.checks, 3);
    assert_int_equal(sums.all.requests, 6);
    assert_int_equal(sums.all.bytes_saved, 270);
    assert_int_equal(sums.by_outcome[OUTCOME_not_modified].http_304, 2);
    assert_int_equal(sums.by_outcome[OUTCOME_unchanged].http_200, 1);
    OK(tally_between(led, DAY_1, DAY_1 + 2 * DAY_MS, &sums, &fix_err));
    assert_int_equal(sums.all.checks, 5);
}

static enum rc add_checks(void *ctx, const struct public_total *t, struct err *err)
{
    (void)err;
    *(int64_t *)ctx += t->checks;
    return RC_OK;
}

/* (I8) The public sums know nothing of withheld sources; the operator's know all. */
static void withheld_sources_are_not_counted(void **state)
{
    (void)state;
    struct source all[] = {declare("a", "public"), declare("b", "generalized"),
                           declare("c", "restricted"), declare("d", "sovereign")};
    struct check_result r[4];
    struct tally_sums sums;
    int64_t open_checks = 0, counts[HEALTH_COUNT];
    for (size_t i = 0; i < 4; i++)
        r[i] = checked(&all[i], OUTCOME_not_modified, NOW);
    commit(r, 4, NOW);
    OK(public_totals(led, add_checks, &open_checks, &fix_err));
    assert_int_equal(open_checks, 2);
    OK(tally_between(led, DAY_1, DAY_1 + DAY_MS, &sums, &fix_err));
    assert_int_equal(sums.all.checks, 4);
    OK(public_health_counts(led, NOW, counts, &fix_err));
    assert_int_equal(counts[HEALTH_ok], 2);
    assert_int_equal(counts[HEALTH_never_checked], 0); /* not the restricted one either */
}

/* A batch that fails leaves no sum behind. */
static void sums_commit_with_their_receipts(void **state)
{
    (void)state;
    struct source s = declare("a", "public");
    struct check_result r[2] = {checked(&s, OUTCOME_not_modified, NOW),
                                checked(&s, OUTCOME_not_modified, NOW)};
    struct tally_sums sums;
    r[1].src_no = 999; /* no such source: refused */
    assert_int_not_equal(check_commit(led, r, 2, NOW, &fix_err), RC_OK);
    OK(tally_between(led, 0, NOW * 2, &sums, &fix_err));
    assert_int_equal(sums.all.checks, 0);
}

/* ---- health ---------------------------------------------------------------------------------- */

static enum rc collect(void *ctx, const struct source *s, const struct check_state *st,
                       const struct health *h, struct err *err)
{
    char *out = ctx;
    (void)st;
    (void)err;
    snprintf(out + strlen(out), 512 - strlen(out), "%s:%s ", s->id, health_name(h->state));
    return RC_OK;
}

static void unhealthy_at(int64_t now, char out[512])
{
    out[0] = '\0';
    OK(unhealthy_each(led, now, collect, out, &fix_err));
}

static void unhealthy_are_found_and_counted(void **state)
{
    (void)state;
    struct source fine = declare("fine", "public"), fails = declare("fails", "public"),
                  gone = declare("gone", "generalized"), old = declare("old", "public"),
                  hidden = declare("hidden", "sovereign");
    char text[512];
    int64_t counts[HEALTH_COUNT];
    declare("unseen", "public");
    struct check_result r[] = {
        checked(&fine, OUTCOME_unchanged, NOW), checked(&fails, OUTCOME_unavailable, NOW - DAY_MS),
        checked(&gone, OUTCOME_gone, NOW - DAY_MS), checked(&old, OUTCOME_unchanged, NOW),
        checked(&hidden, OUTCOME_denied, NOW)};
    commit(r, ARRAY_LEN(r), NOW);
    unhealthy_at(NOW, text);
    assert_string_equal(text, "fails:failing gone:gone hidden:failing unseen:never_checked ");
    unhealthy_at(NOW - DAY_MS, text); /* a clock that went back; each is told once */
    assert_string_equal(
        text, "unseen:never_checked fine:ahead fails:ahead gone:ahead old:ahead hidden:ahead ");
    OK(public_health_counts(led, NOW, counts, &fix_err));
    assert_int_equal(counts[HEALTH_ok], 2);
    assert_int_equal(counts[HEALTH_failing], 1);
    assert_int_equal(counts[HEALTH_gone], 1);
    assert_int_equal(counts[HEALTH_never_checked], 1);

    /* Much later: `fine` was digested again, `old` only answered 304. */
    int64_t later = NOW + HEALTH_VERIFIED_MS + DAY_MS;
    struct check_result again[] = {checked(&fine, OUTCOME_unchanged, later),
                                   checked(&old, OUTCOME_not_modified, NOW)};
    for (size_t i = 0; i < 2; i++) {
        again[i].started_at = again[i].ended_at = again[i].state.checked_at = later;
        again[i].state.next_check_at = later + DAY_MS;
    }
    commit(again, 2, later);
    unhealthy_at(later, text);
    assert_non_null(strstr(text, "old:unverified"));
    assert_null(strstr(text, "fine:"));
    OK(public_health_counts(led, later, counts, &fix_err));
    assert_int_equal(counts[HEALTH_unverified], 1);
    unhealthy_at(later + 2 * DAY_MS, text);
    assert_non_null(strstr(text, "fine:overdue"));
}

/* Nothing of a template is ever digested: that is no breach, here as there. */
static void templates_are_in_order(void **state)
{
    (void)state;
    struct source s = fix_source(led, "{\"id\":\"t\",\"url\":\"https://example.org/{year}\"}"),
                  plain = declare("plain", "public");
    char text[512];
    int64_t counts[HEALTH_COUNT];
    OK(ledger_begin(led, &fix_err));
    OK(project_source(led, &inst, &s, NOW, &fix_err));
    OK(ledger_commit(led, &fix_err));
    struct check_result r[] = {checked(&s, OUTCOME_unchanged, -1),
                               checked(&plain, OUTCOME_not_modified, -1)};
    commit(r, ARRAY_LEN(r), NOW);
    unhealthy_at(NOW, text);
    assert_string_equal(text, "plain:unverified ");
    OK(public_health_counts(led, NOW, counts, &fix_err));
    assert_int_equal(counts[HEALTH_unverified], 1);
    assert_int_equal(counts[HEALTH_ok], 1);
}

static enum rc due_beat(void *ctx, struct str role, int64_t at, struct err *err)
{
    (void)err;
    if (str_is(role, "due"))
        *(int64_t *)ctx = at;
    return RC_OK;
}

/* The lag of the schedule is that of the oldest source that may be known. */
static void the_schedule_lag_hides_withheld_sources(void **state)
{
    (void)state;
    struct source open = declare("open", "public"), shut = declare("shut", "sovereign");
    struct check_result r[2] = {checked(&open, OUTCOME_unchanged, NOW),
                                checked(&shut, OUTCOME_unchanged, NOW)};
    int64_t due = 0;
    OK(ledger_heartbeat(led, "scheduler", NOW, &fix_err));
    r[0].state.next_check_at = 7000;
    r[1].state.next_check_at = 3000;
    commit(r, 2, NOW);
    OK(ledger_heartbeat(led, "scheduler", NOW, &fix_err));
    OK(public_beats(led, due_beat, &due, &fix_err));
    assert_int_equal(due, 7000);
    r[0].state.next_check_at = -1;
    commit(r, 1, NOW);
    OK(ledger_heartbeat(led, "scheduler", NOW, &fix_err));
    OK(public_beats(led, due_beat, &due, &fix_err));
    assert_int_equal(due, -1);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static const char *const sql_of[] = {
#define X(name, role, sql) [Q_##name] = sql,
#include "ledger/statements.def"
#undef X
};

/* None may walk the rows of all sources. What counts sources that may be most of them needs an
 * index alone; the others may read the rows that a partial index names. */
static void asking_is_cheap(void **state)
{
    (void)state;
    static const struct {
        enum stmt_id id;
        bool alone;
    } hot[] = {{Q_R_COUNT_ACTIVE, true},  {Q_R_COUNT_UNCHECKED, true},
               {Q_R_COUNT_FAILING, true}, {Q_R_COUNT_UNVERIFIED, false},
               {Q_UNHEALTHY, false},      {Q_UNEXPECTED_NEW, false},
               {Q_HEARTBEAT_DUE, false}};
    char path[128], sql[2048];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < ARRAY_LEN(hot); i++) {
        sqlite3_stmt *s;
        snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", sql_of[hot[i].id]);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
        while (sqlite3_step(s) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(s, 3);
            bool reads = strstr(plan, "public_freshness") || strncmp(plan, "SCAN s", 6) == 0;
            if (reads && !strstr(plan, hot[i].alone ? "USING COVERING INDEX" : "USING"))
                fail_msg("%s: %s", sql_of[hot[i].id], plan);
        }
        sqlite3_finalize(s);
    }
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(sums_by_day_and_outcome),
        T(withheld_sources_are_not_counted),
        T(sums_commit_with_their_receipts),
        T(unhealthy_are_found_and_counted),
        T(templates_are_in_order),
        T(the_schedule_lag_hides_withheld_sources),
        T(asking_is_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
