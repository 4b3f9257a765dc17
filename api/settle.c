/* settle: requests that write, together. A commit costs a sync, whatever is in it; so what has come
 * in at the same time shares one, and each is answered after it.
 *
 * Invariants
 *   1. Nobody is told of success before the commit.
 *   2. One that cannot be written spoils nothing for the others.
 * Called by service for freshet-intake. */
#include "api/route.h"

static enum rc write_all(const struct unsettled *list, size_t n, struct err *err)
{
    struct ledger *l = list[0].r->ledger;
    enum rc rc = RC_OK;
    TRY(ledger_begin(l, err));
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        buf_clear(&list[i].w->body);
        rc = list[i].w->later(list[i].r, list[i].w, err);
    }
    return ledger_end(l, rc, err);
}

void route_settle(const struct unsettled *list, size_t n)
{
    struct err err = {0};
    enum rc rc = n > 0 ? write_all(list, n, &err) : RC_OK;
    if (rc != RC_OK && n > 1) {
        for (size_t i = 0; i < n; i++)
            route_settle(&list[i], 1);
        return;
    }
    for (size_t i = 0; i < n; i++)
        route_end(list[i].r, list[i].w, rc, &err);
}
