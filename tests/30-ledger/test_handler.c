/* test_handler: runs over a real ledger, store and upstream: one effect per identity, whatever
 * happens (I1, I5, I10), and nothing public that the level withholds (I8).
 *
 * Worker processes are forked with no ledger open; the parent looks at the result. */
#include "tests/30-ledger/world.h"
#include "ledger/unhealthy.h"

#include <signal.h>
#include <sys/wait.h>
#include "handler/job.h"

/* ---- one worker ------------------------------------------------------------------------------ */

static void new_source_is_fetched_and_promoted(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    serve("one", BODY_A);
    const char *event = found(&s, BODY_A);
    assert_int_equal(drain().done, 1);
    assert_head(&s, 1, BODY_A);
    struct change c = change_of(event);
    assert_string_equal(c.status, "finalized");
    assert_string_equal(c.change_type, "new");
    assert_true(c.entry.n && c.delta.n && c.item.n && c.prov.n && c.qa.n);
    assert_int_equal(c.public_seq, 1);
    struct check_state st;
    OK(check_state_get(led, s.no, &st, &fix_err));
    assert_string_equal(st.etag, "\"15\""); /* validators of the bytes that were promoted */
}

static void spool_saves_the_download(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    spool(BODY_A, BODY_A);
    found(&s, BODY_A);
    assert_int_equal(drain().done, 1);
    assert_head(&s, 1, BODY_A);
    assert_int_equal(server_count(&server, &server.requests), 0);
    assert_int_equal(files_in("spool"), 0);
}

/* I2: a spool file is never trusted. */
static void spool_that_lies_is_not_used(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    spool(BODY_A, "{\"version\":\"X\"}");
    serve("one", BODY_A);
    found(&s, BODY_A);
    assert_int_equal(drain().done, 1);
    assert_head(&s, 1, BODY_A);
}

/* What the upstream has now counts, not what the detector saw. */
static void fetched_bytes_count(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    serve("one", BODY_B);
    found(&s, BODY_A);
    assert_int_equal(drain().done, 1);
    assert_head(&s, 1, BODY_B);
}

static void duplicate_is_a_noop(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    serve("one", BODY_A);
    found(&s, BODY_A);
    assert_int_equal(drain().done, 1);
    int requests = server_count(&server, &server.requests);
    const char *event = found(&s, BODY_A);
    assert_int_equal(drain().noop, 1);
    assert_string_equal(change_of(event).reason, "SAME_AS_HEAD");
    assert_true(change_of(event).prov.n > 0); /* evidence */
    assert_int_equal(server_count(&server, &server.requests), requests);
    assert_head(&s, 1, BODY_A);
    assert_int_equal(feed_length(), 1);
}

/* I10 */
static void there_and_back_are_three_changes(void **state)
{
    struct source s = add_source("one", "public");
    const char *const bodies[] = {BODY_A, BODY_B, BODY_A};
    (void)state;
    for (int i = 0; i < 3; i++) {
        serve("one", bodies[i]);
        const char *event = found(&s, bodies[i]);
        assert_int_equal(drain().done, 1);
        assert_head(&s, i + 1, bodies[i]);
        assert_int_equal(change_of(event).version, i + 1);
        assert_string_equal(change_of(event).change_type, i ? "modified" : "new");
    }
    assert_int_equal(feed_length(), 3);
}

/* The same when the handler was away meanwhile. */
static void three_changes_also_when_late(void **state)
{
    struct source s = add_source("one", "public");
    const char *const bodies[] = {BODY_A, BODY_B, BODY_A};
    (void)state;
    spool(BODY_A, BODY_A);
    spool(BODY_B, BODY_B);
    serve("one", BODY_A);
    for (int i = 0; i < 3; i++)
        found(&s, bodies[i]);
    assert_int_equal(drain().done, 3);
    assert_head(&s, 3, BODY_A);
    assert_int_equal(feed_length(), 3);
}

static void late_duplicate_is_a_noop(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    serve("one", BODY_A);
    found(&s, BODY_A);
    assert_int_equal(drain().done, 1);
    serve("one", BODY_B);
    found(&s, BODY_B);
    assert_int_equal(drain().done, 1);
    const char *event = found(&s, BODY_A); /* somebody says A again, but the upstream has B */
    assert_int_equal(drain().noop, 1);
    assert_string_equal(change_of(event).reason, "SAME_BYTES");
    assert_head(&s, 2, BODY_B);
    assert_int_equal(feed_length(), 2);
}

