/* test_outbox: what must be told about a change is told at least once, to everybody, and keeps
 * nobody waiting. O1… are the invariants of ledger/outbox.h and handler/outbox.h. */
#include "tests/30-ledger/world.h"

#include "handler/job.h"
#include "handler/openlineage.h"

static struct arena row;
static struct fetch *engine;

static struct outbox_counts turn(void)
{
    const struct outbox_env env = {led, &inst, &row, &engine};
    struct outbox_counts n = {0};
    bool more;
    OK(outbox_turn(&env, &n, &more, &fix_err));
    return n;
}

/* The receiver answers with this from now on. */
static void receiver(const char *status)
{
    serve("lineage", "x");
    pthread_mutex_lock(&server.lock);
    for (size_t i = 0; i < server.n_routes; i++)
        if (strcmp(server.routes[i].path, "/lineage") == 0)
            server.routes[i].uses = 0;
    pthread_mutex_unlock(&server.lock);
    server_route(&server, "/lineage", KEEP, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);
}

static int outbox_setup(void **state)
{
    (void)setup(state);
    arena_init(&row, 64u << 20);
    inst.conf.openlineage = arena_printf(&fix_arena, "http://127.0.0.1:%d/lineage", server.port);
    inst.conf.breaker_failures = 0;
    receiver("201 Created");
    return 0;
}

static int outbox_teardown(void **state)
{
    fetch_free(&engine);
    arena_release(&row);
    return teardown(state);
}

static int64_t rows(const char *where)
{
    return ask_number(arena_printf(&fix_arena, "SELECT count(*) FROM outbox WHERE %s", where));
}

static void publish(const char *id, const char *level)
{
    struct source s = add_source(id, level);
    serve(id, BODY_A);
    const char *event = arena_strdup(&fix_arena, found(&s, BODY_A));
    struct work_counts n = drain();
    if (s.level >= LEVEL_RESTRICTED) {
        assert_int_equal(n.held, 1);
        fix_decide(led, event, true, "R. Viewer", "fine", 3000);
        n = drain();
    }
    assert_int_equal(n.done, 1);
}

/* Told once when all goes well, each consumer by itself; then nothing is left. */
static void every_consumer_is_told(void **state)
{
    (void)state;
    publish("one", "public");
    assert_int_equal(rows("kind = 'artifacts'"), 1);
    assert_int_equal(rows("kind = 'openlineage'"), 1);
    int before = server_count(&server, &server.requests);
    assert_int_equal(turn().told, 2);
    assert_int_equal(server_count(&server, &server.requests) - before, 2); /* START, COMPLETE */
    assert_int_equal(rows("1"), 0);
}

/* O3, O4: one that fails is tried again later, after a random wait below the cap, and the others
 * are told meanwhile; then it is dead, stays, says why, and can be revived. The handler
 * noticed nothing. */
static void a_dead_receiver_delays_nobody(void **state)
{
    (void)state;
    receiver("503 Busy");
    publish("one", "public");
    struct outbox_counts n = turn();
    assert_int_equal(n.told, 1);
    assert_int_equal(n.failed, 1);
    assert_int_equal(rows("kind = 'openlineage' AND attempts = 1 AND detail LIKE '%503%'"), 1);
    assert_int_equal(rows("kind = 'artifacts'"), 0);
    publish("two", "public"); /* the handler goes on */
    for (int try = 1; try < OUTBOX_TRIES_MAX; try++) {
        (void)ask_number("UPDATE outbox SET next_attempt_at = 0 WHERE run_id ="
                         " (SELECT run_id FROM outbox ORDER BY out_no LIMIT 1)");
        n = turn();
        assert_int_equal(n.failed + n.dead, 1);
    }
    assert_int_equal(n.dead, 1);
    assert_int_equal(rows("dead_at IS NOT NULL"), 1);
    receiver("200 OK");
    (void)ask_number("UPDATE outbox SET next_attempt_at = 0");
    assert_int_equal(turn().told, 1); /* the other one's; the dead row is not touched */
    assert_int_equal(turn().told, 0);
    int64_t revived;
    OK(outbox_revive(led, clock_now(), &revived, &fix_err));
    assert_int_equal(revived, 1);
    assert_int_equal(turn().told, 1);
    assert_int_equal(rows("1"), 0);
}

/* Where telling waits for nobody, a turn takes many; a receiver over the network gets one. */
static void a_turn_takes_what_it_can(void **state)
{
    (void)state;
    char id[16];
    for (int i = 0; i < 5; i++) {
        snprintf(id, sizeof id, "s%d", i);
        publish(id, "public");
    }
    assert_int_equal(turn().told, 5 + 1);
    assert_int_equal(rows("kind = 'artifacts'"), 0);
    assert_int_equal(rows("kind = 'openlineage'"), 4);
}

