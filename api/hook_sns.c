/* hook_sns: messages of Amazon SNS over HTTP, among them events of S3 (hook_s3_events.h)
 * in `Message`.
 *
 *   adapter_options   topic_arns          list, needed: whoever has an AWS account can have
 *                                         SNS sign
 *                     certificates        list of PEM texts: the certificate that SigningCertURL
 *                                         names, fetched once by hand. Or as files of secrets/,
 *                                         named in `secrets`; several while AWS changes it
 *                     signature_versions  list of "1" (SHA-1) and "2" (SHA-256); default both. A
 *                                         topic signs with 1 until its attribute SignatureVersion
 *                                         says 2
 *
 * Invariants
 *   1. The proof stands in the body, so verify reads it: one object of at most BODY_MAX bytes and
 *      few members, no name twice, and what is cheap (type, topic, time, host) is checked before
 *      a signature.
 *   2. Nothing is fetched. SigningCertURL must be one of SNS, but the key is that of the configured
 *      certificate: what a stranger names is never believed.
 *   3. Only Message may hold line breaks. So the signed text, which has a line for each name and
 *      value, can be read in one way only.
 *   4. Timestamp is the time of publication. SNS tries a delivery for an hour at most, so a message
 *      may be as old as that and HOOK_SKEW_MS; what comes twice within it is known by
 *      its MessageId.
 *   5. A subscription is confirmed only at SNS itself, and only for an allowed topic.
 * A delivery without a signature (raw message delivery) is refused. Called by hooks through
 * the table. */
#include "api/hook_s3_events.h"
#include "core/base64.h"
#include "core/rsa.h"

#define BODY_MAX (640u << 10) /* a message has 256 KiB; as a JSON text its quotes count twice */
#define FIELD_MAX 2048        /* of all but Message: URLs with their tokens are the longest */
#define RETRY_MS 3600000      /* how long SNS tries at most */
#define NOTIFICATION "Notification"
#define SUBSCRIBED "SubscriptionConfirmation"
#define UNSUBSCRIBED "UnsubscribeConfirmation"

static enum rc refuse(struct err *err, const char *field, const char *why)
{
    return err_set(err, RC_UNAUTHORIZED, field, "%s", why);
}

/* ---- URLs of SNS ----------------------------------------------------------------------------- */

static bool is_region(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '-')
            return false;
    return s.n >= 3;
}

/* https://sns.REGION.amazonaws.com[.cn]/…: nothing else before the slash. *ret_rest begins
 * with it. */
static bool is_of_sns(struct str url, struct str *ret_rest)
{
    static const struct str ends[] = {{".amazonaws.com", 14}, {".amazonaws.com.cn", 17}};
    const struct str start = STR("https://sns.");
    if (!str_starts(url, start))
        return false;
    struct str host = {url.p + start.n, url.n - start.n};
    const char *slash = memchr(host.p, '/', host.n);
    if (!slash)
        return false;
    *ret_rest = (struct str){slash, (size_t)(url.p + url.n - slash)};
    host.n = (size_t)(slash - host.p);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (str_ends(host, ends[i]) && is_region((struct str){host.p, host.n - ends[i].n}))
            return true;
    return false;
}

static bool is_certificate(struct str url)
{
    struct str path;
    return is_of_sns(url, &path) && str_ends(path, STR(".pem")) && !memchr(path.p, '?', path.n) &&
           !memchr(path.p, '#', path.n);
}

static bool is_confirmation(struct str url)
{
    struct str rest;
    return is_of_sns(url, &rest) && str_starts(rest, STR("/?Action=ConfirmSubscription&")) &&
           !memchr(rest.p, '#', rest.n) && !memchr(rest.p, ' ', rest.n);
}

/* ---- the signed text ------------------------------------------------------------------------- */

/* In the order of the signature; Message, the first, is free text, Subject may be missing. */
static const char *const notification[] = {"Message",   "MessageId", "Subject",
                                           "Timestamp", "TopicArn",  "Type"};
static const char *const confirmation[] = {"Message", "MessageId", "SubscribeURL", "Timestamp",
                                           "Token",   "TopicArn",  "Type"};

static enum rc put_signed(struct buf *b, yyjson_val *body, const char *name, struct err *err)
{
    yyjson_val *v = yyjson_obj_get(body, name);
    bool may_miss = strcmp(name, "Subject") == 0, is_free = strcmp(name, "Message") == 0;
    struct str value;
    if (may_miss && (!v || yyjson_is_null(v)))
        return RC_OK;
    if (!yyjson_is_str(v))
        return err_set(err, RC_INVALID, name, "is missing or not a text");
    value = json_text(v);
    if (!is_free)
        TRY(hook_text_if(body, name, FIELD_MAX, &value, err));
    buf_printf(b, "%s\n", name);
    buf_str(b, value);
    buf_byte(b, '\n');
    return RC_OK;
}

