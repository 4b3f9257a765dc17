/* Event streams of sources, through the real scheduler: what an event leads to, what is remembered
 * of it and when, and what happens while a stream is down. N1… are the invariants of streams.h.
 * `server` has the data, `other` the streams. */
#include "tests/40-service/scheduler.h"
#include "detectors/streams.h"
#include "ledger/stream.h"

#define STREAM "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"

static int setup_streams(void **state)
{
    server_start(&other);
    return setup(state);
}

static int teardown_streams(void **state)
{
    int rc = teardown(state);
    server_stop(&other);
    return rc;
}

/* The next connections to the stream get these, in order; the last one stays. */
static void stream_says(enum manner manner, int uses, const char *reply)
{
    struct route r = {.path = "/events", .manner = manner, .uses = uses};
    snprintf(r.reply, sizeof r.reply, "%s", reply);
    server_add(&other, r);
}

static struct source named(const char *id, const char *path, const char *trigger,
                           const char *options)
{
    struct source s;
    yyjson_val *decl;
    char *text = arena_printf(
        &t.arena,
        "{\"id\":\"%s\",\"url\":\"http://127.0.0.1:%d%s\",\"triggers\":[%s],\"detector\":\"sse\","
        "\"sse\":{\"url\":\"http://127.0.0.1:%d/events\"%s}}",
        id, server.port, path, trigger, other.port, options);
    assert_ok(ledger_begin(t.ledger, &err));
    assert_ok(json_parse(&t.arena, str_of(text), 0, "source", &decl, &err));
    assert_ok(source_parse(&t.arena, decl, &s, &err));
    assert_ok(source_add(t.ledger, &s, clock_now(), &err));
    assert_ok(ledger_commit(t.ledger, &err));
    return s;
}

static struct source streamed_of(const char *path, const char *trigger, const char *options)
{
    return named("s", path, trigger, options);
}

static struct source streamed(const char *path, const char *trigger)
{
    return streamed_of(path, trigger, "");
}

static bool cursor_is(const struct source *s, const char *id)
{
    struct check_state st;
    assert_ok(check_state_get(t.ledger, s->no, &st, &err));
    return strcmp(st.cursor, id) == 0;
}

static bool stream_is(const struct source *s, bool up)
{
    struct stream_state st;
    assert_ok(stream_get(t.ledger, s->no, &st, &err));
    return st.known && st.up == up;
}

static bool note_has(const struct source *s, const char *text)
{
    struct stream_state st;
    assert_ok(stream_get(t.ledger, s->no, &st, &err));
    return strstr(st.note, text) != NULL;
}

static int64_t next_check(const struct source *s)
{
    struct check_state st;
    assert_ok(check_state_get(t.ledger, s->no, &st, &err));
    return st.next_check_at;
}

static bool asked_with(const char *line)
{
    pthread_mutex_lock(&other.lock);
    bool yes = strstr(other.last, line) != NULL;
    pthread_mutex_unlock(&other.lock);
    return yes;
}

static int stream_requests(void)
{
    pthread_mutex_lock(&other.lock);
    int n = other.requests;
    pthread_mutex_unlock(&other.lock);
    return n;
}

static int streams_held(void)
{
    pthread_mutex_lock(&other.lock);
    int n = other.in_flight;
    pthread_mutex_unlock(&other.lock);
    return n;
}

/* Before the start. */
static void settings(const char *more)
{
    char *path = arena_printf(&t.arena, "%s/freshet.json", t.dir);
    char *text =
        arena_printf(&t.arena, "{\"allow_hosts\":[\"127.0.0.1\"],\"fetch_attempts\":1,%s}", more);
    assert_ok(file_replace(path, str_of(text), 0600, &err));
}

