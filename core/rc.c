/* rc: the table of results as arrays, and the filling of errors.
 *
 * Invariants
 *   1. Every rc has a row; a number outside the table reads as INTERNAL.
 *   2. A message may quote the error it replaces: err_set(err, rc, err->field, "%s", err->msg).
 *   3. What is cut is cut between characters, so that a message is UTF-8 when its parts were.
 * Called from everywhere; depends on nothing. */
#include "core/rc.h"

#include <stdarg.h>
#include "core/str.h"

static const struct {
    const char *name, *slug, *title;
    int http;
    bool retry;
} table[RC_COUNT] = {
#define X(name, http, retry, slug, title) {#name, slug, title, http, retry},
#include "core/rc.def"
#undef X
};

static size_t row(enum rc rc)
{
    return (size_t)rc < RC_COUNT ? (size_t)rc : RC_INTERNAL;
}

static void copy_cut(char *out, size_t room, const char *text)
{
    struct str s = str_cut(str_of(text), room - 1);
    memcpy(out, s.p, s.n);
    out[s.n] = 0;
}

enum rc(err_set)(struct err *err, enum rc rc, const char *field, const char *fmt, ...)
{
    /* Longer than msg by one character, so that copy_cut sees where the cut falls. */
    char msg[sizeof err->msg + 4], name[sizeof err->field + 4];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(msg, sizeof msg, fmt, ap) < 0)
        msg[0] = 0;
    va_end(ap);
    snprintf(name, sizeof name, "%s", field ? field : "");
    err->rc = rc;
    copy_cut(err->field, sizeof err->field, name);
    copy_cut(err->msg, sizeof err->msg, msg);
    return rc;
}

const char *rc_name(enum rc rc)
{
    return table[row(rc)].name;
}

int rc_http(enum rc rc)
{
    return table[row(rc)].http;
}

bool rc_retryable(enum rc rc)
{
    return table[row(rc)].retry;
}

const char *rc_slug(enum rc rc)
{
    return table[row(rc)].slug;
}

const char *rc_title(enum rc rc)
{
    return table[row(rc)].title;
}
