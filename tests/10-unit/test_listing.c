/* listing: one canonical form for one set, what is refused, and what counts as a difference. */
#include "tests/10-unit/unit.h"

#include "core/json.h"
#include "core/listing.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct arena memory;
static struct err err;
static struct buf out, out2;

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, 256u << 20);
    buf_init(&out, LISTING_BYTES_MAX);
    buf_init(&out2, LISTING_BYTES_MAX);
    err = (struct err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fail_after = -1;
    arena_release(&memory);
    buf_release(&out);
    buf_release(&out2);
    return 0;
}

static struct listing_entry entry(const char *key)
{
    return (struct listing_entry){
        .key = key, .url = arena_printf(&memory, "https://e.org/%s", key), .size = -1};
}

static struct listing listing_of(const struct listing_entry *e, size_t n)
{
    struct listing l;
    listing_init(&l, &memory);
    for (size_t i = 0; i < n; i++)
        assert_rc(listing_add(&l, &e[i], &err), RC_OK);
    assert_rc(listing_close(&l, &err), RC_OK);
    return l;
}

static void render(const struct listing *l, struct buf *to)
{
    buf_clear(to);
    assert_rc(listing_write(l, to, &err), RC_OK);
}

/* ---- the canonical form ---- */

static void the_form(void **state)
{
    (void)state;
    struct listing_entry e[] = {entry("b.zip"), entry("a \"1\".zip")};
    e[0].etag = "\"x\"";
    e[0].size = 12;
    e[0].version = "v2";
    e[0].last_modified = "2026-01-02";
    e[0].sha256 = SHA_A;
    e[1].url = "https://e.org/a";
    e[1].etag = ""; /* not told */
    struct listing l = listing_of(e, 2);
    render(&l, &out);
    static const char entries[] =
        "[{\"key\":\"a \\\"1\\\".zip\",\"url\":\"https://e.org/a\"},"
        "{\"etag\":\"\\\"x\\\"\",\"key\":\"b.zip\",\"last_modified\":\"2026-01-02\","
        "\"sha256\":\"" SHA_A "\",\"size\":12,\"url\":\"https://e.org/b.zip\",\"version\":\"v2\"}]";
    struct sha256 sha;
    char hex[SHA256_HEX];
    digest_sha256(entries, strlen(entries), &sha);
    sha256_hex(&sha, hex);
    assert_str(buf_view(&out),
               arena_printf(&memory,
                            "{\"checksum\":\"sha256:%s\",\"count\":2,\"entries\":%s,"
                            "\"listing_version\":1}",
                            hex, entries));
}

/* It is RFC 8785: its own canonical form. */
static void the_form_is_canonical(void **state)
{
    (void)state;
    struct listing_entry e[] = {entry("\xc3\xbc\xf0\x9f\x97\xba"), entry("\\"), entry("a")};
    e[1].size = (1LL << 53) - 1;
    struct listing l = listing_of(e, 3);
    yyjson_val *v;
    render(&l, &out);
    assert_rc(json_parse(&memory, buf_view(&out), 0, "x", &v, &err), RC_OK);
    assert_rc(json_canon(&out2, v, &err), RC_OK);
    assert_true(str_eq(buf_view(&out), buf_view(&out2)));
}

static void order_and_repetition_do_not_matter(void **state)
{
    (void)state;
    struct listing_entry x[] = {entry("a"), entry("b"), entry("B"), entry("\xc3\xa9")};
    struct listing_entry y[] = {x[3], x[1], x[0], x[2], x[1]};
    struct listing one = listing_of(x, 4), two = listing_of(y, 5);
    render(&one, &out);
    render(&two, &out2);
    assert_true(str_eq(buf_view(&out), buf_view(&out2)));
    assert_string_equal(one.entries[0].key, "B");
    assert_string_equal(one.entries[3].key, "\xc3\xa9");
}

static void empty(void **state)
{
    (void)state;
    struct listing l = listing_of(NULL, 0), again;
    render(&l, &out);
    assert_non_null(strstr(out.data, "\"count\":0,\"entries\":[],"));
    assert_rc(listing_read(&memory, buf_view(&out), &again, &err), RC_OK);
    assert_int_equal(again.n, 0);
}

static void one_key_two_facts(void **state)
{
    (void)state;
    struct listing l;
    struct listing_entry x = entry("a"), y = entry("a");
    y.size = 1;
    listing_init(&l, &memory);
    assert_rc(listing_add(&l, &x, &err), RC_OK);
    assert_rc(listing_add(&l, &y, &err), RC_OK);
    assert_rc(listing_close(&l, &err), RC_INVALID);
    assert_non_null(strstr(err.msg, "entry a"));
}

/* ---- what is refused ---- */

static char *long_text(size_t n)
{
    char *s = arena_alloc(&memory, n + 1);
    memset(s, 'x', n);
    s[n] = '\0';
    return s;
}

