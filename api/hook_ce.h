/* hook_ce: CloudEvents 1.0 over HTTP in its three modes, for the adapters cloudevents and azure.
 *
 *   binary      ce-* headers hold the attributes (percent-encoded), the body is the data
 *   structured  application/cloudevents+json: one event
 *   batch       application/cloudevents-batch+json: a list of events, which may be empty
 *
 * Invariants
 *   1. specversion, id, source and type must be there; only version 1.0 is read.
 *   2. (source, id) is the identity of an event: its id is "SOURCE ID". A source is a URI reference
 *      and holds no space.
 *   3. The object is "SOURCE SUBJECT": sequences of two sources are never compared.
 *   4. An HMAC is of the body, so in binary mode it does not cover the attributes: the id counts
 *      together with what came, and `sequence` for nothing.
 */
#ifndef FRESHET_API_HOOK_CE_H
#define FRESHET_API_HOOK_CE_H

#include "api/hook_read.h"

struct ce {
    struct str id, source, type;                      /* never empty */
    struct str subject, time, sequence, sequencetype; /* "" when absent */
    yyjson_val *data; /* structured and batch: the member data, or NULL */
    struct str bytes; /* what makes it this event (hook_event.bytes) */
};
/* Turns one event of a delivery into ours; e holds already what every CloudEvent tells. */
typedef enum rc ce_fn(const struct hook_delivery *d, const struct ce *ce, struct hook_event *e,
                      struct err *err);

/* Is the delivery in structured or batch mode? */
bool ce_is_json(const struct hook_delivery *d);
/* Reads all events of a delivery. RC_MEDIA_TYPE for a format other than JSON. */
MUST_CHECK enum rc ce_read(const struct hook_delivery *d, ce_fn *fn, struct hook_reading *ret,
                           struct err *err);

/* The handshake against abuse (OPTIONS with WebHook-Request-Origin). Is the origin among `origins`
 * of adapter_options, or `usual` (NULL: nobody) where there is no such option? RC_UNAUTHORIZED. */
MUST_CHECK enum rc ce_handshake_verify(const struct hook_delivery *d, const char *usual,
                                       struct err *err);
/* The answer to it: WebHook-Allowed-Origin, and WebHook-Allowed-Rate with the option `rate`
 * (deliveries per minute), else as many as were asked for. */
MUST_CHECK enum rc ce_handshake_read(const struct hook_delivery *d, struct hook_reading *ret,
                                     struct err *err);

#endif
