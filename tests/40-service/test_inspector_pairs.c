/* The inspectors with two files beside one another, with files that are none of theirs, and when
 * their processes die. */
#include "tests/40-service/inspecting.h"

#include <dirent.h>

/* ---- two files beside one another ------------------------------------------------------------ */

static struct inspection compare_fds(struct inspector *in, int old, int now)
{
    struct inspection i;
    struct err err;
    enum rc rc = inspector_compare(in, old, now, &options, &arena, &i, &err);
    if (rc != RC_OK)
        fail_msg("%s: %s", rc_name(rc), err.msg);
    return i;
}

static int file_at(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("%s is not there", path);
    return fd;
}

/* The counties with another name and a corner moved, as GeoJSON. */
static int edited_counties(void)
{
    static char text[1 << 16];
    int fd = file_at(OWN "counties");
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    assert_true(n > 0);
    text[n] = 0;
    char *name = strstr(text, "County 1"), *corner = strstr(text, "[-99.5, 38.5], [-100, 38.5]");
    assert_true(name && corner);
    memcpy(name, "County 7", 8);
    memcpy(corner, "[-99.5, 38.6]", 13);
    return file_of((struct str){text, (size_t)n});
}

/* Whatever formats the two have: GDAL's beside our own, either way round. */
static void formats_are_compared(void **state)
{
    static const char *const forms[] = {GDAL "counties.gpkg", GDAL "counties.zip",
                                        GDAL "counties.fgb", OWN "counties_rewritten"};
    int now = edited_counties();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        int old = file_at(forms[i]);
        struct inspection there = compare_fds(inspector, old, now),
                          back = compare_fds(inspector, now, old);
        close(old);
        if (!yyjson_is_null(yyjson_obj_get(there.root, "reason")))
            fail_msg("%s: %s", forms[i], text_at(&there, "/reason"));
        assert_int_equal(yyjson_arr_size(yyjson_obj_get(there.root, "modified")), 1);
        assert_int_equal(yyjson_arr_size(yyjson_obj_get(there.root, "added")), 0);
        assert_string_equal(text_at(&there, "/modified/0/attributes/listed/0/old"), "County 1");
        assert_string_equal(text_at(&there, "/modified/0/attributes/listed/0/new"), "County 7");
        assert_string_equal(text_at(&back, "/modified/0/attributes/listed/0/new"), "County 1");
        assert_int_equal(number_at(&there, "/totals/gained_km2"),
                         number_at(&back, "/totals/lost_km2"));
        assert_true(number_at(&there, "/totals/gained_km2") > 100);
    }
    close(now);
}

/* What cannot be compared says why, and the inspector serves the next. */
static void comparisons_that_fail(void **state)
{
    struct inspector *hasty = started(1, 512);
    int good_one = file_at(GDAL "counties.gpkg"), endless = file_at(GDAL "endless.gpkg"),
        broken = file_at(GDAL "scrambled.gpkg");
    (void)state;
    struct inspection r = compare_fds(hasty, good_one, endless);
    assert_string_equal(text_at(&r, "/reason"), "TIME_LIMIT");
    r = compare_fds(hasty, endless, good_one);
    assert_string_equal(text_at(&r, "/reason"), "TIME_LIMIT");
    r = compare_fds(inspector, good_one, broken);
    assert_string_not_equal(text_at(&r, "/reason"), "(none)");
    assert_null(yyjson_obj_get(r.root, "modified"));
    r = compare_fds(hasty, good_one, good_one);
    assert_true(yyjson_is_null(yyjson_obj_get(r.root, "reason")));
    close(good_one);
    close(endless);
    close(broken);
    inspector_free(&hasty);
}

static void comparison_beyond_its_memory(void **state)
{
    struct inspector *in = started(60, 64);
    int small = file_at(OWN "counties"),
        fd = file_of(STR("{\"type\":\"MultiPoint\",\"coordinates\":["));
    FILE *f = fdopen(dup(fd), "a");
    (void)state;
    assert_non_null(f);
    for (size_t i = 0; i < 4u << 20; i++)
        fprintf(f, "[%zu,1],", i % 90);
    fputs("[1,1]]}", f);
    fclose(f);
    struct inspection r = compare_fds(in, small, fd);
    if (SANDBOX_LIMITS_MEMORY)
        assert_string_equal(text_at(&r, "/reason"), "TOO_LARGE");
    close(small);
    close(fd);
    inspector_free(&in);
}

/* ---- other files, and processes -------------------------------------------------------------- */

