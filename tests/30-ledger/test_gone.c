/* test_gone: a source that its upstream removed becomes a tombstone, once, and can come back. */
#include "tests/30-ledger/world.h"

#include "handler/delta.h"
#include "ledger/public_items.h"

/* A detector has seen 404 often enough, over long enough. */
static const char *gone(const struct source *s)
{
    static struct check_result r;
    r = fix_result(s, OUTCOME_gone, 0);
    r.has_sha = r.state.has_seen = false;
    r.deleted = true;
    r.hint = "deleted";
    OK(check_commit(led, &r, 1, 2000, &fix_err));
    return r.event_id;
}

static void promote_first(const struct source *s, const char *body)
{
    serve(s->id, body);
    found(s, body);
    assert_int_equal(drain().done, 1);
}

static struct public_fresh fresh_of(const char *id)
{
    struct ledger *r = fix_open(LEDGER_READ);
    struct public_fresh f;
    OK(public_fresh_get(r, &fix_arena, str_of(id), &f, &fix_err));
    ledger_close(&r);
    return f;
}

static const char *source_doc(const char *id)
{
    struct ledger *r = fix_open(LEDGER_READ);
    struct public_source_row row;
    OK(public_source_get(r, &fix_arena, str_of(id), &row, &fix_err));
    ledger_close(&r);
    return row.d.doc.p;
}

static void assert_noop(const char *event, const char *reason)
{
    assert_int_equal(drain().noop, 1);
    assert_string_equal(change_of(event).status, "rolled_back");
    assert_string_equal(change_of(event).reason, reason);
}

/* ---- gone ------------------------------------------------------------------------------------ */

static void deletion_is_one_change_with_all_its_documents(void **state)
{
    struct source s = add_source("one", "public");
    char hex[SHA256_HEX], revert[256];
    (void)state;
    promote_first(&s, BODY_A);
    assert_holds(item_of("one-v1"), "\"deprecated\":false");
    const char *event = gone(&s);
    assert_int_equal(drain().done, 1);

    struct head h = head_of(&s);
    assert_true(h.deleted);
    assert_head(&s, 2, BODY_A); /* the bytes that can be put back */
    assert_string_equal(h.item_id, "one-v1");
    struct change c = change_of(event);
    assert_string_equal(c.status, "finalized");
    assert_string_equal(c.change_type, "deleted");
    assert_string_equal(c.change_class, "deleted");
    assert_int_equal(c.version, 2);
    assert_int_equal(c.public_seq, 2);
    assert_true(c.item.n == 0);

    sha256_hex(&h.sha, hex);
    snprintf(revert, sizeof revert, "\"revert\":[{\"op\":\"put\",\"sha256\":\"%s\"", hex);
    assert_holds(c.delta.p, "\"to\":null,\"apply\":[{\"op\":\"remove\"}]");
    assert_holds(c.delta.p, revert);
    assert_rc(delta_check(c.delta, &fix_err), RC_OK);
    assert_holds(c.prov.p, "\"wasInvalidatedBy\":{\"_:i1\":{\"prov:entity\":\"ent:one-v1\"");
    assert_null(strstr(c.prov.p, "wasGeneratedBy"));
    assert_holds(c.entry.p, "\"object_identity\":null,\"previous_identity\":{\"sha256\":\"");
    assert_holds(c.entry.p, "\"status\":\"none\"");
    assert_holds(c.entry.p, "/items/one-v1\"");
    assert_int_equal(feed_length(), 2);
}

static void deletion_shows_wherever_the_source_shows(void **state)
{
    struct source s = add_source("one", "public");
    struct public_asset asset;
    (void)state;
    promote_first(&s, BODY_A);
    assert_int_equal(fresh_of("one").removed_at, -1);
    assert_holds(source_doc("one"), "\"removed_at\":null");
    clock_set(1782986400000LL); /* 2026-07-02T10:00:00Z */
    gone(&s);
    assert_int_equal(drain().done, 1);
    assert_int_equal(fresh_of("one").removed_at, 1782986400000LL);
    assert_holds(source_doc("one"), "\"removed_at\":\"2026-07-02T10:00:00");
    assert_holds(source_doc("one"), "\"version\":1}"); /* of the last bytes */
    assert_holds(item_of("one-v1"), "\"deprecated\":true");
    assert_holds(item_of("one-v1"), "\"updated\":\"2026-07-02T10:00:00");
    struct ledger *r = fix_open(LEDGER_READ);
    struct head h = head_of(&s);
    OK(public_asset_get(r, &fix_arena, &h.sha, &asset, &fix_err)); /* revertible */
    ledger_close(&r);
}

