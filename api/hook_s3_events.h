/* hook_s3_events: what S3 and what speaks like it says about objects, for the adapters s3 and sns.
 *
 *   notification   {"Records":[{"eventName":"ObjectCreated:Put","s3":{…}},…]}; also of MinIO,
 *                  Ceph, …
 *   test           {"Event":"s3:TestEvent",…}, sent when a notification is configured
 *   EventBridge    {"detail-type":"Object Created","source":"aws.s3","detail":{"object":{…}}}
 *
 * Invariants
 *   1. The object is BUCKET/KEY. In notifications the key is decoded from its form encoding (+,
 *      %XX); EventBridge gives it as it is.
 *   2. Sequencers are hexadecimal and order the events of one key alone. They are given on in upper
 *      case; whoever compares two fills the shorter with zeros on its right.
 *   3. A notification has no id of its own: request, event, sequencer, version and object make it.
 *      Two records with the same ones are the same event.
 *   4. A removal names no version: what is there afterwards has none, or an older one.
 */
#ifndef FRESHET_API_HOOK_S3_EVENTS_H
#define FRESHET_API_HOOK_S3_EVENTS_H

#include "api/hook_read.h"

/* Is the document one of these three? */
bool s3_is_event(yyjson_val *doc);
/* Adds the events of doc to r. Nothing is to be used of r after a failure. */
MUST_CHECK enum rc s3_read(const struct hook_delivery *d, yyjson_val *doc, struct hook_reading *r,
                           struct err *err);

#endif
