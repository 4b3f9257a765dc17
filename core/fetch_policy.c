/* fetch_policy: the pure parts of fetch. Where may we connect to, what may be shown of a URL, how
 * long does an upstream ask us to wait. No libcurl, no state, so any program may call these.
 *
 * Invariants
 *   1. IPv4: everything is public but the ranges of v4_denied. IPv6: nothing is public but 2000::/3
 *      without the ranges of v6_denied. Forms that carry an IPv4 address are judged by it.
 *   2. fetch_url_clean never lets user-info, query or fragment through, however broken the URL.
 */
#include "core/fetch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "core/clock.h"
#include "core/fetch_policy.h"

/* ---- how a request ended -------------------------------------------------------------------- */

static const struct {
    const char *name, *text;
    bool transient;
} ends[FETCH_END_COUNT] = {
#define X(name, transient, text) [FETCH_##name] = {#name, text, transient},
#include "core/fetch.def"
#undef X
};

const char *fetch_end_name(enum fetch_end e)
{
    return ends[e].name;
}

const char *fetch_end_text(enum fetch_end e)
{
    return ends[e].text;
}

bool fetch_end_transient(enum fetch_end e)
{
    return ends[e].transient;
}

/* ---- addresses ------------------------------------------------------------------------------ */

static const struct {
    uint8_t net[4];
    int bits;
} v4_denied[] = {
    {{0, 0, 0, 0}, 8},       /* this network */
    {{10, 0, 0, 0}, 8},      /* private */
    {{100, 64, 0, 0}, 10},   /* carrier-grade NAT */
    {{127, 0, 0, 0}, 8},     /* loopback */
    {{169, 254, 0, 0}, 16},  /* link-local; cloud metadata services */
    {{172, 16, 0, 0}, 12},   /* private */
    {{192, 0, 0, 0}, 24},    /* protocol assignments */
    {{192, 0, 2, 0}, 24},    /* documentation */
    {{192, 88, 99, 0}, 24},  /* 6to4 relays */
    {{192, 168, 0, 0}, 16},  /* private */
    {{198, 18, 0, 0}, 15},   /* benchmarking */
    {{198, 51, 100, 0}, 24}, /* documentation */
    {{203, 0, 113, 0}, 24},  /* documentation */
    {{224, 0, 0, 0}, 4},     /* multicast */
    {{240, 0, 0, 0}, 4},     /* reserved, broadcast */
};

static const struct {
    uint8_t net[16];
    int bits;
} v6_denied[] = {
    {{0x20, 0x01, 0x00, 0x00}, 23}, /* protocol assignments, Teredo, ORCHID, benchmarking */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x3f, 0xff, 0x00, 0x00}, 20}, /* documentation */
};

/* IPv6 forms that carry an IPv4 address at byte `at`. */
static const struct {
    uint8_t net[16];
    int bits, at;
} v6_wraps[] = {
    {{[10] = 0xff, [11] = 0xff}, 96, 12}, /* ::ffff:a.b.c.d */
    {{0x00, 0x64, 0xff, 0x9b}, 96, 12},   /* 64:ff9b::a.b.c.d, NAT64 */
    {{0x20, 0x02}, 16, 2},                /* 2002:aabb:ccdd::, 6to4 */
};

static bool in_net(const uint8_t *addr, const uint8_t *net, int bits)
{
    if (memcmp(addr, net, (size_t)bits / 8) != 0)
        return false;
    if (bits % 8 == 0)
        return true;
    int mask = 0xff00 >> bits % 8 & 0xff;
    return (addr[bits / 8] & mask) == (net[bits / 8] & mask);
}

static bool v4_public(const uint8_t *addr)
{
    for (size_t i = 0; i < ARRAY_LEN(v4_denied); i++)
        if (in_net(addr, v4_denied[i].net, v4_denied[i].bits))
            return false;
    return true;
}

static bool v6_public(const uint8_t *addr)
{
    for (size_t i = 0; i < ARRAY_LEN(v6_wraps); i++)
        if (in_net(addr, v6_wraps[i].net, v6_wraps[i].bits))
            return v4_public(addr + v6_wraps[i].at);
    if ((addr[0] & 0xe0) != 0x20)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(v6_denied); i++)
        if (in_net(addr, v6_denied[i].net, v6_denied[i].bits))
            return false;
    return true;
}

bool fetch_addr_public(const struct sockaddr *sa)
{
    /* Copied, because what libcurl hands over need not be aligned for the larger type. */
    if (sa->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, sa, sizeof v4);
        return v4_public((const uint8_t *)&v4.sin_addr);
    }
    if (sa->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, sa, sizeof v6);
        return v6_public(v6.sin6_addr.s6_addr);
    }
    return false;
}

bool fetch_ip_public(const char *ip)
{
    uint8_t addr[16];
    if (inet_pton(AF_INET, ip, addr) == 1)
        return v4_public(addr);
    return inet_pton(AF_INET6, ip, addr) == 1 && v6_public(addr);
}

/* ---- allow list ----------------------------------------------------------------------------- */

