/* hook_slack: X-Slack-Signature: v0=HEX; HEX = HMAC-SHA256(secret, "v0:" time ":" body).
 *
 * Slack proves that it reaches us by a signed `url_verification`, whose challenge is sent back. An
 * event has an id; a slash command, sent as a form, has none and counts by its body, which names
 * its own. Called by hooks through the table. */
#include "api/hook.h"

#define CHALLENGE_MAX 256

static enum rc verify(const struct hook_delivery *d, struct err *err)
{
    static const struct str mark = {"v0=", 3};
    struct hook_macs given = {.n = 0};
    struct str at, s;
    TRY(hook_need(d, "X-Slack-Request-Timestamp", &at, err));
    TRY(hook_need(d, "X-Slack-Signature", &s, err));
    TRY(hook_in_time(d, at, err));
    char *head = arena_printf(d->arena, "v0:%.*s:", STR_FMT(at));
    if (!head)
        return err_set(err, RC_NOMEM, "", "no memory for the delivery");
    if (str_starts(s, mark))
        hook_mac_hex(&given, (struct str){s.p + mark.n, s.n - mark.n});
    if (!hook_signed(d, str_of(head), &given))
        return err_set(err, RC_UNAUTHORIZED, "", "X-Slack-Signature is not right.");
    return RC_OK;
}

static enum rc answer_challenge(yyjson_val *body, struct hook_reading *ret, struct err *err)
{
    const char *text = yyjson_get_str(yyjson_obj_get(body, "challenge"));
    struct str s = str_of(text);
    if (s.n == 0 || s.n > CHALLENGE_MAX || !str_is_clean(s))
        return err_set(err, RC_INVALID, "challenge", "The challenge is missing or too long.");
    ret->kind = HOOK_HANDSHAKE;
    ret->reply = s;
    ret->reply_type = STR("text/plain");
    return RC_OK;
}

static bool is_json(struct str type)
{
    struct str name = {"", 0};
    (void)str_next(&type, ';', &name);
    return str_ieq(str_trim(name), STR("application/json"));
}

static enum rc read(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    yyjson_val *body = NULL;
    if (is_json(d->content_type))
        TRY(hook_json(d, &body, err));
    const char *type = yyjson_get_str(yyjson_obj_get(body, "type"));
    if (type && strcmp(type, "url_verification") == 0)
        return answer_challenge(body, ret, err);
    hook_one(ret, str_of(yyjson_get_str(yyjson_obj_get(body, "event_id"))), HOOK_CHANGED);
    yyjson_val *at = yyjson_obj_get(body, "event_time");
    if (yyjson_is_uint(at) && yyjson_get_uint(at) < INT64_MAX / 1000)
        ret->events[0].at = (int64_t)yyjson_get_uint(at) * 1000;
    return RC_OK;
}

const struct hook_adapter hook_slack = {
    .name = "slack",
    .verify = verify,
    .read = read,
    .check_options = hook_slack_options,
    .retry_days = 7, /* three tries within an hour */
};
