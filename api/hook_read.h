/* hook_read: what the adapters share that read JSON: members with limits, times, events one by one.
 * Pure, without crypto. Called by hook_*.c only.
 *
 * Invariants
 *   1. A document with a member name given twice is refused whole: two readers could take it for
 *      two different events.
 *   2. Every text has a limit, is valid UTF-8 and holds no control characters; errors name
 *      the member.
 *   3. A reading is filled aside and given back whole: one bad event of a batch refuses
 *      the delivery.
 */
#ifndef FRESHET_API_HOOK_READ_H
#define FRESHET_API_HOOK_READ_H

#include "api/hook.h"

#define HOOK_TEXT_MAX 1024 /* a type, a version, a sequencer: none of them comes near */
/* Source and subject of an event, or bucket and key, with the space between. */
#define HOOK_OBJECT_MAX 2560

/* Parses text, which `what` names in errors ("the body"). */
MUST_CHECK enum rc hook_document(const struct hook_delivery *d, struct str text, const char *what,
                                 yyjson_val **ret, struct err *err);
/* Is a name given twice in this object itself? For few members (HOOK_MEMBERS_MAX): a body that is
 * not proven yet. RC_INVALID. */
#define HOOK_MEMBERS_MAX 32
MUST_CHECK enum rc hook_single(yyjson_val *obj, struct err *err);

/* A text of 1 to max bytes that must be there. */
MUST_CHECK enum rc hook_text(yyjson_val *obj, const char *key, size_t max, struct str *ret,
                             struct err *err);
/* The same, "" where it is missing, null or empty. */
MUST_CHECK enum rc hook_text_if(yyjson_val *obj, const char *key, size_t max, struct str *ret,
                                struct err *err);
/* A member that must be an object. */
MUST_CHECK enum rc hook_object(yyjson_val *obj, const char *key, yyjson_val **ret, struct err *err);
/* RFC 3339; `field` is named in the error. -1 for "". */
MUST_CHECK enum rc hook_time(struct str text, const char *field, int64_t *ret, struct err *err);

/* The next event of r, zeroed with at -1. RC_TOO_LARGE beyond HOOK_EVENTS_MAX. */
MUST_CHECK enum rc hook_event_add(struct hook_reading *r, struct hook_event **ret, struct err *err);
/* "a b" in d->arena, for identities made of two texts of which the first holds no space; b alone
 * when a is "", and a alone when b is. RC_TOO_LARGE beyond HOOK_OBJECT_MAX. */
MUST_CHECK enum rc hook_join(const struct hook_delivery *d, struct str a, char between,
                             struct str b, struct str *ret, struct err *err);
/* The canonical form of v: an event's own bytes, however its batch was written. */
MUST_CHECK enum rc hook_bytes(const struct hook_delivery *d, yyjson_val *v, struct str *ret,
                              struct err *err);
/* The value of a header without white space around it, "" when absent. */
struct str hook_header(const struct hook_delivery *d, const char *name);
/* Is the media type of a Content-Type this one, whatever its parameters? */
bool hook_is_type(struct str content_type, const char *type);

#endif
