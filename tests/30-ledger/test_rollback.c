/* test_rollback: any change can be taken back by a run of its own, which can be taken back too, and
 * what was taken back does not come again by itself (I7, ledger/rollback.h). */
#include "tests/30-ledger/world.h"

#include "handler/delta.h"
#include "ledger/public_items.h"
#include "ledger/rollback.h"

#define BODY_C "{\"version\":\"C\"}"
#define WHY "{\"reason\":\"wrong\"}"

/* ---- helpers --------------------------------------------------------------------------------- */

static const char *put(const struct source *s, const char *body)
{
    serve(s->id, body);
    const char *event = found(s, body);
    assert_int_equal(drain().done, 1);
    return arena_strdup(&fix_arena, change_of(event).delta_id);
}

static const char *delete_it(const struct source *s)
{
    struct check_result r = fix_result(s, OUTCOME_gone, 0);
    r.has_sha = r.state.has_seen = false;
    r.deleted = true;
    r.hint = "deleted";
    OK(check_commit(led, &r, 1, 2000, &fix_err));
    assert_int_equal(drain().done, 1);
    return arena_strdup(&fix_arena, change_of(r.event_id).delta_id);
}

static enum rc try_ask(const char *delta, char id[ROLLBACK_ID_MAX])
{
    const struct rollback_ask ask = {
        .delta_id = delta, .reason = "wrong lines", .by = "Tester", .body = STR(WHY)};
    return rollback_ask(led, &ask, 3000, id, &fix_err);
}

static struct rollback status_of(const char *id)
{
    struct rollback r;
    OK(rollback_get(led, &fix_arena, id, &r, &fix_err));
    return r;
}

/* Takes the change back, and gives the delta of the rollback. */
static const char *take_back(const char *delta)
{
    char id[ROLLBACK_ID_MAX];
    OK(try_ask(delta, id));
    assert_string_equal(status_of(id).state, "open");
    assert_int_equal(drain().done, 1);
    struct rollback r = status_of(id);
    assert_string_equal(r.state, "done");
    assert_string_equal(r.detail, "");
    return arena_strdup(&fix_arena, change_of(r.event_id).delta_id);
}

static enum rc keep_event(void *ctx, const struct change *c, struct err *err)
{
    (void)err;
    snprintf(ctx, 48, "%s", c->event_id);
    return RC_OK;
}

static struct change newest_of(const struct source *s)
{
    char event[48] = "";
    OK(change_each_of(led, s->no, keep_event, event, &fix_err));
    return change_of(event);
}

/* The version after this one, and the newest. */
static void assert_next(const char *id, const char *next)
{
    struct ledger *r = fix_open(LEDGER_READ);
    struct public_item i;
    OK(public_item_get(r, &fix_arena, STR("tests"), str_of(id), &i, &fix_err));
    ledger_close(&r);
    assert_true(str_is(i.next, next) && str_is(i.latest, next));
}

/* What a detector that finds these bytes again comes to. */
static void assert_blocked(const struct source *s, const char *body)
{
    serve(s->id, body);
    const char *event = found(s, body);
    assert_int_equal(drain().noop, 1);
    assert_string_equal(change_of(event).reason, "ROLLED_BACK");
}

/* ---- back ------------------------------------------------------------------------------------ */

