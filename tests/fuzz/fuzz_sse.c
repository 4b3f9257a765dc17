/* fuzz_sse: an event stream of any bytes.
 *
 * Properties
 *   1. Whole or byte by byte, it tells the same events and leaves the same id and pause.
 *   2. The id can stand in a header line. */
#include "core/sse.h"
#include "tests/fuzz/fuzz_main.h"

struct told {
    struct buf all;
    struct sse sse;
};

static enum rc tell(void *ctx, const struct sse_event *e)
{
    struct told *t = ctx;
    buf_printf(&t->all, "%zu %zu ", e->type.n, e->data.n);
    buf_str(&t->all, e->type);
    buf_str(&t->all, e->data);
    buf_puts(&t->all, t->sse.last_id);
    return RC_OK;
}

static enum rc play(struct told *t, struct str in, size_t step)
{
    enum rc rc = RC_OK;
    buf_init(&t->all, 64u << 20);
    sse_init(&t->sse, "");
    for (size_t i = 0; rc == RC_OK && i < in.n; i += step)
        rc = sse_add(&t->sse, (struct str){in.p + i, in.n - i < step ? in.n - i : step}, tell, t);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct told whole, bytes;
    struct str in = {(const char *)data, n};
    enum rc a = play(&whole, in, n ? n : 1), b = play(&bytes, in, 1);
    HOLDS(a == b);
    HOLDS(str_eq(buf_view(&whole.all), buf_view(&bytes.all)));
    HOLDS(strcmp(whole.sse.last_id, bytes.sse.last_id) == 0);
    HOLDS(whole.sse.retry_ms == bytes.sse.retry_ms);
    HOLDS(str_is_clean(str_of(whole.sse.last_id)));
    buf_release(&whole.all);
    buf_release(&bytes.all);
    sse_release(&whole.sse);
    sse_release(&bytes.sse);
    return 0;
}
