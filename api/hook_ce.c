/* hook_ce: CloudEvents, read (invariants in hook_ce.h). Called by
 * hook_cloudevents.c, hook_azure.c. */
#include "api/hook_ce.h"

#define ID_MAX 1024
#define SOURCE_MAX 1024
#define SUBJECT_MAX 1024
#define SEQUENCE_MAX 256   /* a longer one would be kept as a digest, which has no order */
#define SEQUENCE_DIGITS 20 /* of a number below 2^64 */
#define RATE_MAX 1000000   /* deliveries per minute that a sender may ask for */
#define ORIGIN_MAX 255     /* a DNS name */

/* ---- attributes ------------------------------------------------------------------------------ */

static bool has_space(struct str s)
{
    return memchr(s.p, ' ', s.n) != NULL;
}

static enum rc check(const struct ce *ce, struct str specversion, struct err *err)
{
    if (!str_is(specversion, "1.0"))
        return err_set(err, RC_INVALID, "specversion", "must be \"1.0\"");
    if (has_space(ce->source))
        return err_set(err, RC_INVALID, "source", "must be a URI reference, without spaces");
    return RC_OK;
}

static enum rc from_json(const struct hook_delivery *d, yyjson_val *v, struct ce *ret,
                         struct err *err)
{
    struct ce ce = {.data = yyjson_obj_get(v, "data")};
    struct str specversion;
    if (!yyjson_is_obj(v))
        return err_set(err, RC_INVALID, "", "a CloudEvent must be a JSON object");
    TRY(hook_text(v, "specversion", HOOK_TEXT_MAX, &specversion, err));
    TRY(hook_text(v, "id", ID_MAX, &ce.id, err));
    TRY(hook_text(v, "source", SOURCE_MAX, &ce.source, err));
    TRY(hook_text(v, "type", HOOK_TEXT_MAX, &ce.type, err));
    TRY(hook_text_if(v, "subject", SUBJECT_MAX, &ce.subject, err));
    TRY(hook_text_if(v, "time", HOOK_TEXT_MAX, &ce.time, err));
    TRY(hook_text_if(v, "sequence", SEQUENCE_MAX, &ce.sequence, err));
    TRY(hook_text_if(v, "sequencetype", HOOK_TEXT_MAX, &ce.sequencetype, err));
    if (ce.data && yyjson_obj_get(v, "data_base64"))
        return err_set(err, RC_INVALID, "data", "and data_base64 cannot both be given");
    TRY(check(&ce, specversion, err));
    TRY(hook_bytes(d, v, &ce.bytes, err));
    *ret = ce;
    return RC_OK;
}

static enum rc header(const struct hook_delivery *d, const char *name, size_t max, struct str *ret,
                      struct err *err)
{
    struct str raw = hook_header(d, name);
    if (raw.n > 3 * max) /* each byte may be written as %XX */
        return err_set(err, RC_INVALID, name, "is longer than %zu bytes", max);
    enum rc rc = http_decode(d->arena, raw, false, ret);
    if (rc == RC_NOMEM)
        return err_set(err, rc, name, "no memory for a header");
    if (rc != RC_OK)
        return err_set(err, RC_INVALID, name, "must be percent-encoded UTF-8 text");
    if (ret->n > max)
        return err_set(err, RC_INVALID, name, "is longer than %zu bytes", max);
    return RC_OK;
}

static enum rc header_needed(const struct hook_delivery *d, const char *name, size_t max,
                             struct str *ret, struct err *err)
{
    TRY(header(d, name, max, ret, err));
    return ret->n > 0 ? RC_OK : err_set(err, RC_INVALID, name, "is missing or empty");
}

/* What the body does not hold, so that another event under the same id is seen as one. Headers that
 * a repeat may bring anew (tracing) are not among it. */
static enum rc binary_bytes(const struct hook_delivery *d, struct ce *ce, struct err *err)
{
    size_t n = ce->type.n + ce->subject.n + ce->time.n + ce->sequence.n + d->body.n + 4;
    const struct str parts[] = {ce->type, ce->subject, ce->time, ce->sequence, d->body};
    char *out = arena_alloc(d->arena, n), *at = out;
    if (!out)
        return err_set(err, RC_NOMEM, "", "no memory for an event");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (parts[i].n > 0)
            memcpy(at, parts[i].p, parts[i].n);
        at += parts[i].n;
        if (i + 1 < ARRAY_LEN(parts))
            *at++ = '\n';
    }
    ce->bytes = (struct str){out, n};
    return RC_OK;
}

