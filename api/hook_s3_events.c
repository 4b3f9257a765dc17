/* hook_s3_events: the three documents of S3, read (invariants in hook_s3_events.h). Called by
 * hook_s3.c and hook_sns.c. */
#include "api/hook_s3_events.h"

#define BUCKET_MAX 255 /* 63 today; 255 in the oldest region */
#define KEY_MAX 1024
#define SEQUENCER_MAX 64 /* 16 to 18 digits today */
#define VERSION_MAX 1024

static const struct {
    struct str name, detail_type;
    enum hook_what what;
} table[] = {
#define X(name, detail_type, what)                                                                 \
    {{name, sizeof(name) - 1}, {detail_type, sizeof(detail_type) - 1}, HOOK_##what},
#include "api/hook_s3_events.def"
#undef X
};

/* The names are written with s3: in front in the configuration, and by some stores in
 * events too. */
static enum hook_what what_of_name(struct str name)
{
    if (str_starts(name, STR("s3:")))
        name = (struct str){name.p + 3, name.n - 3};
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_starts(name, table[i].name))
            return table[i].what;
    return HOOK_OTHER;
}

static enum hook_what what_of_type(struct str detail_type)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_eq(detail_type, table[i].detail_type))
            return table[i].what;
    return HOOK_OTHER;
}

/* ---- what both shapes tell ------------------------------------------------------------------- */

/* Upper case, so that the same number is the same text. */
static enum rc sequence_of(const struct hook_delivery *d, struct str s, struct str *ret,
                           struct err *err)
{
    if (strspn(s.p, "0123456789abcdefABCDEF") < s.n)
        return err_set(err, RC_INVALID, "sequencer", "must be hexadecimal");
    char *out = arena_str(d->arena, s);
    if (!out)
        return err_set(err, RC_NOMEM, "", "no memory for an event");
    for (char *c = out; *c; c++)
        if (*c >= 'a')
            *c = (char)(*c - 'a' + 'A');
    *ret = (struct str){out, s.n};
    return RC_OK;
}

/* Object, sequence and version, from members `bucket` and `object` of v. What does not concern us
 * (a bucket was made) need not have them. */
static enum rc read_object(const struct hook_delivery *d, yyjson_val *v, const char *version_name,
                           bool encoded, struct hook_event *e, struct err *err)
{
    yyjson_val *bucket, *object;
    struct str name, key, sequencer, version;
    if (e->what == HOOK_OTHER)
        return RC_OK;
    TRY(hook_object(v, "bucket", &bucket, err));
    TRY(hook_object(v, "object", &object, err));
    TRY(hook_text(bucket, "name", BUCKET_MAX, &name, err));
    TRY(hook_text(object, "key", encoded ? 3 * KEY_MAX : KEY_MAX, &key, err));
    TRY(hook_text_if(object, "sequencer", SEQUENCER_MAX, &sequencer, err));
    TRY(hook_text_if(object, version_name, VERSION_MAX, &version, err));
    enum rc rc = encoded ? http_decode(d->arena, key, true, &key) : RC_OK;
    if (rc == RC_NOMEM)
        return err_set(err, rc, "key", "no memory for an event");
    if (rc != RC_OK || key.n > KEY_MAX)
        return err_set(err, RC_INVALID, "key",
                       "must be form-encoded UTF-8 text of at most %d bytes, without control "
                       "characters",
                       KEY_MAX);
    TRY(hook_join(d, name, '/', key, &e->object, err));
    e->version = e->what == HOOK_GONE ? STR("") : version;
    return sequence_of(d, sequencer, &e->sequence, err);
}

/* ---- notification ---------------------------------------------------------------------------- */

/* eventVersion is MAJOR.MINOR; minors add members. */
static enum rc check_record(yyjson_val *record, struct err *err)
{
    struct str version, source;
    TRY(hook_text(record, "eventVersion", HOOK_TEXT_MAX, &version, err));
    TRY(hook_text(record, "eventSource", HOOK_TEXT_MAX, &source, err));
    if (!str_starts(version, STR("2.")))
        return err_set(err, RC_INVALID, "eventVersion", "must be 2.x");
    if (!str_ends(source, STR(":s3")))
        return err_set(err, RC_INVALID, "eventSource",
                       "must be aws:s3 or that of another S3 store");
    return RC_OK;
}

