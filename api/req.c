/* req: parsing of what a client sent.
 *
 * Invariants (those of req.h)
 * Called by the fronts (fcgi, stream_http), route and the routes; knows no SQL. */
#include "api/req.h"

/* ---- fields ---------------------------------------------------------------------------------- */

static const struct {
    size_t offset;
    const char *twice; /* why a second one refuses the request; NULL: it does not */
} fields[] = {
#define X(field, member, once_as)                                                                  \
    {offsetof(struct req, member),                                                                 \
     sizeof once_as > 1 ? once_as " was sent twice, but must be single." : NULL},
    REQ_FIELDS(X)
#undef X
};

/* The first reason stays. */
static void refuse(struct req *r, const char *why)
{
    if (!r->refused)
        r->refused = why;
}

void req_take_field(struct req *r, enum req_field field, struct str value)
{
    unsigned bit = 1u << field;
    if (!(r->seen & bit))
        *(struct str *)(void *)((char *)r + fields[field].offset) = value;
    else if (fields[field].twice)
        refuse(r, fields[field].twice);
    r->seen |= bit;
}

/* ---- parameters ------------------------------------------------------------------------------ */

struct str req_param(const struct req *r, const char *name)
{
    for (size_t i = 0; i < r->n_params; i++)
        if (str_is(r->params[i].name, name))
            return r->params[i].value;
    return (struct str){NULL, 0};
}

/* ---- headers as they came: HTTP_NAME=value --------------------------------------------------- */

/* The name after HTTP_ as the web server writes it, up to '='; .p NULL when this is no header. */
static struct str header_name(const char *param)
{
    const char *eq = strchr(param, '=');
    if (!eq || strncmp(param, "HTTP_", 5) != 0)
        return (struct str){NULL, 0};
    return (struct str){param + 5, (size_t)(eq - param) - 5};
}

/* X_HUB_SIGNATURE is X-Hub-Signature. */
static bool is_header(struct str cgi, struct str name)
{
    if (!cgi.p || cgi.n != name.n)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        c = (char)(c == '-' ? '_' : c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
        if (c != cgi.p[i])
            return false;
    }
    return true;
}

struct str req_header(const struct req *r, const char *name)
{
    struct str wanted = str_of(name);
    if (str_ieq(wanted, STR("Content-Type")))
        return r->content_type.n ? r->content_type : (struct str){NULL, 0};
    for (char *const *p = r->params_raw; p && *p; p++)
        if (is_header(header_name(*p), wanted))
            return str_of(strchr(*p, '=') + 1);
    return (struct str){NULL, 0};
}

size_t req_headers(const struct req *r)
{
    size_t n = 0;
    for (char *const *p = r->params_raw; p && *p; p++)
        n += header_name(*p).p != NULL;
    return n;
}

bool req_header_twice(const struct req *r, const char *name)
{
    struct str wanted = str_of(name);
    size_t n = 0;
    for (char *const *p = r->params_raw; p && *p; p++)
        n += is_header(header_name(*p), wanted);
    return n > 1;
}

/* Who signs, what is signed, what it is about: of two of these one might be checked and the other
 * believed. All others may come as often as HTTP lets them (tracestate, Cache-Control, Via). */
static const char *const single[] = {
    "Host", "Authorization", "Content-Type", "Content-Length", "Idempotency-Key",
    /* standard-webhooks, github, stripe, slack; hmac, s3, azure, if they are not
     * configured otherwise */
    "webhook-id", "webhook-timestamp", "webhook-signature", "X-Hub-Signature",
    "X-Hub-Signature-256", "X-GitHub-Delivery", "X-GitHub-Event", "Stripe-Signature",
    "X-Slack-Request-Timestamp", "X-Slack-Signature", "X-Signature", "X-Api-Key", "aeg-sas-key",
    /* cloudevents */
    "WebHook-Request-Origin", "WebHook-Request-Rate", "ce-specversion", "ce-id", "ce-source",
    "ce-type", "ce-subject", "ce-time", "ce-sequence", "ce-sequencetype", "ce-datacontenttype",
    "ce-dataschema"};

const char *req_doubled(const struct req *r)
{
    for (size_t i = 0; i < ARRAY_LEN(single); i++)
        if (req_header_twice(r, single[i]))
            return single[i];
    return NULL;
}

