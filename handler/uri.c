/* uri: cutting addresses. They were checked by source_parse: a scheme, a host, no blanks. */
#include "handler/uri.h"

/* Names of query parameters that are keys, whatever the service calls them. */
static const char *const credentials[] = {
    "key",
    "apikey",
    "api_key",
    "api-key",
    "token",
    "access_token",
    "auth",
    "secret",
    "client_secret",
    "password",
    "passwd",
    "pwd",
    "sig",
    "signature",
    "sas",
    "awsaccesskeyid",
    "x-amz-signature",
    "x-amz-credential",
    "x-amz-security-token",
};

static bool is_credential(struct str parameter)
{
    struct str name = {"", 0};
    (void)str_next(&parameter, '=', &name);
    for (size_t i = 0; i < ARRAY_LEN(credentials); i++)
        if (str_ieq(name, str_of(credentials[i])))
            return true;
    return false;
}

/* Scheme with "://", authority without user-info, and what follows. */
static void split(const char *url, struct str *scheme, struct str *host, struct str *rest)
{
    const char *colon = strstr(url, "://");
    const char *p = colon ? colon + 3 : url;
    *scheme = (struct str){url, (size_t)(p - url)};
    *host = (struct str){p, strcspn(p, "/?#")};
    *rest = (struct str){p + host->n, strcspn(p + host->n, "#")};
    const char *at = memrchr(host->p, '@', host->n);
    if (at)
        *host = (struct str){at + 1, host->n - (size_t)(at + 1 - host->p)};
}

char *uri_shown(struct arena *a, const char *url)
{
    struct str scheme, host, rest, path = {"", 0}, parameter;
    split(url, &scheme, &host, &rest);
    (void)str_next(&rest, '?', &path);
    char *out = arena_printf(a, "%.*s%.*s%.*s", STR_FMT(scheme), STR_FMT(host), STR_FMT(path));
    char mark = '?';
    while (out && str_next(&rest, '&', &parameter)) {
        if (is_credential(parameter))
            continue;
        out = arena_printf(a, "%s%c%.*s", out, mark, STR_FMT(parameter));
        mark = '&';
    }
    return out;
}

char *uri_host_only(struct arena *a, const char *url)
{
    struct str scheme, host, rest, name = {"", 0};
    split(url, &scheme, &host, &rest);
    if (host.n > 0 && *host.p == '[') /* an IPv6 address keeps its colons */
        name = (struct str){host.p, strcspn(host.p, "]") + 1};
    else
        (void)str_next(&host, ':', &name);
    return arena_printf(a, "%.*s%.*s/", STR_FMT(scheme), STR_FMT(name));
}