static enum rc from_headers(const struct hook_delivery *d, struct ce *ret, struct err *err)
{
    struct ce ce = {.data = NULL};
    struct str specversion;
    TRY(header_needed(d, "ce-specversion", HOOK_TEXT_MAX, &specversion, err));
    TRY(header_needed(d, "ce-id", ID_MAX, &ce.id, err));
    TRY(header_needed(d, "ce-source", SOURCE_MAX, &ce.source, err));
    TRY(header_needed(d, "ce-type", HOOK_TEXT_MAX, &ce.type, err));
    TRY(header(d, "ce-subject", SUBJECT_MAX, &ce.subject, err));
    TRY(header(d, "ce-time", HOOK_TEXT_MAX, &ce.time, err));
    TRY(header(d, "ce-sequence", SEQUENCE_MAX, &ce.sequence, err));
    TRY(header(d, "ce-sequencetype", HOOK_TEXT_MAX, &ce.sequencetype, err));
    TRY(check(&ce, specversion, err));
    TRY(binary_bytes(d, &ce, err));
    *ret = ce;
    return RC_OK;
}

/* ---- events ---------------------------------------------------------------------------------- */

static enum rc number(const struct hook_delivery *d, int64_t n, struct str *ret, struct err *err)
{
    const char *text = arena_printf(d->arena, "%0*lld", SEQUENCE_DIGITS, (long long)n);
    if (!text)
        return err_set(err, RC_NOMEM, "", "no memory for an event");
    *ret = str_of(text);
    return RC_OK;
}

/* The extension `sequence` is text to be compared as such, or with sequencetype Integer a number:
 * these begin with 1 and have no holes. */
static enum rc sequence_of(const struct hook_delivery *d, const struct ce *ce, struct hook_event *e,
                           struct err *err)
{
    int64_t n;
    if (!str_is(ce->sequencetype, "Integer")) {
        e->sequence = ce->sequence;
        return RC_OK;
    }
    if (str_to_i64(ce->sequence, &n) != RC_OK || n < 0)
        return err_set(err, RC_INVALID, "sequence", "must be a whole number, as sequencetype says");
    if (n > 1)
        TRY(number(d, n - 1, &e->after, err));
    return number(d, n, &e->sequence, err);
}

/* Attributes in headers are not signed, as an HMAC is of the body. */
static bool is_loose(const struct hook_delivery *d)
{
    return !ce_is_json(d) && strcmp(hook_option(d, "auth", ""), "hmac") == 0;
}

static enum rc add(const struct hook_delivery *d, const struct ce *ce, ce_fn *fn,
                   struct hook_reading *r, struct err *err)
{
    struct hook_event *e;
    TRY(hook_event_add(r, &e, err));
    TRY(hook_join(d, ce->source, ' ', ce->id, &e->id, err));
    TRY(hook_join(d, ce->source, ' ', ce->subject, &e->object, err));
    TRY(hook_time(ce->time, "time", &e->at, err));
    TRY(sequence_of(d, ce, e, err));
    e->bytes = ce->bytes;
    TRY(fn(d, ce, e, err));
    e->loose_id = is_loose(d);
    if (e->loose_id) /* a number from the future would make all that come later old */
        e->sequence = e->after = STR("");
    return RC_OK;
}

static bool is_batch(const struct hook_delivery *d)
{
    return hook_is_type(d->content_type, "application/cloudevents-batch+json");
}

bool ce_is_json(const struct hook_delivery *d)
{
    return is_batch(d) || hook_is_type(d->content_type, "application/cloudevents+json");
}

