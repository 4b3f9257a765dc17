/* source_check: what a declaration must not say, though it could be read. A slip that is taken
 * silently shows months later as windows that never opened, or as checks that all fail.
 *
 * Invariants
 *   1. Runs for declarations (source_parse), never for specs of the ledger: a new rule does not
 *      make a source unreadable that was added before it.
 *   2. Pure: whether a secret's file is there is asked by whoever has an instance.
 * Called by source_parse.c.
 */
#include "ledger/source_check.h"

#include "core/instance.h"

static const char *const adapters[] = {
#define X(name, symbol, detector) name,
#include "ledger/adapters.def"
#undef X
};
#define X(name, symbol, detector) " " name
static const char adapter_list[] =
#include "ledger/adapters.def"
    ;
#undef X

/* What frames a message, chooses its encoding or makes it conditional is not the operator's to set:
 * the first are core/fetch_job.c's, the others the detectors'. */
static const char *const not_settable[] = {"Accept-Encoding",
                                           "Connection",
                                           "Content-Length",
                                           "Expect",
                                           "Host",
                                           "TE",
                                           "Trailer",
                                           "Upgrade",
                                           "If-None-Match",
                                           "If-Modified-Since",
                                           "Transfer-Encoding",
                                           "If-Match",
                                           "If-Range",
                                           "Range",
                                           "If-Unmodified-Since"};

static bool is_one_of(const char *s, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_ieq(str_of(names[i]), str_of(s)))
            return true;
    return false;
}

/* ---- members of objects ---------------------------------------------------------------------- */

/* obj, the member `what`, may hold the names of this list (separated by blanks), each once. */
static enum rc check_members(yyjson_val *obj, const char *what, const char *known, struct err *err)
{
    char field[64];
    size_t i, n;
    yyjson_val *key, *val;
    if (!yyjson_is_obj(obj))
        return RC_OK;
    yyjson_obj_foreach(obj, i, n, key, val)
    {
        const char *name = unsafe_yyjson_get_str(key); /* a key is a text */
        struct str rest = str_of(known), one;
        bool found = false;
        while (!found && str_next(&rest, ' ', &one))
            found = str_is(one, name);
        snprintf(field, sizeof field, "%s.%s", what, name);
        if (!found)
            return err_set(err, RC_INVALID, field, "is not known here, only: %s", known);
        if (yyjson_obj_get(obj, name) != val)
            return err_set(err, RC_INVALID, field, "is given twice");
    }
    return RC_OK;
}

static enum rc check_triggers(yyjson_val *decl, const struct source *s, struct err *err)
{
    static const char *const members[] = {[TRIGGER_ANNUAL] = "type month through",
                                          [TRIGGER_REDISTRICTING] = "type years",
                                          [TRIGGER_CENSUS] = "type year",
                                          [TRIGGER_INTERVAL] = "type seconds",
                                          [TRIGGER_MANUAL] = "type"};
    yyjson_val *list = yyjson_obj_get(decl, "triggers");
    for (size_t i = 0; i < s->n_triggers; i++)
        TRY(check_members(yyjson_arr_get(list, i), "triggers", members[s->triggers[i].type], err));
    return RC_OK;
}

static enum rc check_limits(yyjson_val *decl, const struct source *s, struct err *err)
{
    yyjson_val *obj = yyjson_obj_get(decl, "limits");
    TRY(check_members(
        obj, "limits",
        "max_bytes min_features count_drift_pct area_drift_pct size_drift_pct missing_pct", err));
    /* Below 0 stands for "not declared" in the struct, so what was written is asked. */
    if (s->count_drift_pct < 0 && yyjson_is_num(yyjson_obj_get(obj, "count_drift_pct")))
        return err_set(err, RC_INVALID, "limits.count_drift_pct", "must not be negative");
    if (s->size_drift_pct < 0 && yyjson_is_num(yyjson_obj_get(obj, "size_drift_pct")))
        return err_set(err, RC_INVALID, "limits.size_drift_pct", "must not be negative");
    if (!(s->missing_pct >= 0 && s->missing_pct <= 100))
        return err_set(err, RC_INVALID, "limits.missing_pct", "must be between 0 and 100");
    if (s->area_drift_pct < 0 && yyjson_is_num(yyjson_obj_get(obj, "area_drift_pct")))
        return err_set(err, RC_INVALID, "limits.area_drift_pct", "must not be negative");
    return RC_OK;
}

