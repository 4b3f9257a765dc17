/* webhook: a source whose provider tells by signed deliveries to /hooks (api/hooks.h). What is told
 * goes to the handler by itself; here is what a look at the data does, whoever wanted it: a gap in
 * what was told, a sweep, the calendar or a person. Without triggers there are only
 * sweeps (window.h). */
#include "detectors/etag.h"

static struct ask plan(const struct source *s, const struct check_state *st,
                       const struct conf *conf, int64_t now)
{
    (void)s;
    return etag_plan(st, conf, now);
}

const struct detector webhook_detector = {
    .name = "webhook", .asks_max = ETAG_ASKS_MAX, .plan = plan, .judge = etag_judge};
