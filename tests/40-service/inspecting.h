/* inspecting: the inspectors as the handler meets them: own processes, the real sandbox. B is the
 * build folder. Files are seeds of the fuzz targets; make_inspect_seeds.py says what they are. */
#ifndef FRESHET_TESTS_INSPECTING_H
#define FRESHET_TESTS_INSPECTING_H

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "core/clock.h"
#include "handler/inspector.h"
#include "handler/inspect_program.h"
#include "handler/sandbox.h"
#include "tests/10-unit/unit.h"

#define GDAL "tests/fuzz/seeds/inspect_gdal/"
#define OWN "tests/fuzz/seeds/inspect_geojson/"

static struct inspector *inspector;
static struct arena arena;
static struct inspect_options options = {.feature_key = "GEOID",
                                         .precision_m = INSPECT_PRECISION_M};

static inline const char *programs(void)
{
    return env_get("B") ? env_get("B") : "build";
}

static inline struct inspector *started(int64_t timeout_s, int64_t memory_mb)
{
    struct conf c;
    struct err err;
    struct inspector *in = NULL;
    conf_defaults(&c);
    c.inspect_timeout_s = timeout_s;
    c.inspect_memory_mb = memory_mb;
    assert_rc(inspector_new(&c, programs(), &in, &err), RC_OK);
    return in;
}

static inline struct inspection inspect_fd(struct inspector *in, int fd)
{
    struct inspection i;
    struct err err;
    enum rc rc = inspector_run(in, fd, &options, &arena, &i, &err);
    if (rc != RC_OK)
        fail_msg("%s: %s", rc_name(rc), err.msg);
    return i;
}

static inline struct inspection inspect_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("%s is not there", path);
    struct inspection i = inspect_fd(inspector, fd);
    close(fd);
    return i;
}

static inline int file_of(struct str bytes)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
    return fd;
}

static inline struct inspection inspect_text(struct str bytes)
{
    int fd = file_of(bytes);
    struct inspection i = inspect_fd(inspector, fd);
    close(fd);
    return i;
}

static inline const char *text_at(const struct inspection *i, const char *pointer)
{
    const char *s = yyjson_get_str(yyjson_ptr_get(i->root, pointer));
    return s ? s : "(none)";
}

static inline int64_t number_at(const struct inspection *i, const char *pointer)
{
    yyjson_val *v = yyjson_ptr_get(i->root, pointer);
    assert_true(yyjson_is_num(v));
    return (int64_t)yyjson_get_num(v);
}

/* "GEOMETRY_INVALID KEY_MISSING" */
static inline const char *problems_of(const struct inspection *i)
{
    static char out[512];
    size_t k, n, at = 0;
    yyjson_val *one;
    out[0] = 0;
    yyjson_arr_foreach(yyjson_obj_get(i->root, "problems"), k, n, one)
    {
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%s", at ? " " : "",
                               yyjson_get_str(yyjson_obj_get(one, "code")));
    }
    return out;
}

static inline int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 512u << 20);
    inspector = started(20, 512);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    inspector_free(&inspector);
    arena_release(&arena);
    return 0;
}

static inline int forget(void **state)
{
    (void)state;
    arena_reset(&arena);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, NULL, forget)

#endif
