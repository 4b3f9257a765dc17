/* test_dlq: candidates that are given up, why, and what a person decides on them. */
#include "tests/30-ledger/world.h"

#include "handler/job.h"
#include "ledger/deadletter.h"

static void serve_status(const char *id, const char *head)
{
    char path[64];
    snprintf(path, sizeof path, "/%s", id);
    serve(id, "x");
    pthread_mutex_lock(&server.lock);
    for (size_t i = 0; i < server.n_routes; i++)
        if (strcmp(server.routes[i].path, path) == 0)
            server.routes[i].uses = 0;
    pthread_mutex_unlock(&server.lock);
    server_route(&server, path, KEEP, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", head);
}

/* One try. */
static struct work_counts attempt(void)
{
    (void)ask_number("UPDATE inbox SET next_attempt_at = 0 WHERE state = 'ready'");
    return drain();
}

static const char *die(const struct source *s)
{
    serve_status(s->id, "503 Busy");
    const char *event = arena_strdup(&fix_arena, found(s, BODY_A));
    inst.conf.max_attempts = 2;
    /* The second try may come in the same drain: its pause is random, down to nothing. */
    struct work_counts first = attempt(), second = attempt();
    assert_int_equal(first.retry + second.retry, 1);
    assert_int_equal(first.dead + second.dead, 1);
    return event;
}

static enum rc decide(const char *event, const char *drop)
{
    const struct dead_decision d = {.event_id = event, .by = "Tester \"T\"", .drop = drop};
    return dead_decide(led, &d, 5000, &fix_err);
}

static enum rc count_run(void *ctx, const struct dead_run *r, struct err *err)
{
    (void)err;
    assert_string_equal(r->reason, "UNAVAILABLE");
    assert_true(r->ended_at >= r->started_at);
    ++*(int *)ctx;
    return RC_OK;
}

/* ---- dying ----------------------------------------------------------------------------------- */

static void dead_letter_has_its_reason_and_history(void **state)
{
    struct source s = add_source("one", "public");
    struct candidate c;
    int runs = 0;
    (void)state;
    const char *event = die(&s);
    OK(dead_get(led, &fix_arena, event, &c, &fix_err));
    assert_string_equal(c.reason, "UNAVAILABLE");
    assert_int_equal(c.attempts, 2);
    OK(dead_each_run(led, c.no, count_run, &runs, &fix_err));
    assert_int_equal(runs, 2);
    assert_int_equal(ask_number("SELECT count(*) FROM replay_log WHERE kind = 'run.retry'"), 1);
    assert_int_equal(ask_number("SELECT count(*) FROM replay_log WHERE kind = 'run.dead'"), 1);
}

static void transient_failure_waits(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    clock_set(1782986400000LL);
    inst.conf.max_attempts = 6;
    serve_status("one", "503 Busy\r\nRetry-After: 120");
    found(&s, BODY_A);
    assert_int_equal(attempt().retry, 1);
    assert_int_equal(ask_number("SELECT next_attempt_at FROM inbox"), 1782986400000LL + 120000);
    serve_status("one", "503 Busy");
    int64_t latest = 0;
    for (int i = 0; i < 4; i++) {
        assert_true(attempt().retry >= 1);
        int64_t wait = ask_number("SELECT next_attempt_at FROM inbox") - 1782986400000LL;
        assert_true(wait >= 0 && wait <= 32000);
        latest = wait > latest ? wait : latest;
    }
    assert_true(latest > 0); /* full jitter: four zeros in a row do not happen */
}

static void waiting_grows_and_is_capped(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        assert_in_range(job_backoff(1, -1), 0, 1000);
        assert_in_range(job_backoff(4, -1), 0, 8000);
        assert_in_range(job_backoff(100, -1), 0, 3600000);
        assert_in_range(job_backoff(1, 5000), 5000, 5000);
        assert_in_range(job_backoff(1, 30 * DAY_MS), DAY_MS, DAY_MS);
    }
}

static void deterministic_failure_is_not_tried_again(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    inst.conf.max_attempts = 6;
    serve("one", "<html><body>error</body></html>");
    found(&s, BODY_A);
    assert_int_equal(attempt().failed, 1);
    assert_int_equal(ask_number("SELECT count(*) FROM inbox WHERE state = 'done'"), 1);
}

static void claim_and_die(int64_t now)
{
    struct candidate c;
    char run[37];
    bool resumed;
    int64_t n;
    OK(inbox_claim(led, &fix_arena, "worker-9", now, 1000, &fix_tags, &c, run, &resumed, &fix_err));
    OK(inbox_reclaim(led, "worker-9", now, &n, &fix_err));
    assert_int_equal(n, 1);
}