static void nothing_is_deleted_twice_or_before_it_was(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    assert_noop(gone(&s), "NO_HEAD");
    promote_first(&s, BODY_A);
    gone(&s);
    assert_int_equal(drain().done, 1);
    assert_noop(gone(&s), "ALREADY_DELETED");
    assert_int_equal(head_of(&s).version, 2);
    assert_int_equal(feed_length(), 2);
}

static void waiting_duplicates_are_absorbed(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    promote_first(&s, BODY_A);
    gone(&s);
    gone(&s);
    struct work_counts n = drain();
    assert_int_equal(n.done, 1);
    assert_int_equal(n.noop, 0);
    assert_int_equal(head_of(&s).version, 2);
}

/* As after the retry of a candidate that had died. */
static void late_news_of_a_deletion_is_a_noop(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    promote_first(&s, BODY_A);
    const char *event = gone(&s);
    (void)ask_number("UPDATE heads SET cand_no = 99");
    assert_noop(event, "SUPERSEDED");
    assert_false(head_of(&s).deleted);
}

static void retired_source_is_not_deleted(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    promote_first(&s, BODY_A);
    const char *event = gone(&s);
    OK(ledger_begin(led, &fix_err));
    OK(source_retire(led, s.no, 3000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_noop(event, "SOURCE_RETIRED");
    assert_false(head_of(&s).deleted);
}

/* ---- back ------------------------------------------------------------------------------------ */

static void return_with_the_same_bytes_is_reinstated(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    promote_first(&s, BODY_A);
    gone(&s);
    const char *event = found(&s, BODY_A); /* both wait: they are two changes all the same */
    assert_int_equal(drain().done, 2);
    assert_head(&s, 3, BODY_A);
    assert_false(head_of(&s).deleted);
    struct change c = change_of(event);
    assert_string_equal(c.change_type, "reinstated");
    assert_string_equal(c.change_class, "reinstated");
    assert_holds(c.delta.p, "\"from\":null");
    assert_holds(c.delta.p, "\"revert\":[{\"op\":\"remove\"}]");
    assert_holds(c.entry.p, "\"previous_identity\":null");
    assert_holds(c.prov.p, "\"prov:usedEntity\":\"ent:one-v1\"");
    assert_holds(c.item.p, "/items/one-v1\""); /* predecessor */
    assert_int_equal(fresh_of("one").removed_at, -1);
    assert_holds(source_doc("one"), "\"removed_at\":null");
    assert_holds(item_of("one-v1"), "\"deprecated\":true");
    assert_holds(item_of("one-v3"), "\"deprecated\":false");
}

static void return_with_other_bytes_says_so(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    promote_first(&s, BODY_A);
    gone(&s);
    assert_int_equal(drain().done, 1);
    serve("one", BODY_B);
    const char *event = found(&s, BODY_B);
    assert_int_equal(drain().done, 1);
    assert_head(&s, 3, BODY_B);
    assert_string_equal(change_of(event).change_type, "reinstated");
    assert_string_equal(change_of(event).change_class, "content");
    gone(&s); /* and again */
    assert_int_equal(drain().done, 1);
    assert_true(head_of(&s).deleted);
    assert_int_equal(head_of(&s).version, 4);
    assert_string_equal(head_of(&s).item_id, "one-v3");
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void promote_held(const struct source *s, const char *event)
{
    (void)s;
    assert_int_equal(drain().held, 1);
    fix_decide(led, event, true, "R. Viewer", "fine", 3000);
    assert_int_equal(drain().done, 1);
}

static void deletion_of_a_restricted_source_waits_for_a_person(void **state)
{
    struct source s = add_source("kept", "restricted");
    (void)state;
    serve("kept", BODY_A);
    promote_held(&s, found(&s, BODY_A));
    struct public_meta before = meta_now();
    const char *event = gone(&s);
    assert_int_equal(drain().held, 1);
    assert_false(head_of(&s).deleted);
    assert_int_equal(meta_now().generation, before.generation);
    fix_decide(led, event, true, "R. Viewer", "gone indeed", 3000);
    assert_int_equal(drain().done, 1);
    assert_true(head_of(&s).deleted);
    assert_holds(change_of(event).prov.p, "gone indeed");
    /* That it was a deletion is not for the public. */
    struct ledger *r = fix_open(LEDGER_READ);
    struct public_change c;
    OK(public_change_get(r, &fix_arena, str_of(event), &c, &fix_err));
    ledger_close(&r);
    assert_holds(c.doc.p, "\"qa_summary\":{\"status\":\"approved\"}");
    assert_null(strstr(c.doc.p, "deleted"));
    assert_null(strstr(source_doc("kept"), "\"removed_at\":"));
    assert_int_equal(fresh_of("kept").removed_at, -1);
}

static void rejected_deletion_leaves_the_head(void **state)
{
    struct source s = add_source("kept", "restricted");
    (void)state;
    serve("kept", BODY_A);
    promote_held(&s, found(&s, BODY_A));
    const char *event = gone(&s);
    assert_int_equal(drain().held, 1);
    fix_decide(led, event, false, "R. Viewer", "they moved it", 3000);
    assert_int_equal(drain().done, 0);
    assert_false(head_of(&s).deleted);
    assert_string_equal(change_of(event).reason, "REJECTED");
}

/* Bytes that were public before the level was raised lie in the public tier: nothing claims that
 * they are in the other one. */
static void deletion_of_bytes_that_were_public_is_held_too(void **state)
{
    struct source s = add_source("one", "public");
    struct source raised;
    yyjson_val *v;
    char json[512];
    (void)state;
    promote_first(&s, BODY_A);
    snprintf(json, sizeof json, "{\"id\":\"one\",\"url\":\"%s\",\"sensitivity\":\"restricted\"}",
             s.url);
    OK(json_parse(&fix_arena, str_of(json), 0, "test", &v, &fix_err));
    OK(source_parse(&fix_arena, v, &raised, &fix_err));
    raised.no = s.no;
    OK(ledger_begin(led, &fix_err));
    OK(source_put(led, &raised, 2000, &fix_err));
    OK(project_all_of_source(led, &inst, &raised, 2000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    promote_held(&raised, gone(&raised));
    assert_true(head_of(&s).deleted);
}

static void sovereign_deletion_leaves_no_public_trace(void **state)
{
    struct source s = add_source("secret-canary", "sovereign");
    (void)state;
    serve("secret-canary", BODY_A);
    struct public_meta before = meta_now();
    promote_held(&s, found(&s, BODY_A));
    promote_held(&s, gone(&s));
    assert_true(head_of(&s).deleted);
    assert_int_equal(meta_now().generation, before.generation);
    assert_int_equal(meta_now().last_seq, before.last_seq);
    assert_int_equal(feed_length(), 0);
}

/* Written anew, the rows of a deletion are what they were. */
static void deletion_survives_a_change_of_level(void **state)
{
    struct source s = add_source("one", "public");
    struct public_change c;
    (void)state;
    promote_first(&s, BODY_A);
    const char *event = gone(&s);
    assert_int_equal(drain().done, 1);
    const enum level levels[] = {LEVEL_GENERALIZED, LEVEL_SOVEREIGN, LEVEL_PUBLIC};
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        s.level = levels[i];
        OK(ledger_begin(led, &fix_err));
        OK(project_all_of_source(led, &inst, &s, 5000, &fix_err));
        OK(ledger_commit(led, &fix_err));
    }
    struct ledger *r = fix_open(LEDGER_READ);
    OK(public_change_get(r, &fix_arena, str_of(event), &c, &fix_err));
    ledger_close(&r);
    assert_holds(c.doc.p, "\"change_type\":\"deleted\"");
    assert_holds(item_of("one-v1"), "\"deprecated\":true");
    assert_true(fresh_of("one").removed_at >= 0);
    assert_int_equal(feed_length(), 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(deletion_is_one_change_with_all_its_documents),
                                       T(deletion_shows_wherever_the_source_shows),
                                       T(nothing_is_deleted_twice_or_before_it_was),
                                       T(waiting_duplicates_are_absorbed),
                                       T(late_news_of_a_deletion_is_a_noop),
                                       T(retired_source_is_not_deleted),
                                       T(return_with_the_same_bytes_is_reinstated),
                                       T(return_with_other_bytes_says_so),
                                       T(deletion_of_a_restricted_source_waits_for_a_person),
                                       T(rejected_deletion_leaves_the_head),
                                       T(deletion_of_bytes_that_were_public_is_held_too),
                                       T(sovereign_deletion_leaves_no_public_trace),
                                       T(deletion_survives_a_change_of_level)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
