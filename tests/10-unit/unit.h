/* unit: what every unit test includes: cmocka with the headers it wants, and scratch files. */
#ifndef FRESHET_TESTS_UNIT_H
#define FRESHET_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/rc.h"
#include "core/str.h"

#define assert_rc(got, want) assert_string_equal(rc_name(got), rc_name(want))
#define assert_str(got, want) unit_assert_str((got), (want), __FILE__, __LINE__)
/* Fails the test with the words of the error: of e, or of the file's own `err`. */
#define UNIT_OK(x, text, e)                                                                        \
    do {                                                                                           \
        if ((x) != RC_OK)                                                                          \
            fail_msg("%s: %s %s", text, rc_name((e)->rc), (e)->msg);                               \
    } while (0)
#define assert_ok(x) UNIT_OK(x, #x, &err)

static inline void unit_assert_str(struct str got, const char *want, const char *file, int line)
{
    if (str_is(got, want))
        return;
    print_error("got  \"%.*s\"\nwant \"%s\"\n", STR_FMT(got), want);
    _fail(file, line);
}

static inline void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s is not in %s", part, text);
}

/* A new file name in the folder for temporary files; the file is there and empty. */
static inline void unit_temp(char out[64])
{
    snprintf(out, 64, "/tmp/freshet-unit-XXXXXX");
    int fd = mkstemp(out);
    assert_true(fd >= 0);
    close(fd);
}

static inline void unit_write(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

/* The whole file, NUL-terminated, at most room - 1 bytes of it. */
static inline void unit_read(const char *path, char *out, size_t room)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    out[fread(out, 1, room - 1, f)] = 0;
    fclose(f);
}

#endif
