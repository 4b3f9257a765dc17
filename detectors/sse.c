/* sse: the data of a source that has an event stream. The connection itself is held by streams.c;
 * here is what a look at the data does, whoever wanted it: an event, the calendar or a person.
 *
 * Invariants
 *   1. The cursor is the id of the newest event that came before the look began. It moves only with
 *      an outcome that is no failure, so that what an event told is committed with its candidate
 *      (I3), and is told again after a restart when it was not.
 *   2. Events decide how many looks there are, so their number brings one audit a day at most.
 */
#include "detectors/etag.h"
#include "detectors/streams.h"

#define AUDIT_MS DAY_MS

static struct ask plan(const struct source *s, const struct check_state *st,
                       const struct conf *conf, int64_t now)
{
    (void)s;
    bool early = st->verified_at <= now && now - st->verified_at < AUDIT_MS;
    return early ? etag_ask(st, now) : etag_plan(st, conf, now);
}

static struct verdict judge(struct check_state *st, const struct answer *a, int64_t now)
{
    struct verdict v = etag_judge(st, a, now);
    if (!v.again && !outcome_failure(v.outcome) && a->told)
        snprintf(st->cursor, sizeof st->cursor, "%s", a->told);
    return v;
}

const struct detector sse_detector = {
    .name = "sse", .asks_max = ETAG_ASKS_MAX, .plan = plan, .judge = judge};
