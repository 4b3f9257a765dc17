/* hook_hmac: HMAC-SHA256 in a header, for whoever signs in a way of their own.
 *
 *   adapter_options   header            where the signature stands; default X-Signature
 *                     prefix            what stands before it, such as sha256=; default none
 *                     encoding          hex (default), base64 or base64url
 *                     timestamp_header  seconds since 1970; then TIME "." BODY is signed, and the
 *                                       time must be within HOOK_SKEW_MS of ours
 *                     id_header, id     where the id of the event stands: a header, or a JSON
 *                                       pointer into the body. Without either it is the digest of
 *                                       the body
 *
 * Invariants
 *   1. Options that are none of these are not looked at: other adapters lend this one
 *      their delivery.
 *   2. An id in a header is not signed, so it counts together with the body: whoever repeats a body
 *      under another id makes us look once more, and takes that id from nobody.
 * Called by hooks through the table, and by adapters that sign the same way. */
#include "api/hook.h"

static void add(struct hook_macs *m, const char *encoding, struct str text)
{
    if (strcmp(encoding, "hex") == 0)
        hook_mac_hex(m, text);
    else
        hook_mac_base64(m, text, strcmp(encoding, "base64") == 0 ? BASE64_STANDARD : BASE64_URL);
}

/* What is signed before the body. */
static enum rc head_of(const struct hook_delivery *d, struct str *ret, struct err *err)
{
    const char *header = hook_option(d, "timestamp_header", "");
    struct str at;
    *ret = STR("");
    if (!*header)
        return RC_OK;
    TRY(hook_need(d, header, &at, err));
    TRY(hook_in_time(d, at, err));
    const char *head = arena_printf(d->arena, "%.*s.", STR_FMT(at));
    if (!head)
        return err_set(err, RC_NOMEM, "", "no memory for the delivery");
    *ret = str_of(head);
    return RC_OK;
}

static enum rc verify(const struct hook_delivery *d, struct err *err)
{
    const char *header = hook_option(d, "header", "X-Signature");
    struct str prefix = str_of(hook_option(d, "prefix", "")), s, head;
    struct hook_macs given = {.n = 0};
    TRY(hook_need(d, header, &s, err));
    TRY(head_of(d, &head, err));
    if (str_starts(s, prefix))
        add(&given, hook_option(d, "encoding", "hex"),
            (struct str){s.p + prefix.n, s.n - prefix.n});
    if (!hook_signed(d, head, &given))
        return err_set(err, RC_UNAUTHORIZED, "", "The signature in %s is not right.", header);
    return RC_OK;
}

static enum rc id_of(const struct hook_delivery *d, struct str *ret, struct err *err)
{
    const char *header = hook_option(d, "id_header", ""), *pointer = hook_option(d, "id", "");
    static const struct str nothing = {"", 0};
    yyjson_val *body, *id;
    *ret = nothing;
    TRY(hook_once(d, header, err));
    if (*header && (*ret = req_header(d->req, header)).n == 0)
        return err_set(err, RC_INVALID, "", "The header %s with the event's id is missing.",
                       header);
    if (!*pointer)
        return RC_OK;
    char number[32];
    TRY(hook_json(d, &body, err));
    id = yyjson_ptr_get(body, pointer);
    const char *text =
        json_scalar(id, number) ? arena_strdup(d->arena, number) : yyjson_get_str(id);
    if (!text || !*text)
        return err_set(err, RC_INVALID, "",
                       "The body has no id of the event where one is declared.");
    *ret = str_of(text);
    return RC_OK;
}

static enum rc read(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    struct str id;
    TRY(id_of(d, &id, err));
    hook_one(ret, id, HOOK_CHANGED);
    ret->events[0].loose_id = *hook_option(d, "id_header", "") && !*hook_option(d, "id", "");
    return RC_OK;
}

const struct hook_adapter hook_hmac = {
    .name = "hmac",
    .verify = verify,
    .read = read,
    .check_options = hook_hmac_options,
    .retry_days = 14, /* nobody says */
};
