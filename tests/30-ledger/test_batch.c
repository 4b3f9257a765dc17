/* batch: several candidates in hand at once. What happens to one is its own affair; what is durable
 * together is so all or not at all; and a candidate that kills workers takes no others with it. */
#include <signal.h>
#include "handler/levels.h"
#include "world.h"

enum { N = 10 };
static int ends[6]; /* by work_result, since the test began */

static int begin(void **state)
{
    memset(ends, 0, sizeof ends);
    return setup(state);
}

static struct source arrived(const char *id)
{
    struct source s = add_source(id, "public");
    spool(BODY_A, BODY_A);
    (void)found(&s, BODY_A);
    return s;
}

static void many_arrived(int n)
{
    char id[16];
    for (int i = 0; i < n; i++) {
        snprintf(id, sizeof id, "n%02d", i);
        (void)arrived(id);
    }
}

static struct source arrives_slowly(const char *id)
{
    struct source s = add_source(id, "public");
    struct route r = {.manner = KEEP, .uses = 9, .delay_ms = 400};
    snprintf(r.path, sizeof r.path, "/%s", id);
    snprintf(r.reply, sizeof r.reply, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(BODY_B), BODY_B);
    server_add(&server, r);
    (void)found(&s, BODY_B);
    return s;
}

static void count_end(void *ctx, const struct work_end *end)
{
    (void)ctx;
    ends[end->result]++;
}

/* Until one more has ended. */
static void until_ended(struct worker *w)
{
    int before = 0, now = 0;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        before += ends[i];
    for (; now <= before; now = ends[0] + ends[1] + ends[2] + ends[3] + ends[4] + ends[5])
        OK(work_some(w, count_end, NULL, &fix_err));
}

static int64_t leased(void)
{
    return ask_number("SELECT count(*) FROM inbox WHERE state = 'leased'");
}

/* ---- together -------------------------------------------------------------------------------- */

static void many_are_one_commit(void **state)
{
    (void)state;
    struct worker *w = NULL;
    many_arrived(N);
    OK(worker_new(led, &inst, &w, &fix_err));
    OK(work_some(w, count_end, NULL, &fix_err));
    worker_free(&w);
    assert_true(ends[WORK_PROMOTED] > 1);
    assert_int_equal(ask_number("SELECT count(DISTINCT gen) FROM public_changes"), 1);
    assert_int_equal(drain().done + ends[WORK_PROMOTED], N);
    assert_int_equal(feed_length(), N);
}

/* What the last commit claimed for us and was not begun is given back as if nobody had taken it;
 * who is told to stop leaves nothing leased, and the next worker need not wait for a lease to
 * run out. */
static void claim_not_begun_is_given_back(void **state)
{
    enum { MANY = 40 };
    struct worker *w = NULL;
    (void)state;
    many_arrived(MANY);
    OK(worker_new(led, &inst, &w, &fix_err));
    OK(work_some(w, count_end, NULL, &fix_err));
    assert_true(leased() > 0); /* by the commit that ended the others */
    OK(work_finish(w, count_end, NULL, &fix_err));
    assert_int_equal(leased(), 0);
    int64_t ready = ask_number("SELECT count(*) FROM inbox WHERE state = 'ready'");
    assert_true(ready > 0);
    assert_int_equal(ready, MANY - ends[WORK_PROMOTED]);
    assert_int_equal(ask_number("SELECT sum(attempts + crashes) FROM inbox WHERE state = 'ready'"),
                     0);
    worker_free(&w);
    assert_int_equal(drain().done, ready);
    assert_int_equal(feed_length(), MANY);
}

/* The database refuses one of them: the others are promoted, and it ends as it would have alone. */
static void one_that_is_refused_stays_alone(void **state)
{
    struct work_counts n;
    (void)state;
    many_arrived(N);
    inst.conf.max_attempts = 1;
    (void)ask_number("CREATE TRIGGER refuse BEFORE INSERT ON heads WHEN NEW.src_no = 4"
                     " BEGIN SELECT RAISE (ABORT, 'refused by the test'); END");
    n = drain();
    assert_int_equal(n.done, N - 1);
    assert_int_equal(n.dead, 1);
    (void)ask_number("DROP TRIGGER refuse");
    assert_int_equal(feed_length(), N - 1);
    assert_int_equal(ask_number("SELECT count(*) FROM inbox WHERE state = 'dead' AND src_no = 4"),
                     1);
}