static void modification_goes_back_with_all_its_documents(void **state)
{
    struct source s = add_source("one", "public");
    char expected[256];
    (void)state;
    put(&s, BODY_A);
    const char *delta = put(&s, BODY_B);
    const char *event = newest_of(&s).event_id;
    take_back(delta);

    assert_head(&s, 3, BODY_A);
    assert_false(head_of(&s).deleted);
    struct change c = newest_of(&s);
    assert_string_equal(c.status, "finalized");
    assert_string_equal(c.change_type, "rollback");
    assert_string_equal(c.change_class, "rollback");
    assert_int_equal(c.version, 3);
    assert_int_equal(c.public_seq, 3);
    assert_int_equal(feed_length(), 3);
    assert_rc(delta_check(c.delta, &fix_err), RC_OK);
    snprintf(expected, sizeof expected, "\"reverts\":\"%s\"", delta);
    assert_holds(c.delta.p, expected);
    assert_holds(c.entry.p, "\"detector\":\"operator\"");
    assert_holds(c.entry.p, "\"rollback_ref\":{\"method\":\"POST\",\"href\":\"");
    assert_holds(c.prov.p, "\"wasInvalidatedBy\":{\"_:i1\":{\"prov:entity\":\"ent:one-v2\"");
    assert_holds(c.prov.p,
                 "\"prov:generatedEntity\":\"ent:one-v3\",\"prov:usedEntity\":\"ent:one-v1\"");
    assert_holds(c.prov.p, "\"kfm:decision\":\"rollback\",\"kfm:reviewer\":\"Tester\"");
    assert_holds(item_of("one-v3"), "\"deprecated\":false");
    assert_holds(item_of("one-v3"), "\"predecessor-version\"");
    assert_holds(item_of("one-v2"), "\"deprecated\":true");
    assert_next("one-v2", "one-v3");
    /* The original stays, with its evidence, and points to the rollback. */
    assert_string_equal(change_of(event).status, "finalized");
    assert_int_equal(ask_number("SELECT count(*) FROM ledger a JOIN ledger b ON b.run_id ="
                                " a.reverted_by WHERE a.version = 2 AND b.version = 3"),
                     1);
    assert_int_equal(ask_number("SELECT count(*) FROM outbox"), 3);
    assert_int_equal(ask_number("SELECT count(*) FROM replay_log WHERE kind = 'admin.rollback'"),
                     1);
}

/* The reason is the operator's word to us, not to the public. */
static void reason_is_not_public(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    put(&s, BODY_A);
    take_back(put(&s, BODY_B));
    assert_holds(newest_of(&s).prov.p, "wrong lines");
    assert_int_equal(ask_number("SELECT count(*) FROM public_prov WHERE doc LIKE '%wrong lines%'"
                                " OR doc LIKE '%Tester%'"),
                     0);
}

static void first_version_goes_back_to_nothing(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    const char *back = take_back(put(&s, BODY_A));
    assert_true(head_of(&s).deleted);
    assert_head(&s, 2, BODY_A);
    assert_string_equal(newest_of(&s).change_type, "rollback");
    assert_true(newest_of(&s).item.n == 0);
    assert_holds(item_of("one-v1"), "\"deprecated\":true");
    assert_blocked(&s, BODY_A);
    take_back(back); /* and forth again */
    assert_false(head_of(&s).deleted);
    assert_head(&s, 3, BODY_A);
}

static void deletion_goes_back_to_the_bytes(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    put(&s, BODY_A);
    take_back(delete_it(&s));
    assert_false(head_of(&s).deleted);
    assert_head(&s, 3, BODY_A);
    assert_holds(item_of("one-v3"), "\"deprecated\":false");
    assert_null(strstr(newest_of(&s).prov.p, "wasInvalidatedBy"));
    /* The same absence deletes it no more; one that comes after new bytes does. */
    struct check_result r = fix_result(&s, OUTCOME_gone, 0);
    r.has_sha = r.state.has_seen = false;
    r.deleted = true;
    r.hint = "deleted";
    OK(check_commit(led, &r, 1, 2000, &fix_err));
    assert_int_equal(drain().noop, 1);
    assert_string_equal(change_of(r.event_id).reason, "ROLLED_BACK");
    put(&s, BODY_B);
    delete_it(&s);
    assert_true(head_of(&s).deleted);
}

static void return_after_a_deletion_goes_back_to_the_tombstone(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    put(&s, BODY_A);
    delete_it(&s);
    take_back(put(&s, BODY_B));
    assert_true(head_of(&s).deleted);
    assert_head(&s, 4, BODY_B); /* the bytes it removed */
}

/* ---- and forth ------------------------------------------------------------------------------- */

static void rollback_of_a_rollback_works(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    put(&s, BODY_A);
    const char *b = put(&s, BODY_B), *first = take_back(b), *second = take_back(first);
    assert_head(&s, 4, BODY_B);
    assert_int_equal(ask_number("SELECT count(*) FROM blocks WHERE lifted_at IS NULL"), 0);
    const char *third = take_back(second);
    assert_head(&s, 5, BODY_A);
    assert_blocked(&s, BODY_B);
    take_back(third);
    assert_head(&s, 6, BODY_B);
    take_back(b); /* in force again, so it can be taken back again */
    assert_head(&s, 7, BODY_A);
    assert_blocked(&s, BODY_B);
    assert_int_equal(feed_length(), 7);
}

