/* rc: the one result type, and the one error type.
 *
 * Every function that can fail returns `enum rc`. Where a caller needs words, it passes a
 * `struct err *` as the last argument, never NULL; on failure it holds the same rc, the name of
 * the field that is wrong (or "") and a sentence that names the fix. It is untouched on success.
 *
 *   return err_set(err, RC_INVALID, "limit", "must be between 1 and 1000, not %s", text);
 *
 * Invariants
 *   1. Output parameters are untouched unless RC_OK is returned.
 *   2. A message never holds secrets: tokens, signatures, user-info or query strings of URLs.
 */
#ifndef FRESHET_CORE_RC_H
#define FRESHET_CORE_RC_H

#include <stdbool.h>
#include <stdnoreturn.h>

enum rc {
#define X(name, http, retry, slug, title) RC_##name,
#include "core/rc.def"
#undef X
    RC_COUNT
};

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
/* Cleanup attribute for handles: `CLEANUP(file_close) FILE *f = NULL;`. The variable needs a value
 * from the start, for every way out releases it: tests/00-arch looks. A buf and an arena may
 * be {0}. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* Returns from the calling function when x failed. */
#define TRY(x)                                                                                     \
    do {                                                                                           \
        enum rc try_rc_ = (x);                                                                     \
        if (try_rc_ != RC_OK)                                                                      \
            return try_rc_;                                                                        \
    } while (0)

struct err {
    enum rc rc;
    char field[64];
    char msg[512];
};

/* Fills err (cutting what does not fit) and returns rc, so that it can be returned at once. */
enum rc err_set(struct err *err, enum rc rc, const char *field, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* The macro lets compilers see that what is returned is rc itself, so that "untouched on failure"
 * is not taken for "uninitialised". */
#define err_set(err, rc, ...) err_second((err_set)((err), (rc), __VA_ARGS__), (rc))
static inline enum rc err_second(enum rc ignored, enum rc rc)
{
    (void)ignored;
    return rc;
}

const char *rc_name(enum rc rc);  /* "NOT_FOUND" */
int rc_http(enum rc rc);          /* 404 */
bool rc_retryable(enum rc rc);    /* may the same call succeed later, unchanged? */
const char *rc_slug(enum rc rc);  /* "not-found", the tail of the problem type */
const char *rc_title(enum rc rc); /* "Nothing is here" */

#endif