/* O1: killed between telling and forgetting, the same is told again, with the same identity. */
static void told_again_rather_than_never(void **state)
{
    (void)state;
    publish("one", "public");
    const struct outbox_env env = {led, &inst, &row, &engine};
    struct outbox_row r[OUTBOX_ROWS_MAX];
    size_t n;
    OK(outbox_next(led, OUTBOX_OPENLINEAGE, clock_now(), 1, r, &n, &fix_err));
    assert_int_equal(n, 1);
    int before = server_count(&server, &server.requests);
    OK(openlineage_tell(&env, r[0].run_id, &fix_err)); /* and here its process dies */
    assert_int_equal(rows("kind = 'openlineage'"), 1);
    assert_int_equal(turn().told, 2);
    assert_int_equal(server_count(&server, &server.requests) - before, 4);
    assert_int_equal(rows("1"), 0);
}

/* ---- OpenLineage ----------------------------------------------------------------------------- */

static const char *lineage_file(void)
{
    char *path = arena_printf(&fix_arena, "%s/lineage.ndjson", fix_dir);
    inst.conf.openlineage = path;
    return path;
}

static char *text_of(const char *path)
{
    char *text = arena_alloc(&fix_arena, 1u << 16);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, (1u << 16) - 1, f) : 0;
    text[n] = '\0';
    if (f)
        fclose(f);
    return text;
}

static void fail_for_good(const char *id, const char *level)
{
    struct source s = add_source(id, level);
    serve(id, "not what it says");
    (void)found(&s, "not what it says");
    assert_int_equal(drain().failed, 1);
}

/* What failed for good is told with its reason; what found nothing to do is not. */
static void failures_are_told(void **state)
{
    (void)state;
    const char *path = lineage_file();
    fail_for_good("bad", "public");
    assert_int_equal(rows("kind = 'openlineage'"), 1);
    assert_int_equal(turn().told, 1);
    char *text = text_of(path);
    assert_non_null(strstr(text, "\"eventType\":\"START\""));
    assert_non_null(strstr(text, "\"eventType\":\"FAIL\""));
    assert_non_null(strstr(text, "\"message\":\"PARSE_ERROR\""));
    assert_non_null(strstr(text, "\"name\":\"/bad\""));
    assert_null(strstr(text, "COMPLETE"));
    assert_null(strstr(text, "outputs"));
}

/* I8: of a restricted source a failure is a run and a day; of a sovereign one there is nothing. */
static void failures_of_withheld_sources(void **state)
{
    (void)state;
    const char *path = lineage_file();
    fail_for_good("kept", "restricted");
    fail_for_good("never", "sovereign");
    assert_int_equal(rows("1"), 1);
    assert_int_equal(turn().told, 1);
    char *text = text_of(path);
    assert_non_null(strstr(text, "\"eventType\":\"FAIL\""));
    assert_null(strstr(text, "kept"));
    assert_null(strstr(text, "never"));
    assert_null(strstr(text, "PARSE_ERROR"));
    assert_null(strstr(text, "127.0.0.1"));
}

/* A try that will be followed by another has not failed; the last one has. */
static void a_dead_letter_is_told_once(void **state)
{
    (void)state;
    struct source s = add_source("one", "public");
    lineage_file();
    inst.conf.max_attempts = 2;
    server_route(&server, "/one", KEEP, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    (void)found(&s, BODY_A);
    int64_t dead = 0;
    for (int i = 0; i < 2 && !dead; i++) {
        (void)ask_number("UPDATE inbox SET next_attempt_at = 0 WHERE state = 'ready'");
        dead = drain().dead;
    }
    assert_int_equal(dead, 1);
    assert_int_equal(rows("kind = 'openlineage'"), 1);
}

static void the_entry_names_the_run(void **state)
{
    (void)state;
    publish("one", "public");
    assert_int_equal(
        ask_number("SELECT count(*) FROM public_changes JOIN ledger ON public_seq = seq WHERE"
                   " doc ->> '$.openlineage_ref' = 'urn:uuid:' || run_id"),
        1);
    inst.conf.openlineage = "";
    publish("two", "public");
    assert_int_equal(
        ask_number("SELECT count(*) FROM public_changes WHERE doc ->> '$.openlineage_ref' IS NULL"),
        1);
    assert_int_equal(rows("kind = 'openlineage'"), 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, outbox_setup, outbox_teardown)
    const struct CMUnitTest tests[] = {
        T(every_consumer_is_told),       T(a_dead_receiver_delays_nobody),
        T(told_again_rather_than_never), T(failures_are_told),
        T(failures_of_withheld_sources), T(a_dead_letter_is_told_once),
        T(the_entry_names_the_run),      T(a_turn_takes_what_it_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