static void changes_go_back_one_after_the_other(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    const char *a = put(&s, BODY_A), *b = put(&s, BODY_B), *c = put(&s, BODY_C);
    take_back(c);
    assert_head(&s, 4, BODY_B);
    take_back(b);
    assert_head(&s, 5, BODY_A);
    take_back(a);
    assert_true(head_of(&s).deleted);
}

/* ---- refused --------------------------------------------------------------------------------- */

static void head_that_moved_on_names_what_goes_first(void **state)
{
    struct source s = add_source("one", "public");
    struct rollback_plan p;
    char id[ROLLBACK_ID_MAX];
    (void)state;
    const char *a = put(&s, BODY_A), *b = put(&s, BODY_B), *c = put(&s, BODY_C);
    OK(rollback_plan(led, a, &p, &fix_err));
    assert_int_equal(p.verdict, ROLLBACK_BEHIND);
    assert_int_equal(p.n_first, 2);
    assert_string_equal(p.first[0], c);
    assert_string_equal(p.first[1], b);
    assert_rc(try_ask(a, id), RC_CONFLICT);
    assert_holds(fix_err.msg, c);
    take_back(c);
    OK(rollback_plan(led, a, &p, &fix_err));
    assert_int_equal(p.n_first, 1);
    assert_string_equal(p.first[0], b);
    assert_int_equal(ask_number("SELECT count(*) FROM rollbacks"), 1);
}

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

static void what_was_taken_back_is_not_taken_back_twice(void **state)
{
    struct source s = add_source("one", "public");
    struct rollback_plan p;
    char id[ROLLBACK_ID_MAX];
    (void)state;
    const char *a = put(&s, BODY_A), *b = put(&s, BODY_B), *back = take_back(b);
    assert_rc(try_ask(b, id), RC_CONFLICT);
    assert_holds(fix_err.msg, back);
    /* Under a rollback further down, that one is named. */
    const char *nothing = take_back(a);
    OK(rollback_plan(led, b, &p, &fix_err));
    assert_int_equal(p.verdict, ROLLBACK_OVER);
    assert_string_equal(p.first[0], nothing);
    OK(rollback_plan(led, back, &p, &fix_err));
    assert_string_equal(p.first[0], nothing);
}

static void unknown_deltas_and_empty_reasons_are_refused(void **state)
{
    char id[ROLLBACK_ID_MAX];
    struct source s = add_source("one", "public");
    const struct rollback_ask mute = {.delta_id = "dlt_x", .reason = " ", .by = "x"};
    (void)state, (void)s;
    assert_rc(try_ask("dlt_01980000-0000-7000-8000-000000000001", id), RC_NOT_FOUND);
    assert_rc(try_ask("nonsense", id), RC_NOT_FOUND);
    assert_rc(rollback_ask(led, &mute, 3000, id, &fix_err), RC_INVALID);
}

