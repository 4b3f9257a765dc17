/* detector: the table of kinds, and what their answers have in common. Pure. */
#include <stdarg.h>
#include "detectors/detector.h"

#define X(name) extern const struct detector name##_detector;
#include "ledger/detectors.def"
#undef X
static const struct detector *const detectors[] = {
#define X(name) &name##_detector,
#include "ledger/detectors.def"
#undef X
};

const struct detector *detector_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(detectors); i++)
        if (strcmp(detectors[i]->name, name) == 0)
            return detectors[i];
    return NULL;
}

struct verdict verdict_of(enum outcome o, const char *fmt, ...)
{
    struct verdict v = {.outcome = o};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v.detail, sizeof v.detail, fmt, ap);
    va_end(ap);
    return v;
}

struct verdict verdict_again(struct ask next)
{
    return (struct verdict){.again = true, .next = next};
}

/* Below HTTP. A body cut short or beyond the limit did arrive: it is the wrong shape,
 * not silence. */
static enum outcome outcome_of_end(const struct fetch_res *res)
{
    switch (res->end) {
    case FETCH_BLOCKED:
    case FETCH_REDIRECTS:
    case FETCH_PIN: return OUTCOME_blocked;
    case FETCH_DEFERRED: return OUTCOME_rate_limited;
    case FETCH_TRUNCATED:
    case FETCH_TOO_LARGE: return res->bytes_in > 0 ? OUTCOME_wrong_shape : OUTCOME_unavailable;
    default: return OUTCOME_unavailable;
    }
}

/* Statuses are classes, so the exceptions stand before their class. */
static enum outcome outcome_of_status(const struct fetch_res *res)
{
    switch (res->http) {
    case 304: return OUTCOME_wrong_shape; /* nobody asked for it: the judge knows those that are */
    case 401:
    case 403:
    case 407:
    case 451: return OUTCOME_denied;
    case 404:
    case 410: return OUTCOME_gone;
    case 429: return OUTCOME_rate_limited;
    case 503: return res->retry_after_ms >= 0 ? OUTCOME_rate_limited : OUTCOME_unavailable;
    default: return res->http < 400 ? OUTCOME_not_ready : OUTCOME_unavailable;
    }
}

struct verdict verdict_failure(const struct fetch_res *res)
{
    /* The engine stops reading the body of an error page; its status still counts. */
    bool answered = res->end == FETCH_OK || (res->end == FETCH_STOPPED && res->http != 0);
    if (!answered)
        return verdict_of(outcome_of_end(res), "%s", res->detail);
    enum outcome o = outcome_of_status(res);
    if (o == OUTCOME_rate_limited && res->retry_after_ms >= 0)
        return verdict_of(o, "HTTP %d, asked to wait %lld s", res->http,
                          (long long)(res->retry_after_ms / 1000));
    if (res->http == 304)
        return verdict_of(o, "HTTP 304 although nothing conditional was asked");
    return verdict_of(o, "HTTP %d", res->http);
}

/* In a row: another failure between two sightings leaves it open whether it was there meanwhile.
 * Once a deletion is told the count only says that there was one. */
static void settle_gone(struct check_state *st, enum outcome o, int64_t now)
{
    if (o == OUTCOME_gone) {
        if (st->gone_count++ == 0 || st->gone_since > now)
            st->gone_since = now;
    } else if (st->has_seen) {
        st->gone_count = 0;
        st->gone_since = -1;
    }
}

void state_settle(struct check_state *st, enum outcome o, const char *detail, int64_t now)
{
    st->checks++;
    st->checked_at = now;
    snprintf(st->last_outcome, sizeof st->last_outcome, "%s", outcome_name(o));
    snprintf(st->last_detail, sizeof st->last_detail, "%s", detail);
    if (outcome_failure(o)) {
        st->failures++;
        settle_gone(st, o, now);
        return;
    }
    st->failures = 0;
    st->gone_count = 0;
    st->gone_since = -1;
    st->reached_at = now;
}
