/* test_gc: what nothing refers to goes, everything else stays, also while handlers
 * run (handler/gc.h). */
#include "tests/30-ledger/world.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <utime.h>
#include "handler/gc.h"
#include "handler/store.h"

#define LONG_AGO 1000000 /* seconds: as old as a file must be to be looked at */

static struct gc_counts gc_run(bool dry)
{
    struct gc_counts n;
    OK(gc(led, &inst, clock_now(), dry, NULL, NULL, &n, &fix_err));
    return n;
}

/* A file of the instance, old unless it shall be young. */
static const char *put_file(const char *relative, const char *text, bool young)
{
    const struct utimbuf then = {LONG_AGO, LONG_AGO};
    const char *path = arena_printf(&fix_arena, "%s/%s", fix_dir, relative);
    char *make = arena_printf(&fix_arena, "mkdir -p \"$(dirname '%s')\"", path);
    assert_int_equal(system(make), 0);
    unit_write(path, text);
    if (!young)
        assert_int_equal(utime(path, &then), 0);
    return path;
}

static const char *object_path(enum tier tier, const char *body)
{
    struct sha256 sha;
    char name[STORE_PATH_MAX];
    digest_sha256(body, strlen(body), &sha);
    store_path(tier, &sha, name);
    return arena_printf(&fix_arena, "store/%s", name);
}

