/* http: query parsing, base URL, conditional requests, problems, header block. */
#include "api/conditional.h"
#include "tests/10-unit/unit.h"

#include "api/http.h"
#include "core/clock.h"

static struct arena memory;
static struct req r;
static struct resp w;
static struct err err;

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, 1u << 20);
    r = (struct req){.arena = &memory, .method = STR("GET"), .base = STR("http://h")};
    resp_init(&w);
    err = (struct err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    resp_release(&w);
    arena_release(&memory);
    return 0;
}

/* ---- query ---- */

static enum rc parse(const char *query)
{
    r.query = str_of(query);
    return req_parse_query(&r, &err);
}

static void query_is_decoded(void **state)
{
    (void)state;
    assert_rc(parse("a=1&b=x%20y+z&&c&d=%C3%A9&e=a=b&"), RC_OK);
    assert_int_equal(r.n_params, 5);
    assert_str(req_param(&r, "a"), "1");
    assert_str(req_param(&r, "b"), "x y z");
    assert_str(req_param(&r, "c"), "");
    assert_str(req_param(&r, "d"), "\xc3\xa9");
    assert_str(req_param(&r, "e"), "a=b");
    assert_null(req_param(&r, "f").p);
}

static void broken_queries_are_refused(void **state)
{
    static const char *const broken[] = {"a=%",   "a=%4",  "a=%zz",    "a=%00", "a=%0d%0a",
                                         "%0a=1", "a=%ff", "a=%c0%80", "a=\x7f"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(broken); i++)
        assert_rc(parse(broken[i]), RC_INVALID);
}

static void query_is_bounded(void **state)
{
    static char text[REQ_QUERY_MAX + 2];
    (void)state;
    for (int i = 0; i < REQ_PARAMS_MAX; i++)
        memcpy(text + 2 * i, "a&", 2);
    assert_rc(parse(text), RC_OK);
    memcpy(text + 2 * REQ_PARAMS_MAX, "a", 2);
    assert_rc(parse(text), RC_INVALID);
    memset(text, 'a', REQ_QUERY_MAX + 1);
    assert_rc(parse(text), RC_INVALID);
    text[REQ_QUERY_MAX] = 0;
    assert_rc(parse(text), RC_OK);
}

static void encoding_is_the_inverse_of_decoding(void **state)
{
    struct buf b;
    struct str back;
    (void)state;
    buf_init(&b, 4096);
    http_encode(&b, STR("a b&c=d/\xc3\xa9~"));
    assert_str(buf_view(&b), "a%20b%26c%3Dd%2F%C3%A9~");
    assert_rc(http_decode(&memory, buf_view(&b), true, &back), RC_OK);
    assert_str(back, "a b&c=d/\xc3\xa9~");
    buf_release(&b);
}

/* ---- base ---- */

static const char *trusted[] = {"10.0.0.5"};

static struct conf settings(void)
{
    struct conf c;
    conf_defaults(&c);
    c.trusted_proxies = (struct conf_list){trusted, 1};
    return c;
}

static struct str base_of(const struct conf *c, const struct origin *o)
{
    struct str base = {"", 0};
    assert_rc(http_base(&memory, c, o, &base, &err), RC_OK);
    return base;
}

static void base_comes_from_the_request(void **state)
{
    struct conf c = settings();
    (void)state;
    assert_str(base_of(&c, &(struct origin){.scheme = STR("http"), .host = STR("127.0.0.1:8080")}),
               "http://127.0.0.1:8080");
    assert_str(base_of(&c, &(struct origin){.scheme = STR("https"), .host = STR("[::1]:8443")}),
               "https://[::1]:8443");
    assert_str(base_of(&c, &(struct origin){.scheme = STR("javascript"), .host = STR("h")}),
               "http://h");
    assert_str(base_of(&c, &(struct origin){.scheme = STR("http")}), "http://127.0.0.1:8080");
}

static void setting_beats_the_request(void **state)
{
    struct conf c = settings();
    (void)state;
    c.public_base_url = "https://data.example.org";
    assert_str(base_of(&c, &(struct origin){.host = STR("evil.example")}),
               "https://data.example.org");
}

