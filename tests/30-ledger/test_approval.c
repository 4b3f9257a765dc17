/* approval: two approvers at once, an approval that came too late, one that a handler of another
 * level of trust carries out, and a gate that is closed. */
#include <sys/file.h>
#include <sys/syscall.h>
#include "core/clock.h"
#include "handler/declare.h"
#include "handler/levels.h"
#include "ledger/approval.h"
#include "ledger/replays.h"
#include "ledger/overtake.h"
#include "tests/30-ledger/world.h"

static struct policy policy;

/* Runs once, when somebody is about to take ledger.lock. */
static void (*before_lock)(void);

int flock(int fd, int op)
{
    void (*f)(void) = before_lock;
    if (f && op == LOCK_EX) {
        before_lock = NULL;
        f();
    }
    return (int)syscall(SYS_flock, fd, op);
}

static enum rc decide(struct ledger *l, const char *id, bool approve, const char *reviewer)
{
    const struct approval_ask ask = {
        .id = id, .approve = approve, .reviewer = reviewer, .note = "x", .policy = &policy};
    return approval_decide(l, &ask, 3000, &fix_err);
}

static const char *held_event(struct source *ret, const char *level)
{
    OK(policy_load(&fix_arena, fix_dir, digest_sha256, &policy, &fix_err));
    *ret = add_source("kept", level);
    serve("kept", BODY_A);
    const char *event = found(ret, BODY_A);
    assert_int_equal(drain().held, 1);
    return event;
}

/* A policy under which public sources wait for a licence that they do not have. */
static void hold_all(void)
{
    fix_policy("{\"version\":\"3\",\"levels\":{\"public\":{\"require\":[\"license\"]}}}");
}

static void assert_shown_held(bool held)
{
    assert_int_equal(ask_number("SELECT held FROM public_freshness"), held);
}

static int64_t decided(void)
{
    return ask_number("SELECT count(*) FROM approvals");
}

/* Intake and command line have handles of their own. */
static void one_of_two_approvers_wins(void **state)
{
    struct source s;
    struct ledger *intake = fix_open(LEDGER_INBOX);
    (void)state;
    const char *event = held_event(&s, "restricted");
    OK(decide(intake, event, true, "Ann"));
    assert_rc(decide(led, event, false, "Bob"), RC_CONFLICT);
    assert_int_equal(decided(), 1);
    assert_int_equal(drain().done, 1);
    assert_rc(decide(intake, event, true, "Cy"), RC_CONFLICT);
    assert_head(&s, 1, BODY_A);
    assert_int_equal(ask_number("SELECT count(*) FROM decisions WHERE verdict = 'allow'"), 1);
    assert_int_equal(ask_number("SELECT count(*) FROM decisions WHERE verdict = 'hold'"), 1);
    ledger_close(&intake);
}

static void rejection_by_intake_is_carried_out_by_a_handler(void **state)
{
    struct source s;
    struct ledger *intake = fix_open(LEDGER_INBOX);
    (void)state;
    hold_all();
    const char *event = held_event(&s, "public");
    OK(decide(intake, event, false, "Ann"));
    assert_shown_held(true);
    assert_int_equal(drain().failed, 1);
    assert_shown_held(false);
    assert_string_equal(change_of(event).reason, "REJECTED");
    assert_int_equal(ask_number("SELECT count(*) FROM inbox WHERE result = 'rejected'"), 1);
    assert_int_equal(head_of(&s).version, 0);
    ledger_close(&intake);
}

static void assert_superseded(const char *event)
{
    struct inbox_fate fate;
    OK(inbox_fate(led, event, clock_now(), &fate, &fix_err));
    assert_string_equal(fate.name, "noop");
    assert_string_equal(fate.reason, "SUPERSEDED");
    assert_string_equal(change_of(event).status, "rolled_back");
    assert_int_equal(ask_number("SELECT count(*) FROM inbox WHERE state = 'held'"), 0);
    assert_int_equal(ask_number("SELECT count(*) FROM replay_log WHERE kind = 'run.superseded'"),
                     1);
}

