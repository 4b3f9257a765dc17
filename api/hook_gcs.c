/* hook_gcs: notifications of Google Cloud Storage, pushed by Pub/Sub with a signed token.
 *
 *   adapter_options   audience   text or list, needed: what the push subscription has as
 *                                its audience
 *                     email      needed: the service account of the push subscription. With
 *                                Google's own keys whoever has an account there can get a token for
 *                                any audience
 *                     keys       public keys: a JWK set, PEM texts, or PEM texts by key id (jwt.h).
 *                                Or as files of secrets/, named in `secrets`; Google changes its
 *                                keys every few weeks, and intake fetches nothing
 *                     issuer     text or list; default Google's two spellings
 *
 * Invariants
 *   1. Who sends is told by the token alone; the body is read after it held.
 *   2. The object is BUCKET/OBJECT. Its generation orders it, as a number of fixed width, and names
 *      its version. A removal has the generation of what it removes, so it has a 1 behind it and
 *      comes after.
 *   3. An overwrite names the generation before it (overwroteGeneration): when that is not the last
 *      we heard of, events were lost. Deletions leave no such trace.
 *   4. The attributes decide. The data is not looked at: it repeats them.
 *   5. A message that is not of a bucket says "look", as every message of an unknown kind does.
 * Called by hooks through the table. */
#include "api/hook_read.h"
#include "api/jwt.h"

#define GENERATION_DIGITS 20
#define BUCKET_MAX 222 /* with dots; else 63 */
#define NAME_MAX_BYTES 1024

/* ---- verify ---------------------------------------------------------------------------------- */

/* A text or a list of texts of an option. */
static enum rc texts_of(const struct hook_delivery *d, const char *name, struct str *list,
                        size_t *ret_n, struct err *err)
{
    yyjson_val *v = yyjson_obj_get(d->options, name), *item;
    size_t i, max;
    *ret_n = 0;
    if (yyjson_is_str(v))
        list[(*ret_n)++] = json_text(v);
    if (yyjson_arr_size(v) > JWT_NAMES_MAX)
        return err_set(err, RC_INVALID, name, "has more than %d texts", JWT_NAMES_MAX);
    yyjson_arr_foreach(v, i, max, item)
    {
        list[(*ret_n)++] = json_text(item);
    }
    return RC_OK;
}

static enum rc keys_of(const struct hook_delivery *d, struct jwt_keys *keys, struct err *err)
{
    yyjson_val *v = yyjson_obj_get(d->options, "keys");
    keys->n = 0;
    for (size_t i = 0; i < d->n_secrets; i++)
        TRY(jwt_keys_add_text(d->arena, d->secrets[i], keys, err));
    return v ? jwt_keys_add(d->arena, v, keys, err) : RC_OK;
}

static enum rc rules_of(const struct hook_delivery *d, struct jwt_rules *r, struct err *err)
{
    r->email = str_of(hook_option(d, "email", ""));
    if (r->email.n == 0) /* declared before it had to be */
        return err_set(err, RC_UNAUTHORIZED, "adapter_options.email", "is not configured");
    TRY(texts_of(d, "issuer", r->issuers, &r->n_issuers, err));
    TRY(texts_of(d, "audience", r->audiences, &r->n_audiences, err));
    if (r->n_issuers > 0)
        return RC_OK;
    r->issuers[r->n_issuers++] = STR("https://accounts.google.com");
    r->issuers[r->n_issuers++] = STR("accounts.google.com");
    return RC_OK;
}

static enum rc verify(const struct hook_delivery *d, struct err *err)
{
    const struct str scheme = STR("Bearer ");
    struct jwt_keys *keys = ARENA_NEW(d->arena, struct jwt_keys);
    struct jwt_rules rules = {.keys = keys, .now = d->now, .skew_ms = HOOK_SKEW_MS};
    struct str value;
    if (!keys)
        return err_set(err, RC_NOMEM, "", "no memory for a token");
    TRY(hook_need(d, "Authorization", &value, err));
    if (value.n < scheme.n || !str_ieq((struct str){value.p, scheme.n}, scheme))
        return err_set(err, RC_UNAUTHORIZED, "Authorization", "must be a Bearer token");
    TRY(keys_of(d, keys, err));
    TRY(rules_of(d, &rules, err));
    return jwt_check(str_trim((struct str){value.p + scheme.n, value.n - scheme.n}), &rules,
                     d->arena, err);
}

