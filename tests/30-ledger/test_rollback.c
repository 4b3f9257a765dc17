/* test_rollback: any change can be taken back by a run of its own, which can be taken back too, and
 * what was taken back does not come again by itself (I7, ledger/rollback.h). */
#include "tests/30-ledger/rollback_case.h"

#include "handler/delta.h"
#include "ledger/public_items.h"

/* ---- helpers --------------------------------------------------------------------------------- */

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

/* ---- verify ---------------------------------------------------------------------------------- */

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
                                       T(verify_notices_a_rollback_that_lies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