static void wrong_shape_fails_with_evidence(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    serve("one", "<!doctype html><title>Not found</title>");
    const char *event = found(&s, BODY_A);
    assert_int_equal(drain().failed, 1);
    struct change c = change_of(event);
    assert_string_equal(c.status, "rolled_back");
    assert_string_equal(c.reason, "WRONG_SHAPE");
    assert_true(c.prov.n > 0 && c.qa.n > 0 && c.item.n == 0);
    assert_int_equal(head_of(&s).version, 0);
    assert_int_equal(feed_length(), 0);
}

/* The health of the only source, to its operator and to the public. */
static const char *health_now(const struct source *s, const char **ret_public)
{
    struct check_state st;
    struct health h;
    struct public_source_row row;
    struct ledger *r = fix_open(LEDGER_READ);
    OK(check_state_get(led, s->no, &st, &fix_err));
    OK(public_source_get(r, &fix_arena, str_of(s->id), &row, &fix_err));
    ledger_close(&r);
    *ret_public = arena_str(&fix_arena, row.refused);
    struct health_facts f = health_facts_of(s, &st);
    health_judge(&f, 2500, &h);
    return health_name(h.state);
}

/* What a detector calls news and the handler refuses stays a breach, through checks that find it
 * unchanged and through a rebuild, until something is taken in or needs nothing. */
static void what_was_refused_is_a_breach(void **state)
{
    struct source s = add_source("one", "public");
    const char *shown;
    (void)state;
    clock_set(2500);
    serve("one", BODY_A);
    found(&s, BODY_A);
    assert_int_equal(drain().done, 1);
    assert_string_equal(health_now(&s, &shown), "ok");
    for (int again = 0; again < 2; again++) {
        serve("one", "<!doctype html><title>Log in</title>");
        found(&s, "<!doctype html><title>Log in</title>");
        assert_int_equal(drain().failed, 1);
        struct check_result same = fix_result(&s, OUTCOME_unchanged, 1);
        OK(check_commit(led, &same, 1, 2400, &fix_err));
        assert_string_equal(health_now(&s, &shown), "refused");
        assert_string_equal(shown, "WRONG_SHAPE");
        OK(ledger_begin(led, &fix_err));
        OK(project_source(led, &inst, &s, 2450, &fix_err));
        OK(ledger_commit(led, &fix_err));
        assert_string_equal(health_now(&s, &shown), "refused");
        assert_string_equal(shown, "WRONG_SHAPE");
        serve("one", again ? BODY_A : BODY_B);
        found(&s, again ? BODY_A : BODY_B);
        drain();
        assert_string_equal(health_now(&s, &shown), "ok");
        assert_string_equal(shown, "");
    }
}

static void transient_failure_is_tried_again_then_dead(void **state)
{
    struct source s = add_source("one", "public");
    int64_t next, now = 10 * HOUR_MS;
    (void)state;
    inst.conf.max_attempts = 3;
    clock_set(now);
    server_route(&server, "/one", KEEP,
                 "HTTP/1.1 503 Busy\r\nRetry-After: 7200\r\nContent-Length: 4\r\n\r\nbusy");
    const char *event = found(&s, BODY_A);
    assert_int_equal(drain().retry, 1);
    OK(inbox_next_at(led, &next, &fix_err));
    assert_int_equal(next, now + 2 * HOUR_MS); /* as asked for */
    assert_int_equal(drain().retry, 0);
    clock_set(now += 2 * HOUR_MS);
    assert_int_equal(drain().retry, 1);
    clock_set(now += 2 * HOUR_MS);
    assert_int_equal(drain().dead, 1);
    assert_string_equal(change_of(event).reason, "UNAVAILABLE");
    assert_int_equal(head_of(&s).version, 0);
}

static void backoff_grows_to_an_hour(void **state)
{
    (void)state;
    for (int64_t attempts = 1; attempts < 40; attempts++) {
        int64_t cap = attempts > 12 ? HOUR_MS : 1000LL << (attempts - 1);
        int64_t most = 0;
        cap = cap < HOUR_MS ? cap : HOUR_MS;
        for (int i = 0; i < 200; i++) {
            int64_t wait = job_backoff(attempts, -1);
            assert_true(wait >= 0 && wait <= cap);
            most = wait > most ? wait : most;
        }
        assert_true(most > cap / 2); /* full jitter */
    }
    assert_int_equal(job_backoff(1, 5000), 5000);
    assert_int_equal(job_backoff(1, 9 * DAY_MS), DAY_MS);
}

/* ---- holds ----------------------------------------------------------------------------------- */