/* The older of two that wait is late news once the newer one is head. */
static void approval_after_a_newer_head_is_a_conflict(void **state)
{
    struct source s;
    (void)state;
    const char *first = arena_strdup(&fix_arena, held_event(&s, "restricted"));
    serve("kept", BODY_B);
    const char *second = found(&s, BODY_B);
    assert_int_equal(drain().held, 1);
    OK(decide(led, second, true, "Ann"));
    assert_int_equal(drain().done, 1);
    assert_rc(decide(led, first, true, "Ann"), RC_CONFLICT);
    assert_rc(decide(led, first, false, "Ann"), RC_CONFLICT); /* nothing is left to decide */
    assert_superseded(first);
    assert_head(&s, 1, BODY_B);
}

/* Head A, and B held. */
static const char *held_after_head(struct source *ret)
{
    OK(decide(led, held_event(ret, "restricted"), true, "Ann"));
    assert_int_equal(drain().done, 1);
    serve("kept", BODY_B);
    const char *event = found(ret, BODY_B);
    assert_int_equal(drain().held, 1);
    return arena_strdup(&fix_arena, event);
}

/* Head A, B is held, and the upstream went back to A: nobody must make B head any more. */
static void a_look_that_finds_the_head_again_supersedes_what_is_held(void **state)
{
    struct source s;
    (void)state;
    const char *event = held_after_head(&s);
    serve("kept", BODY_A);
    (void)found(&s, BODY_A);
    assert_int_equal(drain().noop, 1);
    assert_superseded(event);
    assert_rc(decide(led, event, true, "Ann"), RC_CONFLICT);
    assert_non_null(strstr(fix_err.msg, "superseded"));
    assert_head(&s, 1, BODY_A);
    serve("kept", BODY_B); /* and when it comes once more, it is asked for once more */
    (void)found(&s, BODY_B);
    assert_int_equal(drain().held, 1);
}

