/* openapi: the description of all addresses, row by row of the tables.
 *
 * Invariants: those of openapi.h.
 * Called by the route table and by cli/cmd_docs.c. */
#include "api/openapi.h"

#include "api/conditional.h"
#include "api/negotiate.h"
#include "core/version.h"
#include "ledger/request.h"

/* ---- the tables ------------------------------------------------------------------------------ */

/* A row of routes.def without what it needs to run: freshet-api describes what
 * freshet-intake serves. */
struct row {
    const char *method, *pattern, *params;
    unsigned scope, flags;
    const char *produces, *summary, *gives, *takes, *status;
};
static const struct row rows[] = {
#define TAIL(summary, gives, takes, status, ...) summary, gives, takes, status
#define X(program, method, pattern, fn, params, scope, flags, cache, produces, ...)                \
    {method, pattern, params, scope, flags, produces, TAIL(__VA_ARGS__, "", "", "", 0)},
#include "api/routes.def"
#undef X
};

struct media_row {
    const char *gives, *f, *type, *schema;
};
static const struct media_row media[] = {
#define X(gives, f, type, schema) {gives, f, type, schema},
#include "api/media.def"
#undef X
};

struct param_row {
    const char *name, *under, *schema, *description;
};
static const struct param_row params[] = {
#define X(name, under, schema, description) {name, under, schema, description},
#include "api/params.def"
#undef X
};

static const struct {
    const char *under, *tag, *description;
} tags[] = {
    {"/changes", "changes", "What changed: the feed"},
    {"/freshness", "freshness", "How fresh a source is, and why"},
    {"/badges", "freshness", NULL},
    {"/sources", "sources", "What is watched"},
    {"/stac", "stac", "The catalog: STAC API 1.0.0 over STAC 1.1.0"},
    {"/dcat", "linked data", "The catalog as DCAT, provenance as PROV"},
    {"/data.json", "linked data", NULL},
    {"/prov", "linked data", NULL},
    {"/deltas", "evidence", "What a change consists of, and its bytes"},
    {"/manifests", "evidence", NULL},
    {"/assets", "evidence", NULL},
    {"/hooks", "push", "Where providers tell of news"},
    {"/admin", "operators", "What operators and reviewers do; needs a token"},
    {"", "service", "How the service itself is"},
};