static void held_then_approved(void **state)
{
    struct source s = add_source("kept", "restricted");
    (void)state;
    serve("kept", BODY_A);
    struct public_meta before = meta_now();
    const char *event = found(&s, BODY_A);
    assert_int_equal(drain().held, 1);
    assert_int_equal(meta_now().generation, before.generation); /* nobody sees that one waits */
    assert_int_equal(head_of(&s).version, 0);
    assert_int_equal(feed_length(), 0);
    assert_int_equal(drain().held, 0); /* waits for a person, not for a worker */
    int requests = server_count(&server, &server.requests);
    serve("kept", BODY_B); /* what was looked at is promoted, not what came later */
    fix_decide(led, event, true, "R. Viewer", "fine", 3000);
    assert_int_equal(drain().done, 1);
    assert_int_equal(server_count(&server, &server.requests), requests);
    assert_head(&s, 1, BODY_A);
    struct ledger *r = fix_open(LEDGER_READ);
    struct public_change c;
    OK(public_change_get(r, &fix_arena, str_of(event), &c, &fix_err));
    assert_null(strstr(c.doc.p, "127.0.0.1"));
    assert_null(strstr(c.doc.p, "sha256"));
    assert_non_null(strstr(c.doc.p, "Title of kept"));
    assert_int_equal(c.finalized_at % DAY_MS, 0);
    struct public_source_row row;
    OK(public_source_get(r, &fix_arena, STR("kept"), &row, &fix_err));
    assert_int_equal(row.d.at % DAY_MS, 0); /* it becomes Last-Modified */
    assert_null(strstr(row.d.doc.p, "127.0.0.1"));
    assert_false(row.shown);
    ledger_close(&r);
}

static void held_then_rejected(void **state)
{
    struct source s = add_source("kept", "restricted");
    (void)state;
    serve("kept", BODY_A);
    const char *event = found(&s, BODY_A);
    assert_int_equal(drain().held, 1);
    fix_decide(led, event, false, "R. Viewer", "not ours to show", 3000);
    struct work_counts n = drain();
    assert_int_equal(n.done + n.noop + n.failed + n.held, 0);
    assert_string_equal(change_of(event).reason, "REJECTED");
    assert_int_equal(head_of(&s).version, 0);
}

/* A rule may ask for a person too; the bytes wait in the restricted tier. */
static void rule_holds_a_public_source(void **state)
{
    static const char ragged[] =
        "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\","
        "\"geometry\":{\"type\":\"Point\",\"coordinates\":[500,1]}}]}";
    struct source s = add_source("odd", "public");
    (void)state;
    serve("odd", ragged);
    const char *event = found(&s, ragged);
    assert_int_equal(drain().held, 1);
    assert_string_equal(change_of(event).reason, "CRS_MISSING_OR_INVALID");
    assert_int_equal(files_in("store/public"), 0);
    fix_decide(led, event, true, "R. Viewer", "projected on purpose", 3000);
    assert_int_equal(drain().done, 1);
    assert_non_null(strstr(change_of(event).entry.p, "\"status\":\"approved\""));
}

static void sovereign_leaves_no_public_trace(void **state)
{
    struct source s = add_source("secret-canary", "sovereign");
    struct public_source_row row;
    struct public_fresh fresh;
    struct public_meta before, after;
    struct ledger *r = fix_open(LEDGER_READ);
    (void)state;
    OK(public_meta_get(r, &fix_arena, &before, &fix_err));
    serve("secret-canary", BODY_A);
    const char *event = found(&s, BODY_A);
    assert_int_equal(drain().held, 1);
    fix_decide(led, event, true, "Steward", "yes", 3000);
    assert_int_equal(drain().done, 1);
    assert_head(&s, 1, BODY_A);
    assert_rc(public_source_get(r, &fix_arena, STR("secret-canary"), &row, &fix_err), RC_NOT_FOUND);
    assert_rc(public_fresh_get(r, &fix_arena, STR("secret-canary"), &fresh, &fix_err),
              RC_NOT_FOUND);
    OK(public_meta_get(r, &fix_arena, &after, &fix_err));
    assert_int_equal(before.last_seq, after.last_seq);
    assert_int_equal(before.generation, after.generation); /* ETags are made of it */
    assert_int_equal(before.changed_at, after.changed_at);
    assert_int_equal(feed_length(), 0);
    assert_int_equal(files_in("store/public"), 0);
    ledger_close(&r);
}

