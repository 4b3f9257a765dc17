/* test_family: what happens to an entry of a listing when its own upstream fails, and what may be
 * done to a source that has others under it (handler/children.h, ledger/source.h). */
#include "tests/30-ledger/world.h"

#include "core/listing.h"
#include "detectors/window.h"
#include "handler/children.h"
#include "ledger/unhealthy.h"

/* ---- a listing and its entries --------------------------------------------------------------- */

static struct source add_parent(const char *level)
{
    struct source s = fix_source(
        led,
        arena_printf(&fix_arena,
                     "{\"id\":\"idx\",\"title\":\"Index\",\"url\":\"http://127.0.0.1:%d/index\","
                     "\"detector\":\"manifest\",\"sensitivity\":\"%s\",\"collection\":\"tests\"}",
                     server.port, level));
    OK(ledger_begin(led, &fix_err));
    OK(project_source(led, &inst, &s, 1000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    return s;
}

/* The detector has read a listing of these keys ("a b"), each at /key. */
static const char *listed(const struct source *s, const char *keys)
{
    static struct check_result r;
    struct listing l;
    struct buf b;
    struct str rest = str_of(keys), key;
    listing_init(&l, &fix_arena);
    while (str_next(&rest, ' ', &key)) {
        struct listing_entry e = {.key = arena_str(&fix_arena, key), .version = "1", .size = -1};
        e.url = arena_printf(&fix_arena, "http://127.0.0.1:%d/%s", server.port, e.key);
        OK(listing_add(&l, &e, &fix_err));
    }
    OK(listing_close(&l, &fix_err));
    buf_init(&b, LISTING_BYTES_MAX);
    OK(listing_write(&l, &b, &fix_err));
    const char *text = arena_str(&fix_arena, buf_view(&b));
    buf_release(&b);
    r = fix_result(s, OUTCOME_changed, 0);
    r.detector = "manifest";
    digest_sha256(text, strlen(text), &r.sha);
    r.state.seen_sha = r.sha;
    spool(text, text);
    OK(check_commit(led, &r, 1, 2000, &fix_err));
    return r.event_id;
}

static struct check_state state_of(const struct source *s)
{
    struct check_state st;
    OK(check_state_get(led, s->no, &st, &fix_err));
    return st;
}

static const char *health_of(const struct source *s)
{
    struct health h;
    struct check_state st = state_of(s);
    struct health_facts f = health_facts_of(s, &st);
    health_judge(&f, clock_now(), &h);
    return health_name(h.state);
}

/* ---- an entry that cannot be fetched --------------------------------------------------------- */

/* The listing will not name it again as news, so it is looked at again by itself and shown. */
static void entry_that_fails_is_looked_at_again(void **state)
{
    struct source s = add_parent("public");
    (void)state;
    clock_set(7000);
    inst.conf.max_attempts = 1;
    serve("b", BODY_A);
    listed(&s, "a b"); /* nothing is at /a: 404 */
    struct work_counts n = drain();
    assert_int_equal(n.done, 2);
    assert_int_equal(n.dead, 1);
    struct source a = child_of(&s, "a"), b = child_of(&s, "b");
    struct check_state st = state_of(&a);
    assert_int_equal(st.failures, 1);
    assert_string_equal(st.last_outcome, "gone");
    assert_string_equal(st.last_detail, "GONE");
    assert_int_equal(st.next_check_at, 7000 + 60000);
    assert_string_equal(health_of(&a), "gone");
    assert_int_equal(ask_number("SELECT failures FROM public_checks c JOIN public_sources s USING"
                                " (src_no) WHERE source_id = 'idx-a'"),
                     1);
    /* It goes on by itself while it fails, and by its listing alone when it does not. */
    st.failures = 9;
    struct window_when w = window_next(&a, &st, &inst.conf, 7000);
    assert_string_equal(w.because, "retry");
    assert_true(w.at > 7000 && w.at <= 7000 + DAY_MS);
    st.failures = 0;
    assert_int_equal(window_next(&a, &st, &inst.conf, 7000).at, -1);
    /* Those that went well are as before. */
    st = state_of(&b);
    assert_int_equal(st.failures, 0);
    assert_int_equal(st.next_check_at, -1);
}

/* An upstream that is busy for some seconds does not use up all tries at once. */
static void tries_are_apart(void **state)
{
    struct source s = add_parent("public");
    (void)state;
    clock_set(7000);
    server_route(&server, "/a", KEEP, "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
    listed(&s, "a");
    struct work_counts n = drain();
    struct source a = child_of(&s, "a");
    assert_true(n.retry >= 1);
    assert_int_equal(n.dead, 0);
    assert_int_equal(state_of(&a).failures, 0);
}

/* The date outlives a new declaration of the parent; validation is no reason for one. */
static void only_fetching_makes_it_due(void **state)
{
    struct source s = add_parent("public");
    (void)state;
    clock_set(7000);
    inst.conf.max_attempts = 1;
    serve("bad", "");
    listed(&s, "a bad");
    struct work_counts n = drain();
    assert_int_equal(n.dead, 1);
    assert_int_equal(n.failed, 1);
    struct source a = child_of(&s, "a"), bad = child_of(&s, "bad");
    assert_int_equal(state_of(&bad).failures, 0);
    assert_int_equal(state_of(&bad).next_check_at, -1);
    OK(ledger_begin(led, &fix_err));
    OK(source_put(led, &a, 8000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_int_equal(state_of(&a).next_check_at, 67000);
}

/* ---- an entry that its listing no longer names ----------------------------------------------- */

static enum rc note_if(void *ctx, int64_t src_no, int64_t due_at, struct err *err)
{
    (void)due_at, (void)err;
    if (*(int64_t *)ctx == src_no)
        *(int64_t *)ctx = -1;
    return RC_OK;
}

static bool is_active(const struct source *s)
{
    int64_t no = s->no;
    OK(check_active(led, note_if, &no, &fix_err));
    return no < 0;
}

/* Its own upstream may still answer: the listing is complete, and its word counts. */
static void unlisted_entry_is_not_looked_at(void **state)
{
    struct source s = add_parent("public");
    static struct check_result r;
    (void)state;
    clock_set(7000);
    serve("a", BODY_A);
    serve("b", BODY_B);
    listed(&s, "a b");
    assert_int_equal(drain().done, 3);
    struct source a = child_of(&s, "a");
    assert_int_equal(a.unlisted_at, 0);
    assert_true(is_active(&a));
    listed(&s, "b");
    assert_int_equal(drain().done, 2);
    a = child_of(&s, "a");
    assert_int_equal(a.unlisted_at, 7000);
    assert_false(is_active(&a));
    struct check_state st = state_of(&a);
    st.failures = 1;
    assert_int_equal(window_next(&a, &st, &inst.conf, 8000).at, -1);

    clock_set(8000);
    r = fix_result(&a, OUTCOME_new, 0); /* a check that was under way finds it, and wants another */
    digest_sha256(BODY_A, strlen(BODY_A), &r.sha);
    r.state.next_check_at = 9000;
    OK(check_commit(led, &r, 1, 8000, &fix_err));
    assert_int_equal(drain().noop, 1);
    assert_string_equal(change_of(r.event_id).reason, "UNLISTED");
    assert_true(head_of(&a).deleted);
    assert_int_equal(state_of(&a).next_check_at, -1);

    listed(&s, "a b");
    assert_int_equal(drain().done, 2);
    a = child_of(&s, "a");
    assert_int_equal(a.unlisted_at, 0);
    assert_true(is_active(&a));
    assert_false(head_of(&a).deleted);
}

static const char *reason_of(const struct source *s)
{
    static struct health h;
    struct check_state st = state_of(s);
    struct health_facts f = health_facts_of(s, &st);
    health_judge(&f, clock_now(), &h);
    return h.reason;
}

static void unlisted_entry_says_so(void **state)
{
    struct source s = add_parent("public");
    struct public_source_row row;
    (void)state;
    clock_set(7000);
    serve("a", BODY_A);
    listed(&s, "a");
    assert_int_equal(drain().done, 2);
    listed(&s, "");
    assert_int_equal(drain().done, 2);
    struct source a = child_of(&s, "a");
    assert_string_equal(reason_of(&a), "Removed upstream on 1970-01-01T00:00:07Z.");
    struct ledger *r = fix_open(LEDGER_READ);
    OK(public_source_get(r, &fix_arena, str_of(a.id), &row, &fix_err));
    ledger_close(&r);
    assert_int_equal(row.removed_at, 7000);
}

/* Bytes that waited for a person were read all the same. */
static void withheld_entry_counts_as_looked_at(void **state)
{
    struct source s = add_parent("restricted");
    (void)state;
    clock_set(7000);
    serve("a", BODY_A);
    const char *event = listed(&s, "a");
    assert_int_equal(drain().held, 1);
    fix_decide(led, event, true, "Steward", "yes", 7000);
    assert_int_equal(drain().held, 1);
    struct source a = child_of(&s, "a");
    assert_string_equal(health_of(&a), "ok");
}

/* ---- bytes that two sources share ------------------------------------------------------------ */

static void shared_spool_stays_until_both_have_it(void **state)
{
    struct source one = add_source("one", "public"), two = add_source("two", "public");
    struct worker *w = NULL;
    enum work_result r;
    (void)state;
    spool(BODY_A, BODY_A); /* and the upstream has nothing */
    found(&one, BODY_A);
    found(&two, BODY_A);
    OK(worker_new(led, &inst, &w, &fix_err));
    OK(work_one(w, &r, &fix_err));
    assert_int_equal(r, WORK_PROMOTED);
    assert_int_equal(files_in("spool"), 1);
    OK(work_one(w, &r, &fix_err));
    assert_int_equal(r, WORK_PROMOTED);
    assert_int_equal(files_in("spool"), 0);
    worker_free(&w);
    assert_head(&two, 1, BODY_A);
}

/* ---- what may be declared anew --------------------------------------------------------------- */

/* What `source set` says to this declaration: the field it refuses, "" when none. */
static const char *refused(const struct source *before, const char *level, const char *detector,
                           const char *path)
{
    struct source s;
    yyjson_val *v;
    const char *json =
        arena_printf(&fix_arena,
                     "{\"id\":\"%s\",\"url\":\"http://127.0.0.1:%d%s\",\"detector\":\"%s\","
                     "\"sensitivity\":\"%s\",\"collection\":\"tests\"}",
                     before->id, server.port, path, detector, level);
    OK(json_parse(&fix_arena, str_of(json), 0, "test", &v, &fix_err));
    OK(source_parse(&fix_arena, v, &s, &fix_err));
    enum rc rc = children_allow(led, &fix_arena, before, &s, &fix_err);
    assert_true(rc == RC_OK || rc == RC_INVALID);
    return rc == RC_OK ? "" : fix_err.field;
}

static void parent_stays_what_it_is(void **state)
{
    struct source s = add_parent("public"), single = add_source("single", "public");
    (void)state;
    assert_string_equal(refused(&s, "public", "etag", "/index"), ""); /* nobody is under it */
    serve("a", BODY_A);
    listed(&s, "a");
    assert_int_equal(drain().done, 2);
    assert_string_equal(refused(&s, "public", "manifest", "/moved"), "");
    assert_string_equal(refused(&s, "sovereign", "manifest", "/index"), "");
    assert_string_equal(refused(&s, "public", "etag", "/index"), "detector");
    assert_string_equal(refused(&s, "public", "manifest", "/{year}/index"), "url");
    assert_string_equal(refused(&single, "public", "manifest", "/x"), "");
    assert_string_equal(refused(&single, "public", "etag", "/{year}"), "");
}

static void child_stays_at_its_parents_level_or_above(void **state)
{
    struct source s = add_parent("generalized");
    (void)state;
    serve("a", BODY_A);
    listed(&s, "a");
    assert_int_equal(drain().done, 2);
    struct source a = child_of(&s, "a");
    assert_string_equal(refused(&a, "public", "etag", "/a"), "sensitivity");
    assert_string_equal(refused(&a, "generalized", "etag", "/a"), "");
    assert_string_equal(refused(&a, "sovereign", "etag", "/a"), "");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(entry_that_fails_is_looked_at_again),
        T(tries_are_apart),
        T(only_fetching_makes_it_due),
        T(unlisted_entry_is_not_looked_at),
        T(unlisted_entry_says_so),
        T(withheld_entry_counts_as_looked_at),
        T(shared_spool_stays_until_both_have_it),
        T(parent_stays_what_it_is),
        T(child_stays_at_its_parents_level_or_above),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