static void poison_ends_here(void **state)
{
    struct source s = add_source("one", "public");
    struct candidate c;
    (void)state;
    const char *event = found(&s, BODY_A);
    for (int i = 0; i < 9; i++)
        claim_and_die(5000);
    assert_rc(dead_get(led, &fix_arena, event, &c, &fix_err), RC_CONFLICT);
    claim_and_die(5000);
    OK(dead_get(led, &fix_arena, event, &c, &fix_err));
    assert_string_equal(c.reason, "POISON");
    assert_string_equal(change_of(event).status, "rolled_back");
    assert_int_equal(ask_number("SELECT count(*) FROM replay_log WHERE kind = 'run.dead'"), 1);
}

/* A power cut is not the candidate's fault. */
static void deaths_of_a_worker_use_up_no_attempts(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    inst.conf.max_attempts = 2;
    serve_status("one", "503 Busy");
    found(&s, BODY_A);
    clock_set(1782986400000LL); /* so that the pause before the second try does not pass */
    for (int i = 0; i < 5; i++)
        claim_and_die(5000);
    assert_int_equal(attempt().retry, 1);
    for (int i = 0; i < 9; i++) /* in a row: an end in between starts the count anew */
        claim_and_die(INT64_C(1) << 45);
    assert_int_equal(attempt().dead, 1);
    assert_int_equal(ask_number("SELECT reason = 'UNAVAILABLE' FROM inbox"), 1);
}

/* ---- deciding -------------------------------------------------------------------------------- */

static void retry_starts_anew(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    const char *event = die(&s);
    OK(decide(event, NULL));
    assert_int_equal(ask_number("SELECT attempts FROM inbox"), 0);
    assert_int_equal(drain().retry, 1); /* it has all its tries again */
    serve("one", BODY_A);
    assert_int_equal(attempt().done, 1);
    assert_head(&s, 1, BODY_A);
    assert_string_equal(change_of(event).status, "finalized");
    assert_int_equal(ask_number("SELECT count(*) FROM replay_log WHERE kind = 'dead.retry'"), 1);
    assert_rc(decide(event, NULL), RC_CONFLICT);
}

static void retry_of_late_news_is_refused(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    const char *event = die(&s);
    serve("one", BODY_B);
    found(&s, BODY_B);
    assert_int_equal(drain().done, 1);
    assert_rc(decide(event, NULL), RC_CONFLICT);
    assert_non_null(strstr(fix_err.msg, "drop"));
    OK(decide(event, "late"));
}

static void drop_is_for_good_and_on_record(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    const char *event = die(&s);
    assert_rc(decide(event, " "), RC_INVALID);
    OK(decide(event, "upstream says \"never\""));
    assert_int_equal(ask_number("SELECT state = 'done' AND result = 'rejected' FROM inbox"), 1);
    assert_int_equal(ask_number("SELECT body ->> '$.reason' = 'upstream says \"never\"' AND"
                                " body ->> '$.by' = 'Tester \"T\"' FROM replay_log"
                                " WHERE kind = 'dead.drop'"),
                     1);
    assert_rc(decide(event, "again"), RC_CONFLICT);
    assert_rc(decide("evt_none", NULL), RC_NOT_FOUND);
}

/* Nothing of it needs more than the role of the intake. */
static void intake_decides(void **state)
{
    struct source s = add_source("one", "public");
    struct candidate c;
    int runs = 0;
    (void)state;
    const char *event = die(&s);
    struct ledger *in = fix_open(LEDGER_INBOX);
    struct token t = {.no = 1, .name = "ops"};
    struct dead_decision d = {.event_id = event, .by = "ops"};
    d.key = (struct request_key){"dead-letter", &t, STR("k"), STR("{}")};
    OK(dead_get(in, &fix_arena, event, &c, &fix_err));
    OK(dead_each_run(in, c.no, count_run, &runs, &fix_err));
    OK(dead_decide(in, &d, 5000, &fix_err));
    OK(dead_decide(in, &d, 5000, &fix_err)); /* repeated, not decided twice */
    assert_int_equal(ask_number("SELECT count(*) FROM replay_log WHERE kind = 'dead.retry'"), 1);
    ledger_close(&in);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(dead_letter_has_its_reason_and_history),
                                       T(transient_failure_waits),
                                       T(waiting_grows_and_is_capped),
                                       T(deterministic_failure_is_not_tried_again),
                                       T(poison_ends_here),
                                       T(deaths_of_a_worker_use_up_no_attempts),
                                       T(retry_starts_anew),
                                       T(retry_of_late_news_is_refused),
                                       T(drop_is_for_good_and_on_record),
                                       T(intake_decides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