/* Two ask at once: the second finds the head moved, and says so. */
static void second_of_two_requests_is_refused(void **state)
{
    struct source s = add_source("one", "public");
    char first[ROLLBACK_ID_MAX], second[ROLLBACK_ID_MAX];
    (void)state;
    put(&s, BODY_A);
    const char *b = put(&s, BODY_B);
    OK(try_ask(b, first));
    OK(try_ask(b, second));
    assert_int_equal(drain().done, 1);
    assert_string_equal(status_of(first).state, "done");
    assert_string_equal(status_of(second).state, "failed");
    assert_holds(status_of(second).detail, "was taken back already");
    assert_head(&s, 3, BODY_A);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void bytes_that_were_taken_back_stay_away(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    put(&s, BODY_A);
    take_back(put(&s, BODY_B));
    assert_blocked(&s, BODY_B);
    assert_head(&s, 3, BODY_A);
    put(&s, BODY_C); /* other bytes come as ever */
    assert_head(&s, 4, BODY_C);
    assert_blocked(&s, BODY_B);
    assert_int_equal(feed_length(), 4);
}

static void detector_keeps_what_it_has_seen(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    put(&s, BODY_A);
    const char *b = put(&s, BODY_B);
    take_back(b);
    struct sha256 sha;
    struct check_state st;
    struct source again;
    OK(check_load(led, &fix_arena, s.no, &again, &st, &fix_err));
    digest_sha256(BODY_B, strlen(BODY_B), &sha);
    assert_true(st.has_seen && sha256_eq(&st.seen_sha, &sha));
}

static void operator_lifts_the_block(void **state)
{
    struct source s = add_source("one", "public");
    int64_t n;
    (void)state;
    put(&s, BODY_A);
    take_back(put(&s, BODY_B));
    const struct rollback_lift ask = {.src_no = s.no, .by = "Tester", .reason = "right after all"};
    struct ledger *in = fix_open(LEDGER_INBOX); /* intake may lift, too */
    OK(rollback_lift(in, &ask, 4000, &n, &fix_err));
    assert_int_equal(n, 1);
    OK(rollback_lift(in, &ask, 4000, &n, &fix_err));
    assert_int_equal(n, 0);
    ledger_close(&in);
    assert_int_equal(ask_number("SELECT count(*) FROM replay_log WHERE kind = 'rollback.lifted'"
                                " AND body LIKE '%Tester%right after all%'"),
                     1);
    assert_int_equal(
        ask_number("SELECT next_check_at = 4000 AND seen_sha IS NULL FROM source_state"), 1);
    put(&s, BODY_B);
    assert_head(&s, 4, BODY_B);
}

static void block_is_of_one_source(void **state)
{
    struct source s = add_source("one", "public"), t = add_source("two", "public");
    (void)state;
    put(&s, BODY_A);
    take_back(put(&s, BODY_B));
    put(&t, BODY_B);
    assert_head(&t, 1, BODY_B);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void approve(const char *event)
{
    assert_int_equal(drain().held, 1);
    fix_decide(led, event, true, "Reviewer", "fine", 3000);
    assert_int_equal(drain().done, 1);
}

static void sovereign_rollback_leaves_no_public_trace(void **state)
{
    struct source s = add_source("secret-canary", "sovereign");
    (void)state;
    struct public_meta before = meta_now();
    serve("secret-canary", BODY_A);
    approve(found(&s, BODY_A));
    serve("secret-canary", BODY_B);
    approve(found(&s, BODY_B));
    take_back(newest_of(&s).delta_id);
    assert_head(&s, 3, BODY_A);
    assert_int_equal(meta_now().generation, before.generation);
    assert_int_equal(meta_now().last_seq, before.last_seq);
    assert_int_equal(feed_length(), 0);
}

static void restricted_rollback_shows_the_day_and_no_more(void **state)
{
    struct source s = add_source("quiet", "restricted");
    (void)state;
    serve("quiet", BODY_A);
    approve(found(&s, BODY_A));
    serve("quiet", BODY_B);
    approve(found(&s, BODY_B));
    take_back(newest_of(&s).delta_id);
    assert_head(&s, 3, BODY_A);
    assert_int_equal(feed_length(), 3);
    assert_int_equal(
        ask_number("SELECT count(*) FROM public_changes WHERE doc LIKE '%rollback%\"%:%'"
                   " AND (doc LIKE '%\"rollback_ref\":%' OR doc LIKE '%\"change_type\":%')"),
        0);
    assert_int_equal(ask_number("SELECT count(*) FROM public_changes WHERE change_type <> ''"), 0);
    assert_int_equal(ask_number("SELECT count(*) FROM public_items"), 0);
}

/* Bytes lie in the tier that their level had; they come back into that of the present one. */
static void bytes_come_back_into_the_tier_of_today(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    put(&s, BODY_A);
    const char *b = put(&s, BODY_B);
    struct source raised = s;
    char json[512];
    yyjson_val *v;
    snprintf(json, sizeof json,
             "{\"id\":\"one\",\"title\":\"T\",\"url\":\"http://127.0.0.1:%d/one\","
             "\"sensitivity\":\"generalized\",\"collection\":\"tests\"}",
             server.port);
    OK(json_parse(&fix_arena, str_of(json), 0, "test", &v, &fix_err));
    OK(source_parse(&fix_arena, v, &raised, &fix_err));
    raised.no = s.no;
    OK(ledger_begin(led, &fix_err));
    OK(source_put(led, &raised, 2000, &fix_err));
    OK(project_all_of_source(led, &inst, &raised, 2000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    take_back(b);
    assert_head(&s, 3, BODY_A);
    assert_int_equal(ask_number("SELECT count(*) FROM artifacts WHERE tier = 'restricted'"), 1);
    assert_int_equal(ask_number("SELECT count(*) FROM public_assets"), 0);
}

/* Written anew, the rows of a rollback are what they were. */
static void rollback_survives_a_change_of_level(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    put(&s, BODY_A);
    take_back(put(&s, BODY_B));
    const enum level levels[] = {LEVEL_GENERALIZED, LEVEL_SOVEREIGN, LEVEL_PUBLIC};
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        s.level = levels[i];
        OK(ledger_begin(led, &fix_err));
        OK(project_all_of_source(led, &inst, &s, 5000, &fix_err));
        OK(ledger_commit(led, &fix_err));
    }
    assert_int_equal(feed_length(), 3);
    assert_holds(item_of("one-v2"), "\"deprecated\":true");
    assert_holds(item_of("one-v3"), "\"deprecated\":false");
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

static void count_problem(void *ctx, const char *sentence)
{
    *(int *)ctx += strstr(sentence, "rollback") != NULL;
}

static void verify_notices_a_rollback_that_lies(void **state)
{
    struct source s = add_source("one", "public");
    struct verify_counts counts;
    char store[128];
    int problems = 0;
    (void)state;
    put(&s, BODY_A);
    take_back(put(&s, BODY_B));
    snprintf(store, sizeof store, "%s/store", fix_dir);
    (void)ask_number("UPDATE rollbacks SET run_id = (SELECT run_id FROM ledger WHERE version = 1)");
    OK(ledger_verify(led, store, false, count_problem, &problems, &counts, &fix_err));
    assert_int_equal(problems, 1);
    (void)ask_number("UPDATE rollbacks SET run_id = (SELECT run_id FROM ledger WHERE version = 2)");
    (void)ask_number("UPDATE ledger SET reverted_by = (SELECT run_id FROM ledger WHERE version = 1)"
                     " WHERE version = 2");
    problems = 0;
    OK(ledger_verify(led, store, false, count_problem, &problems, &counts, &fix_err));
    assert_int_equal(problems, 1);
    (void)ask_number("UPDATE ledger SET reverted_by = (SELECT run_id FROM ledger WHERE version = 3)"
                     " WHERE version = 2");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(modification_goes_back_with_all_its_documents),
                                       T(reason_is_not_public),
                                       T(first_version_goes_back_to_nothing),
                                       T(deletion_goes_back_to_the_bytes),
                                       T(return_after_a_deletion_goes_back_to_the_tombstone),
                                       T(rollback_of_a_rollback_works),
                                       T(changes_go_back_one_after_the_other),
                                       T(head_that_moved_on_names_what_goes_first),
                                       T(all_that_goes_first_is_listed),
                                       T(a_list_of_what_goes_first_has_an_end),
                                       T(a_state_is_gone_back_to),
                                       T(rollbacks_of_a_source_go_one_after_the_other),
                                       T(what_was_taken_back_is_not_taken_back_twice),
                                       T(unknown_deltas_and_empty_reasons_are_refused),
                                       T(second_of_two_requests_is_refused),
                                       T(bytes_that_were_taken_back_stay_away),
                                       T(detector_keeps_what_it_has_seen),
                                       T(operator_lifts_the_block),
                                       T(block_is_of_one_source),
                                       T(sovereign_rollback_leaves_no_public_trace),
                                       T(restricted_rollback_shows_the_day_and_no_more),
                                       T(bytes_come_back_into_the_tier_of_today),
                                       T(rollback_survives_a_change_of_level),
                                       T(intake_asks_once_per_key),
                                       T(rollback_goes_on_after_a_death),
                                       T(busy_source_is_waited_for),
                                       T(rollback_goes_before_what_waits),
                                       T(what_waits_stays_news),
                                       T(what_is_held_can_still_be_approved),
                                       T(verify_notices_a_rollback_that_lies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