/* Invariant 3. The version of the record, not of the event: a removal has its own. */
static enum rc id_of(const struct hook_delivery *d, yyjson_val *record, struct str name,
                     struct str time, struct hook_event *e, struct err *err)
{
    yyjson_val *object = yyjson_obj_get(yyjson_obj_get(record, "s3"), "object");
    struct str request, version;
    TRY(hook_text_if(yyjson_obj_get(record, "responseElements"), "x-amz-request-id", HOOK_TEXT_MAX,
                     &request, err));
    TRY(hook_text_if(object, "versionId", VERSION_MAX, &version, err));
    if (request.n == 0 && e->sequence.n == 0)
        request = time;
    const char *id =
        arena_printf(d->arena, "%.*s %.*s %.*s %.*s %.*s", STR_FMT(request), STR_FMT(name),
                     STR_FMT(e->sequence), STR_FMT(version), STR_FMT(e->object));
    if (!id)
        return err_set(err, RC_NOMEM, "", "no memory for an event");
    e->id = str_of(id);
    return RC_OK;
}

static enum rc read_record(const struct hook_delivery *d, yyjson_val *record,
                           struct hook_reading *r, struct err *err)
{
    struct hook_event *e;
    struct str name, time;
    TRY(hook_event_add(r, &e, err));
    TRY(check_record(record, err));
    TRY(hook_text(record, "eventName", HOOK_TEXT_MAX, &name, err));
    TRY(hook_text(record, "eventTime", HOOK_TEXT_MAX, &time, err));
    TRY(hook_time(time, "eventTime", &e->at, err));
    e->what = what_of_name(name);
    TRY(read_object(d, yyjson_obj_get(record, "s3"), "versionId", true, e, err));
    TRY(id_of(d, record, name, time, e, err));
    return hook_bytes(d, record, &e->bytes, err);
}

static enum rc read_records(const struct hook_delivery *d, yyjson_val *records,
                            struct hook_reading *r, struct err *err)
{
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(records, i, n, v)
    {
        if (!yyjson_is_obj(v))
            return err_set(err, RC_INVALID, "Records", "must be a list of objects");
        TRY(read_record(d, v, r, err));
    }
    return RC_OK;
}

/* ---- test, EventBridge ----------------------------------------------------------------------- */

static enum rc read_test(const struct hook_delivery *d, yyjson_val *doc, struct hook_reading *r,
                         struct err *err)
{
    struct hook_event *e;
    struct str time;
    TRY(hook_event_add(r, &e, err));
    TRY(hook_text_if(doc, "RequestId", HOOK_TEXT_MAX, &e->id, err));
    TRY(hook_text_if(doc, "Time", HOOK_TEXT_MAX, &time, err));
    TRY(hook_time(time, "Time", &e->at, err));
    e->what = HOOK_OTHER;
    return hook_bytes(d, doc, &e->bytes, err);
}

static enum rc read_bridge(const struct hook_delivery *d, yyjson_val *doc, struct hook_reading *r,
                           struct err *err)
{
    struct hook_event *e;
    struct str type, time;
    TRY(hook_event_add(r, &e, err));
    TRY(hook_text(doc, "detail-type", HOOK_TEXT_MAX, &type, err));
    TRY(hook_text(doc, "id", HOOK_TEXT_MAX, &e->id, err));
    TRY(hook_text(doc, "time", HOOK_TEXT_MAX, &time, err));
    TRY(hook_time(time, "time", &e->at, err));
    e->what = what_of_type(type);
    TRY(read_object(d, yyjson_obj_get(doc, "detail"), "version-id", false, e, err));
    return hook_bytes(d, doc, &e->bytes, err);
}

static bool is_test(yyjson_val *doc)
{
    return str_is(json_text(yyjson_obj_get(doc, "Event")), "s3:TestEvent");
}

static bool is_bridge(yyjson_val *doc)
{
    return yyjson_obj_get(doc, "detail-type") &&
           str_is(json_text(yyjson_obj_get(doc, "source")), "aws.s3");
}

bool s3_is_event(yyjson_val *doc)
{
    return yyjson_is_arr(yyjson_obj_get(doc, "Records")) || is_test(doc) || is_bridge(doc);
}

enum rc s3_read(const struct hook_delivery *d, yyjson_val *doc, struct hook_reading *r,
                struct err *err)
{
    yyjson_val *records = yyjson_obj_get(doc, "Records");
    if (yyjson_is_arr(records))
        return read_records(d, records, r, err);
    if (is_test(doc))
        return read_test(d, doc, r, err);
    if (is_bridge(doc))
        return read_bridge(d, doc, r, err);
    return err_set(err, RC_INVALID, "",
                   "the body is no notification of S3: Records, s3:TestEvent or an event of "
                   "EventBridge with source aws.s3 is expected");
}
