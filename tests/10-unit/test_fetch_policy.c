/* The pure parts of fetch: addresses, allow list, URLs, Retry-After, response headers, pauses. */
#include "tests/10-unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>
#include "core/clock.h"
#include "core/fetch_internal.h"

/* ---- addresses ------------------------------------------------------------------------------ */

static bool is_public(const char *ip)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, ip, &v4.sin_addr) == 1) {
        assert_int_equal(fetch_ip_public(ip), fetch_addr_public((struct sockaddr *)&v4));
        return fetch_addr_public((struct sockaddr *)&v4);
    }
    assert_int_equal(inet_pton(AF_INET6, ip, &v6.sin6_addr), 1);
    assert_int_equal(fetch_ip_public(ip), fetch_addr_public((struct sockaddr *)&v6));
    return fetch_addr_public((struct sockaddr *)&v6);
}

/* First and last address of every range that is denied, and its neighbours outside. */
static void addresses_at_the_edges(void **state)
{
    static const char *const denied[] = {
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
        "127.0.0.0", "127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.169.254",
        "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255", "192.0.2.0",
        "192.0.2.255", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0",
        "198.19.255.255", "198.51.100.0", "198.51.100.255", "203.0.113.0", "203.0.113.255",
        "224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255",
        /* IPv6 */
        "::", "::1", "::2", "::127.0.0.1", "::8.8.8.8", "fc00::", "fdff:ffff::1",
        "fe80::", "febf::1", "fec0::1", "ff00::", "ff02::1", "ffff::", "::ffff:127.0.0.1",
        "::ffff:10.1.2.3", "::ffff:0.0.0.0", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
        "64:ff9b::a00:1", "64:ff9b:1::808:808", "2002:7f00:1::", "2002:a00:1::1",
        "2002:c0a8:101::", "2001:db8::", "2001:db8:ffff::1", "2001::1",
        "2001:0:7f00:1::", "2001:10::1", "2001:20::1", "2001:1ff::", "3fff::1",
        "3fff:fff::", "100::1", "5f00::1", "1fff::", "4000::1"};
    static const char *const open[] = {
        "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0",
        "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0",
        "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255",
        "203.0.114.0", "223.255.255.255", "8.8.8.8",
        /* IPv6 */
        "2000::1", "2001:200::1", "2001:4860:4860::8888", "2001:db7:ffff::1",
        "2001:db9::", "2606:4700::1111", "3ffe:ffff::1", "3fff:1000::1", "::ffff:8.8.8.8",
        "64:ff9b::808:808", "2002:808:808::1"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(denied); i++)
        if (is_public(denied[i]))
            fail_msg("%s must be denied", denied[i]);
    for (size_t i = 0; i < ARRAY_LEN(open); i++)
        if (!is_public(open[i]))
            fail_msg("%s must be public", open[i]);
}

static void other_families_are_denied(void **state)
{
    (void)state;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    assert_false(fetch_addr_public((struct sockaddr *)&local));
    assert_false(fetch_ip_public(""));
    assert_false(fetch_ip_public("8.8.8"));
    assert_false(fetch_ip_public("localhost"));
}

/* ---- allow list ----------------------------------------------------------------------------- */

static bool allowed(const char *entry, const char *host, int port)
{
    struct conf_list list = {&entry, 1};
    return fetch_host_allowed(&list, str_of(host), port);
}