/* Raising the level takes back at once what was public. */
static void raised_level_rewrites_public_rows(void **state)
{
    struct source s = add_source("one", "public");
    struct public_change c;
    (void)state;
    serve("one", BODY_A);
    const char *event = found(&s, BODY_A);
    assert_int_equal(drain().done, 1);
    struct ledger *r = fix_open(LEDGER_READ);
    const enum level levels[] = {LEVEL_GENERALIZED, LEVEL_RESTRICTED, LEVEL_PUBLIC,
                                 LEVEL_SOVEREIGN};
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        struct err none;
        struct public_doc doc;
        s.level = levels[i];
        OK(ledger_begin(led, &fix_err));
        OK(project_all_of_source(led, &inst, &s, 5000, &fix_err));
        OK(ledger_commit(led, &fix_err));
        /* From restricted on the id that tells the second is nobody's any more. */
        enum rc rc = public_change_get(r, &fix_arena, str_of(event), &c, &none);
        assert_rc(rc, levels[i] >= LEVEL_RESTRICTED ? RC_NOT_FOUND : RC_OK);
        if (rc == RC_OK) {
            assert_int_equal(c.seq, 1);
            assert_int_equal(strstr(c.doc.p, "127.0.0.1:") != NULL, levels[i] == LEVEL_PUBLIC);
        }
        rc = public_delta_get(r, &fix_arena, str_of(change_of(event).delta_id), &doc, &none);
        assert_rc(rc, levels[i] <= LEVEL_GENERALIZED ? RC_OK : RC_NOT_FOUND);
    }
    ledger_close(&r);
    s.level = LEVEL_PUBLIC; /* as the stored declaration says, for verify */
    OK(ledger_begin(led, &fix_err));
    OK(project_all_of_source(led, &inst, &s, 5000, &fix_err));
    OK(ledger_commit(led, &fix_err));
}

/* ---- several workers ------------------------------------------------------------------------- */

/* A child with a ledger of its own; its exit status is what fn returns. It starts when the parent
 * closes the gate's writing end, so that several start together. */
static pid_t child(const int gate[2], int (*fn)(void))
{
    char byte;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid != 0)
        return pid;
    close(gate[1]);
    while (read(gate[0], &byte, 1) > 0)
        continue;
    led = NULL;
    if (ledger_open(fix_dir, LEDGER_WRITE, digest_sha256, &led, &fix_err) != RC_OK)
        _exit(99);
    int status = fn();
    ledger_close(&led);
    _exit(status);
}

static int status_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* How many effects this worker had; 100 on an error. */
static int drain_in_child(void)
{
    struct worker *w = NULL;
    struct work_counts n = {0};
    if (worker_new(led, &inst, &w, &fix_err) != RC_OK || work_drain(w, &n, &fix_err) != RC_OK)
        return 100;
    worker_free(&w);
    return (int)n.done;
}

static int race(int workers)
{
    int gate[2], done = 0;
    pid_t pids[16];
    ledger_close(&led);
    assert_int_equal(pipe(gate), 0);
    for (int i = 0; i < workers; i++)
        pids[i] = child(gate, drain_in_child);
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < workers; i++)
        done += status_of(pids[i]);
    led = fix_open(LEDGER_WRITE);
    return done;
}

static void workers_race_on_one_candidate(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    serve("one", BODY_A);
    found(&s, BODY_A);
    assert_int_equal(race(4), 1);
    assert_head(&s, 1, BODY_A);
    assert_int_equal(feed_length(), 1);
}

static void workers_race_on_many_candidates(void **state)
{
    enum { N = 24 };
    struct source s[N];
    (void)state;
    for (int i = 0; i < N; i++) {
        char id[24];
        snprintf(id, sizeof id, "many-%d", i);
        s[i] = add_source(id, "public");
        serve(id, BODY_A);
        found(&s[i], BODY_A);
    }
    assert_int_equal(race(4), N);
    for (int i = 0; i < N; i++)
        assert_head(&s[i], 1, BODY_A);
    assert_int_equal(feed_length(), N);
}

static int until_requested(int n)
{
    for (int i = 0; i < 5000 && server_count(&server, &server.requests) < n; i++)
        poll(NULL, 0, 2);
    return server_count(&server, &server.requests);
}

