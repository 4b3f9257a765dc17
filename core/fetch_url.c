/* fetch_url: which URL may be fetched, and where a redirect leads. URLs are read by libcurl's own
 * parser, the one that also connects: two parsers that disagree are how address checks are fooled.
 *
 * Invariants
 *   1. https for any host, http for hosts in allow_hosts, nothing else; no user-info.
 *   2. Messages show URLs through fetch_url_clean only.
 *   3. A remembered judgement is of the same bytes up to the slash that ends the authority.
 *   4. This is the judgement of the text; addresses are judged when they are connected to.
 */
#include "core/fetch_internal.h"

static void url_free(CURLU **u)
{
    curl_url_cleanup(*u);
}

static void part_free(char **part)
{
    curl_free(*part);
}

static enum rc refuse(struct err *err, enum rc rc, const char *url, const char *why)
{
    char clean[300];
    fetch_url_clean(url, clean, sizeof clean);
    return err_set(err, rc, "url", "%s: %s", why, clean);
}

/* The scheme of the text, before it is parsed: libcurl also knows file, ftp and many more. */
static enum rc scheme_check(const char *url, bool *ret_https, struct err *err)
{
    if (!str_is_clean(str_of(url)) || strchr(url, ' '))
        return refuse(err, RC_INVALID, url, "spaces and control characters must be encoded");
    if (strlen(url) >= FETCH_URL_MAX)
        return err_set(err, RC_INVALID, "url", "must be shorter than %d characters", FETCH_URL_MAX);
    if (!strstr(url, "://"))
        return refuse(err, RC_INVALID, url, "must begin with https://");
    bool https = strncasecmp(url, "https://", 8) == 0;
    if (!https && strncasecmp(url, "http://", 7) != 0)
        return refuse(err, RC_BLOCKED, url, "only https, and http for hosts in allow_hosts");
    *ret_https = https;
    return RC_OK;
}

static enum rc host_port(CURLU *u, struct fetch_target *t)
{
    CLEANUP(part_free) char *host = NULL;
    CLEANUP(part_free) char *port = NULL;
    int64_t n;
    if (curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
        str_to_i64(str_of(port), &n) != RC_OK || n < 1 || strlen(host) >= FETCH_HOST_MAX)
        return RC_INVALID;
    t->port = (int)n;
    size_t i = 0;
    for (; host[i]; i++)
        t->host[i] = host[i] >= 'A' && host[i] <= 'Z' ? (char)(host[i] + 32) : host[i];
    t->host[i] = '\0';
    snprintf(t->name, sizeof t->name, "%s:%d", t->host, t->port);
    return RC_OK;
}

/* What the text says, whether or not it may be fetched. */
static enum rc origin_of(const char *url, struct fetch_target *ret, struct err *err)
{
    struct fetch_target t = {0};
    TRY(scheme_check(url, &t.https, err));
    if (fetch_url_has_user(url))
        return refuse(err, RC_BLOCKED, url, "no user or password in URLs, use headers");
    CLEANUP(url_free) CURLU *u = curl_url();
    if (!u)
        return err_set(err, RC_NOMEM, "url", "out of memory");
    if (curl_url_set(u, CURLUPART_URL, url, CURLU_DISALLOW_USER) != CURLUE_OK ||
        host_port(u, &t) != RC_OK)
        return refuse(err, RC_INVALID, url, "is not a URL");
    *ret = t;
    return RC_OK;
}

enum rc fetch_url_judge(const struct conf_list *allow, const char *url, struct fetch_target *ret,
                        struct err *err)
{
    struct fetch_target t;
    TRY(origin_of(url, &t, err));
    t.listed = fetch_host_allowed(allow, str_of(t.host), t.port);
    if (!t.https && !t.listed)
        return refuse(err, RC_BLOCKED, url, "http only for hosts in allow_hosts");
    *ret = t;
    return RC_OK;
}

enum rc fetch_may(const struct conf *conf, const char *url, struct err *err)
{
    struct fetch_target ignored;
    return fetch_url_judge(&conf->allow_hosts, url, &ignored, err);
}

/* "https://host:port/" of a URL, 0 when it does not begin like that. What follows this slash cannot
 * change where the URL points to. */
static size_t origin_len(const char *url)
{
    const char *authority = strstr(url, "://");
    size_t n = authority ? strcspn(authority + 3, "/?#") : 0;
    return n && authority[3 + n] == '/' ? (size_t)(authority + 3 + n + 1 - url) : 0;
}

static struct fetch_memo *memo_of(struct fetch *f, const char *url, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)url[i]) * 16777619u;
    return &f->memos[h % FETCH_MEMOS];
}

enum rc fetch_url_target(struct fetch *f, const char *url, struct fetch_target *ret,
                         struct err *err)
{
    bool https;
    size_t n = origin_len(url);
    if (n == 0 || n >= sizeof f->memos[0].origin)
        return fetch_url_judge(&f->conf->allow_hosts, url, ret, err);
    struct fetch_memo *m = memo_of(f, url, n);
    if (strncmp(m->origin, url, n) == 0 && m->origin[n] == '\0') {
        *ret = m->target;
        return scheme_check(url, &https, err);
    }
    TRY(fetch_url_judge(&f->conf->allow_hosts, url, ret, err));
    memcpy(m->origin, url, n);
    m->origin[n] = '\0';
    m->target = *ret;
    return RC_OK;
}

enum rc fetch_url_resolve(const char *base, const char *location, char ret[FETCH_URL_MAX],
                          struct err *err)
{
    CLEANUP(url_free) CURLU *u = curl_url();
    CLEANUP(part_free) char *text = NULL;
    if (!u)
        return err_set(err, RC_NOMEM, "url", "out of memory");
    if (curl_url_set(u, CURLUPART_URL, base, 0) != CURLUE_OK ||
        curl_url_set(u, CURLUPART_URL, location, CURLU_URLENCODE | CURLU_NON_SUPPORT_SCHEME) !=
            CURLUE_OK)
        return refuse(err, RC_INVALID, location, "the redirect leads to no URL");
    /* A fragment is for readers; it would only make equal targets look different. */
    if (curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0) != CURLUE_OK ||
        curl_url_get(u, CURLUPART_URL, &text, 0) != CURLUE_OK || strlen(text) >= FETCH_URL_MAX)
        return refuse(err, RC_INVALID, location, "the redirect leads to no URL");
    memcpy(ret, text, strlen(text) + 1);
    return RC_OK;
}

/* ---- for whoever reads URLs in documents ----------------------------------------------------- */

enum rc fetch_url_join(const char *base, const char *ref, char ret[FETCH_URL_MAX], struct err *err)
{
    char url[FETCH_URL_MAX];
    bool https;
    if (!str_is_clean(str_of(ref)))
        return err_set(err, RC_INVALID, "url", "a reference holds control characters");
    if (fetch_url_resolve(base, ref, url, err) != RC_OK ||
        scheme_check(url, &https, err) != RC_OK || fetch_url_has_user(url))
        return refuse(err, RC_INVALID, ref, "a reference leads to no http or https URL");
    memcpy(ret, url, strlen(url) + 1);
    return RC_OK;
}

bool fetch_url_same_origin(const char *x, const char *y)
{
    struct fetch_target a, b;
    struct err ignored;
    return origin_of(x, &a, &ignored) == RC_OK && origin_of(y, &b, &ignored) == RC_OK &&
           a.https == b.https && a.port == b.port && strcmp(a.host, b.host) == 0;
}
