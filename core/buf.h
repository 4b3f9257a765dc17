/* buf: the one growing buffer. It cannot be made without a maximum.
 *
 * Invariants
 *   1. len <= max, always; data[len] is NUL when data is not NULL.
 *   2. The first failure sticks: later appends do nothing, buf_rc tells it. So a document is
 *      written line by line without checks and asked once at the end.
 */
#ifndef FRESHET_CORE_BUF_H
#define FRESHET_CORE_BUF_H

#include <stddef.h>
#include "core/rc.h"
#include "core/str.h"

struct buf {
    char *data;
    size_t len, room, max;
    enum rc rc;
};

void buf_init(struct buf *b, size_t max);
void buf_clear(struct buf *b);   /* empty again, memory and max kept, failure forgotten */
void buf_release(struct buf *b); /* also of {0}, which takes no byte */

void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, struct str s);
void buf_puts(struct buf *b, const char *z);
void buf_byte(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* RC_OK, RC_TOO_LARGE (max) or RC_NOMEM. */
MUST_CHECK enum rc buf_rc(const struct buf *b);

static inline struct str buf_view(const struct buf *b)
{
    return (struct str){b->data ? b->data : "", b->len};
}

#endif