static struct str tag_of(const char *pattern)
{
    size_t i = 0;
    while (!str_starts(str_of(pattern), str_of(tags[i].under)))
        i++; /* the last fits all */
    return str_of(tags[i].tag);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static const struct param_row *param_of(struct str name, const char *pattern)
{
    for (size_t i = 0; i < ARRAY_LEN(params); i++)
        if (str_is(name, params[i].name) && str_starts(str_of(pattern), str_of(params[i].under)))
            return &params[i];
    return NULL;
}

/* What f= may be, as media.def has it. */
static void put_formats(struct buf *b, const char *gives)
{
    size_t n = 0;
    buf_puts(b, "{\"type\":\"string\",\"enum\":[");
    for (size_t i = 0; i < ARRAY_LEN(media); i++)
        if (strcmp(media[i].gives, gives) == 0 && media[i].f[0])
            buf_printf(b, "%s\"%s\"", n++ ? "," : "", media[i].f);
    buf_puts(b, "]}");
}

static enum rc put_param(struct buf *b, const struct row *row, struct str name, bool in_path,
                         struct err *err)
{
    const struct param_row *p = param_of(name, row->pattern);
    if (!p)
        return err_set(err, RC_CORRUPT, "params", "api/params.def lacks '%.*s' of %s",
                       STR_FMT(name), row->pattern);
    buf_printf(b, "{\"name\":\"%s\",\"in\":\"%s\"%s,\"description\":", p->name,
               in_path ? "path" : "query", in_path ? ",\"required\":true" : "");
    json_put_str(b, str_of(p->description));
    buf_puts(b, ",\"schema\":");
    if (p->schema[0])
        buf_puts(b, p->schema);
    else
        put_formats(b, row->gives);
    buf_byte(b, '}');
    return RC_OK;
}

static enum rc put_params(struct buf *b, const struct row *row, struct err *err)
{
    struct str rest = str_of(row->params), name;
    size_t n = 0;
    buf_puts(b, ",\"parameters\":[");
    for (const char *open = row->pattern; (open = strchr(open, '{')); open++) {
        name = (struct str){open + 1, strcspn(open + 1, "}")};
        buf_puts(b, n++ ? "," : "");
        TRY(put_param(b, row, name, true, err));
    }
    while (str_next(&rest, ' ', &name)) {
        buf_puts(b, n++ ? "," : "");
        TRY(put_param(b, row, name, false, err));
    }
    if (row->scope && strcmp(row->method, "GET") != 0)
        buf_printf(b, "%s{\"$ref\":\"#/components/parameters/Idempotency-Key\"}", n ? "," : "");
    buf_byte(b, ']');
    return RC_OK;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void put_media(struct buf *b, const char *type, const char *schema)
{
    bool events = strcmp(type, "text/event-stream") == 0;
    bool lines = events || strcmp(type, "application/x-ndjson") == 0;
    json_put_str(b, str_of(type));
    buf_puts(b, ":{\"schema\":{");
    if (lines)
        buf_printf(b, "\"type\":\"string\",\"description\":\"a `%s` per %s\",\"x-line\":{", schema,
                   events ? "event" : "line");
    if (strcmp(schema, "-") == 0)
        buf_puts(b, "\"type\":\"string\"");
    else
        buf_printf(b, "\"$ref\":\"#/components/schemas/%s\"", schema);
    buf_puts(b, lines ? "}}}" : "}}");
}

static void put_success(struct buf *b, const struct row *row)
{
    size_t n = 0;
    buf_printf(b, "\"%s\":{\"description\":", row->status[0] ? row->status : "200");
    json_put_str(b, str_of(row->summary));
    if (strcmp(row->status, "204") == 0) { /* it has no content */
        buf_byte(b, '}');
        return;
    }
    buf_puts(b, ",\"content\":{");
    for (size_t i = 0; i < ARRAY_LEN(media); i++)
        if (strcmp(media[i].gives, row->gives) == 0) {
            buf_puts(b, n++ ? "," : "");
            put_media(b, media[i].type, media[i].schema);
        }
    if (n == 0)
        put_media(b, row->produces, row->gives);
    buf_puts(b, "}}");
}

static bool is_delivery(const struct row *row)
{
    return str_starts(str_of(row->pattern), STR("/hooks/")) && strcmp(row->method, "POST") == 0;
}

static bool is_rollback(const struct row *row)
{
    return strcmp(row->pattern, "/admin/rollbacks") == 0 && strcmp(row->method, "POST") == 0;
}

static bool has_param(const struct row *row, const char *name)
{
    struct str rest = str_of(row->params), item;
    while (str_next(&rest, ' ', &item))
        if (str_is(item, name))
            return true;
    return false;
}

/* Can this row end so? What is not listed can still come: `default` describes it. */
static bool may_end(const struct row *row, enum rc rc)
{
    bool get = strcmp(row->method, "GET") == 0;
    switch (rc) {
    case RC_INVALID: return true;
    case RC_UNAUTHORIZED: return row->scope != 0;
    case RC_UNSIGNED:
    case RC_QUARANTINED: return is_delivery(row);
    case RC_FORBIDDEN: return row->scope != 0;
    case RC_NOT_FOUND: return strchr(row->pattern, '{') || (row->scope && !get);
    case RC_NOT_ACCEPTABLE: return has_param(row, "f") || strcmp(row->gives, "description") == 0;
    case RC_CONFLICT: return row->scope && !get;
    case RC_GONE: return has_param(row, "since");
    case RC_TOO_LARGE: return row->takes[0] != 0 || is_delivery(row);
    case RC_LIMITED: return is_delivery(row);
    case RC_MEDIA_TYPE: return row->takes[0] != 0;
    case RC_BUSY: return row->flags & ROUTE_LEDGER || strcmp(row->pattern, "/readyz") == 0;
    default: return false;
    }
}

/* Bytes that nginx sends. */
static bool has_ranges(const struct row *row)
{
    return str_starts(str_of(row->pattern), STR("/assets/")) ||
           str_starts(str_of(row->pattern), STR("/manifests/"));
}

static void put_answers(struct buf *b, const struct row *row)
{
    buf_puts(b, ",\"responses\":{");
    put_success(b, row);
    if (is_delivery(row))
        buf_puts(
            b,
            ",\"200\":{\"description\":\"Nothing to take in: told before, older than what was "
            "told, or no news. Or the answer to a handshake, in its own type\",\"content\":{"
            "\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/hook-accepted\"}},"
            "\"text/plain\":{\"schema\":{\"type\":\"string\"}}}}");
    if (has_ranges(row))
        buf_puts(b,
                 ",\"206\":{\"description\":\"The part that Range asked for\",\"content\":{\"*/*\":"
                 "{\"schema\":{\"type\":\"string\"}}}},\"416\":{\"$ref\":"
                 "\"#/components/responses/problem\"}");
    if (is_rollback(row))
        buf_puts(b, ",\"200\":{\"description\":\"Nothing to wait for: blocks were lifted, or the "
                    "wanted state is there\",\"content\":{\"application/json\":{\"schema\":{"
                    "\"$ref\":\"#/components/schemas/rollback-settled\"}}}}");
    if (strcmp(row->method, "GET") == 0)
        buf_puts(b, ",\"304\":{\"description\":\"The client has it already\"}");
#define X(name, http, retry, slug, title)                                                          \
    if (may_end(row, RC_##name))                                                                   \
        buf_puts(b, ",\"" #http "\":{\"$ref\":\"#/components/responses/" #name "\"}");
#include "core/rc.def"
#undef X
    buf_puts(b, ",\"default\":{\"$ref\":\"#/components/responses/problem\"}}");
}

/* ---- one row --------------------------------------------------------------------------------- */

/* get_changes_change_event_id: the address in letters; one that ends with a slash says so. */
static void put_operation_id(struct buf *b, const struct row *row)
{
    bool gap = true;
    buf_puts(b, ",\"operationId\":\"");
    for (const char *p = row->method; *p; p++)
        buf_byte(b, (char)(*p | 0x20));
    for (const char *p = row->pattern; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_';
        if (letter && gap)
            buf_byte(b, '_');
        if (letter)
            buf_byte(b, *p);
        gap = !letter;
    }
    buf_puts(b, str_ends(str_of(row->pattern), STR("/")) ? "_slash\"" : "\"");
}

static void put_security(struct buf *b, unsigned scope)
{
    size_t n = 0;
    if (!scope) {
        buf_puts(b, ",\"security\":[]");
        return;
    }
    buf_puts(b, ",\"security\":[{\"token\":[");
#define X(bit, name)                                                                               \
    if (scope & SCOPE_##bit)                                                                       \
        buf_printf(b, "%s\"" name "\"", n++ ? "," : "");
#include "ledger/scopes.def"
#undef X
    buf_puts(b, "]}]");
}

static enum rc put_row(struct buf *b, const struct row *row, struct err *err)
{
    if (!row->gives[0])
        return err_set(err, RC_CORRUPT, "routes", "%s %s of api/routes.def has no schema",
                       row->method, row->pattern);
    buf_byte(b, '"');
    for (const char *p = row->method; *p; p++)
        buf_byte(b, (char)(*p | 0x20));
    buf_puts(b, "\":{\"tags\":[");
    json_put_str(b, tag_of(row->pattern));
    buf_puts(b, "],\"summary\":");
    json_put_str(b, str_of(row->summary));
    put_operation_id(b, row);
    TRY(put_params(b, row, err));
    if (row->takes[0])
        buf_printf(b,
                   ",\"requestBody\":{\"required\":true,\"content\":{\"application/json\":"
                   "{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}}}",
                   row->takes);
    if (is_delivery(row))
        buf_puts(
            b,
            ",\"requestBody\":{\"required\":true,\"description\":\"As the provider of the source "
            "sends it\",\"content\":{\"*/*\":{}}}");
    put_answers(b, row);
    put_security(b, row->scope);
    buf_byte(b, '}');
    return RC_OK;
}

/* Is there a row with the same address above? Its methods stand there. */
static bool is_told(size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(rows[i].pattern, rows[at].pattern) == 0)
            return true;
    return false;
}

static enum rc put_paths(struct buf *b, struct err *err)
{
    size_t n = 0;
    buf_puts(b, ",\"paths\":{");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (is_told(i))
            continue;
        buf_printf(b, "%s\"%s\":{", n++ ? "," : "", rows[i].pattern);
        for (size_t j = i, m = 0; j < ARRAY_LEN(rows); j++) {
            if (strcmp(rows[j].pattern, rows[i].pattern) != 0)
                continue;
            buf_puts(b, m++ ? "," : "");
            TRY(put_row(b, &rows[j], err));
        }
        buf_byte(b, '}');
    }
    buf_byte(b, '}');
    return RC_OK;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static enum rc want_schemas(struct openapi_schemas *s, struct arena *a, struct err *err)
{
    TRY(openapi_want(s, a, STR("problem"), err));
    TRY(openapi_want(s, a, STR("rollback-settled"), err));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool many = false;
        for (size_t j = 0; j < ARRAY_LEN(media); j++) {
            if (strcmp(media[j].gives, rows[i].gives) != 0)
                continue;
            many = true;
            if (media[j].schema[0] != '-')
                TRY(openapi_want(s, a, str_of(media[j].schema), err));
        }
        if (!many && rows[i].gives[0] != '-')
            TRY(openapi_want(s, a, str_of(rows[i].gives), err));
        if (rows[i].takes[0])
            TRY(openapi_want(s, a, str_of(rows[i].takes), err));
    }
    return RC_OK;
}

static void put_problem(struct buf *b, const char *name, const char *title)
{
    buf_printf(b, "\"%s\":{\"description\":\"%s\",\"content\":{\"application/problem+json\":", name,
               title);
    buf_puts(b, "{\"schema\":{\"$ref\":\"#/components/schemas/problem\"}}}}");
}

/* Those that some row can end with, and the one for all others. */
static void put_problems(struct buf *b)
{
    bool used;
    buf_puts(b, ",\"responses\":{");
#define X(name, http, retry, slug, title)                                                          \
    used = false;                                                                                  \
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)                                                   \
        used = used || may_end(&rows[i], RC_##name);                                               \
    if (used) {                                                                                    \
        put_problem(b, #name, title);                                                              \
        buf_byte(b, ',');                                                                          \
    }
#include "core/rc.def"
#undef X
    put_problem(b, "problem", "Any other problem");
    buf_byte(b, '}');
}

static void put_head(struct buf *b, struct str base)
{
    buf_puts(b, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Freshet\",\"version\":");
    json_put_str(b, str_of(freshet_version));
    buf_puts(
        b,
        ",\"summary\":\"What changed upstream, when, and why to trust it\",\"description\":\""
        "HEAD works wherever GET does, and OPTIONS everywhere. Answers to GET carry ETag, Last-Modified"
        " where it is known, Cache-Control and Vary: Accept; conditional requests are answered with 304."
        " Times are RFC 3339 in UTC. A query parameter that an address does not take is a 400 that names"
        " it. Errors are problem details (RFC 9457). What is withheld is answered like what never was."
        "\",\"license\":{\"name\":\"Apache-2.0\",\"identifier\":\"Apache-2.0\"}},\"servers\":[{\"url\":");
    json_put_str(b, base.n ? base : STR("/"));
    buf_puts(b, "}],\"tags\":[");
    for (size_t i = 0, n = 0; i < ARRAY_LEN(tags); i++)
        if (tags[i].description)
            buf_printf(b, "%s{\"name\":\"%s\",\"description\":\"%s\"}", n++ ? "," : "", tags[i].tag,
                       tags[i].description);
    buf_byte(b, ']');
}

enum rc openapi_write(struct buf *out, struct arena *a, struct str base, struct err *err)
{
    struct openapi_schemas s = {0};
    put_head(out, base);
    TRY(put_paths(out, err));
    TRY(want_schemas(&s, a, err));
    buf_puts(out, ",\"components\":{\"schemas\":{");
    TRY(openapi_put_schemas(&s, out, a, err));
    buf_byte(out, '}');
    put_problems(out);
    buf_puts(out,
             ",\"parameters\":{\"Idempotency-Key\":{\"name\":\"Idempotency-Key\",\"in\":\"header\","
             "\"description\":\"The same key with the same body is one request, however often it is"
             " sent\",\"schema\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":255}}},"
             "\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\","
             "\"description\":\"freshet token create; the scope that is needed stands with each"
             " address\"}}}}");
    return buf_rc(out);
}

/* Who knows only OpenAPI 3.0 gets what it is without a version: it is JSON, and no valid 3.0. */
static const struct media types[] = {
    {"", OPENAPI_TYPE, OPENAPI_TYPE},
    {"", "application/json", "application/json"},
};

enum rc openapi_json(struct req *r, struct resp *w, struct err *err)
{
    size_t format;
    TRY(negotiate(r, w, types, ARRAY_LEN(types), &format, err));
    struct etag e = etag_start("", r->base);
    etag_str(&e, STR("openapi"));
    etag_int(&e, (int64_t)format);
    etag_set(&e, w);
    w->last_modified = freshet_commit_at;
    w->etag_only = true; /* another address of ours has other links */
    return openapi_write(&w->body, r->arena, r->base, err);
}