static void refuse(struct listing_entry e, const char *field)
{
    struct listing l;
    listing_init(&l, &memory);
    assert_rc(listing_add(&l, &e, &err), RC_INVALID);
    assert_string_equal(err.field, field);
    assert_true(str_is_utf8(str_of(err.msg)) && str_is_clean(str_of(err.msg)));
    assert_int_equal(l.n, 0);
}

static void what_may_not_stand_in_it(void **state)
{
    (void)state;
    struct listing_entry good = entry("a"), e;
    e = good, e.key = "", refuse(e, "key");
    e = good, e.key = NULL, refuse(e, "key");
    e = good, e.key = "a\nb", refuse(e, "key");
    e = good, e.key = "\xff", refuse(e, "key");
    e = good, e.key = long_text(LISTING_KEY_MAX + 1), refuse(e, "key");
    e = good, e.url = "", refuse(e, "url");
    e = good, e.url = long_text(LISTING_URL_MAX + 1), refuse(e, "url");
    e = good, e.etag = "a\x1f", refuse(e, "etag");
    e = good, e.version = long_text(LISTING_TEXT_MAX + 1), refuse(e, "version");
    e = good, e.last_modified = "\xc0\x80", refuse(e, "last_modified");
    e = good, e.sha256 = "abc", refuse(e, "sha256");
    e = good, e.size = -2, refuse(e, "size");
    e = good, e.size = 1LL << 53, refuse(e, "size");
}

static void the_longest_fit(void **state)
{
    (void)state;
    struct listing_entry e = entry("a");
    e.key = long_text(LISTING_KEY_MAX);
    e.url = long_text(LISTING_URL_MAX);
    e.version = e.etag = e.last_modified = long_text(LISTING_TEXT_MAX);
    e.sha256 = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    struct listing l = listing_of(&e, 1);
    assert_string_equal(l.entries[0].sha256, SHA_A);
}

static void not_more_than_the_limit(void **state)
{
    (void)state;
    struct listing l;
    char key[32];
    struct listing_entry e = {.key = key, .url = "u", .size = -1};
    listing_init(&l, &memory);
    for (int i = 0; i < LISTING_MAX; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_int_equal(listing_add(&l, &e, &err), RC_OK);
    }
    assert_rc(listing_add(&l, &e, &err), RC_TOO_LARGE);
    assert_rc(listing_close(&l, &err), RC_OK);
    render(&l, &out);
    buf_release(&out2);
    buf_init(&out2, out.len - 1);
    assert_rc(listing_write(&l, &out2, &err), RC_TOO_LARGE);
}

/* ---- reading ---- */

static void read_again(void **state)
{
    (void)state;
    struct listing_entry e[] = {entry("b"), entry("a")};
    struct listing l, again;
    e[0].size = 0;
    e[1].sha256 = SHA_B;
    l = listing_of(e, 2);
    render(&l, &out);
    assert_rc(listing_read(&memory, buf_view(&out), &again, &err), RC_OK);
    render(&again, &out2);
    assert_true(str_eq(buf_view(&out), buf_view(&out2)));
}

static void read_by_hand(void **state)
{
    (void)state;
    struct listing l;
    assert_rc(listing_read(&memory,
                           STR("{\"entries\":[{\"key\":\"b\",\"url\":\"u\",\"size\":3},"
                               "{\"key\":\"a\",\"url\":\"v\",\"note\":null}]}"),
                           &l, &err),
              RC_OK);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.entries[0].key, "a");
    assert_int_equal(l.entries[0].size, -1);
    assert_int_equal(l.entries[1].size, 3);
}

static void refuse_text(const char *text, enum rc want, const char *field)
{
    struct listing l = {.n = 4711};
    assert_rc(listing_read(&memory, str_of(text), &l, &err), want);
    assert_string_equal(err.field, field);
    assert_int_equal(l.n, 4711);
}

static void what_is_no_listing(void **state)
{
    (void)state;
    refuse_text("[]", RC_INVALID, "entries");
    refuse_text("{}", RC_INVALID, "entries");
    refuse_text("{\"entries\":{}}", RC_INVALID, "entries");
    refuse_text("{\"entries\":[1]}", RC_INVALID, "entries");
    refuse_text("{\"entries\":[{\"key\":\"a\"}]}", RC_INVALID, "url");
    refuse_text("{\"entries\":[{\"key\":1,\"url\":\"u\"}]}", RC_INVALID, "key");
    refuse_text("{\"entries\":[{\"key\":\"a\",\"url\":\"u\",\"size\":-1}]}", RC_INVALID, "size");
    refuse_text("{\"entries\":[],\"listing_version\":2}", RC_INVALID, "listing_version");
    refuse_text("{\"entries\":[],\"count\":1}", RC_CORRUPT, "count");
    refuse_text("{\"entries\":[],\"checksum\":\"md5:1\"}", RC_CORRUPT, "checksum");
}

