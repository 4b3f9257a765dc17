/* test_notify: what happens is a notice of the same transaction; each subscriber is told by itself,
 * at least once, and of nothing that its level withholds. N1… are the invariants of
 * ledger/notice.h, B1… those of ledger/breach.h, T1… those of handler/notify.h. */
#include "tests/30-ledger/world.h"

#include "handler/children.h"
#include "handler/notify.h"
#include "handler/outbox.h"
#include "handler/replay.h"
#include "ledger/breach.h"

#define SECRET "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

static struct notify *tell;

static void receiver(const char *path, const char *status)
{
    char full[64];
    snprintf(full, sizeof full, "/%s", path);
    serve(path, "x");
    pthread_mutex_lock(&server.lock);
    for (size_t i = 0; i < server.n_routes; i++)
        if (strcmp(server.routes[i].path, full) == 0)
            server.routes[i].uses = 0;
    pthread_mutex_unlock(&server.lock);
    server_route(&server, full, KEEP, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);
}

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", fix_dir, name);
    unit_write(path, text);
}

/* One subscriber: where it listens, and more members. */
static const char *subscriber(const char *name, const char *more)
{
    return arena_printf(
        &fix_arena, "{\"name\":\"%s\",\"url\":\"http://127.0.0.1:%d/%s\",\"secrets\":[\"s\"]%s}",
        name, server.port, name, more);
}

static void subscribers(const char *list)
{
    write_file(NOTIFY_FILE, arena_printf(&fix_arena, "{\"subscribers\":[%s]}", list));
    notify_free(
        &tell); /* a file of the same size within a tick of the disk's clock looks the same */
    OK(notify_new(led, &inst, &tell, &fix_err));
}

#define ALL ",\"events\":[\"change\",\"hold\",\"dead_letter\",\"breach\",\"conflict\"]"

static int notify_setup(void **state)
{
    char path[96];
    (void)state;
    setup(state);
    snprintf(path, sizeof path, "%s/secrets", fix_dir);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("secrets/s", SECRET "\n");
    inst.conf.breaker_failures = 0;
    OK(notify_new(led, &inst, &tell, &fix_err));
    receiver("ops", "204 Fine");
    return 0;
}

static int notify_teardown(void **state)
{
    notify_free(&tell);
    return teardown(state);
}

/* Until nothing is under way. */
static struct outbox_counts turns(void)
{
    struct outbox_counts n = {0};
    bool more = true;
    while (more)
        OK(notify_turn(tell, &n, &more, &fix_err));
    return n;
}

static int64_t notices(const char *where)
{
    return ask_number(arena_printf(&fix_arena, "SELECT count(*) FROM notices WHERE %s", where));
}

static int64_t deliveries(const char *where)
{
    return ask_number(arena_printf(&fix_arena, "SELECT count(*) FROM deliveries WHERE %s", where));
}

static struct source publish(const char *id, const char *level)
{
    struct source s = add_source(id, level);
    serve(id, BODY_A);
    (void)found(&s, BODY_A);
    (void)drain();
    return s;
}

/* ---- what becomes a notice ------------------------------------------------------------------- */

/* N1 */
static void a_promotion_and_a_hold_are_notices(void **state)
{
    (void)state;
    (void)publish("one", "public");
    assert_int_equal(notices("kind = 'change' AND event_id LIKE 'evt_%'"), 1);
    (void)publish("two", "restricted");
    assert_int_equal(notices("kind = 'hold' AND reason <> ''"), 1);
    assert_int_equal(notices("1"), 2);
}

static void a_dead_letter_is_a_notice(void **state)
{
    (void)state;
    struct source s = add_source("one", "public");
    receiver("one", "503 Busy");
    (void)found(&s, BODY_A);
    inst.conf.max_attempts = 2;
    assert_int_equal(drain().failed + 1, 1); /* a retry */
    assert_int_equal(notices("kind = 'dead_letter'"), 0);
    (void)ask_number("UPDATE inbox SET next_attempt_at = 0");
    assert_int_equal(drain().dead, 1);
    assert_int_equal(notices("kind = 'dead_letter' AND reason = 'UNAVAILABLE'"), 1);
}