/* A stream that stays open. */
static void stream_lives(void)
{
    struct route r = {.path = "/events", .manner = DRIP, .uses = -1, .more = ":\n"};
    snprintf(r.reply, sizeof r.reply, "%s", STREAM);
    server_add(&other, r);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* N1: a source that is looked at by hand only is looked at because of an event. */
static void event_leads_to_a_look(void **state)
{
    (void)state;
    stream_says(HANG, -1, STREAM "id: 7\ndata: something moved\n\n");
    struct source s = streamed("/a", MANUAL);
    t.pid = start();
    await(cursor_is(&s, "7"));
    assert_true(checks(&s) >= 1);
    assert_true(asked_with("Accept: text/event-stream"));
    assert_false(asked_with("Last-Event-ID"));
    assert_int_equal(end(SIGTERM), 0);
}

/* N1: after a break it is asked for what came since. */
static void goes_on_where_it_stopped(void **state)
{
    (void)state;
    stream_says(CUT, 1, STREAM "retry: 10\n\nid: 7\ndata: x\n\nid: 8\ndata: half");
    stream_says(HANG, -1, STREAM "id: 9\ndata: y\n\n");
    struct source s = streamed("/a", MANUAL);
    t.pid = start();
    await(cursor_is(&s, "9"));
    assert_true(asked_with("Last-Event-ID: 7\r\n"));
    assert_int_equal(end(SIGTERM), 0);
}

/* N1: so also after the scheduler was killed, from what the ledger knows. */
static void the_cursor_outlives_the_process(void **state)
{
    (void)state;
    stream_says(HANG, -1, STREAM "id: 7\ndata: x\n\n");
    struct source s = streamed("/a", MANUAL);
    t.pid = start();
    await(cursor_is(&s, "7"));
    (void)end(SIGKILL);
    int before = stream_requests();
    t.pid = start();
    await(stream_requests() > before);
    assert_true(asked_with("Last-Event-ID: 7\r\n"));
    assert_int_equal(end(SIGTERM), 0);
}

/* N1, I3: what could not be looked at is not remembered as seen; the look is made again. */
static void failure_keeps_the_cursor(void **state)
{
    (void)state;
    struct route bad = {.path = "/late", .manner = CUT, .uses = 2};
    snprintf(bad.reply, sizeof bad.reply, "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n");
    server_add(&server, bad);
    stream_says(HANG, -1, STREAM "id: 7\ndata: x\n\n");
    struct source s = streamed("/late", OFTEN);
    t.pid = start();
    await(checks(&s) >= 1);
    assert_true(cursor_is(&s, ""));
    server_route(&server, "/late", KEEP, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    await(cursor_is(&s, "7"));
    assert_int_equal(end(SIGTERM), 0);
}

/* N2: polled while it is down, and once a day while it is open. */
static void polled_while_down(void **state)
{
    (void)state;
    stream_says(CUT, 1, "HTTP/1.1 503 Later\r\nRetry-After: 2\r\nContent-Length: 2\r\n\r\nno");
    stream_says(HANG, -1, STREAM ": hello\n\n");
    struct source s = streamed("/a", OFTEN);
    t.pid = start();
    await(stream_is(&s, false));
    await(note_has(&s, "503"));
    int64_t before = checks(&s);
    await(checks(&s) >= before + 1);
    await(stream_is(&s, true));
    await(next_check(&s) > clock_now() + DAY_MS - 60000);
    assert_int_equal(end(SIGTERM), 0);
}

/* N2, N3: a stream that was open and falls silent (stream_quiet_s is 1 here) makes its source due,
 * although that had planned for a day. */
static void due_when_it_falls_silent(void **state)
{
    (void)state;
    stream_says(HANG, 1, STREAM ": hello\n\n");
    stream_says(CUT, -1, "HTTP/1.1 204 No Content\r\n\r\n");
    struct source s = streamed("/a", HOURLY);
    t.pid = start();
    await(next_check(&s) > clock_now() + DAY_MS - 60000);
    int64_t before = checks(&s);
    await(stream_is(&s, false));
    await(checks(&s) > before);
    assert_true(next_check(&s) < clock_now() + 2 * 3600000);
    assert_int_equal(end(SIGTERM), 0);
}

static void only_a_stream_is_a_stream(void **state)
{
    (void)state;
    stream_says(CUT, -1,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 16\r\n\r\n"
                "id: 1\ndata: x\n\n\n");
    struct source s = streamed("/a", MANUAL);
    t.pid = start();
    await(stream_is(&s, false));
    await(note_has(&s, "text/html"));
    assert_int_equal(checks(&s), 0);
    assert_int_equal(end(SIGTERM), 0);
}

/* Of events, those that the declaration names; the connection itself is one reason to look. */
static void only_some_events_count(void **state)
{
    (void)state;
    stream_says(CUT, 1,
                STREAM "retry: 10\nevent: tick\ndata: {\"layer\":\"roads\"}\n\n"
                       "event: change\ndata: {\"layer\":\"roads\"}\n\n"
                       "event: change\ndata: not json\n\n");
    stream_says(HANG, -1, STREAM ": nothing\n\n");
    struct source s = streamed_of("/a", MANUAL,
                                  ",\"event\":\"change\",\"expect\":{\"pointer\":\"/layer\","
                                  "\"equals\":\"rivers\"}");
    t.pid = start();
    await(stream_requests() == 2 && checks(&s) >= 1);
    await(stream_is(&s, true));
    assert_int_equal(end(SIGTERM), 0);
    assert_true(checks(&s) <= 2);
}

static void retired_sources_have_none(void **state)
{
    (void)state;
    stream_lives();
    struct source s = streamed("/a", HOURLY);
    t.pid = start();
    await(stream_is(&s, true));
    assert_ok(ledger_begin(t.ledger, &err));
    assert_ok(source_retire(t.ledger, s.no, clock_now(), &err));
    assert_ok(ledger_commit(t.ledger, &err));
    await(streams_held() == 0);
    assert_int_equal(end(SIGTERM), 0);
}

/* N4: what is held open on a host keeps nobody else out there. */
static void many_on_one_host(void **state)
{
    (void)state;
    settings("\"stream_quiet_s\":1,\"per_host\":1");
    stream_lives();
    struct source a = named("a", "/a", HOURLY, ""), b = named("b", "/a", HOURLY, "");
    t.pid = start();
    await(stream_is(&a, true) && stream_is(&b, true));
    assert_int_equal(end(SIGTERM), 0);
}

/* N4: those beyond max_streams are down, say so, and are polled. */
static void polled_beyond_the_limit(void **state)
{
    (void)state;
    settings("\"stream_quiet_s\":1,\"max_streams\":1");
    stream_lives();
    struct source a = named("a", "/a", HOURLY, ""), b = named("b", "/a", OFTEN, "");
    assert_ok(stream_set(t.ledger, b.no, LEVEL_PUBLIC, true, "", clock_now(), &err));
    t.pid = start();
    await(stream_is(&a, true));
    await(stream_is(&b, false) && note_has(&b, "max_streams"));
    await(checks(&b) >= 2);
    assert_int_equal(end(SIGTERM), 0);
}

/* A stream is open with its header, also when nothing happens on it for long; and says why when it
 * is not. */
static void open_before_its_first_byte(void **state)
{
    (void)state;
    settings("\"stream_quiet_s\":2");
    stream_says(HANG, 1, STREAM);
    stream_says(CUT, -1, "HTTP/1.1 204 No Content\r\n\r\n");
    struct source s = streamed("/a", HOURLY);
    t.pid = start();
    await(stream_is(&s, true));
    await(checks(&s) >= 1);
    await(stream_is(&s, false));
    await(note_has(&s, "not a byte came for 2 s") || note_has(&s, "204"));
    assert_int_equal(end(SIGTERM), 0);
}

/* N5: nobody answers, and no try has ended either. */
static void down_while_it_waits_for_a_connection(void **state)
{
    (void)state;

    settings("\"stream_quiet_s\":6");
    stream_says(HANG, -1, "HTTP/1.1 200 OK\r\n");
    struct source s = streamed("/a", HOURLY);
    t.pid = start();
    await(stream_is(&s, false));
    await(note_has(&s, "no answer has come yet"));
    assert_int_equal(end(SIGTERM), 0);
}

/* N5: what was up when a scheduler died is down and due when another begins. */
static void nothing_is_up_at_the_start(void **state)
{
    (void)state;
    stream_lives();
    struct source s = streamed("/a", HOURLY);
    t.pid = start();
    await(stream_is(&s, true));
    await(next_check(&s) > clock_now() + DAY_MS - 60000);
    (void)end(SIGKILL);
    assert_ok(streams_begin(t.ledger, clock_now(), &err));
    assert_true(stream_is(&s, false));
    assert_true(next_check(&s) <= clock_now());
}

static int64_t time_of_check(const struct source *s, int64_t n)
{
    await(checks(s) >= n);
    return clock_mono();
}

/* N6: events without end lead to a look now and then; sse.c 2: none of them reads
 * everything again. */
static void events_without_end(void **state)
{
    (void)state;
    struct route r = {.path = "/events", .manner = DRIP, .uses = -1, .more = "data:x\n\n"};
    snprintf(r.reply, sizeof r.reply, "%s", STREAM);
    settings("\"stream_quiet_s\":1,\"audit_every\":1");
    server_add(&other, r);
    struct source s = streamed("/a", MANUAL);
    t.pid = start();
    int64_t first = time_of_check(&s, 1), third = time_of_check(&s, 3);
    assert_true(third - first >= 3 * STREAMS_LOOK_MIN_MS - 500);
    struct check_state st;
    assert_ok(check_state_get(t.ledger, s.no, &st, &err));
    assert_true(st.since_audit >= 2);
    assert_int_equal(end(SIGTERM), 0);
}

/* N6: polls of an outage say nothing of events; after it an event is looked at as soon
 * as before. */
static void an_outage_delays_no_look(void **state)
{
    struct route r = {.path = "/events", .manner = DRIP, .uses = -1};
    (void)state;
    settings("\"stream_quiet_s\":6");
    stream_says(CUT, 1, "HTTP/1.1 503 Later\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno");
    snprintf(r.reply, sizeof r.reply, "%s", STREAM);
    snprintf(r.more, sizeof r.more, ":%700s\nid: 9\ndata: x\n\n", ""); /* it comes after 3 s */
    server_add(&other, r);
    struct source s = streamed("/a", OFTEN);
    t.pid = start();
    await(stream_is(&s, false));
    await(stream_is(&s, true));
    int64_t from = clock_mono();
    assert_true(checks(&s) >= 4);
    await(cursor_is(&s, "9"));
    assert_true(clock_mono() - from < 9000);
    assert_int_equal(end(SIGTERM), 0);
}

/* N3 */
static void retry_is_the_least_pause(void **state)
{
    (void)state;
    for (int tries = 0; tries < 40; tries++) {
        int64_t hour = streams_pause_ms(3600000, tries, false);
        assert_in_range(hour, 3600000, 3600000 + STREAMS_PAUSE_MAX_MS);
        assert_in_range(streams_pause_ms(DAY_MS, tries, true), DAY_MS, DAY_MS + STREAMS_REFUSED_MS);
        assert_in_range(streams_pause_ms(10, tries, false), 10, 10 + STREAMS_PAUSE_MAX_MS);
        assert_in_range(streams_pause_ms(-1, tries, false), 0, STREAMS_PAUSE_MAX_MS);
    }
    assert_in_range(streams_pause_ms(10, 1, false), 10, 30);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_streams, teardown_streams)
    const struct CMUnitTest tests[] = {
        TEST(event_leads_to_a_look),
        TEST(goes_on_where_it_stopped),
        TEST(the_cursor_outlives_the_process),
        TEST(failure_keeps_the_cursor),
        TEST(polled_while_down),
        TEST(due_when_it_falls_silent),
        TEST(only_a_stream_is_a_stream),
        TEST(only_some_events_count),
        TEST(retired_sources_have_none),
        TEST(many_on_one_host),
        TEST(polled_beyond_the_limit),
        TEST(open_before_its_first_byte),
        TEST(down_while_it_waits_for_a_connection),
        TEST(nothing_is_up_at_the_start),
        TEST(events_without_end),
        TEST(an_outage_delays_no_look),
        cmocka_unit_test(retry_is_the_least_pause),
    };
    alarm(10 * LIMIT_MS / 1000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
