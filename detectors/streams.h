/* streams: the event streams of sources (detector sse), held open by the scheduler beside
 * the polls.
 *
 *              pause over                  header of a 200 text/event-stream
 *   WAITING ───────────────▶ CONNECTING ─────────────────────────────▶ OPEN
 *      ▲                         │ refused, failed                       │ ended, silent, too large
 *      └─────────────────────────┴───────────────────────────────────────┘
 *
 * An event only says "look": the data is looked at as always (sse.c), and the bytes decide. So does
 * every connection that opens, as nobody knows what was missed before it.
 *
 * Invariants
 *   1. An event that counts is followed by a look at the data that began after it came. Its id is
 *      committed with the result of that look (I3), and asked with (Last-Event-ID) after a break.
 *   2. While a stream is open its source is looked at once a day besides. One that is not open for
 *      a sixth of stream_quiet_s (10 s) is recorded as down, with the reason, and its source is due
 *      at once and polled as its declaration says until the stream is back.
 *   3. A connection that sends nothing for stream_quiet_s is ended. Before the next try passes what
 *      the upstream asked for with `retry:` (a day at most, core/sse.c), whole, and a random part
 *      on top of what doubles from there up to STREAMS_PAUSE_MAX_MS; Retry-After is honoured.
 *   4. At most max_streams are open, on one host too; they take no slot from the polls. Sources
 *      beyond are recorded as down, and polled.
 *   5. What is not open is not recorded as up: not by a scheduler before this one, not while it
 *      waits for its first connection.
 *   6. However many events come, between two looks for them passes a pause: STREAMS_LOOK_MIN_MS
 *      after one that found something, doubled up to STREAMS_LOOK_MAX_MS by each that did not, the
 *      least again when a connection opens. Looks for another reason, such as polls of an outage,
 *      are none of these. The last event still gets its look, after the pause.
 *
 * Called by the scheduler, and by nobody else: two of these would connect twice.
 */
#ifndef FRESHET_DETECTORS_STREAMS_H
#define FRESHET_DETECTORS_STREAMS_H

#include "detectors/detect.h"
#include "detectors/detector.h"

#define STREAMS_GRACE_PART 6  /* of stream_quiet_s: a restart of the upstream is no trouble */
#define STREAMS_RETRY_MS 3000 /* where the upstream names no `retry:` */
#define STREAMS_PAUSE_MAX_MS 300000
#define STREAMS_REFUSED_MS 900000 /* 204 and 4xx: asked not to come back, but a day is long */
#define STREAMS_LOOK_MIN_MS 1000
#define STREAMS_LOOK_MAX_MS 60000

extern const struct detector sse_detector;

/* Before the next try, after so many. retry_ms: -1 when the upstream named none. */
int64_t streams_pause_ms(int64_t retry_ms, int tries, bool refused);

struct streams;
MUST_CHECK enum rc streams_new(struct ledger *l, const struct instance *inst, struct streams **ret,
                               struct err *err);
void streams_free(struct streams **s);
/* Reads which sources have one (now and then), connects, reads what came, and adds the looks that
 * are wanted to d as far as it has room; NULL: no look can begin in this turn. Does not wait. */
MUST_CHECK enum rc streams_turn(struct streams *s, struct detect *d, struct err *err);
/* For detect_on_told. */
const char *streams_told(const struct streams *s, int64_t src_no, bool *ret_open);
/* To be told of every check that was committed. */
void streams_checked(struct streams *s, const struct check_result *r);

#endif
