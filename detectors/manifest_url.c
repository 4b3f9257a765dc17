/* manifest_url: see the header. Pure. */
#include "detectors/manifest_url.h"
#include "core/buf.h"

static struct str before_query(const char *url)
{
    return (struct str){url, strcspn(url, "?#")};
}

/* Where the path begins; the end of s when there is none. */
static size_t path_at(struct str s)
{
    const char *colon = memmem(s.p, s.n, "://", 3);
    size_t from = colon ? (size_t)(colon - s.p) + 3 : 0;
    const char *slash = memchr(s.p + from, '/', s.n - from);
    return slash ? (size_t)(slash - s.p) : s.n;
}

char *manifest_url_folder(struct arena *a, const char *url)
{
    struct str s = before_query(url);
    size_t path = path_at(s);
    while (s.n > path && s.p[s.n - 1] != '/')
        s.n--;
    return arena_printf(a, "%.*s%s", STR_FMT(s), s.n == path ? "/" : "");
}

char *manifest_url_bucket(struct arena *a, const char *url)
{
    struct str s = before_query(url);
    return arena_printf(a, "%.*s%s", STR_FMT(s), str_ends(s, STR("/")) ? "" : "/");
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

static char *encode(struct arena *a, const char *text, bool slashes)
{
    static const char hex[] = "0123456789ABCDEF";
    char *out = arena_alloc(a, 3 * strlen(text) + 1), *to = out;
    if (!out)
        return NULL;
    for (const char *p = text; *p; p++) {
        if (is_unreserved(*p) || (slashes && *p == '/')) {
            *to++ = *p;
            continue;
        }
        *to++ = '%';
        *to++ = hex[(unsigned char)*p >> 4];
        *to++ = hex[(unsigned char)*p & 15];
    }
    *to = '\0';
    return out;
}

char *manifest_url_encode(struct arena *a, const char *key)
{
    return encode(a, key, true);
}

char *manifest_url_decode(struct arena *a, struct str text, bool plus)
{
    char *out = arena_alloc(a, text.n + 1), *to = out;
    if (!out)
        return NULL;
    for (size_t i = 0; i < text.n; i++) {
        char byte = 0;
        bool pair = text.p[i] == '%' && text.n - i > 2 &&
                    hex_decode((struct str){text.p + i + 1, 2}, &byte, 1) == RC_OK && byte != 0;
        *to++ = pair ? byte : plus && text.p[i] == '+' ? ' ' : text.p[i];
        i += pair ? 2 : 0;
    }
    *to = '\0';
    return out;
}

char *manifest_url_with(struct arena *a, const char *url, const char *name, const char *value)
{
    struct str head = before_query(url), rest = {0}, part;
    struct buf b;
    char *encoded = encode(a, value, false), *out = NULL, sep = '?';
    if (!encoded)
        return NULL;
    buf_init(&b, strlen(url) + strlen(name) + strlen(encoded) + 8);
    buf_str(&b, head);
    if (url[head.n] == '?')
        rest = (struct str){url + head.n + 1, strcspn(url + head.n + 1, "#")};
    while (str_next(&rest, '&', &part)) {
        struct str tail = part, key = {0};
        if (part.n == 0 || (str_next(&tail, '=', &key) && str_is(key, name)))
            continue;
        buf_byte(&b, sep);
        buf_str(&b, part);
        sep = '&';
    }
    buf_printf(&b, "%c%s=%s", sep, name, encoded);
    if (buf_rc(&b) == RC_OK)
        out = arena_str(a, buf_view(&b));
    buf_release(&b);
    return out;
}