/* A candidate that kills its workers. */
static void poison_is_a_notice(void **state)
{
    int64_t n;
    (void)state;
    struct source s = add_source("one", "public");
    const char *event = found(&s, BODY_A);
    OK(ledger_begin(led, &fix_err));
    OK(inbox_poison_event(led, event, 3000, &fix_err));
    assert_int_equal(notices("1"), 0); /* not before the commit */
    OK(ledger_commit(led, &fix_err));
    assert_int_equal(notices("kind = 'dead_letter' AND reason = 'POISON'"), 1);
    OK(inbox_reclaim(led, NULL, 9000, &n, &fix_err));
}

/* N1: what is undone was never told. */
static enum rc fail_late(void *ctx, struct ledger *l, struct err *err)
{
    (void)ctx, (void)l;
    return err_set(err, RC_IO, "", "no");
}
static void an_undone_end_is_no_notice(void **state)
{
    struct candidate c;
    char run[37];
    bool resumed, dead;
    const struct run_tags tags = {"1", "c", "r", "p"};
    (void)state;
    struct source s = add_source("one", "public");
    (void)found(&s, BODY_A);
    OK(inbox_claim(led, &fix_arena, "w", 3000, 1000, &tags, &c, run, &resumed, &fix_err));
    const struct inbox_finish f = {.cand_no = c.no,
                                   .src_no = s.no,
                                   .lease_token = c.lease_token,
                                   .run_id = run,
                                   .end = INBOX_RETRY,
                                   .reason = "UNAVAILABLE",
                                   .max_attempts = 0,
                                   .also = fail_late};
    assert_int_equal(inbox_finish(led, &f, 3000, &dead, &fix_err), RC_IO);
    assert_int_equal(notices("1"), 0);
}

/* The INBOX role, which has no right to anything else of it. */
static void intake_may_add_one(void **state)
{
    (void)state;
    struct source s = add_source("one", "public");
    struct ledger *l = fix_open(LEDGER_INBOX);
    OK(ledger_begin(l, &fix_err));
    OK(notice_put(l, NOTICE_conflict, s.no, "", "SAME_ID", 3000, &fix_err));
    OK(ledger_commit(l, &fix_err));
    assert_int_equal(notices("kind = 'conflict'"), 1);
    int64_t n;
    assert_int_equal(delivery_revive(l, NULL, 1, &n, &fix_err), RC_DENIED);
    ledger_close(&l);
}

/* ---- breaches -------------------------------------------------------------------------------- */

static void check(const struct source *s, enum outcome o, int64_t failures, int64_t now)
{
    struct check_result r = fix_result(s, o, 0);
    OK(check_state_get(led, s->no, &r.state, &fix_err));
    r.state.failures = failures;
    r.state.checked_at = r.state.verified_at = r.ended_at = now;
    r.state.next_check_at = now + HOUR_MS;
    OK(check_commit(led, &r, 1, now, &fix_err));
}

/* B1 */
static void a_breach_is_told_when_it_begins_and_ends(void **state)
{
    (void)state;
    struct source s = add_source("one", "public");
    check(&s, OUTCOME_unchanged, 0, 2000);
    assert_int_equal(notices("1"), 0);
    check(&s, OUTCOME_unavailable, 1, 3000);
    assert_int_equal(notices("kind = 'breach.began' AND reason = 'failing'"), 1);
    check(&s, OUTCOME_unavailable, 2, 4000);
    check(&s, OUTCOME_unavailable, 3, 5000);
    assert_int_equal(notices("1"), 1); /* not every check */
    check(&s, OUTCOME_gone, 4, 6000);
    assert_int_equal(notices("kind = 'breach.began' AND reason = 'gone'"), 1);
    check(&s, OUTCOME_unchanged, 0, 7000);
    check(&s, OUTCOME_unchanged, 0, 8000);
    assert_int_equal(notices("kind = 'breach.ended' AND reason = 'gone'"), 1);
    assert_int_equal(notices("1"), 3);
}

static int64_t sweep(int64_t now)
{
    int64_t n;
    OK(breach_sweep(led, now, &n, &fix_err));
    return n;
}

