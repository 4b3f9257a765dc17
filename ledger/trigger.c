/* trigger: see the header. */
#include "ledger/trigger.h"

/* A season may go over the end of the year: November to February holds January. */
static bool holds_month(const struct trigger *t, int month)
{
    if (t->month <= t->through)
        return month >= t->month && month <= t->through;
    return month >= t->month || month <= t->through;
}

bool trigger_of_type(const struct source *s, enum trigger_type type, int month)
{
    for (size_t i = 0; i < s->n_triggers; i++) {
        const struct trigger *t = &s->triggers[i];
        if (t->type == type && (month == 0 || (type == TRIGGER_ANNUAL && holds_month(t, month))))
            return true;
    }
    return false;
}

enum rc trigger_wanted(struct ledger *l, struct arena *a, int64_t src_no, enum trigger_type type,
                       int month, bool *ret, struct err *err)
{
    struct source s;
    enum rc rc = source_by_no(l, a, src_no, &s, err);
    if (rc == RC_OK)
        *ret = trigger_of_type(&s, type, month);
    else if (source_is_unreadable(rc))
        *ret = true;
    arena_reset(a);
    return source_is_unreadable(rc) ? RC_OK : rc;
}

static void put_words(struct buf *b, const struct trigger *t)
{
    switch (t->type) {
    case TRIGGER_ANNUAL:
        buf_printf(b, "yearly, month %d", t->month);
        if (t->through != t->month)
            buf_printf(b, " to %d", t->through);
        break;
    case TRIGGER_REDISTRICTING:
        buf_puts(b, "redistricting");
        for (int i = 0; i < t->n_years; i++)
            buf_printf(b, "%s%d", i ? ", " : " ", t->years[i]);
        break;
    case TRIGGER_CENSUS: buf_printf(b, "census %d", t->years[0]); break;
    case TRIGGER_INTERVAL: buf_printf(b, "every %lld s", (long long)t->seconds); break;
    case TRIGGER_MANUAL: buf_puts(b, "on demand"); break;
    }
}

enum rc trigger_words(struct arena *a, const struct source *s, const char **ret, struct err *err)
{
    CLEANUP(buf_release) struct buf b = {0};
    buf_init(&b, 4096);
    for (size_t i = 0; i < s->n_triggers; i++) {
        buf_puts(&b, i ? "; " : "");
        put_words(&b, &s->triggers[i]);
    }
    char *text = buf_rc(&b) == RC_OK ? arena_str(a, buf_view(&b)) : NULL;
    if (!text)
        return err_set(err, RC_NOMEM, "", "no memory for the windows of a source");
    *ret = text;
    return RC_OK;
}
