/* stream_due: a binary heap in an array; each item knows its place, counted from 1 (0: in none). */
#include "api/stream_due.h"

#include <stdlib.h>

static void put(struct dues *d, size_t place, struct due *x)
{
    d->list[place - 1] = x;
    x->place = place;
}

static struct due *at(const struct dues *d, size_t place)
{
    return d->list[place - 1];
}

static void rise(struct dues *d, struct due *x, size_t place)
{
    for (; place > 1 && at(d, place / 2)->at > x->at; place /= 2)
        put(d, place, at(d, place / 2));
    put(d, place, x);
}

static void sink(struct dues *d, struct due *x, size_t place)
{
    for (size_t next; (next = 2 * place) <= d->n; place = next) {
        if (next < d->n && at(d, next + 1)->at < at(d, next)->at)
            next++;
        if (at(d, next)->at >= x->at)
            break;
        put(d, place, at(d, next));
    }
    put(d, place, x);
}

static void settle(struct dues *d, struct due *x, size_t place)
{
    if (place > 1 && at(d, place / 2)->at > x->at)
        rise(d, x, place);
    else
        sink(d, x, place);
}

static enum rc grow(struct dues *d)
{
    size_t room = d->room ? 2 * d->room : 64;
    struct due **list = d->n < d->room ? d->list : realloc(d->list, room * sizeof *list);
    if (!list)
        return RC_NOMEM;
    d->room = d->n < d->room ? d->room : room;
    d->list = list;
    return RC_OK;
}

enum rc due_set(struct dues *d, struct due *x, int64_t when)
{
    x->at = when;
    if (x->place) {
        settle(d, x, x->place);
        return RC_OK;
    }
    TRY(grow(d));
    d->n++;
    rise(d, x, d->n);
    return RC_OK;
}

void due_drop(struct dues *d, struct due *x)
{
    size_t place = x->place;
    if (!place)
        return;
    struct due *last = at(d, d->n--);
    x->place = 0;
    if (last != x)
        settle(d, last, place);
}

struct due *due_first(const struct dues *d)
{
    return d->n ? d->list[0] : NULL;
}

void dues_release(struct dues *d)
{
    free(d->list);
    *d = (struct dues){0};
}