enum rc http_decode(struct arena *a, struct str s, bool plus, struct str *ret)
{
    char *out = arena_alloc(a, s.n + 1);
    size_t n = 0;
    if (!out)
        return RC_NOMEM;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            if (s.n - i < 3 || hex_decode((struct str){s.p + i + 1, 2}, &c, 1) != RC_OK)
                return RC_INVALID;
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        out[n++] = c;
    }
    out[n] = 0;
    struct str got = {out, n};
    if (!str_is_clean(got) || !str_is_utf8(got))
        return RC_INVALID;
    *ret = got;
    return RC_OK;
}

void http_encode(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.' || c == '_' || c == '~';
        if (plain)
            buf_byte(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

static enum rc parse_param(struct req *r, struct str pair, struct err *err)
{
    struct str name = {"", 0};
    if (r->n_params == REQ_PARAMS_MAX)
        return err_set(err, RC_INVALID, "", "at most %d query parameters are taken",
                       REQ_PARAMS_MAX);
    struct param *p = &r->params[r->n_params];
    (void)str_next(&pair, '=', &name);
    enum rc rc = http_decode(r->arena, name, true, &p->name);
    if (rc == RC_OK)
        rc = http_decode(r->arena, pair, true, &p->value);
    if (rc == RC_INVALID)
        return err_set(err, rc, "",
                       "the query string is not valid: %%XX escapes of UTF-8 text without control "
                       "characters are expected");
    if (rc != RC_OK)
        return err_set(err, rc, "", "no memory for the query string");
    r->n_params++;
    return RC_OK;
}

enum rc req_parse_query(struct req *r, struct err *err)
{
    struct str rest = r->query, pair;
    r->n_params = 0;
    if (rest.n > REQ_QUERY_MAX)
        return err_set(err, RC_INVALID, "", "the query string is longer than %d bytes",
                       REQ_QUERY_MAX);
    while (str_next(&rest, '&', &pair))
        if (pair.n > 0)
            TRY(parse_param(r, pair, err));
    return RC_OK;
}

/* ---- base URL -------------------------------------------------------------------------------- */

static bool is_host(struct str s)
{
    if (s.n == 0 || s.n > REQ_HOST_MAX)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '.' || c == '-' || c == '_' || c == ':' || c == '[' || c == ']';
        if (!good)
            return false;
    }
    return true;
}

static bool is_trusted(const struct conf *c, struct str addr)
{
    for (size_t i = 0; i < c->trusted_proxies.n; i++)
        if (str_is(addr, c->trusted_proxies.items[i]))
            return true;
    return false;
}

/* The last item of a list: what the proxy next to us added itself; the ones before it came from
 * further away. */
static struct str last_item(struct str list)
{
    struct str item = {"", 0}, last = {"", 0};
    while (str_next(&list, ',', &item))
        last = str_trim(item);
    return last;
}

static enum rc base_from(struct arena *a, struct str scheme, struct str host, struct str *ret,
                         struct err *err)
{
    if (!is_host(host))
        return err_set(err, RC_INVALID, "Host", "the Host header is not a host name");
    char *base =
        arena_printf(a, "%s://%.*s", str_is(scheme, "https") ? "https" : "http", STR_FMT(host));
    if (!base)
        return err_set(err, RC_NOMEM, "", "no memory for the base URL");
    *ret = str_of(base);
    return RC_OK;
}

enum rc http_base(struct arena *a, const struct conf *c, const struct origin *o, struct str *ret,
                  struct err *err)
{
    struct str set = str_of(c->public_base_url), scheme = o->scheme, host = o->host;
    char local[40];
    if (set.n > 0) {
        *ret = set;
        return RC_OK;
    }
    if (is_trusted(c, o->remote_addr)) {
        struct str proto = last_item(o->forwarded_proto), name = last_item(o->forwarded_host);
        scheme = proto.n > 0 ? proto : scheme;
        host = name.n > 0 ? name : host;
    }
    if (host.n == 0) { /* HTTP/1.0 */
        snprintf(local, sizeof local, "127.0.0.1:%d", (int)c->port);
        host = str_of(local);
    }
    return base_from(a, scheme, host, ret, err);
}

void req_set_base(struct req *r, const struct conf *c)
{
    struct err err = {0};
    r->origin.remote_addr = r->remote_addr;
    r->base = STR("http://127.0.0.1");
    if (http_base(r->arena, c, &r->origin, &r->base, &err) != RC_OK)
        refuse(r, "The Host header is not a host name.");
}