static const char *put_object(enum tier tier, const char *body, bool young)
{
    return put_file(object_path(tier, body), body, young);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void make_all_old(void)
{
    const char *cmd = arena_printf(
        &fix_arena, "find '%s' -path '*/s*/*' -type f -exec touch -d @%d {} +", fix_dir, LONG_AGO);
    assert_int_equal(system(cmd), 0);
}

/* ---- what stays ------------------------------------------------------------------------------ */

static void every_version_stays(void **state)
{
    struct source s = add_source("one", "public"), kept = add_source("kept", "restricted");
    (void)state;
    serve("one", BODY_A);
    found(&s, BODY_A);
    assert_int_equal(drain().done, 1);
    serve("one", BODY_B);
    found(&s, BODY_B);
    serve("kept", BODY_A);
    const char *event = found(&kept, BODY_A);
    struct work_counts n = drain();
    assert_int_equal(n.done, 1);
    assert_int_equal(n.held, 1);
    make_all_old();
    struct gc_counts g = gc_run(false);
    assert_int_equal(g.files[GC_OBJECT], 0);
    assert_int_equal(g.rows, 0);
    fix_decide(led, event, true, "R. Viewer", "fine", 3000);
    assert_int_equal(drain().done, 1); /* what was held is there to be promoted */
    make_all_old();
    assert_int_equal(gc_run(false).files[GC_OBJECT], 0);
    assert_head(&s, 2, BODY_B);
}

static void rejected_bytes_stay_as_evidence(void **state)
{
    struct source kept = add_source("kept", "restricted");
    (void)state;
    serve("kept", BODY_A);
    const char *event = found(&kept, BODY_A);
    assert_int_equal(drain().held, 1);
    fix_decide(led, event, false, "R. Viewer", "no", 3000);
    make_all_old();
    assert_int_equal(gc_run(false).files[GC_OBJECT], 0);
}

static void what_is_young_or_not_ours_stays(void **state)
{
    const char *young = put_object(TIER_PUBLIC, "young", true);
    const char *foreign = put_file("store/public/sha256/ab/cd/README", "x", false);
    const char *other = put_file("store/tmp/notes", "x", false);
    const char *spooled = put_file("spool/notes", "x", false);
    (void)state;
    struct gc_counts n = gc_run(false);
    assert_int_equal(n.young, 1);
    assert_int_equal(n.files[GC_OBJECT] + n.files[GC_TEMP] + n.files[GC_SPOOL], 0);
    assert_true(is_there(young) && is_there(foreign) && is_there(other) && is_there(spooled));
    unlink(other); /* the world must end tidy */
}

/* ---- what goes ------------------------------------------------------------------------------- */

static void bytes_without_a_row_go(void **state)
{
    const char *open = put_object(TIER_PUBLIC, "nobody's", false);
    const char *kept = put_object(TIER_RESTRICTED, "nobody's too", false);
    struct source s = add_source("one", "public");
    (void)state;
    serve("one", BODY_A);
    found(&s, BODY_A);
    assert_int_equal(drain().done, 1);
    /* The same bytes in the other tier are another object. */
    const char *twin = put_object(TIER_RESTRICTED, BODY_A, false);
    make_all_old();
    struct gc_counts dry = gc_run(true);
    assert_true(is_there(open) && is_there(kept) && is_there(twin));
    struct gc_counts n = gc_run(false);
    assert_false(is_there(open) || is_there(kept) || is_there(twin));
    assert_int_equal(n.files[GC_OBJECT], 3);
    assert_int_equal(n.bytes[GC_OBJECT], 8 + 12 + (int)strlen(BODY_A));
    assert_memory_equal(&dry, &n, sizeof n);
    assert_int_equal(gc_run(false).files[GC_OBJECT], 0);
}

static void rows_that_nothing_names_go_with_their_bytes(void **state)
{
    const char *path = put_object(TIER_PUBLIC, "x", false);
    struct sha256 sha;
    char hex[SHA256_HEX];
    (void)state;
    digest_sha256("x", 1, &sha);
    sha256_hex(&sha, hex);
    (void)ask_number(arena_printf(
        &fix_arena, "INSERT INTO artifacts VALUES (x'%s', 'public', 1, 'text/plain', 0)", hex));
    struct gc_counts n = gc_run(true);
    assert_int_equal(n.rows, 1);
    assert_int_equal(n.files[GC_OBJECT], 1);
    assert_int_equal(ask_number("SELECT count(*) FROM artifacts"), 1);
    n = gc_run(false);
    assert_int_equal(n.rows, 1);
    assert_int_equal(n.files[GC_OBJECT], 1);
    assert_false(is_there(path));
    assert_int_equal(ask_number("SELECT count(*) FROM artifacts"), 0);
}

static void temporary_files_go_when_their_worker_is_dead(void **state)
{
    struct worker *w = NULL;
    (void)state;
    OK(worker_new(led, &inst, &w, &fix_err)); /* has slot 0 */
    const char *live = put_file("store/tmp/slot-0-1", "abc", false);
    const char *dead = put_file("store/tmp/slot-7-1", "abcd", false);
    struct gc_counts n = gc_run(false);
    assert_true(is_there(live));
    assert_false(is_there(dead));
    assert_int_equal(n.files[GC_TEMP], 1);
    assert_int_equal(n.bytes[GC_TEMP], 4);
    worker_free(&w);
    assert_int_equal(gc_run(false).files[GC_TEMP], 1);
    assert_false(is_there(live));
}

static void spooled_bytes_go_when_nobody_waits(void **state)
{
    struct source s = add_source("one", "public");
    (void)state;
    spool(BODY_A, BODY_A);
    spool(BODY_B, BODY_B);
    (void)put_file("spool/tmp-1-1", "half", false);
    found(&s, BODY_A);
    make_all_old();
    struct gc_counts n = gc_run(false);
    assert_int_equal(n.files[GC_SPOOL], 2);
    assert_int_equal(files_in("spool"), 1);
    assert_int_equal(drain().done, 1); /* without an upstream: the bytes it waited for were there */
}

/* ---- races ----------------------------------------------------------------------------------- */

static void only_one_at_a_time(void **state)
{
    struct gc_counts n;
    int lock = -1;
    (void)state;
    OK(gc_lock(&inst, &lock, &fix_err));
    assert_rc(gc(led, &inst, 0, false, NULL, NULL, &n, &fix_err), RC_BUSY);
    close(lock);
    (void)gc_run(false);
}

/* Nothing is too young for this one. Its pace varies, so that it meets every step of a job. */
static void gc_until_killed(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_range(3, ~0u, 0); /* the upstream's socket, the parent's ledger */
    struct ledger *l = NULL;
    struct gc_counts n;
    struct err err;
    if (ledger_open(fix_dir, LEDGER_WRITE, digest_sha256, &l, &err) != RC_OK)
        _exit(1);
    for (;; poll(NULL, 0, (int)rand_below(12)))
        if (gc(l, &inst, clock_now() + 10 * GC_AGE_MS, false, NULL, NULL, &n, &err) != RC_OK)
            _exit(1);
}

static int64_t ready(void)
{
    struct inbox_stats n;
    OK(inbox_stats(led, &n, &fix_err));
    return n.ready;
}

/* Pairs of sources have the same bytes; the first pair returns to earlier ones. */
static const char *body_of(int source, int round)
{
    return arena_printf(&fix_arena, "{\"v\":%d,\"s\":%d}", source < 2 ? round % 3 : round,
                        source / 2);
}

static pid_t child; /* in a race */

static int end_race(void **state)
{
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return teardown(state);
}

/* A handler stages bytes before their row is there, and gc looks just then. Whoever loses must
 * notice: in the end every version has its bytes (teardown digests them). */
static void racing_handler_never_loses_bytes(void **state)
{
    enum { SOURCES = 6, ROUNDS = 8 };
    struct source s[SOURCES];
    int64_t now = clock_now();
    (void)state;
    inst.conf.max_attempts = 1000;
    for (int i = 0; i < SOURCES; i++)
        s[i] = add_source(arena_printf(&fix_arena, "s%d", i), i % 3 ? "public" : "generalized");
    child = fork();
    if (child == 0)
        gc_until_killed();
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < SOURCES; i++) {
            serve(s[i].id, body_of(i, round));
            found(&s[i], body_of(i, round));
        }
        for (int tries = 0; ready() > 0; tries++) {
            assert_true(tries < 100);
            clock_set(now += HOUR_MS); /* past every backoff */
            (void)drain();
        }
        for (int i = 0; i < SOURCES; i++)
            assert_head(&s[i], round, body_of(i, round));
    }
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0); /* it raced to the end */
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(every_version_stays),
        T(rejected_bytes_stay_as_evidence),
        T(what_is_young_or_not_ours_stays),
        T(bytes_without_a_row_go),
        T(rows_that_nothing_names_go_with_their_bytes),
        T(temporary_files_go_when_their_worker_is_dead),
        T(spooled_bytes_go_when_nobody_waits),
        T(only_one_at_a_time),
        cmocka_unit_test_setup_teardown(racing_handler_never_loses_bytes, setup, end_race)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