static void allow_list(void **state)
{
    (void)state;
    assert_true(allowed("example.org", "example.org", 443));
    assert_true(allowed("example.org", "EXAMPLE.org", 8080));
    assert_true(allowed("example.org", "example.org.", 8080));
    assert_true(allowed("example.org.", "example.org", 8080));
    assert_true(allowed("example.org:8080", "example.org", 8080));
    assert_false(allowed("example.org:8080", "example.org", 8081));
    assert_false(allowed("example.org:80x", "example.org", 80));
    assert_false(allowed("example.org:-1", "example.org", 80));
    assert_false(allowed("example.org", "sub.example.org", 80));
    assert_false(allowed("example.org", "example.orga", 80));
    assert_false(allowed("", "", 80));
    assert_false(allowed("", "example.org", 80));
    assert_true(allowed("127.0.0.1", "127.0.0.1", 1));
    assert_false(allowed("127.0.0.1:80", "127.0.0.1", 1));
    assert_true(allowed("::1", "[::1]", 80));
    assert_true(allowed("[::1]", "[::1]", 80));
    assert_true(allowed("[::1]:80", "::1", 80));
    assert_false(allowed("[::1]:80", "[::1]", 81));
    assert_false(allowed("::1", "[::2]", 80));
    const char *two[] = {"a", "b:2"};
    assert_true(fetch_host_allowed(&(struct conf_list){two, 2}, STR("b"), 2));
    assert_false(fetch_host_allowed(&(struct conf_list){two, 2}, STR("b"), 3));
    assert_false(fetch_host_allowed(&(struct conf_list){NULL, 0}, STR("a"), 3));
}

/* ---- URLs ----------------------------------------------------------------------------------- */

