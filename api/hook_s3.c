/* hook_s3: events of S3 and its kin (documents in hook_s3_events.h), brought by an API destination
 * of EventBridge, a function, or the store itself (MinIO, Ceph). S3 itself calls no web address;
 * what comes through a topic of SNS is adapter sns.
 *
 *   adapter_options   auth, header, prefix   as in hook_secret.h; usual is X-Api-Key: SECRET, as an
 *                                            API destination calls it. MinIO sends Authorization
 *                     encoding, …            with auth "hmac": as in hook_hmac.c
 *
 * A list of EventBridge's events (a batch made by a relay) is read like one event after the other.
 * Called by hooks through the table. */
#include "api/hook_s3_events.h"
#include "api/hook_secret.h"

static enum rc verify(const struct hook_delivery *d, struct err *err)
{
    return hook_secret_verify(d, "X-Api-Key", err);
}

static enum rc read(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    struct hook_reading r = {.kind = HOOK_EVENTS};
    yyjson_val *doc, *v;
    size_t i, n;
    TRY(hook_document(d, d->body, "the body", &doc, err));
    if (!yyjson_is_arr(doc))
        TRY(s3_read(d, doc, &r, err));
    yyjson_arr_foreach(doc, i, n, v)
    {
        TRY(s3_read(d, v, &r, err));
    }
    *ret = r;
    return RC_OK;
}

const struct hook_adapter hook_s3 = {
    .name = "s3",
    .verify = verify,
    .read = read,
    .check_options = hook_s3_options,
    .retry_days = 7, /* EventBridge: a day; relays and stores as they are configured */
};