/* Approved while the later look was under way: the approval came too late. */
static void an_approval_that_is_overtaken_is_not_carried_out(void **state)
{
    struct source s;
    struct candidate c;
    char run[37];
    bool resumed;
    int64_t n;
    const struct run_tags tags = {"t", "c", "1", "1"};
    (void)state;
    const char *event = held_after_head(&s);
    serve("kept", BODY_A);
    (void)found(&s, BODY_A);
    OK(inbox_claim(led, &fix_arena, "other", clock_now(), HOUR_MS, &tags, &c, run, &resumed,
                   &fix_err));
    OK(decide(led, event, true, "Ann"));
    OK(ledger_begin(led, &fix_err)); /* as it ends */
    OK(overtake_older(led, s.no, c.no, 3000, &n, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_int_equal(n, 1);
    assert_superseded(event);
    OK(inbox_release(led, c.no, c.lease_token, &fix_err));
    assert_int_equal(drain().noop, 1);
    assert_head(&s, 1, BODY_A);
}

/* An approved run that ends without effect is no longer shown as waiting. */
static void an_approved_run_that_fails_is_shown_as_over(void **state)
{
    struct source s;
    (void)state;
    hold_all();
    const char *event = held_event(&s, "public");
    assert_shown_held(true);
    OK(decide(led, event, true, "Ann"));
    OK(ledger_begin(led, &fix_err));
    OK(source_retire(led, s.no, 3000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_int_equal(drain().noop, 1);
    assert_shown_held(false);
}

/* A rejection over HTTP waits for a handler, and stays one. */
static void a_rejection_is_not_overtaken(void **state)
{
    struct source s;
    int64_t n;
    (void)state;
    const char *event = held_after_head(&s);
    OK(decide(led, event, false, "Ann"));
    OK(ledger_begin(led, &fix_err));
    OK(overtake_older(led, s.no, INT64_MAX, 3000, &n, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_int_equal(n, 0);
    assert_int_equal(drain().failed, 1);
}

/* What is held later settles nothing: a person may want both, one after the other. */
static void of_two_that_wait_the_older_can_be_approved_first(void **state)
{
    struct source s;
    (void)state;
    const char *first = held_after_head(&s);
    serve("kept", "{\"version\":\"C\"}");
    const char *second = found(&s, "{\"version\":\"C\"}");
    assert_int_equal(drain().held, 1);
    OK(decide(led, first, true, "Ann"));
    assert_int_equal(drain().done, 1);
    OK(decide(led, second, true, "Ann"));
    assert_int_equal(drain().done, 1);
    assert_head(&s, 3, "{\"version\":\"C\"}");
}

static void nobody_but_a_steward_decides_for_a_sovereign_source(void **state)
{
    struct source s;
    (void)state;
    fix_policy("{\"version\":\"2\"," FIX_LEVELS
               ",\"stewards\":{\"sources\":{\"kept\":[\"Ann\"]}}}");
    const char *event = held_event(&s, "sovereign");
    assert_rc(decide(led, event, true, "Bob"), RC_WRONG_PERSON);
    assert_rc(decide(led, event, false, "Bob"), RC_WRONG_PERSON);
    assert_int_equal(decided(), 0);
    OK(decide(led, event, true, "Ann"));
    assert_int_equal(drain().done, 1);
}

/* ---- what moved between the approval and the promotion --------------------------------------- */

/* The declaration with another level and, by somebody, another title. */
static void set(struct source *s, enum level to, const char *by)
{
    struct source now;
    struct declared d;
    OK(levels_declare(&fix_arena, s, to, &now, &fix_err));
    const struct declare x = {
        .ledger = led, .inst = &inst, .arena = &fix_arena, .by = by, .note = "x", .update = true};
    OK(ledger_begin(led, &fix_err));
    OK(declare_source(&x, &now, clock_now(), &d, &fix_err));
    OK(ledger_commit(led, &fix_err));
    OK(source_by_no(led, &fix_arena, s->no, s, &fix_err));
}

static void held_again(const struct source *s, const char *reason)
{
    char sql[128];
    assert_int_equal(drain().held, 1);
    assert_int_equal(head_of(s).version, 0);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM inbox WHERE state = 'held' AND reason = '%s'",
             reason);
    assert_int_equal(ask_number(sql), 1);
}

static void an_approval_does_not_outlive_the_right_to_it(void **state)
{
    struct source s;
    (void)state;
    fix_policy("{\"version\":\"2\"," FIX_LEVELS
               ",\"stewards\":{\"sources\":{\"kept\":[\"Ann\"]}}}");
    const char *event = held_event(&s, "restricted");
    OK(decide(led, event, true, "Bob"));
    set(&s, LEVEL_SOVEREIGN, NULL);
    held_again(&s, "APPROVAL_REQUIRED");
    assert_rc(decide(led, event, true, "Bob"), RC_WRONG_PERSON);
    OK(decide(led, event, true, "Ann"));
    assert_int_equal(drain().done, 1);
    assert_head(&s, 1, BODY_A);
}

static void an_approval_is_for_what_it_was_given(void **state)
{
    struct source s;
    (void)state;
    const char *event = held_event(&s, "restricted");
    OK(decide(led, event, true, "Bob"));
    fix_policy("{\"version\":\"2\",\"levels\":{\"restricted\":{\"require\":[\"license\"]}}}");
    held_again(&s, "METADATA_MISSING");
    OK(decide(led, event, true, "Bob"));
    assert_int_equal(drain().done, 1);
    assert_head(&s, 1, BODY_A);
}

static void all_who_declared_are_authors(void **state)
{
    struct source s;
    (void)state;
    const char *event = held_event(&s, "restricted");
    set(&s, LEVEL_RESTRICTED, "Ann");
    set(&s, LEVEL_RESTRICTED, "Carl");
    assert_rc(decide(led, event, true, " ann"), RC_WRONG_PERSON);
    assert_rc(decide(led, event, true, "Carl"), RC_WRONG_PERSON);
    OK(decide(led, event, true, "Bob"));
    set(&s, LEVEL_RESTRICTED, "Bob"); /* and not even afterwards */
    held_again(&s, "APPROVAL_REQUIRED");
    OK(decide(led, event, true, "Dee"));
    assert_int_equal(drain().done, 1);
}

static void a_request_ends_with_the_level_it_was_for(void **state)
{
    struct source s;
    char id[LEVEL_ID_MAX], late[LEVEL_ID_MAX];
    (void)state;
    fix_policy("{\"version\":\"2\"," FIX_LEVELS
               ",\"stewards\":{\"sources\":{\"kept\":[\"Bob\"]}}}");
    (void)held_event(&s, "restricted");
    OK(ledger_begin(led, &fix_err));
    OK(level_ask(led, s.no, LEVEL_RESTRICTED, LEVEL_PUBLIC, "Ann", "x", 1, id, &fix_err));
    OK(ledger_commit(led, &fix_err));
    set(&s, LEVEL_SOVEREIGN, NULL);
    assert_rc(decide(led, id, true, "Bob"), RC_CONFLICT);
    OK(ledger_begin(led, &fix_err)); /* as one from before this program may still wait */
    OK(level_ask(led, s.no, LEVEL_RESTRICTED, LEVEL_PUBLIC, "Ann", "x", 2, late, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_rc(decide(led, late, true, "Bob"), RC_CONFLICT);
    OK(decide(led, late, false, "Bob"));
}

/* Approved, and the level raised before a writer came to it. */
static void an_order_for_another_level_changes_nothing(void **state)
{
    struct source s;
    char id[LEVEL_ID_MAX];
    (void)state;
    (void)held_event(&s, "restricted");
    OK(ledger_begin(led, &fix_err));
    OK(level_ask(led, s.no, LEVEL_RESTRICTED, LEVEL_PUBLIC, "Ann", "x", 1, id, &fix_err));
    OK(ledger_commit(led, &fix_err));
    OK(decide(led, id, true, "Bob"));
    set(&s, LEVEL_SOVEREIGN, NULL);
    OK(levels_apply(led, &inst, 4000, &fix_err));
    assert_int_equal(ask_number("SELECT sensitivity = 'sovereign' FROM sources"), 1);
    assert_int_equal(ask_number("SELECT applied_at FROM level_requests"), 4000);
}

static void a_broken_policy_claims_nothing(void **state)
{
    struct worker *w = NULL;
    enum work_result r;
    (void)state;
    struct source s = add_source("kept", "public");
    serve("kept", BODY_A);
    (void)found(&s, BODY_A);
    OK(worker_new(led, &inst, &w, &fix_err));
    fix_policy("{\"version\":\"2\",\"levels\":{\"public\":{\"approval\":1}}}");
    assert_rc(work_one(w, &r, &fix_err), RC_CLOSED);
    assert_string_equal(fix_err.field, "levels.public.approval");
    assert_int_equal(
        ask_number("SELECT count(*) FROM inbox WHERE state = 'ready' AND attempts = 0"), 1);
    assert_int_equal(ask_number("SELECT count(*) FROM runs"), 0);
    fix_policy("{\"version\":\"2\",\"levels\":{\"public\":{}}}");
    OK(work_one(w, &r, &fix_err));
    assert_int_equal(r, WORK_PROMOTED);
    worker_free(&w);
    assert_head(&s, 1, BODY_A);
}

#define TAG "7+01234567"
static void publish_by_another(void)
{
    struct ledger *other = fix_open(LEDGER_WRITE);
    OK(policy_publish(other, &fix_arena, TAG, 5000, &fix_err));
    ledger_close(&other);
}

/* Two handlers read one edit of policy.json: the log has it once. */
static void an_edit_is_told_once(void **state)
{
    (void)state;
    before_lock = publish_by_another;
    OK(policy_publish(led, &fix_arena, TAG, 5000, &fix_err));
    assert_null(before_lock);
    assert_int_equal(
        ask_number("SELECT count(*) FROM replay_log WHERE kind = 'policy' AND ref = '" TAG "'"), 1);
    assert_string_equal(meta_now().policy_version, TAG);
}

static void a_level_is_lowered_by_two(void **state)
{
    struct source s;
    char id[LEVEL_ID_MAX], newer[LEVEL_ID_MAX];
    (void)state;
    (void)held_event(&s, "restricted");
    OK(ledger_begin(led, &fix_err));
    OK(level_ask(led, s.no, LEVEL_RESTRICTED, LEVEL_PUBLIC, "Ann", "x", 1, id, &fix_err));
    OK(level_ask(led, s.no, LEVEL_RESTRICTED, LEVEL_GENERALIZED, "Ann", "x", 2, newer, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_rc(decide(led, id, true, "Bob"), RC_CONFLICT); /* the newer one took its place */
    assert_rc(decide(led, newer, true, " ann"), RC_WRONG_PERSON);
    OK(decide(led, newer, true, "Bob"));
    assert_int_equal(ask_number("SELECT sensitivity = 'restricted' FROM sources"), 1);
    OK(levels_apply(led, &inst, 4000, &fix_err));
    assert_int_equal(ask_number("SELECT sensitivity = 'generalized' FROM sources"), 1);
    assert_rc(decide(led, newer, false, "Cy"), RC_CONFLICT);
}

/* The same for a token over HTTP and for --by on the command line (ledger/replays.h 2). */
static void a_long_replay_wants_somebody_else(void **state)
{
    (void)state;
    const int64_t most = REPLAYS_DAYS_MAX * DAY_MS;
    const struct {
        int64_t until;
        const char *by, *approved_by, *field; /* field: NULL when it is taken */
    } rows[] = {
        {1 + most, "Ann", NULL, NULL},
        {2 + most, "Ann", NULL, "approved_by"},
        {2 + most, "Ann", "Bob", NULL},
        {2 + most, "Ann", " ann ", "approved_by"},
        {2 + most, "Ann", "", "approved_by"},
        {2 + most, "Ann", " \t", "approved_by"},
        {2 + most, "Ann", "B\nb", "approved_by"},
        {2, "Ann", "Ann", "approved_by"}, /* nobody had to; but if, then somebody else */
        {2, "Ann", "Bob", NULL},
        {1, "Ann", "Bob", "until"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err why = {0};
        enum rc rc = replays_check(1, rows[i].until, rows[i].by, rows[i].approved_by, &why);
        assert_rc(rc, rows[i].field ? RC_INVALID : RC_OK);
        if (rows[i].field)
            assert_string_equal(why.field, rows[i].field);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_of_two_approvers_wins),
        TEST(rejection_by_intake_is_carried_out_by_a_handler),
        TEST(approval_after_a_newer_head_is_a_conflict),
        TEST(a_look_that_finds_the_head_again_supersedes_what_is_held),
        TEST(an_approval_that_is_overtaken_is_not_carried_out),
        TEST(an_approved_run_that_fails_is_shown_as_over),
        TEST(a_rejection_is_not_overtaken),
        TEST(of_two_that_wait_the_older_can_be_approved_first),
        TEST(nobody_but_a_steward_decides_for_a_sovereign_source),
        TEST(a_broken_policy_claims_nothing),
        TEST(an_edit_is_told_once),
        TEST(a_level_is_lowered_by_two),
        TEST(an_approval_does_not_outlive_the_right_to_it),
        TEST(an_approval_is_for_what_it_was_given),
        TEST(all_who_declared_are_authors),
        TEST(a_request_ends_with_the_level_it_was_for),
        TEST(an_order_for_another_level_changes_nothing),
        TEST(a_long_replay_wants_somebody_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
