/* hook_azure: Azure Event Grid, in its own schema and in that of CloudEvents; blobs above all.
 *
 *   adapter_options   auth, header, prefix   as in hook_secret.h; usual is aeg-sas-key: SECRET.
 *                                            Set it in the event subscription as a delivery
 *                                            property, marked secret
 *                     origins  list of senders for the handshake of CloudEvents; default
 *                              eventgrid.azure.net
 *                     rate     deliveries per minute that it promises; default what is asked for
 *
 * Invariants
 *   1. Event Grid signs nothing: the key is the proof, of the handshakes too. An address without a
 *      key (a secret in the query) would stand in every log, so it is not taken.
 *   2. SubscriptionValidation comes alone and is answered with its code; among other events it
 *      is refused.
 *   3. The sequencer of a blob orders its events, the eTag names its version. The object is
 *      ACCOUNT:CONTAINER/BLOB in both schemas, and "TOPIC SUBJECT" of what is no blob.
 * Called by hooks through the table. */
#include "api/hook_ce.h"
#include "api/hook_secret.h"

#define KEY_HEADER "aeg-sas-key"
#define ORIGIN "eventgrid.azure.net"
#define VALIDATION "Microsoft.EventGrid.SubscriptionValidationEvent"
#define CODE_MAX 256
#define PLACE_MAX 1024
#define SEQUENCER_MAX 256 /* some 32 digits today */

static bool is_handshake(const struct hook_delivery *d)
{
    return str_is(d->method, "OPTIONS");
}

static enum rc verify(const struct hook_delivery *d, struct err *err)
{
    TRY(hook_secret_verify(d, KEY_HEADER, err));
    return is_handshake(d) ? ce_handshake_verify(d, ORIGIN, err) : RC_OK;
}

/* What an event is about, in either schema. */
struct about {
    struct str type, topic, subject;
};

/* ---- what a type means ----------------------------------------------------------------------- */

static const struct {
    const char *type;
    enum hook_what what;
} types[] = {
    {"Microsoft.Storage.BlobCreated", HOOK_CHANGED},
    {"Microsoft.Storage.BlobRenamed", HOOK_CHANGED},
    {"Microsoft.Storage.BlobDeleted", HOOK_GONE},
    {"Microsoft.Storage.BlobTierChanged", HOOK_OTHER},
    {"Microsoft.Storage.DirectoryCreated", HOOK_OTHER},
    {"Microsoft.EventGrid.SubscriptionDeletedEvent", HOOK_OTHER},
};

/* Of a type that is not in the table nothing is known: look. */
static enum hook_what what_of(struct str type)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(type, types[i].type))
            return types[i].what;
    return HOOK_CHANGED;
}

/* What follows `mark` in s, up to the next slash where there is one; "" when it is not there. */
static struct str part_after(struct str s, struct str mark)
{
    const char *at = memmem(s.p, s.n, mark.p, mark.n);
    struct str rest = at ? (struct str){at + mark.n, (size_t)(s.p + s.n - at) - mark.n} : STR("");
    struct str part = {"", 0};
    (void)str_next(&rest, '/', &part);
    return part;
}

/* Topic …/storageAccounts/ACCOUNT, subject
 * /blobServices/default/containers/CONTAINER/blobs/BLOB. */
static enum rc name_blob(const struct hook_delivery *d, struct str topic, struct str subject,
                         struct hook_event *e, struct err *err)
{
    const struct str start = STR("/blobServices/default/containers/"), middle = STR("/blobs/");
    struct str account = part_after(topic, STR("/storageAccounts/"));
    struct str container = part_after(subject, start), place, name;
    size_t before = start.n + container.n + middle.n;
    if (account.n == 0 || container.n == 0 || !str_starts(subject, start) || subject.n <= before ||
        memcmp(subject.p + start.n + container.n, middle.p, middle.n) != 0)
        return RC_OK; /* TOPIC SUBJECT it is */
    TRY(hook_join(d, account, ':', container, &place, err));
    name = (struct str){subject.p + before, subject.n - before};
    return hook_join(d, place, '/', name, &e->object, err);
}