static void urls_are_cleaned(void **state)
{
    static const struct {
        const char *url, *clean, *host;
    } rows[] = {
        {"https://example.org/a/b", "https://example.org/a/b", "example.org"},
        {"https://Example.ORG:8443/a?key=SECRET", "https://Example.ORG:8443/a", "example.org"},
        {"https://example.org?key=SECRET", "https://example.org", "example.org"},
        {"https://example.org#SECRET", "https://example.org", "example.org"},
        {"https://user:SECRET@example.org/a", "https://example.org/a", "example.org"},
        {"https://user:SE@CRET@example.org/a", "https://example.org/a", "example.org"},
        {"https://user:SECRET\\@example.org/a", "https://example.org/a", "example.org"},
        {"https://SECRET@[::1]:8/a@b", "https://[::1]:8/a@b", "[::1]"},
        {"https:///user:SECRET@example.org/a", "https:///example.org/a", ""},
        {"https://example.org:/a", "https://example.org:/a", "example.org"},
        {"https://example.org/a\r\nb", "https://example.org/a??b", "example.org"},
        {"file:///etc/passwd", "file:///etc/passwd", ""},
        {"example.org/a?b=http://SECRET", "(not a URL)", ""},
        {"user:SECRET@example.org://x", "(not a URL)", ""},
        {"?://SECRET", "(not a URL)", ""},
        {"://SECRET", "(not a URL)", ""},
        {"mailto:SECRET", "(not a URL)", ""},
        {"", "(not a URL)", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char clean[100], host[50];
        fetch_url_clean(rows[i].url, clean, sizeof clean);
        fetch_url_host(rows[i].url, host, sizeof host);
        assert_string_equal(clean, rows[i].clean);
        assert_string_equal(host, rows[i].host);
        assert_null(strstr(clean, "SECRET"));
    }
}

static void short_buffers(void **state)
{
    char out[12] = "untouched";
    (void)state;
    fetch_url_clean("https://example.org/", out, 0);
    fetch_url_host("https://example.org/", out, 0);
    assert_string_equal(out, "untouched");
    fetch_url_clean("https://\xc3\xa9\xc3\xa9/", out, 12);
    assert_string_equal(out, "https://\xc3\xa9"); /* not half a character */
    fetch_url_host("https://example.org/", out, 11);
    assert_string_equal(out, "");
    fetch_url_host("https://example.org/", out, 12);
    assert_string_equal(out, "example.org");
}

static void judge(const char *url, enum rc want)
{
    static const char *listed[] = {"plain.example", "127.0.0.1:8080"};
    struct fetch_target t = {.port = -7};
    struct err err = {.rc = RC_OK};
    enum rc rc = fetch_url_judge(&(struct conf_list){listed, 2}, url, &t, &err);
    if (rc != want)
        fail_msg("%s: %s, not %s", url, rc_name(rc), rc_name(want));
    if (rc == RC_OK)
        return;
    assert_int_equal(err.rc, rc);
    assert_int_equal(t.port, -7);
    assert_null(strstr(err.msg, "SECRET"));
}

static void which_urls_may_be_fetched(void **state)
{
    char longest[FETCH_URL_MAX + 1] = "https://example.org/";
    (void)state;
    judge("https://example.org/?a=b#c", RC_OK);
    judge("HTTPS://EXAMPLE.ORG", RC_OK);
    judge("http://plain.example/", RC_OK);
    judge("http://Plain.Example:99/", RC_OK);
    judge("http://127.0.0.1:8080/", RC_OK);
    judge("http://2130706433:8080/", RC_OK); /* the same address, spelled otherwise */
    judge("http://0x7f.1:8080/", RC_OK);
    judge("http://127.0.0.1:8081/", RC_BLOCKED);
    judge("http://2130706433:8081/?SECRET", RC_BLOCKED);
    judge("http://example.org/?SECRET", RC_BLOCKED);
    judge("https://user:SECRET@example.org/", RC_BLOCKED);
    judge("https://SECRET@example.org/", RC_BLOCKED);
    judge("https://@example.org/", RC_BLOCKED);
    judge("https:///user:SECRET@example.org/", RC_BLOCKED);
    judge("file:///etc/passwd", RC_BLOCKED);
    judge("ftp://example.org/", RC_BLOCKED);
    judge("gopher://example.org/", RC_BLOCKED);
    judge("javascript://example.org/", RC_BLOCKED);
    judge("example.org", RC_INVALID);
    judge("/relative", RC_INVALID);
    judge("", RC_INVALID);
    judge("https://", RC_INVALID);
    judge("https://?SECRET", RC_INVALID);
    judge("https://example.org:99999/", RC_INVALID);
    judge("https://example.org:0/", RC_INVALID);
    judge("https://[::1/", RC_INVALID);
    judge("https://exa mple.org/", RC_INVALID);
    judge("https://example.org/a b?SECRET", RC_INVALID);
    judge("https://example.org/\r\nX: 1", RC_INVALID);
    memset(longest + 20, 'a', FETCH_URL_MAX - 21);
    judge(longest, RC_OK);
    longest[FETCH_URL_MAX - 1] = 'a';
    judge(longest, RC_INVALID);
}

static void where_redirects_lead(void **state)
{
    static const struct {
        const char *location, *url;
    } rows[] = {
        {"/c", "https://example.org/c"},
        {"c", "https://example.org/a/c"},
        {"../c?d", "https://example.org/c?d"},
        {"?d", "https://example.org/a/b?d"},
        {"//other.example/c", "https://other.example/c"},
        {"http://other.example:81/c#f", "http://other.example:81/c"},
        {"https://2130706433/", "https://127.0.0.1/"},
        {"https://0177.0.0.1/", "https://127.0.0.1/"},
        {"https://0x7f000001/", "https://127.0.0.1/"},
        {"file:///etc/passwd", "file:///etc/passwd"},
        {"foo://example.org/", "foo://example.org/"},
        {"/a b\xc3\xa9", "https://example.org/a%20b%c3%a9"},
    };
    char url[FETCH_URL_MAX];
    struct err err;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_rc(fetch_url_resolve("https://example.org/a/b", rows[i].location, url, &err), RC_OK);
        assert_string_equal(url, rows[i].url);
    }
    assert_rc(fetch_url_resolve("https://example.org/", "https://[1", url, &err), RC_INVALID);
}

/* ---- Retry-After ---------------------------------------------------------------------------- */

#define NOON 1782993600000LL /* 2026-07-02T12:00:00Z */