static void forwarded_is_believed_from_trusted_proxies_only(void **state)
{
    struct conf c = settings();
    struct origin o = {.scheme = STR("http"),
                       .host = STR("inside"),
                       .forwarded_proto = STR("https"),
                       .forwarded_host = STR("far.example, data.example.org")};
    (void)state;
    o.remote_addr = STR("10.0.0.6");
    assert_str(base_of(&c, &o), "http://inside");
    o.remote_addr = STR("10.0.0.5");
    assert_str(base_of(&c, &o), "https://data.example.org");
}

static void host_must_be_one(void **state)
{
    static const char *const bad[] = {"a b", "a/b",       "a\"b", "a<b>",
                                      "u@h", "h\r\nX: y", "h?x",  "\xc3\xa9"};
    struct conf c = settings();
    struct str base;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_rc(http_base(&memory, &c, &(struct origin){.host = str_of(bad[i])}, &base, &err),
                  RC_INVALID);
}

/* ---- conditional requests ---- */

static bool matches(const char *if_none_match)
{
    r.if_none_match = str_of(if_none_match);
    return resp_not_modified(&w, &r);
}

static void if_none_match_compares_weakly(void **state)
{
    (void)state;
    snprintf(w.etag, sizeof w.etag, "\"abc\"");
    assert_true(matches("\"abc\""));
    assert_true(matches("W/\"abc\""));
    assert_true(matches("*"));
    assert_true(matches(" * "));
    assert_true(matches("\"x\", W/\"y\",\"abc\""));
    assert_true(matches("\"a,b\" , \"abc\""));
    assert_true(matches(",,\"abc\""));
    assert_false(matches("\"abcd\""));
    assert_false(matches("abc"));
    assert_false(matches("w/\"abc\""));
    assert_false(matches("\"x\"\"abc\""));
    assert_false(matches("\"abc"));
    assert_false(matches(""));
}

static void only_a_200_can_be_not_modified(void **state)
{
    (void)state;
    snprintf(w.etag, sizeof w.etag, "\"abc\"");
    w.status = 404;
    assert_false(matches("*"));
    w.status = 202;
    assert_false(matches("\"abc\""));
}

static void modified_since_counts_without_none_match_only(void **state)
{
    (void)state;
    snprintf(w.etag, sizeof w.etag, "\"abc\"");
    w.last_modified = time_civil(2026, 7, 2) + 123; /* milliseconds do not show in a date */
    r.if_modified_since = STR("Thu, 02 Jul 2026 00:00:00 GMT");
    assert_true(resp_not_modified(&w, &r));
    r.if_modified_since = STR("Wed, 01 Jul 2026 23:59:59 GMT");
    assert_false(resp_not_modified(&w, &r));
    r.if_modified_since = STR("yesterday");
    assert_false(resp_not_modified(&w, &r));
    r.if_modified_since = STR("Fri, 03 Jul 2026 00:00:00 GMT");
    assert_false(matches("\"other\""));
    r.if_none_match = (struct str){0};
    w.etag_only = true;
    assert_false(resp_not_modified(&w, &r));
    w.etag_only = false;
    w.last_modified = -1;
    assert_false(resp_not_modified(&w, &r));
}

/* ---- problems and headers ---- */

static void problem_says_what_it_was_told(void **state)
{
    (void)state;
    buf_puts(&w.body, "half a page");
    err_set(&err, RC_INVALID, "limit", "must be \"at least\" 1");
    resp_problem(&w, &r, &err);
    assert_int_equal(w.status, 400);
    assert_string_equal(w.content_type, "application/problem+json");
    assert_str(
        buf_view(&w.body),
        "{\"type\":\"http://h/problems/#invalid-request\",\"title\":\"The request is not "
        "valid\",\"status\":400,\"detail\":\"must be \\\"at least\\\" 1\",\"code\":\"INVALID\","
        "\"errors\":[{\"field\":\"limit\",\"message\":\"must be \\\"at least\\\" 1\"}]}");
}

static void problem_keeps_causes_inside(void **state)
{
    (void)state;
    err_set(&err, RC_CORRUPT, "ledger.db", "page 7 of /srv/secret is torn");
    resp_problem(&w, &r, &err);
    assert_int_equal(w.status, 500);
    assert_null(strstr(w.body.data, "secret"));
    assert_null(strstr(w.body.data, "ledger.db"));
}