static enum rc blob(const struct hook_delivery *d, const struct about *about, yyjson_val *data,
                    struct hook_event *e, struct err *err)
{
    struct str sequencer, etag;
    e->what = what_of(about->type);
    if (!str_starts(about->type, STR("Microsoft.Storage.")))
        return RC_OK;
    TRY(name_blob(d, about->topic, about->subject, e, err));
    TRY(hook_text_if(data, "sequencer", SEQUENCER_MAX, &sequencer, err));
    TRY(hook_text_if(data, "eTag", HOOK_TEXT_MAX, &etag, err));
    e->sequence = sequencer;
    e->after = STR("");
    e->version = e->what == HOOK_CHANGED ? etag : STR("");
    return RC_OK;
}

/* ---- the schema of Event Grid ---------------------------------------------------------------- */

static enum rc add_event(const struct hook_delivery *d, yyjson_val *v, struct hook_reading *r,
                         struct err *err)
{
    struct about about;
    struct str time;
    struct hook_event *e;
    TRY(hook_event_add(r, &e, err));
    TRY(hook_text(v, "id", HOOK_TEXT_MAX, &e->id, err));
    TRY(hook_text_if(v, "topic", PLACE_MAX, &about.topic, err));
    TRY(hook_text_if(v, "subject", PLACE_MAX, &about.subject, err));
    TRY(hook_text(v, "eventType", HOOK_TEXT_MAX, &about.type, err));
    TRY(hook_text(v, "eventTime", HOOK_TEXT_MAX, &time, err));
    TRY(hook_time(time, "eventTime", &e->at, err));
    TRY(hook_join(d, about.topic, ' ', about.subject, &e->object, err));
    TRY(hook_bytes(d, v, &e->bytes, err));
    if (str_is(about.type, VALIDATION))
        return err_set(err, RC_INVALID, "eventType",
                       "a validation of the subscription must come alone");
    return blob(d, &about, yyjson_obj_get(v, "data"), e, err);
}

static bool is_validation(yyjson_val *body)
{
    yyjson_val *type = yyjson_obj_get(yyjson_arr_get_first(body), "eventType");
    return yyjson_arr_size(body) == 1 && str_is(json_text(type), VALIDATION);
}

static enum rc answer_validation(const struct hook_delivery *d, yyjson_val *event,
                                 struct hook_reading *r, struct err *err)
{
    CLEANUP(buf_release) struct buf b = {0};
    yyjson_val *data;
    struct str code;
    buf_init(&b, 8 * CODE_MAX);
    TRY(hook_object(event, "data", &data, err));
    TRY(hook_text(data, "validationCode", CODE_MAX, &code, err));
    buf_puts(&b, "{\"validationResponse\":");
    json_put_str(&b, code);
    buf_byte(&b, '}');
    const char *reply = buf_rc(&b) == RC_OK ? arena_str(d->arena, buf_view(&b)) : NULL;
    if (!reply)
        return err_set(err, RC_NOMEM, "", "no memory for an answer");
    *r = (struct hook_reading){.kind = HOOK_HANDSHAKE,
                               .reply = {reply, b.len},
                               .reply_type = STR("application/json"),
                               .reply_headers = STR("")};
    return RC_OK;
}

static enum rc read_grid(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    struct hook_reading r = {.kind = HOOK_EVENTS};
    yyjson_val *body, *v;
    size_t i, n;
    TRY(hook_document(d, d->body, "the body", &body, err));
    if (!yyjson_is_arr(body))
        return err_set(err, RC_INVALID, "", "a delivery of Event Grid must be a JSON list");
    if (is_validation(body))
        return answer_validation(d, yyjson_arr_get_first(body), ret, err);
    yyjson_arr_foreach(body, i, n, v)
    {
        if (!yyjson_is_obj(v))
            return err_set(err, RC_INVALID, "", "an event must be a JSON object");
        TRY(add_event(d, v, &r, err));
    }
    *ret = r;
    return RC_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

static enum rc from_ce(const struct hook_delivery *d, const struct ce *ce, struct hook_event *e,
                       struct err *err)
{
    const struct about about = {ce->type, ce->source, ce->subject};
    return blob(d, &about, ce->data, e, err);
}

static enum rc read(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    if (is_handshake(d))
        return ce_handshake_read(d, ret, err);
    return ce_is_json(d) ? ce_read(d, from_ce, ret, err) : read_grid(d, ret, err);
}

const struct hook_adapter hook_azure = {
    .name = "azure",
    .verify = verify,
    .read = read,
    .check_options = hook_azure_options,
    .retry_days = 1, /* its time to live: at most a day */
};
