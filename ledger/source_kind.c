/* source_kind: what follows from a declaration alone, without a ledger; so any program may ask. */
#include "core/clock.h"
#include "ledger/source.h"

bool source_is_template(const struct source *s)
{
    return strstr(s->url, SOURCE_YEAR) != NULL;
}

bool source_is_entry(const struct source *s)
{
    return s->parent_no && s->unlisted_at >= 0;
}

bool source_is_listing(const struct source *s)
{
    return strcmp(s->detector, "manifest") == 0;
}

bool detector_takes_push(const char *detector)
{
    return strcmp(detector, "webhook") == 0 || strcmp(detector, "event") == 0;
}

bool source_takes_push(const struct source *s)
{
    return detector_takes_push(s->detector);
}

bool source_has_stream(const struct source *s)
{
    return strcmp(s->detector, "sse") == 0;
}

bool source_is_pushed(const struct source *s)
{
    return source_takes_push(s) && s->n_triggers == 0 && s->poll_interval_s == 0;
}

int64_t source_first_due(const struct source *s, int64_t now)
{
    if (source_is_pushed(s))
        return s->sweep_days > 0 ? now + s->sweep_days * DAY_MS : -1;
    for (size_t i = 0; i < s->n_triggers; i++)
        if (s->triggers[i].type != TRIGGER_MANUAL)
            return now;
    return s->n_triggers ? -1 : now;
}
