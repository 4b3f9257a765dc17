/* hook_standard_webhooks: Standard Webhooks 1.0, symmetric signatures (v1).
 *
 *   webhook-id: msg_…   webhook-timestamp: 1614265330   webhook-signature: v1,BASE64 v1a,…
 *   BASE64 = HMAC-SHA256(secret, id "." timestamp "." body)
 *
 * Invariants
 *   1. The secret is base64, with or without `whsec_` before it; one that is not, or has fewer than
 *      HOOK_SECRET_MIN bytes, signs nothing.
 *   2. v1a (a public key) is not spoken: a delivery with nothing else is refused in so many words.
 *   3. The body is a JSON object, so it is clear where it begins behind the timestamp's dot.
 * Called by hooks through the table. */
#include "api/hook.h"

#include "core/clock.h"

#define SECRET_ROOM 512 /* the standard allows up to 64 bytes */

static bool decode_secret(struct arena *a, struct str secret, struct str *ret)
{
    static const struct str mark = {"whsec_", 6};
    if (str_starts(secret, mark))
        secret = (struct str){secret.p + mark.n, secret.n - mark.n};
    size_t room = base64_room(secret.n), n = 0;
    char *bytes = room <= SECRET_ROOM ? arena_alloc(a, room) : NULL;
    if (!bytes || base64_decode(secret, BASE64_STANDARD, bytes, room, &n) != RC_OK ||
        n < HOOK_SECRET_MIN)
        return false;
    *ret = (struct str){bytes, n};
    return true;
}

/* The delivery with the bytes of its secrets; those that are none are left out. */
static struct hook_delivery with_bytes(const struct hook_delivery *d)
{
    struct hook_delivery own = *d;
    own.n_secrets = 0;
    for (size_t i = 0; i < d->n_secrets; i++)
        own.n_secrets += decode_secret(d->arena, d->secrets[i], &own.secrets[own.n_secrets]);
    return own;
}

static bool is_version(struct str one, struct str version, struct str *ret)
{
    if (!str_starts(one, version))
        return false;
    *ret = (struct str){one.p + version.n, one.n - version.n};
    return true;
}

static enum rc check_list(const struct hook_delivery *d, struct str head, struct str list,
                          struct err *err)
{
    struct str one, text;
    struct hook_macs given = {.n = 0};
    bool v1 = false, v1a = false;
    while (str_next(&list, ' ', &one)) {
        v1a |= is_version(one, STR("v1a,"), &text);
        if (!is_version(one, STR("v1,"), &text))
            continue;
        v1 = true;
        hook_mac_base64(&given, text, BASE64_STANDARD);
    }
    if (hook_signed(d, head, &given))
        return RC_OK;
    if (v1a && !v1)
        return err_set(err, RC_UNAUTHORIZED, "",
                       "The delivery is signed with v1a (a public key) only; this address takes v1 "
                       "(a shared secret): let the sender sign with both.");
    return err_set(err, RC_UNAUTHORIZED, "", "No signature of webhook-signature is right.");
}

static enum rc verify(const struct hook_delivery *d, struct err *err)
{
    struct str id, at, list;
    TRY(hook_need(d, "webhook-id", &id, err));
    TRY(hook_need(d, "webhook-timestamp", &at, err));
    TRY(hook_need(d, "webhook-signature", &list, err));
    char *head = arena_printf(d->arena, "%.*s.%.*s.", STR_FMT(id), STR_FMT(at));
    if (!head)
        return err_set(err, RC_NOMEM, "", "no memory for the delivery");
    TRY(hook_in_time(d, at, err));
    struct hook_delivery own = with_bytes(d);
    enum rc rc = check_list(&own, str_of(head), list, err);
    for (size_t i = 0; i < own.n_secrets; i++)
        explicit_bzero((char *)(uintptr_t)own.secrets[i].p, own.secrets[i].n);
    return rc;
}

static enum rc read(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    yyjson_val *body;
    TRY(hook_json(d, &body, err));
    hook_one(ret, req_header(d->req, "webhook-id"), HOOK_CHANGED);
    const char *at = yyjson_get_str(yyjson_obj_get(body, "timestamp"));
    if (at && time_parse(str_of(at), &ret->events[0].at) != RC_OK)
        ret->events[0].at = -1;
    return RC_OK;
}

const struct hook_adapter hook_standard_webhooks = {
    .name = "standard-webhooks",
    .verify = verify,
    .read = read,
    .check_options = hook_standard_webhooks_options,
    .retry_days = 7, /* the standard's schedule ends after a day; senders differ */
};
