/* buf: the growing buffer.
 *
 * Invariants
 *   1. len <= max and len < room whenever data is not NULL; data[len] is NUL.
 *   2. An append happens whole or not at all; the first failure sticks until buf_clear.
 * Called from everywhere; depends on rc and str. */
#include "core/buf.h"

#include <stdarg.h>

#define FIRST_ROOM 256 /* most headers, ids and log lines fit without growing */

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->rc = RC_OK;
    if (b->data)
        b->data[0] = 0;
}

void buf_release(struct buf *b)
{
    free(b->data);
    buf_init(b, b->max);
}

static bool fail(struct buf *b, enum rc rc)
{
    b->rc = rc;
    return false;
}

/* Makes room for n more bytes and the NUL. */
static bool enlarge(struct buf *b, size_t n)
{
    if (b->rc != RC_OK)
        return false;
    if (n > b->max - b->len)
        return fail(b, RC_TOO_LARGE);
    if (n >= PTRDIFF_MAX - b->len) /* no object is larger */
        return fail(b, RC_NOMEM);
    size_t need = b->len + n + 1, room = b->room ? b->room : FIRST_ROOM;
    if (need <= b->room)
        return true;
    while (room < need)
        room *= 2;
    char *data = realloc(b->data, room);
    if (!data)
        return fail(b, RC_NOMEM);
    b->data = data;
    b->room = room;
    return true;
}

/* Nearly always there is room already. */
static inline bool grow(struct buf *b, size_t n)
{
    bool fits = b->rc == RC_OK && b->len < b->room && n < b->room - b->len && n <= b->max - b->len;
    return fits || enlarge(b, n);
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (n == 0 || !grow(b, n))
        return;
    memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = 0;
}

void buf_str(struct buf *b, struct str s)
{
    buf_add(b, s.p, s.n);
}

void buf_puts(struct buf *b, const char *z)
{
    buf_add(b, z, strlen(z));
}

void buf_byte(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

/* Formats into the room there is; only what does not fit is formatted again. */
void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    size_t room = b->data && b->rc == RC_OK ? b->room - b->len : 0;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, ap);
    if (n < 0 && b->rc == RC_OK)
        b->rc = RC_NOMEM; /* the C library could not format it: only for want of memory */
    bool fits = n >= 0 && (size_t)n < room && (size_t)n <= b->max - b->len;
    if (!fits && room)
        b->data[b->len] = 0;
    if (!fits && n > 0 && grow(b, (size_t)n)) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        fits = true;
    }
    if (fits)
        b->len += (size_t)n;
    va_end(again);
    va_end(ap);
}

enum rc buf_rc(const struct buf *b)
{
    return b->rc;
}