static enum rc read_json(const struct hook_delivery *d, ce_fn *fn, struct hook_reading *r,
                         struct err *err)
{
    yyjson_val *body, *v;
    size_t i, n;
    struct ce ce;
    TRY(hook_document(d, d->body, "the body", &body, err));
    if (!is_batch(d)) {
        TRY(from_json(d, body, &ce, err));
        return add(d, &ce, fn, r, err);
    }
    if (!yyjson_is_arr(body))
        return err_set(err, RC_INVALID, "", "a batch of CloudEvents must be a JSON list");
    yyjson_arr_foreach(body, i, n, v)
    {
        TRY(from_json(d, v, &ce, err));
        TRY(add(d, &ce, fn, r, err));
    }
    return RC_OK;
}

enum rc ce_read(const struct hook_delivery *d, ce_fn *fn, struct hook_reading *ret, struct err *err)
{
    struct hook_reading r = {.kind = HOOK_EVENTS};
    struct ce ce;
    if (ce_is_json(d)) {
        TRY(read_json(d, fn, &r, err));
    } else if (str_starts(d->content_type, STR("application/cloudevents"))) {
        return err_set(err, RC_MEDIA_TYPE, "Content-Type",
                       "of the formats of CloudEvents only JSON is read");
    } else {
        TRY(from_headers(d, &ce, err));
        TRY(add(d, &ce, fn, &r, err));
    }
    *ret = r;
    return RC_OK;
}

/* ---- handshake ------------------------------------------------------------------------------- */

/* It goes into a header of the answer. */
static enum rc origin_of(const struct hook_delivery *d, struct str *ret, struct err *err)
{
    struct str origin = hook_header(d, "WebHook-Request-Origin");
    if (origin.n == 0 || origin.n > ORIGIN_MAX || !str_is_clean(origin) || !str_is_utf8(origin))
        return err_set(err, RC_INVALID, "WebHook-Request-Origin", "must name the sender");
    *ret = origin;
    return RC_OK;
}

enum rc ce_handshake_verify(const struct hook_delivery *d, const char *usual, struct err *err)
{
    struct str origin;
    yyjson_val *list = yyjson_obj_get(d->options, "origins"), *v;
    bool known = false;
    size_t i, n;
    TRY(origin_of(d, &origin, err));
    yyjson_arr_foreach(list, i, n, v) known |= str_ieq(origin, json_text(v));
    if (!list && usual)
        known = str_ieq(origin, str_of(usual));
    return known ? RC_OK
                 : err_set(err, RC_UNAUTHORIZED, "WebHook-Request-Origin",
                           "is not among adapter_options.origins of this source");
}

/* Deliveries per minute: what is configured, else what is asked for; 0: no bound of ours. */
static enum rc rate_of(const struct hook_delivery *d, int64_t *ret, struct err *err)
{
    struct str asked = hook_header(d, "WebHook-Request-Rate");
    int64_t n = 0;
    if (asked.n > 0 && !str_is(asked, "*") &&
        (str_to_i64(asked, &n) != RC_OK || n < 1 || n > RATE_MAX))
        return err_set(err, RC_INVALID, "WebHook-Request-Rate", "must be 1 to %d, or *", RATE_MAX);
    struct err ignored;
    int64_t configured = n;
    if (json_get_i64(d->options, "rate", 1, RATE_MAX, &configured, &ignored) != RC_OK)
        return err_set(err, RC_INVALID, "adapter_options.rate", "must be 1 to %d", RATE_MAX);
    *ret = configured;
    return RC_OK;
}

enum rc ce_handshake_read(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    struct str origin;
    struct hook_reading r = {.kind = HOOK_HANDSHAKE, .reply = STR(""), .reply_type = STR("")};
    char rate_text[24] = "*";
    int64_t rate;
    TRY(origin_of(d, &origin, err));
    TRY(rate_of(d, &rate, err));
    if (rate > 0)
        snprintf(rate_text, sizeof rate_text, "%lld", (long long)rate);
    const char *lines = arena_printf(d->arena,
                                     "WebHook-Allowed-Origin: %.*s\r\nWebHook-Allowed-Rate: %s\r\n"
                                     "Allow: POST\r\n",
                                     STR_FMT(origin), rate_text);
    if (!lines)
        return err_set(err, RC_NOMEM, "", "no memory for an answer");
    r.reply_headers = str_of(lines);
    *ret = r;
    return RC_OK;
}
