/* detect and look: whole checks against a small server and a real ledger. What the answers mean is
 * tested in test_etag.c; here it is about what becomes of them. D1… are the invariants of
 * detectors/detect.h. */
#include "tests/10-unit/detect_world.h"

static void first_and_second_look(void **state)
{
    (void)state;
    struct source s = source("a", "/a", "");
    char hex[SHA256_HEX];
    struct sha256 sha;
    check(&s, "new");
    digest_sha256("hello", 5, &sha);
    sha256_hex(&sha, hex);
    assert_true(t.last.has_sha && sha256_eq(&t.last.sha, &sha));
    assert_int_equal(t.last.bytes_in, 5);
    assert_int_equal(t.last.http, 200);
    assert_true(str_starts(str_of(t.last.event_id), STR("evt_")));
    assert_int_equal(spooled(hex), 1); /* for the handler */
    assert_int_equal(spooled("tmp-"), 0);
    assert_int_equal(candidates(), 1);
    struct check_state st = state_of(&s);
    assert_string_equal(st.etag, "\"a\"");
    assert_true(st.has_seen && sha256_eq(&st.seen_sha, &sha));
    assert_true(st.next_check_at > clock_now());

    check(&s, "not_modified");
    assert_string_equal(t.last.event_id, "");
    assert_int_equal(t.last.bytes_in, 0);
    assert_int_equal(t.last.bytes_saved, 5);
    assert_int_equal(candidates(), 1);
    assert_int_equal(state_of(&s).checks, 2);
}

/* A URL with {year} is looked up in the calendar: nobody is asked, the handler is told the year. */
static void a_template_asks_nobody(void **state)
{
    (void)state;
    struct source s = source("vintages", "/{year}/a", "");
    check(&s, "new");
    assert_int_equal(t.last.http, 0);
    assert_int_equal(t.last.attempts, 0);
    assert_false(t.last.has_sha);
    assert_int_equal(candidates(), 1);
    assert_int_equal(strlen(state_of(&s).cursor), 4);
    assert_int_equal(state_of(&s).reached_at, -1);
    assert_non_null(strstr(t.last.detail, "has opened"));
    check(&s, "unchanged");
    assert_int_equal(candidates(), 1);
}

/* Nothing of a body that is no version stays. */
static void failures_leave_no_file(void **state)
{
    (void)state;
    struct source half = source("half", "/half", ""), page = source("page", "/page.zip", ""),
                  none = source("none", "/none", "");
    check(&half, "wrong_shape");
    check(&page, "wrong_shape");
    check(&none, "gone");
    assert_int_equal(spooled(""), 0);
    assert_int_equal(candidates(), 0);
    struct check_state st = state_of(&none);
    assert_false(st.has_seen);
    assert_int_equal(st.failures, 1);
    assert_int_equal(st.gone_count, 1);
}

static void retry_after_is_honoured(void **state)
{
    (void)state;
    struct source s =
        source("later", "/later", ",\"triggers\":[{\"type\":\"interval\",\"seconds\":1}]");
    int64_t before = clock_now();
    check(&s, "rate_limited");
    assert_in_range(state_of(&s).next_check_at, before + 3600000, clock_now() + 3600000);
}

/* 301 is told, without the keys in its query, and not adopted. */
/* What a host asked one process for, the next one keeps; other hosts are asked. */
static void a_pause_outlives_its_process(void **state)
{
    (void)state;
    struct source later = source("later", "/later", ""), a = source("a", "/a", "");
    check(&later, "rate_limited");
    assert_true(t.last.attempts > 0);
    detect_free(&t.detect);
    assert_ok(detect_new(t.ledger, &t.inst, on_done, &t, &t.detect, &err));
    check(&a, "rate_limited");
    assert_int_equal(t.last.attempts, 0); /* nothing was sent */
    assert_true(state_of(&a).next_check_at > clock_now() + 3000000);
    detect_free(&t.detect);
    clock_set(clock_now() + 3601000);
    assert_ok(detect_new(t.ledger, &t.inst, on_done, &t, &t.detect, &err));
    check(&a, "new");
    clock_set(-1);
}

static void moved_is_told(void **state)
{
    (void)state;
    struct source s = source("moved", "/moved", "");
    check(&s, "new");
    assert_non_null(strstr(t.last.detail, "moved permanently to http://127.0.0.1"));
    assert_null(strstr(t.last.detail, "hush"));
    assert_null(strstr(state_of(&s).validator_url, "hush"));
}