/* B2, B3 */
static void time_alone_makes_a_breach(void **state)
{
    (void)state;
    struct source s = add_source("one", "public");
    int64_t due = ask_number("SELECT next_check_at FROM source_state");
    assert_int_equal(sweep(due + 1000), 0); /* declared a moment ago */
    assert_int_equal(sweep(due + 2 * HOUR_MS), 1);
    assert_int_equal(notices("kind = 'breach.began' AND reason = 'never_checked'"), 1);
    assert_int_equal(sweep(due + 3 * HOUR_MS), 0);
    check(&s, OUTCOME_unchanged, 0, due + 3 * HOUR_MS);
    assert_int_equal(notices("kind = 'breach.ended'"), 1);
    assert_int_equal(sweep(due + 4 * HOUR_MS), 0);
    assert_int_equal(sweep(due + 9 * HOUR_MS), 1); /* nobody looks any more */
    assert_int_equal(notices("kind = 'breach.began' AND reason = 'overdue'"), 1);
    OK(ledger_begin(led, &fix_err));
    OK(source_retire(led, s.no, due + 10 * HOUR_MS, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_int_equal(sweep(due + 11 * HOUR_MS), 1); /* nor expects it */
    assert_int_equal(sweep(due + 12 * HOUR_MS), 0);
}

/* ---- who is told ----------------------------------------------------------------------------- */

static void told_once_and_gone(void **state)
{
    (void)state;
    subscribers(subscriber("ops", ALL));
    (void)publish("one", "public");
    int before = server_count(&server, &server.requests);
    struct outbox_counts n = turns();
    assert_int_equal(n.told, 1);
    assert_int_equal(server_count(&server, &server.requests) - before, 1);
    assert_true(server_saw(&server, "webhook-signature: v1,"));
    assert_true(server_saw(&server, "webhook-id: msg_"));
    assert_true(server_saw(&server, "\"type\":\"change\""));
    assert_int_equal(notices("1") + deliveries("1"), 0);
    assert_int_equal(turns().told, 0);
}

/* Nobody wants it: the notice goes. Without a file as well. */
static void what_nobody_wants_goes(void **state)
{
    (void)state;
    (void)publish("one", "public");
    assert_int_equal(turns().told, 0);
    assert_int_equal(notices("1"), 0);
    subscribers(subscriber("ops", ",\"events\":[\"hold\"]"));
    (void)publish("two", "public");
    assert_int_equal(turns().told, 0);
    assert_int_equal(notices("1"), 0);
}

/* I8: none of it, to anybody but stewards, and these get ids. */
static void withheld_sources_are_not_told(void **state)
{
    (void)state;
    receiver("stw", "204 Fine");
    subscribers(arena_printf(&fix_arena, "%s,%s", subscriber("ops", ALL),
                             subscriber("stw", ALL ",\"audience\":\"stewards\"")));
    (void)publish("hidden", "sovereign");
    assert_int_equal(turns().told, 0);
    (void)publish("secretive", "restricted");
    assert_int_equal(turns().told, 1);
    assert_true(server_saw(&server, "POST /stw"));
    assert_true(server_saw(&server, "\"source_id\":\"secretive\""));
    assert_false(server_saw(&server, "Title of"));
    assert_false(server_saw(&server, "reason"));
}

/* T2: a level that is raised while a delivery waits. */
static void a_raised_level_silences_what_waits(void **state)
{
    (void)state;
    receiver("ops", "503 Busy");
    subscribers(subscriber("ops", ALL));
    struct source s = publish("one", "public");
    assert_int_equal(turns().failed, 1);
    (void)s;
    (void)ask_number("UPDATE sources SET sensitivity = 'sovereign',"
                     " spec = replace(spec, '\"public\"', '\"sovereign\"')");
    (void)ask_number("DELETE FROM public_changes");
    (void)ask_number("UPDATE deliveries SET next_attempt_at = 0");
    receiver("ops", "204 Fine");
    int before = server_count(&server, &server.requests);
    assert_int_equal(turns().told, 0);
    assert_int_equal(server_count(&server, &server.requests), before);
    assert_int_equal(notices("1") + deliveries("1"), 0);
    for (const char *t = "changes\0sources\0freshness\0items\0prov\0deltas\0assets\0checks\0"; *t;
         t += strlen(t) + 1)
        (void)ask_number(arena_printf(&fix_arena, "DELETE FROM public_%s", t));
}

/* T1: one never answers, one always refuses; the third is told of everything meanwhile. */
static void a_slow_one_holds_up_nobody(void **state)
{
    (void)state;
    server_route(&server, "/slow", HANG, "HTTP/1.1 200 OK\r\n");
    receiver("bad", "500 No");
    subscribers(arena_printf(&fix_arena, "%s,%s,%s", subscriber("slow", ALL),
                             subscriber("bad", ALL), subscriber("ops", ALL)));
    struct outbox_counts n = {0};
    bool more;
    char id[16];
    for (int i = 0; i < 12; i++) {
        snprintf(id, sizeof id, "s%d", i);
        (void)publish(id, "public");
    }
    int64_t from = clock_mono();
    while (deliveries("subscriber = 'ops'") || notices("sorted = 0")) {
        OK(notify_turn(tell, &n, &more, &fix_err));
        assert_true(clock_mono() - from <
                    10000); /* less than one answer of the slow one may take */
    }
    assert_int_equal(n.told, 12);
    assert_int_equal(deliveries("subscriber = 'slow' AND attempts = 0"), 12);
    assert_int_equal(deliveries("subscriber = 'bad'"), 12);
}

/* T1, T3: two hooks of one host. The pause is of the one that was told to wait, for all that
 * it gets. */
static void a_pause_is_of_one_subscriber(void **state)
{
    (void)state;
    receiver("busy", "429 Slow\r\nRetry-After: 86400");
    subscribers(arena_printf(&fix_arena, "%s,%s", subscriber("busy", ALL), subscriber("ops", ALL)));
    (void)publish("one", "public");
    struct outbox_counts n = turns();
    assert_int_equal(n.told, 1);
    assert_int_equal(n.failed, 1);
    (void)publish("two", "public");
    int before = server_count(&server, &server.requests);
    assert_int_equal(turns().told, 1);
    assert_int_equal(server_count(&server, &server.requests), before + 1);
    assert_int_equal(deliveries("subscriber = 'ops'"), 0);
    assert_int_equal(deliveries("subscriber = 'busy' AND attempts = 1"), 1);
    assert_int_equal(deliveries("attempts = 0 AND detail LIKE '%left alone%'"), 1);
    int64_t next = ask_number("SELECT min(next_attempt_at) FROM deliveries");
    assert_in_range(next, clock_now() + DAY_MS - 60000, clock_now() + DAY_MS);
}

/* N3, T3 */
static void given_up_and_revived(void **state)
{
    (void)state;
    receiver("ops", "500 No");
    subscribers(subscriber("ops", ALL));
    (void)publish("one", "public");
    struct outbox_counts n = {0};
    for (int i = 0; i < OUTBOX_TRIES_MAX; i++) {
        (void)ask_number("UPDATE deliveries SET next_attempt_at = 0");
        n = turns();
        assert_int_equal(n.failed + n.dead, 1);
        (void)ask_number("UPDATE deliveries SET next_attempt_at = 4000000000000");
    }
    assert_int_equal(n.dead, 1);
    assert_int_equal(deliveries("dead_at IS NOT NULL AND detail LIKE '%500%'"), 1);
    int64_t id = ask_number("SELECT sum(unicode(notice_id)) FROM notices");
    receiver("ops", "204 Fine");
    (void)ask_number("UPDATE deliveries SET next_attempt_at = 0");
    assert_int_equal(turns().told, 0); /* dead is dead */
    int64_t revived;
    OK(delivery_revive(led, "somebody", clock_now(), &revived, &fix_err));
    assert_int_equal(revived, 0);
    OK(delivery_revive(led, "ops", clock_now(), &revived, &fix_err));
    assert_int_equal(revived, 1);
    assert_int_equal(ask_number("SELECT sum(unicode(notice_id)) FROM notices"),
                     id); /* the same id */
    assert_int_equal(turns().told, 1);
}

/* Each by itself: one takes it, one has it dead; the notice stays for the latter alone. */
static void the_notice_stays_for_who_lacks_it(void **state)
{
    (void)state;
    receiver("gone", "410 Gone");
    subscribers(arena_printf(&fix_arena, "%s,%s", subscriber("gone", ALL), subscriber("ops", ALL)));
    (void)publish("one", "public");
    struct outbox_counts n = turns();
    assert_int_equal(n.told, 1);
    assert_int_equal(n.dead, 1); /* 410: at once */
    assert_int_equal(notices("1"), 1);
    assert_int_equal(deliveries("subscriber = 'gone' AND dead_at IS NOT NULL"), 1);
    subscribers(subscriber("ops", ALL)); /* taken out of the file */
    assert_int_equal(turns().told, 0);
    assert_int_equal(notices("1") + deliveries("1"), 0);
}

/* T4 */
static void a_wrong_file_tells_nobody_and_loses_nothing(void **state)
{
    (void)state;
    subscribers(subscriber("ops", ALL ",\"secretz\":1"));
    (void)publish("one", "public");
    assert_int_equal(turns().told, 0);
    assert_non_null(strstr(notify_wrong(tell), "ops.secretz"));
    assert_int_equal(notices("sorted = 0"), 1);
    subscribers(subscriber("ops", ALL ",\"enabled\":false"));
    assert_int_equal(turns().told, 0);
    assert_string_equal(notify_wrong(tell), "");
    assert_int_equal(deliveries("subscriber = 'ops'"), 1); /* it waits */
    subscribers(subscriber("ops", ALL));
    assert_int_equal(turns().told, 1);
}

/* A missing secret is a failure like another; its value is in no row. */
static void a_missing_secret_is_told_by_name(void **state)
{
    (void)state;
    subscribers(subscriber("ops", ALL));
    write_file("secrets/s", "not a secret of this kind");
    (void)publish("one", "public");
    assert_int_equal(turns().failed, 1);
    assert_int_equal(deliveries("detail LIKE '%secrets/s%'"), 1);
    assert_int_equal(deliveries("detail LIKE '%this kind%'"), 0);
    write_file("secrets/s", SECRET);
    (void)ask_number("UPDATE deliveries SET next_attempt_at = 0");
    assert_int_equal(turns().told, 1);
}

/* N4 */
static void a_replay_tells_nothing(void **state)
{
    struct source s = add_source("one", "public");
    const struct replay_row row = {.seq = 1};
    (void)state;
    replay_script(led, &row);
    OK(ledger_begin(led, &fix_err));
    OK(notice_put(led, NOTICE_change, s.no, "evt", "", 1, &fix_err));
    OK(ledger_commit(led, &fix_err));
    replay_script(led, NULL);
    assert_int_equal(notices("1"), 0);
}

/* I8: counted for /metrics without withheld ones. */
static void metrics_count_public_ones(void **state)
{
    (void)state;
    receiver("stw", "500 No");
    subscribers(subscriber("stw", ALL ",\"audience\":\"stewards\""));
    (void)publish("secretive", "restricted");
    (void)turns();
    OK(outbox_count(led, clock_now(), &fix_err));
    assert_int_equal(ask_number("SELECT count(*) FROM public_outbox WHERE kind = 'notify'"), 0);
    (void)publish("open", "public");
    (void)turns();
    OK(outbox_count(led, clock_now(), &fix_err));
    assert_int_equal(ask_number("SELECT open FROM public_outbox WHERE kind = 'notify'"), 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, notify_setup, notify_teardown)
    const struct CMUnitTest tests[] = {T(a_promotion_and_a_hold_are_notices),
                                       T(a_dead_letter_is_a_notice),
                                       T(poison_is_a_notice),
                                       T(an_undone_end_is_no_notice),
                                       T(intake_may_add_one),
                                       T(a_breach_is_told_when_it_begins_and_ends),
                                       T(time_alone_makes_a_breach),
                                       T(told_once_and_gone),
                                       T(what_nobody_wants_goes),
                                       T(withheld_sources_are_not_told),
                                       T(a_raised_level_silences_what_waits),
                                       T(a_slow_one_holds_up_nobody),
                                       T(a_pause_is_of_one_subscriber),
                                       T(given_up_and_revived),
                                       T(the_notice_stays_for_who_lacks_it),
                                       T(a_wrong_file_tells_nobody_and_loses_nothing),
                                       T(a_missing_secret_is_told_by_name),
                                       T(a_replay_tells_nothing),
                                       T(metrics_count_public_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
