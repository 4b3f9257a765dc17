/* hook_read: members, times and events of foreign JSON (invariants in hook_read.h). */
#include "api/hook_read.h"

#include "core/clock.h"

#define CANON_MAX (16u << 20) /* of the canonical form: escapes make a text six times as long */

enum rc hook_bytes(const struct hook_delivery *d, yyjson_val *v, struct str *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf b = {0};
    buf_init(&b, CANON_MAX);
    TRY(json_canon(&b, v, err));
    const char *copy = arena_str(d->arena, buf_view(&b));
    if (!copy)
        return err_set(err, RC_NOMEM, "", "no memory for an event");
    *ret = (struct str){copy, b.len};
    return RC_OK;
}

/* The canonical form does not exist for a name given twice, so asking for it is the check. */
enum rc hook_document(const struct hook_delivery *d, struct str text, const char *what,
                      yyjson_val **ret, struct err *err)
{
    CLEANUP(buf_release) struct buf canon = {0};
    yyjson_val *v;
    struct err why = {0};
    buf_init(&canon, CANON_MAX);
    if (str_trim(text).n == 0)
        return err_set(err, RC_INVALID, "", "%s is empty", what);
    TRY(json_parse(d->arena, text, 0, what, &v, err));
    enum rc rc = json_canon(&canon, v, &why);
    if (rc != RC_OK)
        return err_set(err, rc, "", "%s: %s", what, why.msg);
    *ret = v;
    return RC_OK;
}

enum rc hook_single(yyjson_val *obj, struct err *err)
{
    struct str names[HOOK_MEMBERS_MAX];
    size_t i, n;
    yyjson_val *key, *v;
    if (!yyjson_is_obj(obj))
        return err_set(err, RC_INVALID, "", "the body must be a JSON object");
    if (yyjson_obj_size(obj) > HOOK_MEMBERS_MAX)
        return err_set(err, RC_INVALID, "", "an object with more than %d members is not taken",
                       HOOK_MEMBERS_MAX);
    yyjson_obj_foreach(obj, i, n, key, v)
    {
        names[i] = json_text(key);
        for (size_t j = 0; j < i; j++)
            if (str_eq(names[i], names[j]))
                return err_set(err, RC_INVALID, "", "a member name is given twice");
    }
    return RC_OK;
}

enum rc hook_text_if(yyjson_val *obj, const char *key, size_t max, struct str *ret, struct err *err)
{
    yyjson_val *v = yyjson_obj_get(obj, key);
    if (!v || yyjson_is_null(v)) {
        *ret = STR("");
        return RC_OK;
    }
    if (!yyjson_is_str(v))
        return err_set(err, RC_INVALID, key, "must be a text");
    if (yyjson_get_len(v) > max)
        return err_set(err, RC_INVALID, key, "is longer than %zu bytes", max);
    if (!str_is_clean(json_text(v)))
        return err_set(err, RC_INVALID, key, "must not hold control characters");
    *ret = json_text(v);
    return RC_OK;
}

enum rc hook_text(yyjson_val *obj, const char *key, size_t max, struct str *ret, struct err *err)
{
    struct str s;
    TRY(hook_text_if(obj, key, max, &s, err));
    if (s.n == 0)
        return err_set(err, RC_INVALID, key, "is missing or empty");
    *ret = s;
    return RC_OK;
}

enum rc hook_object(yyjson_val *obj, const char *key, yyjson_val **ret, struct err *err)
{
    yyjson_val *v = yyjson_obj_get(obj, key);
    if (!yyjson_is_obj(v))
        return err_set(err, RC_INVALID, key, "is missing or not an object");
    *ret = v;
    return RC_OK;
}

enum rc hook_time(struct str text, const char *field, int64_t *ret, struct err *err)
{
    int64_t at = -1;
    if (text.n > 0 && time_parse(text, &at) != RC_OK)
        return err_set(err, RC_INVALID, field, "must be a time as RFC 3339 writes it");
    *ret = at;
    return RC_OK;
}

enum rc hook_event_add(struct hook_reading *r, struct hook_event **ret, struct err *err)
{
    if (r->n_events == HOOK_EVENTS_MAX)
        return err_set(err, RC_TOO_LARGE, "",
                       "a delivery holds at most %d events: let the sender make smaller batches",
                       HOOK_EVENTS_MAX);
    *ret = &r->events[r->n_events++];
    **ret = (struct hook_event){.at = -1};
    return RC_OK;
}

enum rc hook_join(const struct hook_delivery *d, struct str a, char between, struct str b,
                  struct str *ret, struct err *err)
{
    size_t n = a.n + b.n + (a.n > 0 && b.n > 0);
    if (n > HOOK_OBJECT_MAX)
        return err_set(err, RC_TOO_LARGE, "", "the name of an object is longer than %d bytes",
                       HOOK_OBJECT_MAX);
    char *out = arena_alloc(d->arena, n + 1);
    if (!out)
        return err_set(err, RC_NOMEM, "", "no memory for an event");
    if (a.n > 0)
        memcpy(out, a.p, a.n);
    if (a.n > 0 && b.n > 0)
        out[a.n] = between;
    if (b.n > 0)
        memcpy(out + (n - b.n), b.p, b.n);
    out[n] = '\0';
    *ret = (struct str){out, n};
    return RC_OK;
}

struct str hook_header(const struct hook_delivery *d, const char *name)
{
    struct str v = req_header(d->req, name);
    return v.p ? str_trim(v) : STR("");
}

bool hook_is_type(struct str content_type, const char *type)
{
    struct str rest = content_type, media = {"", 0};
    return str_next(&rest, ';', &media) && str_ieq(str_trim(media), str_of(type));
}