/* The first answer comes after a while, later ones at once. */
static void serve_slowly_once(const char *id, const char *body)
{
    struct route r = {.manner = KEEP, .uses = 1, .delay_ms = 700};
    snprintf(r.path, sizeof r.path, "/%s", id);
    snprintf(r.reply, sizeof r.reply, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    server_add(&server, r);
    server_route(&server, r.path, KEEP, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(body), body);
}

/* 10 when the lease was found lost, 20 when it had an effect. */
static int one_in_child(void)
{
    struct worker *w = NULL;
    enum work_result r;
    if (worker_new(led, &inst, &w, &fix_err) != RC_OK || work_one(w, &r, &fix_err) != RC_OK)
        return 100;
    bool lost = r == WORK_RETRY && strcmp(work_last(w)->reason, "LEASE_LOST") == 0;
    worker_free(&w);
    return lost ? 10 : r == WORK_PROMOTED ? 20 : 30;
}

/* A worker that is stopped past its lease comes back and finds itself fenced off. */
static void stopped_worker_is_fenced(void **state)
{
    int gate[2];
    struct source s = add_source("one", "public");
    (void)state;
    serve_slowly_once("one", BODY_A);
    const char *event = found(&s, BODY_A);
    ledger_close(&led);
    assert_int_equal(pipe(gate), 0);
    pid_t pid = child(gate, one_in_child);
    close(gate[0]);
    close(gate[1]);
    assert_int_equal(until_requested(1), 1);
    kill(pid, SIGSTOP);
    led = fix_open(LEDGER_WRITE);
    assert_int_equal(drain().done, 0); /* its lock is held, its lease in force */
    clock_set(clock_now() + inst.conf.lease_s * 1000 + 1);
    assert_int_equal(drain().done, 1);
    kill(pid, SIGCONT);
    assert_int_equal(status_of(pid), 10);
    assert_head(&s, 1, BODY_A);
    assert_int_equal(change_of(event).version, 1);
    assert_int_equal(feed_length(), 1);
}

/* A killed worker's lock is free: its work goes on at once, without waiting for the lease. */
static void killed_worker_is_succeeded_at_once(void **state)
{
    int gate[2];
    struct source s = add_source("one", "public");
    (void)state;
    serve_slowly_once("one", BODY_A);
    found(&s, BODY_A);
    ledger_close(&led);
    assert_int_equal(pipe(gate), 0);
    pid_t pid = child(gate, one_in_child);
    close(gate[0]);
    close(gate[1]);
    assert_int_equal(until_requested(1), 1);
    kill(pid, SIGKILL);
    assert_int_equal(status_of(pid), -SIGKILL);
    assert_int_equal(files_in("store/tmp"), 1);
    led = fix_open(LEDGER_WRITE);
    assert_int_equal(drain().done, 1);
    assert_head(&s, 1, BODY_A);
}

/* A transfer longer than the lease keeps it by signs of life. */
static void long_transfer_keeps_its_lease(void **state)
{
    int gate[2];
    struct source s = add_source("one", "public");
    (void)state;
    inst.conf.lease_s = 1;
    struct route r = {.path = "/one", .manner = KEEP, .uses = -1, .delay_ms = 2500};
    snprintf(r.reply, sizeof r.reply, "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n%s", BODY_A);
    server_add(&server, r);
    found(&s, BODY_A);
    ledger_close(&led);
    assert_int_equal(pipe(gate), 0);
    pid_t pid = child(gate, one_in_child);
    close(gate[0]);
    close(gate[1]);
    assert_int_equal(until_requested(1), 1);
    led = fix_open(LEDGER_WRITE);
    int64_t until = clock_mono() + 2000;
    while (clock_mono() < until)
        assert_int_equal(drain().done, 0);
    assert_int_equal(status_of(pid), 20);
    assert_int_equal(server_count(&server, &server.requests), 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(new_source_is_fetched_and_promoted),
                                       T(spool_saves_the_download),
                                       T(spool_that_lies_is_not_used),
                                       T(fetched_bytes_count),
                                       T(duplicate_is_a_noop),
                                       T(there_and_back_are_three_changes),
                                       T(three_changes_also_when_late),
                                       T(late_duplicate_is_a_noop),
                                       T(wrong_shape_fails_with_evidence),
                                       T(what_was_refused_is_a_breach),
                                       T(transient_failure_is_tried_again_then_dead),
                                       cmocka_unit_test(backoff_grows_to_an_hour),
                                       T(held_then_approved),
                                       T(held_then_rejected),
                                       T(rule_holds_a_public_source),
                                       T(sovereign_leaves_no_public_trace),
                                       T(raised_level_rewrites_public_rows),
                                       T(workers_race_on_one_candidate),
                                       T(workers_race_on_many_candidates),
                                       T(stopped_worker_is_fenced),
                                       T(killed_worker_is_succeeded_at_once),
                                       T(long_transfer_keeps_its_lease)};
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