/* No process is started for what is no geodata: here there is none to start. */
static void no_geodata_needs_no_process(void **state)
{
    struct conf c;
    struct err err;
    struct inspector *in;
    struct inspection r;
    (void)state;
    conf_defaults(&c);
    assert_rc(inspector_new(&c, "/nowhere", &in, &err), RC_OK);
    int fd = file_of(STR("{\"updated\":\"2026-07-02\",\"n\":[1,2]}"));
    assert_rc(inspector_run(in, fd, &options, &arena, &r, &err), RC_OK);
    assert_string_equal(text_at(&r, "/format"), "other");
    assert_string_equal(text_at(&r, "/media_type"), "application/json");
    assert_true(yyjson_is_null(yyjson_obj_get(r.root, "driver")));
    assert_int_equal(number_at(&r, "/size"), 34);
    close(fd);
    fd = file_of(STR("{\"type\":\"Point\",\"coordinates\":[1,2]}"));
    assert_rc(inspector_run(in, fd, &options, &arena, &r, &err), RC_IO);
    close(fd);
    inspector_free(&in);
}

static void read_proc(const char *pid, const char *file, char out[512])
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, file);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(out, 1, 511, f) : 0;
    out[n] = 0;
    if (f)
        fclose(f);
}

/* The pid of the child of this process that runs the program; 0: none. */
static pid_t pid_of(const char *program)
{
    pid_t found = 0;
    DIR *d = opendir("/proc");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char stat[512], command[512];
        int parent = 0;
        read_proc(e->d_name, "stat", stat);
        read_proc(e->d_name, "cmdline", command); /* ends at the first argument's NUL */
        if (sscanf(stat, "%*d (%*[^)]) %*c %d", &parent) == 1 && parent == getpid() &&
            str_ends(str_of(command), str_of(program)))
            found = (pid_t)strtol(e->d_name, NULL, 10);
    }
    closedir(d);
    return found;
}

/* A child of this process; 0: it has none. */
static pid_t child_of(pid_t of)
{
    pid_t found = 0;
    DIR *d = opendir("/proc");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char stat[512];
        int parent = 0;
        read_proc(e->d_name, "stat", stat);
        if (sscanf(stat, "%*d (%*[^)]) %*c %d", &parent) == 1 && parent == of)
            found = (pid_t)strtol(e->d_name, NULL, 10);
    }
    closedir(d);
    return found;
}

/* The reader crashes in the middle of a comparison: that is a reason, and the next file is read. */
static void reader_that_crashes_comparing(void **state)
{
    int good_one = file_at(GDAL "counties.gpkg"), endless = file_at(GDAL "endless.gpkg");
    (void)state;
    (void)inspect_fd(inspector, good_one);
    pid_t server = pid_of(INSPECT_PROGRAM_GDAL);
    assert_true(server > 0);
    pid_t killer = fork();
    if (killer == 0) {
        pid_t reader = 0;
        for (int i = 0; i < 5000 && !reader; i++, usleep(2000))
            reader = child_of(server);
        _exit(reader && kill(reader, SIGSEGV) == 0 ? 0 : 1);
    }
    struct inspection r = compare_fds(inspector, good_one, endless);
    int status = -1;
    assert_int_equal(waitpid(killer, &status, 0), killer);
    assert_int_equal(status, 0);
    assert_string_equal(text_at(&r, "/reason"), "INSPECTOR_CRASHED");
    r = inspect_fd(inspector, good_one);
    assert_int_equal(number_at(&r, "/totals/features"), 3);
    close(good_one);
    close(endless);
}

static void dead_server_is_replaced(void **state)
{
    (void)state;
    (void)inspect_path(OWN "counties");
    pid_t pid = pid_of(INSPECT_PROGRAM_OWN);
    assert_true(pid > 0);
    kill(pid, SIGKILL);
    struct inspection r = inspect_path(OWN "counties");
    assert_int_equal(number_at(&r, "/totals/features"), 3);
    assert_true(pid_of(INSPECT_PROGRAM_OWN) != pid);
}

/* Too little memory here is told as such, and not blamed on the file. */
static void arena_too_small(void **state)
{
    struct inspection r;
    struct err err;
    struct arena small;
    int fd = open(OWN "counties", O_RDONLY | O_CLOEXEC);
    (void)state;
    for (size_t cap = 256; cap < 16384; cap *= 2) {
        arena_init(&small, cap);
        enum rc rc = inspector_run(inspector, fd, &options, &small, &r, &err);
        if (rc != RC_OK)
            assert_rc(rc, RC_NOMEM);
        else
            assert_false(inspection_has(&r, PROBLEM_INSPECTOR_CRASHED));
        arena_release(&small);
    }
    close(fd);
}

static void refuses_what_is_no_file(void **state)
{
    struct inspection r;
    struct err err;
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_rc(inspector_run(inspector, ends[0], &options, &arena, &r, &err), RC_IO);
    close(ends[0]);
    close(ends[1]);
    options.precision_m = 0;
    assert_rc(inspector_run(inspector, 0, &options, &arena, &r, &err), RC_INVALID);
    assert_string_equal(err.field, "precision_m");
    options.precision_m = INSPECT_PRECISION_M;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(formats_are_compared),
        TEST(comparisons_that_fail),
        TEST(comparison_beyond_its_memory),
        TEST(no_geodata_needs_no_process),
        TEST(reader_that_crashes_comparing),
        TEST(dead_server_is_replaced),
        TEST(arena_too_small),
        TEST(refuses_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
