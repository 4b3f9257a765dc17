/* fuzz_listing: a canonical listing that somebody else may have written.
 *
 * Properties
 *   1. What was read is written, and read again, as the same bytes.
 *   2. Keys are sorted and unique.
 *   3. A listing does not differ from itself, and from nothing it differs in every entry. */
#include "core/listing.h"
#include "tests/fuzz/fuzz_main.h"

static enum rc count(void *ctx, enum listing_change c, const struct listing_entry *old,
                     const struct listing_entry *now, struct err *err)
{
    (void)c, (void)old, (void)now, (void)err;
    ++*(size_t *)ctx;
    return RC_OK;
}

static size_t changes(const struct listing *old, const struct listing *now)
{
    struct err err;
    size_t n = 0;
    HOLDS(listing_diff(old, now, count, &n, &err) == RC_OK);
    return n;
}

static void check(struct arena *a, const struct listing *l)
{
    struct err err;
    struct listing again, none;
    struct buf once, twice;
    buf_init(&once, LISTING_BYTES_MAX);
    buf_init(&twice, LISTING_BYTES_MAX);
    HOLDS(listing_write(l, &once, &err) == RC_OK);
    HOLDS(listing_read(a, buf_view(&once), &again, &err) == RC_OK);
    HOLDS(listing_write(&again, &twice, &err) == RC_OK);
    HOLDS(str_eq(buf_view(&once), buf_view(&twice)));
    for (size_t i = 1; i < l->n; i++)
        HOLDS(strcmp(l->entries[i - 1].key, l->entries[i].key) < 0);
    listing_init(&none, a);
    HOLDS(changes(l, &again) == 0);
    HOLDS(changes(&none, l) == l->n && changes(l, &none) == l->n);
    buf_release(&once);
    buf_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a;
    struct err err;
    struct listing l;
    arena_init(&a, 256u << 20);
    if (listing_read(&a, (struct str){(const char *)data, n}, &l, &err) == RC_OK)
        check(&a, &l);
    else
        HOLDS(str_is_utf8(str_of(err.msg)));
    arena_release(&a);
    return 0;
}
