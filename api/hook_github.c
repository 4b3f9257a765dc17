/* hook_github: X-Hub-Signature-256, `sha256=` and the hexadecimal HMAC-SHA256 of the body.
 *
 * Invariants
 *   1. X-Hub-Signature (sha1) proves nothing here.
 *   2. GitHub tells no time: that a delivery is told once is remembered by its X-GitHub-Delivery,
 *      which a redelivery repeats. That header is not signed, as GitHub signs the body alone, so it
 *      counts together with the body: whoever repeats a body under another id makes us look once
 *      more, and takes that id from nobody.
 *   3. adapter_options.events names the events that count; without it all but `ping` do.
 * Called by hooks through the table. */
#include "api/hook.h"

static enum rc verify(const struct hook_delivery *d, struct err *err)
{
    static const struct str mark = {"sha256=", 7};
    struct hook_macs given = {.n = 0};
    struct str s = req_header(d->req, "X-Hub-Signature-256");
    if (!s.p && req_header(d->req, "X-Hub-Signature").p)
        return err_set(
            err, RC_UNAUTHORIZED, "",
            "The delivery has X-Hub-Signature (sha1) only; X-Hub-Signature-256 is needed.");
    TRY(hook_need(d, "X-Hub-Signature-256", &s, err));
    if (str_starts(s, mark))
        hook_mac_hex(&given, (struct str){s.p + mark.n, s.n - mark.n});
    if (!hook_signed(d, STR(""), &given))
        return err_set(err, RC_UNAUTHORIZED, "", "X-Hub-Signature-256 is not right.");
    return RC_OK;
}

static bool counts(const struct hook_delivery *d, struct str event)
{
    struct str list = str_of(hook_option(d, "events", "")), one;
    if (list.n == 0)
        return !str_is(event, "ping");
    while (str_next(&list, ' ', &one))
        if (str_eq(one, event))
            return true;
    return false;
}

static bool is_form(struct str type)
{
    struct str name = {"", 0};
    (void)str_next(&type, ';', &name);
    return str_ieq(str_trim(name), STR("application/x-www-form-urlencoded"));
}

static enum rc read(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    yyjson_val *body = NULL;
    struct str event = req_header(d->req, "X-GitHub-Event");
    if (!is_form(d->content_type))
        TRY(hook_json(d, &body, err));
    hook_one(ret, req_header(d->req, "X-GitHub-Delivery"),
             counts(d, event.p ? event : STR("")) ? HOOK_CHANGED : HOOK_OTHER);
    ret->events[0].loose_id = true;
    const char *after = yyjson_get_str(yyjson_obj_get(body, "after")); /* a push: its commit */
    ret->events[0].version = str_cut(str_of(after), HOOK_ID_MAX);
    return RC_OK;
}

const struct hook_adapter hook_github = {
    .name = "github",
    .verify = verify,
    .read = read,
    .check_options = hook_github_options,
    .retry_days = 7, /* by hand and by its API a delivery can be repeated for three days */
};