static void retry_after_forms(void **state)
{
    static const struct {
        const char *value;
        int64_t want;
    } rows[] = {
        {"0", 0},
        {"1", 1000},
        {" 120 ", 120000},
        {"007", 7000},
        {"86399", 86399000},
        {"86400", DAY_MS},
        {"86401", DAY_MS},
        {"9223372036854775807", DAY_MS},
        {"99999999999999999999999999999999999999", DAY_MS},
        {"-1", 0},
        {"-99999999999999999999999", 0},
        {"Thu, 02 Jul 2026 12:00:30 GMT", 30000},
        {"Thu, 02 Jul 2026 12:00:00 GMT", 0},
        {"Thu, 02 Jul 2026 11:00:00 GMT", 0},
        {"Mon, 01 Jan 1990 00:00:00 GMT", 0},
        {"Fri, 03 Jul 2026 11:59:59 GMT", DAY_MS - 1000},
        {"Sat, 04 Jul 2026 12:00:00 GMT", DAY_MS},
        {"Fri, 31 Dec 9999 23:59:59 GMT", DAY_MS},
        {"Thursday, 02-Jul-26 12:00:30 GMT", 30000},
        {"Thu Jul  2 12:00:30 2026", 30000},
        {"", -1},
        {" ", -1},
        {"-", -1},
        {"--1", -1},
        {"+1", -1},
        {"1.5", -1},
        {"1e3", -1},
        {"0x10", -1},
        {"12 34", -1},
        {"10s", -1},
        {"soon", -1},
        {"2026-07-02T12:00:30Z", -1},
        {"2026-07-02", -1},
        {"Thu, 02 Jul 2026", -1},
        {"Thu, 32 Jul 2026 12:00:30 GMT", -1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t got = fetch_retry_after(str_of(rows[i].value), NOON);
        if (got != rows[i].want)
            fail_msg("\"%s\": %lld, not %lld", rows[i].value, (long long)got,
                     (long long)rows[i].want);
    }
    assert_int_equal(fetch_retry_after((struct str){"1\0002", 3}, NOON), -1);
}

static void pauses_are_jittered_and_capped(void **state)
{
    static const int64_t tops[] = {1000, 2000, 4000, 8000, 10000, 10000};
    (void)state;
    for (int attempt = 1; attempt <= 6; attempt++) {
        int64_t low = INT64_MAX, high = -1, top = tops[attempt - 1];
        for (int i = 0; i < 2000; i++) {
            int64_t ms = fetch_retry_pause(attempt, 1000, -1);
            low = ms < low ? ms : low;
            high = ms > high ? ms : high;
        }
        assert_in_range(low, 0, top / 20);
        assert_in_range(high, top - top / 20, top);
    }
    assert_in_range(fetch_retry_pause(1, 1000, 7000), 7000, 7000);
    assert_int_equal(fetch_retry_pause(3, 0, -1), 0);
    assert_in_range(fetch_retry_pause(1000000, 1000, -1), 0, 10000);
}

/* ---- response headers ----------------------------------------------------------------------- */

static void feed(struct fetch_res *res, const char *text)
{
    struct fetch_head h = {0};
    struct str rest = str_of(text), line;
    memset(res, 'x', sizeof *res);
    fetch_head_begin(&h, res);
    while (str_next(&rest, '\n', &line))
        fetch_head_line(&h, res, (struct str){line.p, line.n + 1});
}

static void all_fields(void **state)
{
    struct fetch_res res;
    (void)state;
    clock_set(NOON);
    feed(&res, "HTTP/1.1 200 OK\r\n"
               "etag: W/\"abc\" \r\n"
               "LAST-MODIFIED:\tThu, 2 Jul 2026 (whatever)\r\n"
               "Content-Type: application/geo+json; charset=utf-8\r\n"
               "Content-Encoding: gzip\r\n"
               "Location: /else\r\n"
               "Content-Length: 42\r\n"
               "Retry-After: Thu, 02 Jul 2026 12:00:30 GMT\r\n"
               "Date: Thu, 02 Jul 2026 12:00:00 GMT\r\n\r\n");
    assert_int_equal(res.http, 200);
    assert_string_equal(res.etag, "W/\"abc\"");
    assert_string_equal(res.last_modified, "Thu, 2 Jul 2026 (whatever)");
    assert_string_equal(res.content_type, "application/geo+json; charset=utf-8");
    assert_string_equal(res.content_encoding, "gzip");
    assert_string_equal(res.location, "/else");
    assert_int_equal(res.content_length, 42);
    assert_int_equal(res.retry_after_ms, 30000);
    assert_int_equal(res.date_ms, NOON);
    feed(&res, "HTTP/2 304\r\n\r\n");
    assert_int_equal(res.http, 304);
    assert_string_equal(res.etag, "");
    assert_string_equal(res.last_modified, "");
    assert_string_equal(res.content_type, "");
    assert_string_equal(res.content_encoding, "");
    assert_string_equal(res.location, "");
    assert_int_equal(res.content_length, -1);
    assert_int_equal(res.retry_after_ms, -1);
    assert_int_equal(res.date_ms, -1);
    clock_set(-1);
}

static void assert_etag(const char *lines, const char *want)
{
    char text[4096];
    struct fetch_res res;
    snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\n%s\r\n\r\n", lines);
    feed(&res, text);
    if (strcmp(res.etag, want) != 0)
        fail_msg("%s gave %s", lines, res.etag);
}

static void only_honest_etags(void **state)
{
    char text[2000];
    (void)state;
    assert_etag("ETag: \"\"", "\"\"");
    assert_etag("ETag: \"a-gzip\"", "\"a-gzip\"");
    assert_etag("ETag: \"a b\"", "\"a b\"");
    assert_etag("ETag: abc", "");
    assert_etag("ETag: \"abc", "");
    assert_etag("ETag: abc\"", "");
    assert_etag("ETag: \"", "");
    assert_etag("ETag:", "");
    assert_etag("ETag: W/", "");
    assert_etag("ETag: W/abc", "");
    assert_etag("ETag: w/\"abc\"", "");
    assert_etag("ETag: W/W/\"abc\"", "");
    assert_etag("ETag: \"a\"b\"", "");
    assert_etag("ETag: \"a\", \"b\"", "");
    assert_etag("ETag : \"a\"", "");
    assert_etag("X-ETag: \"a\"", "");
    assert_etag("ETag: \"a\"\r\nETag: \"b\"", "");
    assert_etag("ETag: \"a\"\r\netag: \"a\"", "");
    assert_etag("ETag: \"a\"\r\nETag: \"a\"\r\nETag: \"a\"", "");
    assert_etag("ETag: bad\r\nETag: \"a\"", "");
    assert_etag("ETag: \"a\"\r\n \"b\"", "");
    assert_etag("ETag: \"a\"\r\n\tb", "");
    assert_etag("ETag: \"a\"\r\nServer: x\r\n folded", "\"a\"");
    assert_etag("ETag: \"a\rb\"", "");
    assert_etag("ETag: \"a\"\r", "");
    assert_etag("ETag: \"a\x01\"", "");
    assert_etag("ETag: \"a\x7f\"", "");
    assert_etag("ETag: \"a\tb\"", "");
    assert_etag("ETag: \"\xc3\xa9\"", "\"\xc3\xa9\"");
    assert_etag("ETag: \"\xe9\"", "");
    snprintf(text, sizeof text, "ETag: \"%01021d\"", 0); /* 1023 bytes fit */
    assert_etag(text, text + 6);
    snprintf(text, sizeof text, "ETag: \"%01022d\"", 0);
    assert_etag(text, "");
    struct fetch_res res;
    struct fetch_head h = {0};
    fetch_head_begin(&h, &res);
    fetch_head_line(&h, &res, STR("ETag: \"a\0b\"\r\n"));
    assert_string_equal(res.etag, "");
}

static void fields_are_of_the_last_response(void **state)
{
    struct fetch_res res;
    (void)state;
    feed(&res, "HTTP/1.1 103 Early Hints\r\nETag: \"hint\"\r\n\r\n"
               "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
    assert_int_equal(res.http, 200);
    assert_string_equal(res.etag, "");
    assert_int_equal(res.content_length, 3);
    feed(&res, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nETag: \"a\"\r\n\r\n"
               "ETag: \"trailer\"\r\nLast-Modified: trailer\r\n\r\n");
    assert_string_equal(res.etag, "\"a\"");
    assert_string_equal(res.last_modified, "");
}

static void other_fields_doubled_or_odd(void **state)
{
    struct fetch_res res;
    (void)state;
    feed(&res, "HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 1\r\n"
               "Content-Length: 2\r\nRetry-After: 1\r\nRetry-After: 1\r\nDate: yesterday\r\n"
               "Last-Modified: a\x02\r\n\r\n");
    assert_int_equal(res.http, 302);
    assert_string_equal(res.location, "");
    assert_string_equal(res.last_modified, "");
    assert_int_equal(res.content_length, -1);
    assert_int_equal(res.retry_after_ms, -1);
    assert_int_equal(res.date_ms, -1);
    feed(&res, "HTTP/1.1 200\r\nContent-Length: -5\r\nno colon here\r\n: empty name\r\n\r\n");
    assert_int_equal(res.http, 200);
    assert_int_equal(res.content_length, -1);
    feed(&res, "HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n");
    assert_int_equal(res.http, 0);
    assert_int_equal(res.content_length, -1);
    feed(&res, "HTTP/1.1 20\r\n\r\n");
    assert_int_equal(res.http, 0);
}

/* ---- waiting -------------------------------------------------------------------------------- */

static void pauses_end_in_order(void **state)
{
    enum { N = 500 };
    static struct fetch f;
    static struct fetch_job jobs[N];
    bool seen[N] = {false};
    (void)state;
    assert_rc(fetch_due_reserve(&f, N), RC_OK);
    for (int i = 0; i < N; i++)
        fetch_due_push(&f, (struct fetch_due){(int64_t)rand_below(300), &jobs[i], NULL});
    int64_t last = -1;
    struct fetch_due d;
    for (int i = 0; i < N; i++) {
        int64_t next = f.due[0].at;
        assert_false(fetch_due_pop(&f, next - 1, &d));
        assert_true(fetch_due_pop(&f, next, &d));
        assert_true(d.at >= last);
        last = d.at;
        assert_false(seen[d.job - jobs]);
        seen[d.job - jobs] = true;
    }
    assert_false(fetch_due_pop(&f, INT64_MAX, &d));
    free(f.due);
}

static void queue_init(struct fetch *f)
{
    STAILQ_INIT(&f->ring);
    STAILQ_INIT(&f->refused);
    TAILQ_INIT(&f->idle);
}

static void hosts_take_turns(void **state)
{
    struct conf conf;
    struct fetch f = {.conf = &conf};
    struct fetch_job jobs[9] = {0};
    static const char arrivals[] = "aaaabbbbc";
    (void)state;
    conf_defaults(&conf);
    conf.per_host = 99;
    conf.per_host_rate = 0;
    queue_init(&f);
    for (size_t i = 0; i < 9; i++) {
        struct fetch_target t = {.name = {arrivals[i]}};
        assert_rc(fetch_place_enter(&f, &t, &jobs[i].home), RC_OK);
        fetch_queue_push(&f, &jobs[i], 0);
    }
    char got[10] = "";
    for (size_t i = 0; i < 9; i++) {
        struct fetch_job *j = fetch_queue_next(&f, 0);
        assert_non_null(j);
        got[i] = j->home.host->name[0];
        j->home.host->in_flight++;
        fetch_host_offer(&f, j->home.host, 0);
    }
    assert_string_equal(got, "abcababab");
    assert_null(fetch_queue_next(&f, 0));
    for (size_t i = 0; i < 9; i++)
        fetch_place_leave(&f, &jobs[i].home);
    assert_int_equal(f.n_idle, 3);
    fetch_hosts_free(&f);
    free(f.due);
}

/* An https host gets one request until something came back, then per_host. */
static void cold_hosts_get_one(void **state)
{
    struct conf conf;
    struct fetch f = {.conf = &conf};
    struct fetch_job jobs[4] = {0};
    struct fetch_target t = {.name = "a:443", .https = true};
    (void)state;
    conf_defaults(&conf);
    conf.per_host = 2;
    conf.per_host_rate = 0;
    queue_init(&f);
    for (size_t i = 0; i < 4; i++) {
        assert_rc(fetch_place_enter(&f, &t, &jobs[i].home), RC_OK);
        fetch_queue_push(&f, &jobs[i], 0);
    }
    struct fetch_host *h = jobs[0].home.host;
    for (int i = 1; i <= 2; i++) {
        assert_ptr_equal(fetch_queue_next(&f, 0), &jobs[i - 1]);
        h->in_flight++;
        fetch_host_offer(&f, h, 0);
        assert_null(fetch_queue_next(&f, 0));
        h->warm = true;
        fetch_host_offer(&f, h, 0);
    }
    assert_null(fetch_queue_next(&f, 0));
    h->in_flight--;
    fetch_host_offer(&f, h, 0);
    fetch_host_offer(&f, h, 0);
    assert_ptr_equal(fetch_queue_next(&f, 0), &jobs[2]);
    fetch_place_leave(&f, &jobs[0].home);
    STAILQ_INIT(&h->waiting);
    fetch_hosts_free(&f);
    free(f.due);
}

static void ends_come_from_the_table(void **state)
{
    (void)state;
    assert_string_equal(fetch_end_name(FETCH_TIMEOUT), "TIMEOUT");
    assert_true(fetch_end_transient(FETCH_BROKEN));
    assert_false(fetch_end_transient(FETCH_BLOCKED));
    for (int e = 0; e < FETCH_END_COUNT; e++)
        assert_true(strlen(fetch_end_text((enum fetch_end)e)) > 5);
}

static void references_in_documents(void **state)
{
    (void)state;
    static const struct {
        const char *ref, *want; /* NULL: refused */
    } rows[] = {
        {"c", "https://e.org/a/c"},
        {"../c d", "https://e.org/c%20d"},
        {"/c?q=1#f", "https://e.org/c?q=1"},
        {"//f.org/c", "https://f.org/c"},
        {"http://f.org:8080/c", "http://f.org:8080/c"},
        {"?p=2", "https://e.org/a/b?p=2"},
        {"ftp://e.org/c", NULL},
        {"file:///etc/passwd", NULL},
        {"https://u:p@e.org/", NULL},
        {"a\nb", NULL},
    };
    struct err err;
    char url[FETCH_URL_MAX];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum rc rc = fetch_url_join("https://e.org/a/b", rows[i].ref, url, &err);
        assert_rc(rc, rows[i].want ? RC_OK : RC_INVALID);
        if (rows[i].want)
            assert_string_equal(url, rows[i].want);
    }
}

static void origins(void **state)
{
    (void)state;
    static const struct {
        const char *x, *y;
        bool same;
    } rows[] = {
        {"https://e.org/a?b", "https://E.ORG:443/", true},
        {"http://e.org/", "http://e.org:80", true},
        {"https://e.org/", "http://e.org/", false},
        {"https://e.org/", "https://e.org:444/", false},
        {"https://e.org/", "https://f.e.org/", false},
        {"https://e.org/", "https://u@e.org/", false},
        {"ftp://e.org/", "ftp://e.org/", false},
        {"x", "x", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(fetch_url_same_origin(rows[i].x, rows[i].y), rows[i].same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_at_the_edges),
        cmocka_unit_test(other_families_are_denied),
        cmocka_unit_test(allow_list),
        cmocka_unit_test(urls_are_cleaned),
        cmocka_unit_test(short_buffers),
        cmocka_unit_test(which_urls_may_be_fetched),
        cmocka_unit_test(where_redirects_lead),
        cmocka_unit_test(retry_after_forms),
        cmocka_unit_test(pauses_are_jittered_and_capped),
        cmocka_unit_test(all_fields),
        cmocka_unit_test(only_honest_etags),
        cmocka_unit_test(fields_are_of_the_last_response),
        cmocka_unit_test(other_fields_doubled_or_odd),
        cmocka_unit_test(pauses_end_in_order),
        cmocka_unit_test(hosts_take_turns),
        cmocka_unit_test(cold_hosts_get_one),
        cmocka_unit_test(ends_come_from_the_table),
        cmocka_unit_test(references_in_documents),
        cmocka_unit_test(origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