/* ---- read ------------------------------------------------------------------------------------ */

static const struct kind {
    const char *type;
    enum hook_what what;
    bool removed; /* this generation */
} kinds[] = {
    {"OBJECT_FINALIZE", HOOK_CHANGED, false},
    {"OBJECT_DELETE", HOOK_GONE, true},
    {"OBJECT_ARCHIVE", HOOK_GONE, true}, /* the live version became an old one */
    {"OBJECT_METADATA_UPDATE", HOOK_OTHER, false},
};

/* One that Google adds later says "look", too. */
static struct kind kind_of(struct str type)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(type, kinds[i].type))
            return kinds[i];
    return (struct kind){"", HOOK_CHANGED, false};
}

/* As text of one width, with `end` behind it. */
static enum rc pad(const struct hook_delivery *d, struct str text, const char *field,
                   const char *end, struct str *ret, struct err *err)
{
    int64_t n;
    if (str_to_i64(text, &n) != RC_OK || n < 0)
        return err_set(err, RC_INVALID, field, "must be a whole number");
    const char *padded = arena_printf(d->arena, "%0*lld%s", GENERATION_DIGITS, (long long)n, end);
    if (!padded)
        return err_set(err, RC_NOMEM, "", "no memory for an event");
    *ret = str_of(padded);
    return RC_OK;
}

/* The one before may have been told as removed already: any end will do. */
static enum rc generation_of(const struct hook_delivery *d, yyjson_val *attributes, bool removed,
                             struct hook_event *e, struct err *err)
{
    struct str text, before;
    TRY(hook_text(attributes, "objectGeneration", HOOK_TEXT_MAX, &text, err));
    TRY(hook_text_if(attributes, "overwroteGeneration", HOOK_TEXT_MAX, &before, err));
    e->version = removed ? STR("") : text;
    if (before.n > 0 && !removed)
        TRY(pad(d, before, "overwroteGeneration", "", &e->after, err));
    return pad(d, text, "objectGeneration", removed ? "1" : "0", &e->sequence, err);
}

static enum rc read_attributes(const struct hook_delivery *d, yyjson_val *attributes,
                               struct hook_event *e, struct err *err)
{
    struct str type, bucket, name, by, time;
    TRY(hook_text_if(attributes, "eventType", HOOK_TEXT_MAX, &type, err));
    TRY(hook_text_if(attributes, "overwrittenByGeneration", HOOK_TEXT_MAX, &by, err));
    TRY(hook_text_if(attributes, "eventTime", HOOK_TEXT_MAX, &time, err));
    /* An overwrite removes the version before: the object is there. */
    const struct kind kind = kind_of(type);
    e->what = kind.removed && by.n > 0 ? HOOK_CHANGED : kind.what;
    if (time.n > 0)
        TRY(hook_time(time, "eventTime", &e->at, err));
    if (type.n == 0)
        return RC_OK; /* invariant 5 */
    TRY(hook_text(attributes, "bucketId", BUCKET_MAX, &bucket, err));
    TRY(hook_text(attributes, "objectId", NAME_MAX_BYTES, &name, err));
    TRY(hook_join(d, bucket, '/', name, &e->object, err));
    return generation_of(d, attributes, kind.removed, e, err);
}

/* The body beside the message counts deliveries, so a repeat is another body. */
static enum rc read(const struct hook_delivery *d, struct hook_reading *ret, struct err *err)
{
    struct hook_reading r = {.kind = HOOK_EVENTS};
    yyjson_val *body, *message;
    struct hook_event *e;
    struct str time;
    TRY(hook_document(d, d->body, "the body", &body, err));
    TRY(hook_object(body, "message", &message, err));
    TRY(hook_event_add(&r, &e, err));
    TRY(hook_text(message, "messageId", HOOK_TEXT_MAX, &e->id, err));
    TRY(hook_text_if(message, "publishTime", HOOK_TEXT_MAX, &time, err));
    TRY(hook_time(time, "publishTime", &e->at, err));
    TRY(read_attributes(d, yyjson_obj_get(message, "attributes"), e, err));
    TRY(hook_bytes(d, message, &e->bytes, err));
    *ret = r;
    return RC_OK;
}

const struct hook_adapter hook_gcs = {
    .name = "gcs",
    .verify = verify,
    .read = read,
    .check_options = hook_gcs_options,
    .retry_days = 31, /* a subscription keeps messages so long at most */
};