static enum rc signed_text(const struct hook_delivery *d, yyjson_val *body, bool is_notification,
                           struct str *ret, struct err *err)
{
    const char *const *names = is_notification ? notification : confirmation;
    size_t n = is_notification ? ARRAY_LEN(notification) : ARRAY_LEN(confirmation);
    CLEANUP(buf_release) struct buf b = {0};
    buf_init(&b, BODY_MAX);
    for (size_t i = 0; i < n; i++)
        TRY(put_signed(&b, body, names[i], err));
    const char *text = buf_rc(&b) == RC_OK ? arena_str(d->arena, buf_view(&b)) : NULL;
    if (!text)
        return err_set(err, RC_NOMEM, "", "no memory for a message");
    *ret = (struct str){text, b.len};
    return RC_OK;
}

/* Not in the parser's own words, nor with its limits: nothing of this body is proven. */
static enum rc parse(const struct hook_delivery *d, yyjson_val **ret, struct err *err)
{
    yyjson_val *v;
    struct err why = {0};
    if (d->body.n > BODY_MAX)
        return err_set(err, RC_TOO_LARGE, "", "a message of SNS has at most %u bytes", BODY_MAX);
    if (json_parse(d->arena, d->body, 0, "the body", &v, &why) != RC_OK)
        return err_set(err, RC_INVALID, "", "the body is not a JSON object, or too deep a one");
    TRY(hook_single(v, err));
    *ret = v;
    return RC_OK;
}

/* ---- verify ---------------------------------------------------------------------------------- */

static bool is_listed(yyjson_val *list, struct str s)
{
    yyjson_val *v;
    size_t i, n;
    bool found = false;
    yyjson_arr_foreach(list, i, n, v) found |= s.n > 0 && str_eq(json_text(v), s);
    return found;
}

static enum rc check_time(const struct hook_delivery *d, yyjson_val *body, struct err *err)
{
    int64_t at;
    TRY(hook_time(json_text(yyjson_obj_get(body, "Timestamp")), "Timestamp", &at, err));
    if (at < d->now - RETRY_MS - HOOK_SKEW_MS)
        return refuse(err, "Timestamp", "is older than SNS tries a delivery: an hour");
    if (at > d->now + HOOK_SKEW_MS)
        return refuse(err, "Timestamp", "is in the future");
    return RC_OK;
}

/* All that costs nothing. */
static enum rc check_claims(const struct hook_delivery *d, yyjson_val *body, struct err *err)
{
    struct str version = json_text(yyjson_obj_get(body, "SignatureVersion"));
    yyjson_val *versions = yyjson_obj_get(d->options, "signature_versions");
    if (!is_listed(yyjson_obj_get(d->options, "topic_arns"),
                   json_text(yyjson_obj_get(body, "TopicArn"))))
        return refuse(err, "TopicArn", "is not among adapter_options.topic_arns of this source");
    if (!str_is(version, "1") && !str_is(version, "2"))
        return refuse(err, "SignatureVersion", "must be \"1\" or \"2\"");
    if (versions && !is_listed(versions, version))
        return refuse(err, "SignatureVersion",
                      "is not among adapter_options.signature_versions of this source");
    if (!is_certificate(json_text(yyjson_obj_get(body, "SigningCertURL"))))
        return refuse(err, "SigningCertURL",
                      "must be https://sns.REGION.amazonaws.com/….pem, without user and port");
    return check_time(d, body, err);
}

/* Under each certificate, those in files first. */
static enum rc check_signature(const struct hook_delivery *d, enum rsa_hash hash, struct str text,
                               struct str sig, struct err *err)
{
    yyjson_val *list = yyjson_obj_get(d->options, "certificates"), *v;
    struct err why = {0};
    size_t i, n;
    enum rc rc = err_set(&why, RC_UNAUTHORIZED, "", "no certificate is configured for this source");
    for (i = 0; i < d->n_secrets && rc != RC_OK; i++)
        rc = rsa_check_pem(d->secrets[i], d->now, hash, text, sig, &why);
    yyjson_arr_foreach(list, i, n, v)
    {
        if (rc != RC_OK)
            rc = rsa_check_pem(json_text(v), d->now, hash, text, sig, &why);
    }
    if (rc == RC_OK)
        return RC_OK;
    return err_set(err, rc, rc == RC_INVALID ? "adapter_options.certificates" : "Signature", "%s",
                   why.msg);
}