static void problem_has_further_members(void **state)
{
    (void)state;
    buf_puts(&w.extra, ",\"first_seq\":\"7\"");
    err_set(&err, RC_GONE, "", "too old");
    resp_problem(&w, &r, &err);
    assert_true(str_ends(buf_view(&w.body), STR("\"errors\":[],\"first_seq\":\"7\"}")));
}

static struct str head(struct buf *b)
{
    buf_init(b, 8192);
    resp_head(&w, &r, b);
    assert_rc(buf_rc(b), RC_OK);
    return buf_view(b);
}

static void header_block_is_complete(void **state)
{
    struct buf b;
    (void)state;
    snprintf(w.etag, sizeof w.etag, "\"abc\"");
    w.last_modified = time_civil(2026, 7, 2);
    w.cache_control = "no-cache";
    w.cors = true;
    w.route = "/x/{y}";
    buf_puts(&w.body, "{}");
    resp_header(&w, "Link", "<%s>", "http://h/");
    assert_str(head(&b),
               "Status: 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
               "ETag: \"abc\"\r\nLast-Modified: Thu, 02 Jul 2026 00:00:00 GMT\r\n"
               "Cache-Control: no-cache\r\nVary: Accept\r\n"
               "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ETag, "
               "Last-Modified, Link, X-Poll-Interval, X-Last-Seq\r\nX-Freshet-Route: /x/{y}\r\n"
               "Link: <http://h/>\r\n\r\n");
    buf_release(&b);
}

static void header_values_cannot_break_out(void **state)
{
    struct buf b;
    (void)state;
    resp_header(&w, "Link", "<%s>", "x\r\nSet-Cookie: a=b");
    struct str text = head(&b);
    assert_null(strstr(text.p, "Set-Cookie"));
    buf_release(&b);
}

static void not_modified_has_no_body_headers(void **state)
{
    struct buf b;
    (void)state;
    w.status = 304;
    struct str text = head(&b);
    assert_null(strstr(text.p, "Content-"));
    buf_release(&b);
}

/* Every kind of problem is explained where its type points to. */
static void every_problem_type_is_explained(void **state)
{
    static char page[65536];
    char anchor[80];
    (void)state;
    unit_read("www/problems/index.html", page, sizeof page);
    for (int rc = RC_OK + 1; rc < RC_COUNT; rc++) {
        snprintf(anchor, sizeof anchor, "id=\"%s\"", rc_slug((enum rc)rc));
        if (!strstr(page, anchor))
            fail_msg("www/problems/index.html lacks %s", anchor);
    }
}

static void etag_tells_its_parts_apart(void **state)
{
    struct etag a = etag_start("1", STR("http://h")), b = a;
    (void)state;
    etag_str(&a, STR("ab"));
    etag_str(&a, STR("c"));
    etag_str(&b, STR("a"));
    etag_str(&b, STR("bc"));
    assert_true(a.h != b.h);
    assert_true(etag_start("1", STR("http://h")).h != etag_start("2", STR("http://h")).h);
    assert_true(etag_start("1", STR("http://h")).h != etag_start("1", STR("http://i")).h);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(query_is_decoded),
        TEST(broken_queries_are_refused),
        TEST(query_is_bounded),
        TEST(encoding_is_the_inverse_of_decoding),
        TEST(base_comes_from_the_request),
        TEST(setting_beats_the_request),
        TEST(forwarded_is_believed_from_trusted_proxies_only),
        TEST(host_must_be_one),
        TEST(if_none_match_compares_weakly),
        TEST(only_a_200_can_be_not_modified),
        TEST(modified_since_counts_without_none_match_only),
        TEST(problem_says_what_it_was_told),
        TEST(problem_keeps_causes_inside),
        TEST(problem_has_further_members),
        TEST(header_block_is_complete),
        TEST(header_values_cannot_break_out),
        TEST(not_modified_has_no_body_headers),
        TEST(every_problem_type_is_explained),
        TEST(etag_tells_its_parts_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