/* ---- addresses and keys ---------------------------------------------------------------------- */

/* The URL was read: it has a scheme and a host. */
static enum rc check_port(const char *url, const char *field, struct err *err)
{
    const char *p = strstr(url, "://") + 3;
    struct str host = {p, strcspn(p, "/?#")};
    const char *from = host.p[0] == '[' ? memchr(host.p, ']', host.n) : host.p;
    if (!from)
        return err_set(err, RC_INVALID, field, "has a [ without ] in its host");
    const char *colon = memchr(from, ':', (size_t)(host.p + host.n - from));
    int64_t port = 0;
    if (!colon)
        return RC_OK;
    struct str digits = {colon + 1, (size_t)(host.p + host.n - colon - 1)};
    if (str_to_i64(digits, &port) != RC_OK || port < 1 || port > 65535)
        return err_set(err, RC_INVALID, field, "has a port that is not a number from 1 to 65535");
    return RC_OK;
}

/* One public key, or several joined by ';' while a key is changed. */
static enum rc check_pin(const struct source *s, struct err *err)
{
    struct str list = str_of(s->pin_sha256), one;
    while (str_next(&list, ';', &one)) {
        size_t digits = one.n == 8 + 44
                            ? strspn(one.p + 8, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                "abcdefghijklmnopqrstuvwxyz0123456789+/")
                            : 0;
        if (!str_starts(one, STR("sha256//")) || digits != 43 || one.p[8 + 43] != '=')
            return err_set(err, RC_INVALID, "pin_sha256",
                           "must be sha256// and 44 characters of base64");
    }
    if (*s->pin_sha256 && !str_starts(str_of(s->url), STR("https://")))
        return err_set(err, RC_INVALID, "pin_sha256", "needs an https URL: http has no key");
    return RC_OK;
}

/* Of tokens (RFC 9110, 5.6.2). */
static bool is_token(struct str s)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], low = (char)(c | 0x20);
        if (!(low >= 'a' && low <= 'z') && !(c >= '0' && c <= '9') && (!c || !strchr(marks, c)))
            return false;
    }
    return s.n > 0;
}

/* It becomes an address in the catalog, of which a parameter is no part. */
static enum rc check_media_type(const struct source *s, struct err *err)
{
    struct str rest = str_of(s->media_type), whole = {"", 0}, type = {"", 0};
    bool more = strchr(s->media_type, ';') != NULL;
    if (!*s->media_type)
        return RC_OK;
    (void)str_next(&rest, ';', &whole);
    whole = str_trim(whole);
    struct str subtype = whole;
    (void)str_next(&subtype, '/', &type);
    if (!is_token(type) || !is_token(subtype))
        return err_set(err, RC_INVALID, "media_type", "must be type/subtype, as in text/csv");
    if (more || whole.n != strlen(s->media_type))
        return err_set(err, RC_INVALID, "media_type", "takes no parameter: write %.*s alone",
                       STR_FMT(whole));
    return RC_OK;
}

static enum rc check_secret_name(const char *name, const char *field, struct err *err)
{
    if (str_is_slug(str_of(name), SECRET_NAME_MAX))
        return RC_OK;
    return err_set(err, RC_INVALID, field,
                   "a secret's name has 1 to %d characters of a-z, 0-9, '_' and '-'",
                   SECRET_NAME_MAX);
}

static bool is_named(const char *const *names, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_ieq(name, str_of(names[i])))
            return true;
    return false;
}

static bool is_secret_header(const char *name)
{
    static const char *const names[] = {
#define HEADER(name) name,
#define PARAM(name)
#include "ledger/secret_names.def"
#undef HEADER
#undef PARAM
    };
    return is_named(names, ARRAY_LEN(names), str_of(name));
}

