/* hook_cloudevents: CloudEvents from any sender (modes and identity in hook_ce.h).
 *
 * CloudEvents has no proof of its own: its webhook binding names a token in Authorization. So that
 * is the default, and without a secret nothing is taken.
 *
 *   adapter_options   auth, header, prefix   as in hook_secret.h; usual is Authorization:
 *                                            Bearer SECRET
 *                     encoding, …            with auth "hmac": as in hook_hmac.c
 *                     types    list of event types that concern us; others are answered
 *                              and forgotten
 *                     origins  list of senders whom the handshake (OPTIONS) may promise anything
 *                     rate     deliveries per minute that it promises; default what is asked for
 *
 * Invariants
 *   1. The handshake needs no secret, as the binding gives it none, but an origin that is
 *      configured; it promises only, and takes nothing in.
 *   2. What a type means is not guessed: every event says "look", and the bytes decide.
 *   3. `sequence` orders the events of one source and subject. Numbers are compared as numbers when
 *      sequencetype is Integer; then one that is missing is a gap, unless `types` leaves some out.
 * Called by hooks through the table. */
#include "api/hook_ce.h"
#include "api/hook_secret.h"

static bool is_handshake(const struct hook_delivery *d)
{
    return str_is(d->method, "OPTIONS");
}

static enum rc verify(const struct hook_delivery *d, struct err *err)
{
    if (is_handshake(d))
        return ce_handshake_verify(d, NULL, err);
    return hook_secret_verify(d, "Authorization", err);
}

static enum rc look(const struct hook_delivery *d, const struct ce *ce, struct hook_event *e,
                    struct err *err)
{
    yyjson_val *types = yyjson_obj_get(d->options, "types"), *v;
    size_t i, n;
    (void)err;
    e->what = types ? HOOK_OTHER : HOOK_CHANGED;
    if (types) /* numbers of the others are not kept: they would look like a gap */
        e->after = STR("");
    yyjson_arr_foreach(types, i, n, v)
    {
        if (str_eq(json_text(v), ce->type))
            e->what = HOOK_CHANGED;
    }
    return RC_OK;
}

static enum rc read(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    return is_handshake(d) ? ce_handshake_read(d, ret, err) : ce_read(d, look, ret, err);
}

const struct hook_adapter hook_cloudevents = {
    .name = "cloudevents",
    .verify = verify,
    .read = read,
    .check_options = hook_cloudevents_options,
    .retry_days = 14, /* the binding sets no end */
};
