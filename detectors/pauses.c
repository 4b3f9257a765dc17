/* pauses: see the header. */
#include "detectors/pauses.h"

#include "core/clock.h"

static void hear(void *ctx, const char *host, int64_t ms)
{
    struct pauses *p = ctx;
    if (p->n == PAUSES_MAX || strlen(host) >= sizeof p->all->host)
        return;
    struct pause *x = &p->all[p->n++];
    snprintf(x->host, sizeof x->host, "%s", host);
    x->until = clock_now() + ms;
}

/* A clock that was ahead must not silence a host for longer than any host can ask. */
static enum rc take_up(void *ctx, const struct pause *x, struct err *err)
{
    int64_t ms = x->until - clock_now();
    return fetch_pause(ctx, x->host, ms < DAY_MS ? ms : DAY_MS, err);
}

enum rc pauses_open(struct pauses *p, struct ledger *l, struct fetch *f, struct err *err)
{
    p->n = 0;
    TRY(pause_each(l, clock_now(), take_up, f, err));
    fetch_on_pause(f, hear, p);
    return RC_OK;
}

enum rc pauses_save(struct pauses *p, struct ledger *l, struct err *err)
{
    if (p->n > 0)
        TRY(pause_put(l, p->all, p->n, err));
    p->n = 0;
    return RC_OK;
}