static void address_policy(void **state)
{
    (void)state;
    struct source near = elsewhere("near", "http://127.0.0.1:1/a");
    struct source far = elsewhere("far", "http://example.org/a");
    check(&near, "blocked");
    check(&far, "blocked");
    assert_int_equal(t.last.attempts, 0);
}

static void secrets(void **state)
{
    (void)state;
    char path[128];
    struct source s = source("key", "/key", ",\"headers\":{\"X-Key\":\"secret:upstream-key\"}");
    check(&s, "denied");
    assert_int_equal(t.last.attempts, 0); /* nothing goes out without it */
    assert_non_null(strstr(t.last.detail, "upstream-key"));
    snprintf(path, sizeof path, "%s/secrets", t.dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/secrets/upstream-key", t.dir);
    unit_write(path, "s3cret\n");
    check(&s, "new");
}

/* What is checked is what the ledger says; a look that is used again remembers nothing. */
static void looks_are_used_again(void **state)
{
    (void)state;
    struct source keyed =
        source("keyed", "/key", ",\"headers\":{\"X-Key\":\"s3cret\"},\"title\":\"T\"");
    struct source bare = source("bare", "/key", ""), plain = source("plain", "/a", "");
    check(&keyed, "new");
    check(&bare, "denied"); /* without the header of the one before */
    check(&plain, "new");
    check(&keyed, "unchanged");
    assert_int_equal(t.last.attempts, 2);
    assert_int_equal(state_of(&bare).checks, 1);
}

/* D5: as many as its host may have, in order; the rest is left to the caller, for another time. */
static void some_at_a_time(void **state)
{
    (void)state;
    enum { ROOM = 8 + 2 * DETECT_BATCH, MANY = ROOM + 100 };
    size_t n = 0, full = 0, open;
    static struct source s[MANY];
    static int64_t nos[MANY];
    many_sources(s, MANY, "/a");
    for (int i = 0; i < MANY; i++)
        nos[i] = s[i].no;
    assert_ok(detect_add_some(t.detect, nos, MANY, "requested", 0, &n, &full, &err));
    assert_int_equal(n - full, ROOM / 2);
    assert_true(full > 0);
    assert_int_equal(nos[0], s[ROOM / 2].no); /* those left over, in their order */
    assert_int_equal(nos[full - 1], s[n - 1].no);
    assert_int_equal(detect_room(t.detect), ROOM / 2);
    assert_ok(detect_drive(t.detect, 0, &open, &err));
    assert_ok(detect_finish(t.detect, &err));
    assert_int_equal(t.done, ROOM / 2);
    nos[1] = 4711; /* no such source: those before it are under way */
    assert_int_equal(detect_add_some(t.detect, nos, 3, "requested", 0, &n, &full, &err),
                     RC_NOT_FOUND);
    assert_int_equal(n, 1);
    assert_ok(detect_finish(t.detect, &err));
    assert_int_equal(t.done, ROOM / 2 + 1);
}

/* D8: a source is checked while it is being read ahead; its next check knows of that one. */
#define PATIENCE_MARGIN 60 /* more than are passed by before a pause */
static void read_ahead_is_never_old(void **state)
{
    (void)state;
    enum { SHARE = (8 + 2 * DETECT_BATCH) / 2, LATE = PATIENCE_MARGIN + 40, MANY = SHARE + LATE };
    static struct source s[MANY];
    static int64_t nos[MANY];
    size_t n, full, open = 1, next = MANY - 40;
    t.inst.conf.per_host_rate = 0;
    many_sources(s, MANY, "/a");
    for (int i = 0; i < MANY; i++)
        nos[i] = s[i].no;
    assert_ok(detect_add_some(t.detect, nos, MANY, "requested", 0, &n, &full, &err));
    assert_true(n <= next); /* the others come next, and will be read ahead */
    for (; open > 0 && next < MANY; next++) {
        assert_ok(detect_drive(t.detect, 2, &open, &err));
        assert_ok(detect_add(t.detect, &s[next], "requested", 0, &err));
    }
    assert_ok(detect_finish(t.detect, &err));
    for (size_t i = MANY - 40; i < next; i++)
        assert_ok(detect_add(t.detect, &s[i], "requested", 0, &err));
    assert_ok(detect_finish(t.detect, &err));
    for (size_t i = MANY - 40; i < next; i++)
        assert_int_equal(state_of(&s[i]).checks, 2);
}

/* D8: what was read ahead and not used is read again when its time is over: it may have been
 * declared anew meanwhile. */
static void read_ahead_does_not_keep(void **state)
{
    (void)state;
    enum { MANY = 400 };
    static struct source s[MANY];
    static int64_t nos[MANY];
    size_t n, full, open = 1;
    t.inst.conf.per_host_rate = 0;
    many_sources(s, MANY, "/a");
    for (int i = 0; i < MANY; i++)
        nos[i] = s[i].no;
    assert_ok(detect_add_some(t.detect, nos, MANY, "requested", 0, &n, &full, &err));
    assert_true(n < MANY); /* so the last one is read ahead */
    while (open > 0)
        assert_ok(detect_drive(t.detect, 20, &open, &err));
    tamper("UPDATE sources SET spec = '{\"id\":\"odd\",\"no_such\":1}'");
    for (int64_t until = clock_mono() + DETECT_AHEAD_MS + 1; clock_mono() < until;)
        assert_ok(detect_drive(t.detect, 20, &open, &err));
    assert_ok(detect_add(t.detect, &s[MANY - 1], "requested", 0, &err));
    assert_ok(detect_finish(t.detect, &err));
    assert_int_equal(t.by_outcome[OUTCOME_blocked], 1);
}

/* D5: hosts that take all they can get still leave room, each port being a host. */
static void room_for_late_hosts(void **state)
{
    (void)state;
    enum { EACH = 600, HOSTS = 3 };
    static int64_t nos[HOSTS * EACH];
    size_t n, full;
    assert_ok(ledger_begin(t.ledger, &err));
    for (int i = 0; i < HOSTS * EACH; i++)
        nos[i] = declare_at(arena_printf(&t.arena, "h%d", i),
                            arena_printf(&t.arena, "http://127.0.0.1:%d/%d", 1 + i / EACH, i), "")
                     .no;
    assert_ok(ledger_commit(t.ledger, &err));
    t.hosts[0] = "127.0.0.1"; /* allowed, so that they wait for their turn */
    for (size_t i = 0; i < HOSTS * EACH; i += n) {
        assert_ok(
            detect_add_some(t.detect, nos + i, HOSTS * EACH - i, "requested", 0, &n, &full, &err));
        assert_true(n > 0); /* it comes past them all */
    }
    assert_true(detect_room(t.detect) >= (8 + 2 * DETECT_BATCH) / (1 << HOSTS));
    struct source late = source("late", "/a", "");
    assert_ok(detect_add_some(t.detect, &late.no, 1, "requested", 0, &n, &full, &err));
    assert_true(detect_has(t.detect, late.no));
}

/* D1, D4: every check ends once, and never more are held than may be. */
static void many_checks(void **state)
{
    (void)state;
    enum { MANY = 700 };
    size_t open, most = 0;
    static struct source s[MANY];
    many_sources(s, MANY, "/none");
    for (int i = 0; i < MANY; i++) {
        assert_ok(detect_add(t.detect, &s[i], NULL, 0, &err));
        assert_ok(detect_drive(t.detect, 0, &open, &err));
        most = open > most ? open : most;
    }
    assert_ok(detect_finish(t.detect, &err));
    assert_int_equal(t.done, MANY);
    assert_int_equal(t.by_outcome[OUTCOME_new], MANY / 7 * 6);
    assert_int_equal(t.by_outcome[OUTCOME_gone], MANY / 7);
    assert_true(most <= 8 + 2 * DETECT_BATCH);
    assert_string_equal(t.last.due_because, "first");
}

/* Stopping: what has ended is kept, what has not leaves nothing. */
static void abandoned_checks(void **state)
{
    (void)state;
    struct source a = source("a", "/a", ""), hang = source("hang", "/hang", "");
    size_t open = 2;
    assert_ok(detect_add(t.detect, &hang, "requested", 0, &err));
    assert_ok(detect_add(t.detect, &a, "requested", 0, &err));
    while (t.done == 0 || spooled("tmp-") == 0)
        assert_ok(detect_drive(t.detect, 10, &open, &err));
    assert_int_equal(open, 1);
    assert_ok(detect_flush(t.detect, &err));
    detect_free(&t.detect);
    assert_int_equal(state_of(&a).checks, 1);
    assert_int_equal(state_of(&hang).checks, 0);
    assert_int_equal(state_of(&hang).checked_at, -1); /* still due */
    assert_int_equal(spooled("tmp-"), 0);
}

/* Its last check does not bring it back to life. */
static void retired_while_under_way(void **state)
{
    (void)state;
    struct source s = source("a", "/a", "");
    assert_ok(detect_add(t.detect, &s, "requested", 0, &err));
    assert_ok(ledger_begin(t.ledger, &err));
    assert_ok(source_retire(t.ledger, s.no, clock_now(), &err));
    assert_ok(ledger_commit(t.ledger, &err));
    assert_ok(detect_finish(t.detect, &err));
    assert_int_equal(state_of(&s).checks, 1);
    assert_int_equal(state_of(&s).next_check_at, -1);
}

/* What stands in the ledger is changed behind its back. */
/* D6: it fails with a receipt, and nobody else does. */
static void unreadable_declaration(void **state)
{
    (void)state;
    struct source a = source("a", "/a", ""), odd = source("odd", "/a", ""),
                  b = source("b", "/a", "");
    int64_t nos[] = {a.no, odd.no, b.no};
    size_t n, full;
    tamper("UPDATE sources SET spec = '{\"id\":\"odd\",\"no_such\":1}' WHERE id = 'odd'");
    assert_ok(detect_add_some(t.detect, nos, 3, NULL, 0, &n, &full, &err));
    assert_int_equal(n, 3);
    assert_ok(detect_finish(t.detect, &err));
    assert_int_equal(t.by_outcome[OUTCOME_new], 2);
    assert_int_equal(t.by_outcome[OUTCOME_blocked], 1);
    struct check_state st = state_of(&odd);
    assert_int_equal(st.failures, 1);
    assert_non_null(strstr(st.last_detail, "declaration"));
    assert_true(st.next_check_at >= clock_now() + HOPELESS_MS / 2);
}

/* D6: stored before there was a limit, it takes more memory than a look has. */
static void declaration_that_is_too_long(void **state)
{
    (void)state;
    struct source a = source("a", "/a", ""), odd = source("odd", "/a", ""),
                  b = source("b", "/a", "");
    int64_t nos[] = {a.no, odd.no, b.no};
    size_t n, full;
    tamper("UPDATE sources SET spec = json_set(spec, '$.adapter_options', json_object('x',"
           " hex(zeroblob(4000000)))) WHERE id = 'odd'");
    assert_ok(detect_add_some(t.detect, nos, 3, NULL, 0, &n, &full, &err));
    assert_int_equal(n, 3);
    assert_ok(detect_finish(t.detect, &err));
    assert_int_equal(t.by_outcome[OUTCOME_new], 2);
    assert_int_equal(t.by_outcome[OUTCOME_blocked], 1);
    assert_non_null(strstr(state_of(&odd).last_detail, "too long"));
    assert_int_equal(state_of(&odd).failures, 1);
}

static void on_dropped(void *ctx, const struct source *s, const struct check_result *r,
                       const struct err *why)
{
    assert_ptr_equal(ctx, &t);
    assert_int_equal(s->no, r->src_no);
    assert_int_equal(why->rc, RC_CONFLICT);
    t.dropped++;
}

/* D7: one as a failure, one not at all, and the others of the batch as they are. */
static void refused_results(void **state)
{
    (void)state;
    struct source a = source("a", "/a", ""), odd = source("odd", "/a", ""),
                  worse = source("worse", "/a", ""), b = source("b", "/a", "");
    int64_t nos[] = {a.no, odd.no, worse.no, b.no};
    size_t n, full;
    tamper("CREATE TRIGGER refuse BEFORE INSERT ON checks WHEN NEW.src_no = 3 OR"
           " NEW.src_no = 2 AND NEW.outcome = 'new' BEGIN SELECT RAISE(ABORT, 'no'); END");
    assert_int_equal(odd.no, 2);
    detect_on_dropped(t.detect, on_dropped);
    assert_ok(detect_add_some(t.detect, nos, 4, NULL, 0, &n, &full, &err));
    assert_ok(detect_finish(t.detect, &err));
    assert_int_equal(t.done, 3);
    assert_int_equal(t.dropped, 1);
    assert_int_equal(candidates(), 2);
    assert_int_equal(state_of(&b).checks, 1);
    assert_int_equal(state_of(&odd).failures, 1);
    assert_false(state_of(&odd).has_seen);
    assert_int_equal(state_of(&worse).checks, 0); /* still due */
    assert_false(detect_has(t.detect, worse.no));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(first_and_second_look),
        TEST(a_template_asks_nobody),
        TEST(failures_leave_no_file),
        TEST(retry_after_is_honoured),
        TEST(a_pause_outlives_its_process),
        TEST(moved_is_told),
        TEST(address_policy),
        TEST(secrets),
        TEST(looks_are_used_again),
        TEST(some_at_a_time),
        TEST(read_ahead_is_never_old),
        TEST(read_ahead_does_not_keep),
        TEST(room_for_late_hosts),
        TEST(many_checks),
        TEST(abandoned_checks),
        TEST(retired_while_under_way),
        TEST(unreadable_declaration),
        TEST(declaration_that_is_too_long),
        TEST(refused_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
