/* entries: a cursor over canonical listings sees what listing_read and listing_diff see, and
 * nothing that is not canonical. */
#include "tests/10-unit/unit.h"

#include "core/clock.h"
#include "core/json.h"
#include "handler/entries.h"

static struct arena memory;
static struct err err;

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, 64u << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&memory);
    return 0;
}

/* The cursor keeps its mapping; the file need not stay. */
static enum rc open_text(struct entries *e, struct str text)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    fflush(f);
    enum rc rc = entries_open(e, fileno(f), (int64_t)text.n, &err);
    fclose(f);
    return rc;
}

static enum rc walk(struct str text)
{
    struct entries e;
    enum rc rc = open_text(&e, text);
    while (rc == RC_OK)
        rc = entries_next(&e, &err);
    entries_close(&e);
    return rc;
}

static struct str written(const struct listing *l)
{
    struct buf b;
    buf_init(&b, LISTING_BYTES_MAX);
    assert_rc(listing_write(l, &b, &err), RC_OK);
    struct str text = {arena_str(&memory, buf_view(&b)), b.len};
    buf_release(&b);
    return text;
}

/* The canonical frame around these entries. */
static struct str framed(const char *entries, int count)
{
    struct sha256 sha;
    char hex[SHA256_HEX];
    digest_sha256(entries, strlen(entries), &sha);
    sha256_hex(&sha, hex);
    return str_of(arena_printf(&memory,
                               "{\"checksum\":\"sha256:%s\",\"count\":%d,\"entries\":%s,"
                               "\"listing_version\":1}",
                               hex, count, entries));
}

#define A "{\"key\":\"a\",\"url\":\"http://h/a\"}"
#define B "{\"key\":\"b\",\"url\":\"http://h/b\"}"

static void only_the_canonical_form_is_read(void **state)
{
    static const struct {
        const char *entries;
        int count;
        enum rc want;
    } cases[] = {{"[]", 0, RC_NOT_FOUND},
                 {"[" A "," B "]", 2, RC_NOT_FOUND},
                 {"[" B "," A "]", 2, RC_INVALID}, /* order */
                 {"[" A "," A "]", 2, RC_INVALID}, /* twice */
                 {"[" A "," B "]", 3, RC_INVALID}, /* count */
                 {"[" A "," B "]", 1, RC_INVALID},
                 {"[" A B "]", 2, RC_INVALID}, /* no comma */
                 {"[" A ",]", 1, RC_INVALID},
                 {"[" A ", " B "]", 2, RC_INVALID}, /* a blank */
                 {"[1]", 1, RC_INVALID},
                 {"[{\"key\":\"a\"}]", 1, RC_INVALID}, /* no url */
                 {"[{\"key\":\"a]", 1, RC_INVALID},
                 {"{}", 0, RC_INVALID}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (walk(framed(cases[i].entries, cases[i].count)) != cases[i].want)
            fail_msg("%s", cases[i].entries);
    struct str right = framed("[" A "]", 1);
    for (size_t i = 0; i < right.n; i++) { /* cut anywhere, or with any byte another one */
        char *copy = arena_str(&memory, right);
        assert_rc(walk((struct str){copy, i}), RC_INVALID);
        copy[i] ^= 1;
        assert_rc(walk((struct str){copy, right.n}), RC_INVALID);
    }
}

static void braces_and_quotes_in_texts_end_nothing(void **state)
{
    struct listing l;
    struct entries e;
    const struct listing_entry odd = {
        .key = "}],\"{\\", .url = "http://h/}\"{", .etag = "\"}\"", .size = 7};
    (void)state;
    listing_init(&l, &memory);
    assert_rc(listing_add(&l, &odd, &err), RC_OK);
    assert_rc(listing_close(&l, &err), RC_OK);
    assert_rc(open_text(&e, written(&l)), RC_OK);
    assert_rc(entries_next(&e, &err), RC_OK);
    assert_string_equal(e.entry.key, odd.key);
    assert_string_equal(e.entry.etag, odd.etag);
    assert_int_equal(e.entry.size, 7);
    assert_rc(entries_next(&e, &err), RC_NOT_FOUND);
    entries_close(&e);
}

static struct listing random_listing(int keys)
{
    struct listing l;
    listing_init(&l, &memory);
    for (int k = 0; k < keys; k++) {
        struct listing_entry e = {
            .key = arena_printf(&memory, "k%d", k), .url = "http://h/", .size = -1};
        if (rand_below(3) == 0)
            continue;
        e.version = arena_printf(&memory, "%d", (int)rand_below(2));
        assert_rc(listing_add(&l, &e, &err), RC_OK);
    }
    assert_rc(listing_close(&l, &err), RC_OK);
    return l;
}

static enum rc note(void *ctx, enum listing_change c, const struct listing_entry *old,
                    const struct listing_entry *now, struct err *e)
{
    (void)e;
    buf_printf(ctx, "%s %s %s %s\n", listing_change_name(c), old ? old->key : now->key,
               old ? old->version : "-", now ? now->version : "-");
    return RC_OK;
}

/* Against the one that holds both in memory. */
static void differences_are_those_of_listing_diff(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        arena_reset(&memory);
        struct listing x = random_listing(round % 40), y = random_listing(round % 37);
        struct entries old, now;
        struct entry_counts n;
        struct buf want, got;
        buf_init(&want, 1 << 20);
        buf_init(&got, 1 << 20);
        assert_rc(listing_diff(&x, &y, note, &want, &err), RC_OK);
        assert_rc(open_text(&old, written(&x)), RC_OK);
        assert_rc(open_text(&now, written(&y)), RC_OK);
        assert_rc(entries_diff(&old, &now, NULL, NULL, &n, &err), RC_OK);
        assert_rc(entries_diff(&old, &now, note, &got, &n, &err),
                  RC_OK); /* again: from the start */
        assert_true(str_eq(buf_view(&want), buf_view(&got)));
        assert_int_equal(n.total, y.n);
        assert_int_equal(n.total - n.added + n.removed, x.n);
        entries_close(&old);
        entries_close(&now);
        buf_release(&want);
        buf_release(&got);
    }
}

/* Invariant 2: one entry is held, however many there are. */
static void memory_does_not_grow(void **state)
{
    enum { N = 20000 };
    struct listing l;
    struct entries e, none;
    struct entry_counts n;
    (void)state;
    listing_init(&l, &memory);
    for (int i = 0; i < N; i++) {
        const struct listing_entry x = {
            .key = arena_printf(&memory, "%06d", i), .url = "http://h/", .size = i};
        assert_rc(listing_add(&l, &x, &err), RC_OK);
    }
    assert_rc(listing_close(&l, &err), RC_OK);
    assert_rc(open_text(&e, written(&l)), RC_OK);
    entries_none(&none);
    assert_rc(entries_diff(&none, &e, NULL, NULL, &n, &err), RC_OK); /* the arena is 256 KiB */
    assert_int_equal(n.added, N);
    entries_close(&e);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(only_the_canonical_form_is_read), T(braces_and_quotes_in_texts_end_nothing),
        T(differences_are_those_of_listing_diff), T(memory_does_not_grow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