static void one_changed_byte_is_noticed(void **state)
{
    (void)state;
    struct listing_entry e = entry("a");
    struct listing l = listing_of(&e, 1), again;
    render(&l, &out);
    char *at = strstr(out.data, "e.org");
    *at = 'f';
    assert_rc(listing_read(&memory, buf_view(&out), &again, &err), RC_CORRUPT);
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    static const char text[] = "{\"entries\":[{\"key\":\"b\",\"url\":\"u\",\"etag\":\"x\"}]}";
    for (long i = 0; i < 8; i++) {
        struct listing l;
        arena_fail_after = i;
        enum rc rc = listing_read(&memory, str_of(text), &l, &err);
        bool enough = arena_fail_after >= 0;
        arena_fail_after = -1;
        assert_rc(rc, enough ? RC_OK : RC_NOMEM);
    }
}

/* ---- differences ---- */

static void differ(struct listing_entry x, struct listing_entry y, bool want)
{
    assert_int_equal(listing_differs(&x, &y), want);
    assert_int_equal(listing_differs(&y, &x), want);
}

static void when_two_differ(void **state)
{
    (void)state;
    struct listing_entry a = entry("a"), b = a;
    differ(a, b, false);
    b.url = "https://e.org/elsewhere", differ(a, b, true);
    b = a, b.size = 1, differ(a, b, true);
    b = a, b.etag = "x", differ(a, b, true);
    b = a, b.version = "x", differ(a, b, true);
    b = a, b.last_modified = "x", differ(a, b, true);
    b = a, b.sha256 = SHA_A, differ(a, b, true); /* told by one only */
    a.etag = "x", b = a, b.etag = "y", differ(a, b, true);
    /* The digest decides where both tell it: another date is no other content. */
    a.sha256 = b.sha256 = SHA_A, differ(a, b, false);
    b.sha256 = SHA_B, differ(a, b, true);
    b = a, b.url = "https://e.org/elsewhere", differ(a, b, true);
}

static enum rc note(void *ctx, enum listing_change c, const struct listing_entry *old,
                    const struct listing_entry *now, struct err *e)
{
    (void)e;
    assert_int_equal(old == NULL, c == LISTING_ADDED);
    assert_int_equal(now == NULL, c == LISTING_REMOVED);
    buf_printf(ctx, "%s %s;", listing_change_name(c), now ? now->key : old->key);
    return RC_OK;
}

static void the_diff(void **state)
{
    (void)state;
    struct listing_entry x[] = {entry("a"), entry("b"), entry("c"), entry("e")};
    struct listing_entry y[] = {entry("b"), entry("c"), entry("d"), entry("f")};
    y[1].size = 7;
    struct listing old = listing_of(x, 4), now = listing_of(y, 4), none = listing_of(NULL, 0);
    assert_rc(listing_diff(&old, &now, note, &out, &err), RC_OK);
    assert_str(buf_view(&out), "removed a;modified c;added d;removed e;added f;");
    buf_clear(&out);
    assert_rc(listing_diff(&none, &old, note, &out, &err), RC_OK);
    assert_str(buf_view(&out), "added a;added b;added c;added e;");
    buf_clear(&out);
    assert_rc(listing_diff(&old, &none, note, &out, &err), RC_OK);
    assert_str(buf_view(&out), "removed a;removed b;removed c;removed e;");
    buf_clear(&out);
    assert_rc(listing_diff(&now, &now, note, &out, &err), RC_OK);
    assert_str(buf_view(&out), "");
}

static enum rc stop(void *ctx, enum listing_change c, const struct listing_entry *old,
                    const struct listing_entry *now, struct err *e)
{
    (void)c, (void)old, (void)now;
    ++*(int *)ctx;
    return err_set(e, RC_BUSY, "", "enough");
}

static void the_diff_can_be_stopped(void **state)
{
    (void)state;
    struct listing_entry x[] = {entry("a"), entry("b")};
    struct listing old = listing_of(x, 2), none = listing_of(NULL, 0);
    int calls = 0;
    assert_rc(listing_diff(&old, &none, stop, &calls, &err), RC_BUSY);
    assert_int_equal(calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(the_form),
        T(the_form_is_canonical),
        T(order_and_repetition_do_not_matter),
        T(empty),
        T(one_key_two_facts),
        T(what_may_not_stand_in_it),
        T(the_longest_fit),
        T(not_more_than_the_limit),
        T(read_again),
        T(read_by_hand),
        T(what_is_no_listing),
        T(one_changed_byte_is_noticed),
        T(every_allocation_fails_once),
        T(when_two_differ),
        T(the_diff),
        T(the_diff_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