bool source_url_secret(const char *url, char ret[SOURCE_PARAM_MAX])
{
    static const char *const names[] = {
#define HEADER(name)
#define PARAM(name) name,
#include "ledger/secret_names.def"
#undef HEADER
#undef PARAM
    };
    const char *query = strchr(url, '?');
    struct str rest = str_of(query ? query + 1 : ""), pair, name;
    while (str_next(&rest, '&', &pair)) {
        (void)str_next(&pair, '=', &name);
        if (!is_named(names, ARRAY_LEN(names), name))
            continue;
        snprintf(ret, SOURCE_PARAM_MAX, "%.*s", STR_FMT(name));
        return true;
    }
    return false;
}

static enum rc check_headers(const struct source *s, struct err *err)
{
    for (size_t i = 0; i < s->n_headers; i++) {
        const struct source_header *h = &s->headers[i];
        if (is_secret_header(h->name) && !source_header_secret(h))
            return err_set(err, RC_INVALID, "headers",
                           "%s must be \"secret:name\": put its value into secrets/name", h->name);
        if (is_one_of(h->name, not_settable, ARRAY_LEN(not_settable)))
            return err_set(err, RC_INVALID, "headers", "%s is set by Freshet itself: leave it out",
                           h->name);
        if (source_header_secret(h))
            TRY(check_secret_name(source_header_secret(h), "headers", err));
    }
    return RC_OK;
}

/* ---- push ------------------------------------------------------------------------------------ */

static enum rc check_push(yyjson_val *decl, const struct source *s, struct err *err)
{
    yyjson_val *options = yyjson_obj_get(decl, "adapter_options"), *v;
    yyjson_val *names = yyjson_obj_get(decl, "secrets");
    size_t i, n;
    if (*s->adapter && !is_one_of(s->adapter, adapters, ARRAY_LEN(adapters)))
        return err_set(err, RC_INVALID, "adapter", "must be one of%s, not \"%.40s\"", adapter_list,
                       s->adapter);
    if (options && !yyjson_is_null(options) && !yyjson_is_obj(options))
        return err_set(err, RC_INVALID, "adapter_options", "must be an object");
    if (names && !yyjson_is_null(names) && !yyjson_is_arr(names))
        return err_set(err, RC_INVALID, "secrets", "must be a list of names of files in secrets/");
    yyjson_arr_foreach(names, i, n, v)
        TRY(check_secret_name(yyjson_is_str(v) ? yyjson_get_str(v) : "", "secrets", err));
    return RC_OK;
}

/* A detector that waits to be told needs somebody who may tell. */
static enum rc check_told(const struct source *s, struct err *err)
{
    if (source_takes_push(s) && !*s->adapter)
        return err_set(err, RC_INVALID, "adapter",
                       "is required for detector %s: one of%s, which says how deliveries to "
                       "/hooks/%s are signed",
                       s->detector, adapter_list, s->id);
    return RC_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Options of a detector that is not the source's would be ignored. */
static enum rc check_detector(yyjson_val *decl, const struct source *s, struct err *err)
{
    static const char *const with_options[] = {"probe", "manifest", "sse"};
    for (size_t i = 0; i < ARRAY_LEN(with_options); i++) {
        const char *name = with_options[i];
        yyjson_val *v = yyjson_obj_get(decl, name);
        if (v && !yyjson_is_null(v) && strcmp(s->detector, name) != 0)
            return err_set(err, RC_INVALID, name,
                           "is only for detector %s, and this one is %s: leave one of them out",
                           name, s->detector);
    }
    return RC_OK;
}

enum rc source_check(yyjson_val *decl, const struct source *s, struct err *err)
{
    TRY(check_port(s->url, "url", err));
    if (*s->probe_url)
        TRY(check_port(s->probe_url, "probe.url", err));
    if (*s->sse_url)
        TRY(check_port(s->sse_url, "sse.url", err));
    TRY(check_media_type(s, err));
    TRY(check_pin(s, err));
    TRY(check_detector(decl, s, err));
    TRY(check_triggers(decl, s, err));
    TRY(check_limits(decl, s, err));
    TRY(check_headers(s, err));
    TRY(check_push(decl, s, err));
    TRY(check_told(s, err));
    if (s->max_interval_s && s->poll_interval_s > s->max_interval_s)
        return err_set(err, RC_INVALID, "poll_interval_s",
                       "must not be longer than max_interval_s (%lld)",
                       (long long)s->max_interval_s);
    return RC_OK;
}
