/* log: one line, one write, valid JSON whatever the values hold. */
#include "tests/10-unit/unit.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include "core/clock.h"
#include "core/json.h"
#include "core/log.h"

static char path[64];
static struct arena memory;

static int setup(void **state)
{
    struct err err = {0};
    (void)state;
    unit_temp(path);
    arena_init(&memory, 8u << 20);
    log_level_min(LOG_INFO);
    return log_open("unit", path, &err) == RC_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct err err = {0};
    (void)state;
    arena_release(&memory);
    return log_open("unit", NULL, &err) == RC_OK ? unlink(path) : -1;
}

/* The only line of the log, parsed. */
static yyjson_val *line(void)
{
    static char text[65536];
    struct err err = {0};
    yyjson_val *v = NULL;
    unit_read(path, text, sizeof text);
    struct str s = str_of(text);
    assert_true(str_ends(s, STR("\n")));
    assert_ptr_equal(strchr(text, '\n'), text + s.n - 1);
    assert_rc(json_parse(&memory, s, 0, "line", &v, &err), RC_OK);
    return v;
}

static const char *text_of(yyjson_val *v, const char *key)
{
    return yyjson_get_str(yyjson_obj_get(v, key));
}

static void an_event_is_one_line(void **state)
{
    (void)state;
    char got[512], want[512];
    clock_set(1782986400123);
    log_event(LOG_WARN, "run.promoted", LOG_S("run", "r\"1\n"), LOG_I("bytes", -12));
    clock_set(-1);
    unit_read(path, got, sizeof got);
    snprintf(want, sizeof want,
             "{\"at\":\"2026-07-02T10:00:00.123Z\",\"level\":\"warn\",\"code\":\"run.promoted\","
             "\"proc\":\"unit\",\"pid\":%ld,\"run\":\"r\\\"1\\n\",\"bytes\":-12}\n",
             (long)getpid());
    assert_string_equal(got, want);
}

static void levels_have_names(void **state)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    enum log_level level = LOG_INFO;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_true(log_level_parse(names[i], &level));
        assert_int_equal(level, i);
    }
    assert_false(log_level_parse("Error", &level));
    assert_false(log_level_parse("", &level));
    assert_int_equal(level, LOG_ERROR);
}

static void levels_below_the_minimum_are_dropped(void **state)
{
    (void)state;
    char got[16];
    log_event(LOG_DEBUG, "x", LOG_I("n", 1));
    log_level_min(LOG_ERROR);
    log_event(LOG_WARN, "x", LOG_I("n", 1));
    unit_read(path, got, sizeof got);
    assert_string_equal(got, "");
    log_event(LOG_ERROR, "y", LOG_I("n", 1));
    assert_string_equal(text_of(line(), "level"), "error");
}

static void values_are_cut_between_characters(void **state)
{
    (void)state;
    char value[1000];
    memset(value, 'x', sizeof value);
    memcpy(value + 398, "\xe2\x82\xac", 3);
    value[999] = 0;
    log_event(LOG_INFO, "x", LOG_S("v", value));
    const char *got = text_of(line(), "v");
    assert_int_equal(strlen(got), 398);
}

static void four_hundred_bytes_fit(void **state)
{
    (void)state;
    char value[401];
    memset(value, 'x', 400);
    value[400] = 0;
    log_event(LOG_INFO, "x", LOG_S("v", value));
    assert_string_equal(text_of(line(), "v"), value);
}

static void what_is_no_utf8_is_made_so(void **state)
{
    (void)state;
    log_event(LOG_INFO, "x", LOG_S("v", "a\xff\xe2\x82z\x01\x7f"));
    assert_string_equal(text_of(line(), "v"), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\x01\x7f");
}

static void too_many_fields_leave_the_code(void **state)
{
    (void)state;
    char value[401];
    struct log_field fields[100] = {{0, 0, 0}};
    memset(value, 1, 400); /* each becomes \u0001 */
    value[400] = 0;
    for (size_t i = 0; i < 99; i++)
        fields[i] = LOG_S("v", value);
    log_fields(LOG_INFO, "many", fields);
    yyjson_val *v = line();
    assert_string_equal(text_of(v, "code"), "many");
    assert_true(yyjson_get_bool(yyjson_obj_get(v, "cut")));
    assert_null(yyjson_obj_get(v, "v"));
}

static void an_err_as_an_event(void **state)
{
    (void)state;
    struct err err = {0};
    err_set(&err, RC_INVALID, "limit", "must be below 10");
    log_err(LOG_ERROR, "check.failed", &err);
    yyjson_val *v = line();
    assert_string_equal(text_of(v, "rc"), "INVALID");
    assert_string_equal(text_of(v, "field"), "limit");
    assert_string_equal(text_of(v, "msg"), "must be below 10");
}

/* Four processes, each with its own descriptor, write at once; every line must arrive whole. */
static void lines_of_processes_do_not_mix(void **state)
{
    (void)state;
    enum { PROCESSES = 4, LINES = 300 };
    char value[400];
    memset(value, 'x', 399);
    value[399] = 0;
    for (int p = 0; p < PROCESSES; p++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct err err = {0};
            if (log_open("child", path, &err) != RC_OK)
                _exit(1);
            for (int i = 0; i < LINES; i++)
                log_event(LOG_INFO, "mix", LOG_S("v", value), LOG_S("w", value));
            _exit(0);
        }
    }
    for (int p = 0; p < PROCESSES; p++)
        wait(NULL);
    FILE *f = fopen(path, "r");
    char text[2048];
    int n = 0;
    for (; fgets(text, sizeof text, f); n++) {
        struct err err = {0};
        yyjson_val *v;
        arena_reset(&memory);
        assert_rc(json_parse(&memory, str_of(text), 0, "line", &v, &err), RC_OK);
    }
    fclose(f);
    assert_int_equal(n, PROCESSES * LINES);
}

/* Standard error becomes a socket that keeps writes apart: one event must be one datagram. */
static void a_line_is_one_write(void **state)
{
    (void)state;
    struct err e = {0};
    int pair[2], saved = dup(STDERR_FILENO);
    char got[1024];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
    dup2(pair[0], STDERR_FILENO);
    assert_rc(log_open("unit", NULL, &e), RC_OK);
    log_event(LOG_INFO, "once", LOG_S("v", "x"), LOG_I("n", 1));
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(pair[0]);
    ssize_t n = recv(pair[1], got, sizeof got, 0);
    assert_true(n > 3 && memcmp(got + n - 3, "1}\n", 3) == 0);
    assert_true(recv(pair[1], got, sizeof got, 0) <= 0);
    close(pair[1]);
}

static void a_log_that_cannot_be_opened(void **state)
{
    (void)state;
    struct err err = {0};
    assert_rc(log_open("unit", "/nonexistent/x/log", &err), RC_IO);
    log_event(LOG_INFO, "still", LOG_I("n", 1));
    assert_string_equal(text_of(line(), "code"), "still");
}

#define LOG_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(an_event_is_one_line),
        LOG_TEST(levels_have_names),
        LOG_TEST(levels_below_the_minimum_are_dropped),
        LOG_TEST(values_are_cut_between_characters),
        LOG_TEST(four_hundred_bytes_fit),
        LOG_TEST(what_is_no_utf8_is_made_so),
        LOG_TEST(too_many_fields_leave_the_code),
        LOG_TEST(an_err_as_an_event),
        LOG_TEST(lines_of_processes_do_not_mix),
        LOG_TEST(a_line_is_one_write),
        LOG_TEST(a_log_that_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
