/* fuzz_manifest: a page of a listing, as an upstream may send it, in each of its languages; and the
 * scanner of markup by itself.
 *
 * Properties
 *   1. A page is read or refused with clean words; what was read has a canonical form that
 *      reads back.
 *   2. Reading the same page twice adds nothing; reading the canonical form as a page gives
 *      the same.
 *   3. URLs of entries and of the next page are absolute http or https, without a user.
 *   4. The scanner of markup ends, every token lies in the text, and references never make
 *      it longer. */
#include "detectors/manifest_markup.h"
#include "detectors/manifest_page.h"
#include "tests/fuzz/fuzz_main.h"

#define BASE "https://e.org/data/?list-type=2"

static const char *const formats[] = {"", "json", "csv", "s3", "html"};

static bool inside(struct str part, struct str whole)
{
    return part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

static void check_markup(struct arena *a, struct str text, bool html)
{
    struct markup m;
    struct err err;
    markup_open(&m, text, html);
    for (;;) {
        size_t before = m.rest.n;
        struct markup_token t = markup_next(&m);
        struct str value;
        const char *decoded;
        if (t.kind == MARKUP_END || t.kind == MARKUP_BROKEN)
            break;
        HOLDS(m.rest.n < before);
        HOLDS(inside(t.text, text) && inside(t.attrs, text) && inside(t.name, text));
        HOLDS(!markup_attr(t.attrs, "href", &value) || inside(value, text) || value.n == 0);
        if (markup_text(a, t.text, html, &decoded, &err) == RC_OK)
            HOLDS(strlen(decoded) <= t.text.n);
        arena_reset(a);
    }
}

static bool is_web(const char *url)
{
    struct str s = str_of(url);
    return (str_starts(s, STR("https://")) || str_starts(s, STR("http://"))) &&
           s.n < FETCH_URL_MAX && str_is_clean(s);
}

static enum rc read_page(struct arena *scratch, const struct source_manifest *o, struct str text,
                         struct listing *l, struct err *err)
{
    struct manifest_page p = {.text = text,
                              .content_type = "",
                              .url = BASE,
                              .final_url = BASE,
                              .options = o,
                              .scratch = scratch,
                              .to = l};
    TRY(manifest_page_read(&p, err));
    HOLDS(p.next[0] == '\0' || is_web(p.next));
    return RC_OK;
}

static void write_form(const struct listing *l, struct buf *out)
{
    struct err err;
    buf_init(out, LISTING_BYTES_MAX);
    HOLDS(listing_write(l, out, &err) == RC_OK);
}

static void check_read(struct arena *memory, struct arena *scratch, struct source_manifest o,
                       struct str text)
{
    struct err err;
    struct listing once, twice, again;
    struct buf one, two, three;
    listing_init(&once, memory);
    listing_init(&twice, memory);
    listing_init(&again, memory);
    enum rc rc = read_page(scratch, &o, text, &once, &err);
    if (rc == RC_OK)
        rc = listing_close(&once, &err);
    if (rc != RC_OK) {
        HOLDS(str_is_utf8(str_of(err.msg)) && str_is_clean(str_of(err.msg)));
        return;
    }
    for (size_t i = 0; i < once.n; i++)
        HOLDS(is_web(once.entries[i].url));
    HOLDS(read_page(scratch, &o, text, &twice, &err) == RC_OK);
    HOLDS(read_page(scratch, &o, text, &twice, &err) == RC_OK);
    HOLDS(listing_close(&twice, &err) == RC_OK);
    write_form(&once, &one);
    write_form(&twice, &two);
    HOLDS(str_eq(buf_view(&one), buf_view(&two)));
    o.format = "json";
    HOLDS(read_page(scratch, &o, buf_view(&one), &again, &err) == RC_OK);
    HOLDS(listing_close(&again, &err) == RC_OK);
    write_form(&again, &three);
    HOLDS(str_eq(buf_view(&one), buf_view(&three)));
    buf_release(&one);
    buf_release(&two);
    buf_release(&three);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n};
    struct arena memory, scratch;
    arena_init(&memory, 256u << 20);
    arena_init(&scratch, 256u << 20);
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        struct source_manifest o = {
#define X(name, kind, help) .name = "",
#include "ledger/manifest_fields.def"
#undef X
        };
        o.format = formats[i];
        check_read(&memory, &scratch, o, text);
        arena_reset(&memory);
        arena_reset(&scratch);
    }
    check_markup(&scratch, text, false);
    check_markup(&scratch, text, true);
    arena_release(&memory);
    arena_release(&scratch);
    return 0;
}