/* Without brackets and without the dot that ends a fully qualified name. */
static struct str bare_host(struct str host)
{
    if (host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
        return (struct str){host.p + 1, host.n - 2};
    if (host.n > 1 && host.p[host.n - 1] == '.')
        host.n--;
    return host;
}

/* Takes ":port" off *host and returns the port's text, "" when there is none. A second colon
 * outside of brackets means a bare IPv6 address. */
static struct str cut_port(struct str *host)
{
    const char *close = memrchr(host->p, ']', host->n);
    const char *colon = memrchr(host->p, ':', host->n);
    if (!colon || (close ? colon < close : memchr(host->p, ':', host->n) != colon))
        return (struct str){"", 0};
    struct str port = {colon + 1, host->n - (size_t)(colon + 1 - host->p)};
    host->n = (size_t)(colon - host->p);
    return port;
}

bool fetch_host_allowed(const struct conf_list *allow, struct str host, int port)
{
    host = bare_host(host);
    for (size_t i = 0; host.n && i < allow->n; i++) {
        struct str entry = str_of(allow->items[i]);
        struct str text = cut_port(&entry);
        int64_t want = port;
        if (text.n && str_to_i64(text, &want) != RC_OK)
            continue;
        if (want == port && str_ieq(bare_host(entry), host))
            return true;
    }
    return false;
}

/* ---- URLs ----------------------------------------------------------------------------------- */

/* The authority (user@host:port) of a URL; *ret_path is what follows it. False when there is none.
 * Surplus slashes are skipped, as libcurl does: https:///user:password@host has user-info too. */
static bool authority_of(const char *url, struct str *ret, const char **ret_path)
{
    const char *p = strstr(url, "://");
    if (!p || p == url || strcspn(url, "/?#@") < (size_t)(p + 1 - url))
        return false;
    p += 3 + strspn(p + 3, "/");
    *ret = (struct str){p, strcspn(p, "/?#")};
    *ret_path = p + ret->n;
    return true;
}

bool fetch_url_has_user(const char *url)
{
    struct str authority;
    const char *path;
    return authority_of(url, &authority, &path) && memchr(authority.p, '@', authority.n);
}

static struct str without_user(struct str authority)
{
    const char *at = memrchr(authority.p, '@', authority.n);
    if (!at)
        return authority;
    return (struct str){at + 1, authority.n - (size_t)(at + 1 - authority.p)};
}

void fetch_text_cut(char *text)
{
    struct str rest = str_of(text);
    for (size_t n; rest.n && (n = str_utf8_len(rest));)
        rest = (struct str){rest.p + n, rest.n - n};
    text[rest.p - text] = '\0';
}

void fetch_url_clean(const char *url, char *out, size_t n)
{
    struct str authority;
    const char *path;
    if (!n)
        return;
    if (!authority_of(url, &authority, &path)) {
        snprintf(out, n, "(not a URL)");
        return;
    }
    struct str host = without_user(authority);
    snprintf(out, n, "%.*s%.*s%.*s", (int)(authority.p - url), url, STR_FMT(host),
             (int)strcspn(path, "?#"), path);
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    fetch_text_cut(out);
}

void fetch_url_place(const char *url, char out[FETCH_URL_MAX])
{
    const char *query = strchr(url, '?');
    char mark[24] = "";
    if (query) {
        uint64_t h = 0xcbf29ce484222325u; /* FNV-1a: it only has to differ */
        for (const char *c = query; *c && *c != '#'; c++)
            h = (h ^ (unsigned char)*c) * 0x100000001b3u;
        snprintf(mark, sizeof mark, "?%016llx", (unsigned long long)h);
    }
    fetch_url_clean(url, out, FETCH_URL_MAX - sizeof mark);
    size_t n = strlen(out);
    snprintf(out + n, FETCH_URL_MAX - n, "%s", mark);
}

void fetch_url_host(const char *url, char *out, size_t n)
{
    struct str authority;
    const char *path;
    if (!n)
        return;
    out[0] = '\0';
    if (!authority_of(url, &authority, &path) || authority.p[-3] != ':')
        return;
    struct str host = without_user(authority);
    (void)cut_port(&host);
    if (host.n >= n)
        return;
    for (size_t i = 0; i < host.n; i++)
        out[i] = host.p[i] >= 'A' && host.p[i] <= 'Z' ? (char)(host.p[i] + 32) : host.p[i];
    out[host.n] = '\0';
}

/* ---- waiting -------------------------------------------------------------------------------- */

static bool all_digits(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

int64_t fetch_retry_after(struct str value, int64_t now_ms)
{
    value = str_trim(value);
    bool negative = value.n > 1 && value.p[0] == '-';
    int64_t n;
    if (all_digits((struct str){value.p + negative, value.n - negative})) {
        if (negative)
            return 0;
        /* More digits than fit are a long time, not garbage. */
        return str_to_i64(value, &n) == RC_OK && n < DAY_MS / 1000 ? n * 1000 : DAY_MS;
    }
    if (time_parse_http(value, &n) != RC_OK)
        return -1;
    if (n <= now_ms)
        return 0;
    return n - now_ms < DAY_MS ? n - now_ms : DAY_MS;
}

int64_t fetch_retry_pause(int attempt, int64_t base_ms, int64_t retry_after_ms)
{
    int64_t top = base_ms;
    for (int i = 1; i < attempt && top < FETCH_RETRY_CAP_MS; i++)
        top *= 2;
    if (top > FETCH_RETRY_CAP_MS)
        top = FETCH_RETRY_CAP_MS;
    int64_t pause = (int64_t)rand_below((uint64_t)top + 1);
    return pause > retry_after_ms ? pause : retry_after_ms;
}