static enum rc verify(const struct hook_delivery *d, struct err *err)
{
    yyjson_val *body;
    struct str type, text, sig;
    char bytes[RSA_BITS_MAX / 8];
    size_t n;
    TRY(parse(d, &body, err));
    type = json_text(yyjson_obj_get(body, "Type"));
    sig = json_text(yyjson_obj_get(body, "Signature"));
    if (!str_is(type, NOTIFICATION) && !str_is(type, SUBSCRIBED) && !str_is(type, UNSUBSCRIBED))
        return refuse(err, "Type",
                      "is none of SNS: raw message delivery has no signature, so turn it off");
    TRY(check_claims(d, body, err));
    if (base64_decode(sig, BASE64_STANDARD, bytes, sizeof bytes, &n) != RC_OK || n == 0)
        return refuse(err, "Signature", "is not base64 of a signature");
    TRY(signed_text(d, body, str_is(type, NOTIFICATION), &text, err));
    bool sha1 = str_is(json_text(yyjson_obj_get(body, "SignatureVersion")), "1");
    return check_signature(d, sha1 ? RSA_SHA1 : RSA_SHA256, text, (struct str){bytes, n}, err);
}

/* ---- read ------------------------------------------------------------------------------------ */

/* Events of S3, when the message is a document of S3. *ret is 0 when it is something else. */
static enum rc read_s3(const struct hook_delivery *d, struct str message, struct hook_reading *r,
                       struct err *err)
{
    struct err why = {0};
    yyjson_val *doc;
    enum rc rc = json_parse(d->arena, message, 0, "Message", &doc, &why);
    if (rc == RC_NOMEM)
        return err_set(err, rc, "Message", "%s", why.msg);
    if (rc != RC_OK || !s3_is_event(doc))
        return RC_OK;
    TRY(hook_document(d, message, "Message", &doc, err));
    return s3_read(d, doc, r, err);
}

/* The message's own id serves where S3 would have none for one event; several records are told
 * apart by what they say. */
static enum rc read_notification(const struct hook_delivery *d, yyjson_val *body,
                                 struct hook_reading *r, struct err *err)
{
    struct hook_event *e;
    TRY(read_s3(d, json_text(yyjson_obj_get(body, "Message")), r, err));
    if (r->n_events == 0) {
        TRY(hook_event_add(r, &e, err));
        e->what = HOOK_CHANGED;
        TRY(hook_time(json_text(yyjson_obj_get(body, "Timestamp")), "Timestamp", &e->at, err));
    }
    return RC_OK;
}

static enum rc read_message(const struct hook_delivery *d, yyjson_val *body, struct str type,
                            struct hook_reading *r, struct err *err)
{
    struct hook_event *e;
    if (str_is(type, NOTIFICATION))
        return read_notification(d, body, r, err);
    if (str_is(type, UNSUBSCRIBED)) {
        TRY(hook_event_add(r, &e, err));
        e->what = HOOK_OTHER;
        return RC_OK;
    }
    r->kind = HOOK_CONFIRM;
    r->confirm_url = json_text(yyjson_obj_get(body, "SubscribeURL"));
    if (!is_confirmation(r->confirm_url))
        return err_set(err, RC_INVALID, "SubscribeURL",
                       "must be https://sns.REGION.amazonaws.com/?Action=ConfirmSubscription&…");
    TRY(hook_event_add(r, &e, err));
    e->what = HOOK_CHANGED;
    return RC_OK;
}

static enum rc read(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    struct hook_reading r = {.kind = HOOK_EVENTS};
    yyjson_val *body;
    struct str type, id, text;
    TRY(parse(d, &body, err));
    type = json_text(yyjson_obj_get(body, "Type"));
    TRY(hook_text(body, "MessageId", HOOK_TEXT_MAX, &id, err));
    TRY(read_message(d, body, type, &r, err));
    /* A repeat is signed anew when the certificate changes: what was signed is what counts. */
    TRY(signed_text(d, body, str_is(type, NOTIFICATION), &text, err));
    if (r.n_events == 1) {
        r.events[0].id = id;
        r.events[0].bytes = text;
    }
    *ret = r;
    return RC_OK;
}

const struct hook_adapter hook_sns = {
    .name = "sns",
    .verify = verify,
    .read = read,
    .check_options = hook_sns_options,
    .retry_days = 1, /* an hour, and whoever sets a message again into a dead-letter queue */
};
