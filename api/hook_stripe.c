/* hook_stripe: Stripe-Signature: t=SECONDS,v1=HEX[,v1=HEX…]; HEX = HMAC-SHA256(secret, t "." body).
 *
 * Invariants
 *   1. The secret is used as it is written, with its `whsec_`.
 *   2. Exactly one t: the one that is signed is the one that is compared with the clock.
 *   3. v0 proves nothing.
 * Called by hooks through the table. */
#include "api/hook.h"

struct parts {
    struct str at;
    size_t n_at;
    struct hook_macs v1;
};

static struct parts split(struct str header)
{
    struct parts p = {.at = STR("")};
    struct str one, name;
    while (str_next(&header, ',', &one)) {
        struct str value = str_trim(one);
        if (!str_next(&value, '=', &name))
            continue;
        if (str_is(name, "t") && p.n_at++ == 0)
            p.at = value;
        if (str_is(name, "v1"))
            hook_mac_hex(&p.v1, value);
    }
    return p;
}

static enum rc verify(const struct hook_delivery *d, struct err *err)
{
    struct str header;
    TRY(hook_need(d, "Stripe-Signature", &header, err));
    const struct parts p = split(header);
    if (p.n_at != 1)
        return err_set(err, RC_UNAUTHORIZED, "", "Stripe-Signature must have t once.");
    TRY(hook_in_time(d, p.at, err));
    char *head = arena_printf(d->arena, "%.*s.", STR_FMT(p.at));
    if (!head)
        return err_set(err, RC_NOMEM, "", "no memory for the delivery");
    if (!hook_signed(d, str_of(head), &p.v1))
        return err_set(err, RC_UNAUTHORIZED, "", "No v1 of Stripe-Signature is right.");
    return RC_OK;
}

static enum rc read(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    yyjson_val *body;
    TRY(hook_json(d, &body, err));
    const char *id = yyjson_get_str(yyjson_obj_get(body, "id"));
    if (!id || !*id)
        return err_set(err, RC_INVALID, "id", "The event has no id.");
    hook_one(ret, str_of(id), HOOK_CHANGED);
    yyjson_val *at = yyjson_obj_get(body, "created");
    if (yyjson_is_uint(at) && yyjson_get_uint(at) < INT64_MAX / 1000)
        ret->events[0].at = (int64_t)yyjson_get_uint(at) * 1000;
    return RC_OK;
}

const struct hook_adapter hook_stripe = {
    .name = "stripe",
    .verify = verify,
    .read = read,
    .check_options = hook_stripe_options,
    .retry_days = 30, /* three days by itself; events can be sent again by hand for thirty */
};