/* ---- beside each other ----------------------------------------------------------------------- */

static void slow_transfer_holds_nobody_up(void **state)
{
    struct worker *w = NULL;
    (void)state;
    struct source slow = arrives_slowly("slow");
    many_arrived(N);
    OK(worker_new(led, &inst, &w, &fix_err));
    while (ends[WORK_PROMOTED] < N)
        OK(work_some(w, count_end, NULL, &fix_err));
    assert_int_equal(leased(), 1);
    assert_int_equal(head_of(&slow).version, 0);
    OK(work_finish(w, count_end, NULL, &fix_err)); /* it was begun */
    assert_int_equal(ends[WORK_PROMOTED], N + 1);
    worker_free(&w);
    assert_head(&slow, 1, BODY_B);
}

/* Documents that were made for a public source are not written for one that is none any more. */
static void level_raised_meanwhile_shows_nothing(void **state)
{
    struct worker *w = NULL;
    struct source raised;
    (void)state;
    struct source slow = arrives_slowly("slow");
    (void)arrived("fast");
    OK(worker_new(led, &inst, &w, &fix_err));
    until_ended(w);
    assert_int_equal(ends[WORK_PROMOTED], 1);
    assert_int_equal(leased(), 1);
    OK(levels_declare(&fix_arena, &slow, LEVEL_SOVEREIGN, &raised, &fix_err));
    OK(ledger_begin(led, &fix_err));
    OK(source_put(led, &raised, 5000, &fix_err));
    OK(project_all_of_source(led, &inst, &raised, 5000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    until_ended(w);
    assert_int_equal(ends[WORK_RETRY], 1);
    worker_free(&w);
    assert_int_equal(head_of(&slow).version, 0);
    assert_int_equal(feed_length(), 1);
    assert_int_equal(ask_number("SELECT count(*) FROM public_sources WHERE source_id = 'slow'"), 0);
}

/* ---- poison ---------------------------------------------------------------------------------- */

/* A worker claims all that it may have at once, and dies. How many it had. */
static int claim_all_and_die(void)
{
    struct candidate c = {0};
    char run[37];
    bool resumed;
    int64_t freed;
    int n = 0;
    OK(ledger_begin(led, &fix_err));
    while (!c.suspect && inbox_claim_next(led, &fix_arena, "worker-9", 5000, 1000, &fix_tags, n > 0,
                                          &c, run, &resumed, &fix_err) == RC_OK)
        n++;
    OK(ledger_commit(led, &fix_err));
    OK(inbox_reclaim(led, "worker-9", 5000, &freed, &fix_err));
    assert_int_equal(freed, n);
    return n;
}

static void poison_takes_no_others_along(void **state)
{
    (void)state;
    many_arrived(5);
    for (int i = 0; i < 3; i++)
        assert_int_equal(claim_all_and_die(), 5);
    for (int i = 0; i < 7; i++)
        assert_int_equal(claim_all_and_die(), 1); /* suspects go alone */
    assert_int_equal(ask_number("SELECT count(*) FROM inbox WHERE reason = 'POISON'"), 1);
    assert_int_equal(ask_number("SELECT max(crashes) FROM inbox WHERE state = 'ready'"), 3);
    assert_int_equal(drain().done, 4);
}

static void suspect_is_alone_in_hand(void **state)
{
    struct worker *w = NULL;
    (void)state;
    struct source suspect = arrived("suspect");
    for (int i = 0; i < 3; i++)
        assert_int_equal(claim_all_and_die(), 1);
    struct source slow = arrives_slowly("slow");
    OK(worker_new(led, &inst, &w, &fix_err));
    until_ended(w);
    assert_int_equal(head_of(&slow).version,
                     1); /* the suspect, ready all the while, was not begun */
    assert_int_equal(head_of(&suspect).version, 0);
    assert_int_equal(leased(), 0);
    until_ended(w);
    assert_int_equal(head_of(&suspect).version, 1);
    worker_free(&w);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, teardown)
    const struct CMUnitTest tests[] = {T(many_are_one_commit),
                                       T(claim_not_begun_is_given_back),
                                       T(one_that_is_refused_stays_alone),
                                       T(slow_transfer_holds_nobody_up),
                                       T(level_raised_meanwhile_shows_nothing),
                                       T(poison_takes_no_others_along),
                                       T(suspect_is_alone_in_hand)};
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
