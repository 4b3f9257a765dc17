/* hook_mac: what the adapters with a shared secret have in common.
 *
 * Invariants
 *   1. Every live secret is tried, whichever fits, and digests are compared in constant time.
 *   2. What is no digest fits nothing, but costs the same work: an answer's time does not tell how
 *      far somebody came.
 * Called by the adapters. */
#include "api/hook.h"

void hook_mac_hex(struct hook_macs *m, struct str hex)
{
    if (m->n < HOOK_MACS_MAX && hex_decode(hex, m->mac[m->n], 32) == RC_OK)
        m->n++;
}

void hook_mac_base64(struct hook_macs *m, struct str text, enum base64 kind)
{
    uint8_t bytes[32 + 3];
    size_t n = 0;
    if (m->n == HOOK_MACS_MAX || base64_decode(text, kind, bytes, sizeof bytes, &n) != RC_OK ||
        n != 32)
        return;
    memcpy(m->mac[m->n++], bytes, 32);
}

bool hook_signed(const struct hook_delivery *d, struct str head, const struct hook_macs *m)
{
    unsigned found = 0;
    if (d->hashed)
        *d->hashed += d->n_secrets;
    for (size_t i = 0; i < d->n_secrets; i++) {
        struct sha256 ours;
        mac_sha256_of(d->secrets[i], head, d->body, &ours);
        for (size_t k = 0; k < m->n; k++)
            found |= mac_equal(ours.b, m->mac[k], sizeof ours.b);
    }
    return found != 0;
}

enum rc hook_once(const struct hook_delivery *d, const char *header, struct err *err)
{
    if (req_header_twice(d->req, header))
        return err_set(err, RC_INVALID, "", "The header %s was sent twice.", header);
    return RC_OK;
}

enum rc hook_need(const struct hook_delivery *d, const char *header, struct str *ret,
                  struct err *err)
{
    struct str s = req_header(d->req, header);
    TRY(hook_once(d, header, err));
    if (!s.p || s.n == 0)
        return err_set(err, RC_UNAUTHORIZED, "", "The header %s is missing.", header);
    *ret = s;
    return RC_OK;
}

enum rc hook_in_time(const struct hook_delivery *d, struct str seconds, struct err *err)
{
    int64_t at = -1;
    if (str_to_i64(seconds, &at) != RC_OK || at < 0 || at > INT64_MAX / 1000)
        return err_set(err, RC_UNAUTHORIZED, "",
                       "The time of the delivery is not in seconds since 1970.");
    int64_t off = d->now - at * 1000;
    /* A whole second is meant, so a delivery is as old as its second is. */
    if (off / 1000 > HOOK_SKEW_MS / 1000 || off < -HOOK_SKEW_MS)
        return err_set(err, RC_UNAUTHORIZED, "",
                       "The time of the delivery is more than %d s from ours.",
                       HOOK_SKEW_MS / 1000);
    return RC_OK;
}

enum rc hook_json(const struct hook_delivery *d, yyjson_val **ret, struct err *err)
{
    struct err ignored;
    yyjson_val *body;
    if (json_parse(d->arena, d->body, 0, "the body", &body, &ignored) != RC_OK ||
        !yyjson_is_obj(body)) /* the parser's own words may quote the body */
        return err_set(err, RC_INVALID, "", "The body is not a JSON object.");
    *ret = body;
    return RC_OK;
}

const char *hook_option(const struct hook_delivery *d, const char *name, const char *usual)
{
    const char *s = yyjson_get_str(yyjson_obj_get(d->options, name));
    return s ? s : usual;
}

void hook_one(struct hook_reading *ret, struct str id, enum hook_what what)
{
    ret->kind = HOOK_EVENTS;
    ret->n_events = 1;
    ret->events[0] = (struct hook_event){.id = id, .at = -1, .what = what};
}
