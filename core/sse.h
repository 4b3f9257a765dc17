/* sse: reads a text/event-stream, piece by piece (HTML standard, "Server-sent events").
 *
 *   bytes in any pieces ──▶ lines (CR, LF, CRLF) ──▶ fields ──▶ an empty line: one event, told
 *
 * Invariants
 *   1. How the bytes are cut into pieces changes nothing.
 *   2. last_id moves only with the empty line that ends a block: what an incomplete last block says
 *      is forgotten with it. A block that has an id and no data moves it too, and is no event.
 *   3. Memory is bounded: a line and the data of an event have a longest length (RC_TOO_LARGE).
 *   4. last_id can stand in a header line. An id that is too long or holds control characters
 *      is not remembered: the one before it asks for a little more, and loses nothing.
 *
 * Called by whoever holds such a connection open. Bytes are handed on as they came: what is not
 * UTF-8 is not replaced.
 */
#ifndef FRESHET_CORE_SSE_H
#define FRESHET_CORE_SSE_H

#include "core/buf.h"

#define SSE_ID_MAX 256
#define SSE_TYPE_MAX 128
#define SSE_LINE_MAX (256u << 10)
#define SSE_DATA_MAX (1u << 20)

struct sse_event {
    struct str type, data; /* type: "message" when the block names none */
};
/* Anything but RC_OK ends sse_add with it. */
typedef enum rc sse_fn(void *ctx, const struct sse_event *e);

struct sse {
    struct buf line, data;
    char type[SSE_TYPE_MAX];
    char id[SSE_ID_MAX];      /* of the block at hand, or of those before it */
    char last_id[SSE_ID_MAX]; /* to ask with after a break; "" for none */
    int64_t retry_ms;         /* what the upstream asked for, -1 while it did not */
    bool has_data, after_cr, skips_type;
    int bom; /* bytes of a leading mark met so far; 3: past the beginning */
};

void sse_init(struct sse *s, const char *last_id);
void sse_release(struct sse *s);
/* A new connection: only last_id and retry_ms stay. */
void sse_restart(struct sse *s);
MUST_CHECK enum rc sse_add(struct sse *s, struct str piece, sse_fn *fn, void *ctx);

#endif
