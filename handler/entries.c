/* entries: a cursor over the canonical form of a listing. */
#include "handler/entries.h"

#include <errno.h>
#include <sys/mman.h>
#include "core/json.h"

#define ENTRY_MEMORY_MAX (256u << 10) /* the longest entry, escaped and parsed */

static const struct str before_sum = {"{\"checksum\":\"sha256:", 20};
static const struct str before_count = {"\",\"count\":", 10};
static const struct str before_entries = {",\"entries\":", 11};
static const struct str frame_end = {",\"listing_version\":1}", 21};

static enum rc no_listing(const char *why, struct err *err)
{
    return err_set(err, RC_INVALID, "", "not a canonical listing: %s", why);
}

static bool take(struct str *s, struct str part)
{
    if (!str_starts(*s, part))
        return false;
    s->p += part.n;
    s->n -= part.n;
    return true;
}

static struct str take_span(struct str *s, size_t n)
{
    struct str head = {s->p, n < s->n ? n : s->n};
    s->p += head.n;
    s->n -= head.n;
    return head;
}

static size_t digits(struct str s)
{
    size_t n = 0;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    return n;
}

static bool sum_is_right(struct str entries, struct str told)
{
    struct sha256 sha;
    char hex[SHA256_HEX];
    digest_sha256(entries.p, entries.n, &sha);
    sha256_hex(&sha, hex);
    return str_is(told, hex);
}

/* {"checksum":"sha256:<hex>","count":<n>,"entries":[...],"listing_version":1} */
static enum rc read_frame(struct entries *e, struct err *err)
{
    struct str s = e->text;
    if (!take(&s, before_sum))
        return no_listing("it begins otherwise", err);
    struct str sum = take_span(&s, SHA256_HEX - 1);
    if (!take(&s, before_count))
        return no_listing("it has no checksum and count", err);
    struct str count = take_span(&s, digits(s));
    if (str_to_i64(count, &e->count) != RC_OK || e->count > LISTING_MAX)
        return no_listing("its count is none", err);
    if (!take(&s, before_entries) || !str_ends(s, frame_end))
        return no_listing("it has no entries", err);
    s.n -= frame_end.n;
    if (s.n < 2 || s.p[0] != '[' || s.p[s.n - 1] != ']')
        return no_listing("its entries are no list", err);
    if (!sum_is_right(s, sum))
        return no_listing("its checksum is not that of its entries", err);
    e->list = e->rest = (struct str){s.p + 1, s.n - 2};
    return RC_OK;
}

void entries_none(struct entries *e)
{
    *e = (struct entries){.text = {NULL, 0}};
    arena_init(&e->arena, ENTRY_MEMORY_MAX);
}

enum rc entries_open(struct entries *e, int fd, int64_t size, struct err *err)
{
    entries_none(e);
    if (size <= 0 || size > (int64_t)LISTING_BYTES_MAX)
        return no_listing("it is empty or too long", err);
    void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return err_set(err, RC_IO, "", "cannot map a listing: %s", strerror(errno));
    e->text = (struct str){p, (size_t)size};
    enum rc rc = read_frame(e, err);
    if (rc != RC_OK)
        entries_close(e);
    return rc;
}

void entries_close(struct entries *e)
{
    if (e->text.p)
        munmap((void *)(uintptr_t)e->text.p, e->text.n);
    e->text = e->list = e->rest = (struct str){NULL, 0};
    e->count = e->read = 0;
    arena_release(&e->arena);
}

void entries_rewind(struct entries *e)
{
    e->rest = e->list;
    e->read = 0;
}

/* An entry holds no objects, so its end is the first brace outside a string. */
static size_t object_length(struct str s)
{
    bool quoted = false;
    for (size_t i = 0; i < s.n; i++) {
        if (quoted && s.p[i] == '\\')
            i++;
        else if (s.p[i] == '"')
            quoted = !quoted;
        else if (!quoted && s.p[i] == '}')
            return i + 1;
    }
    return s.n;
}

static enum rc read_entry(struct entries *e, struct str object, struct err *err)
{
    struct listing one;
    struct listing_entry x = {.size = -1};
    yyjson_val *v;
    arena_reset(&e->arena);
    TRY(json_parse(&e->arena, object, 0, "an entry", &v, err));
    TRY(json_get_str(v, "key", &x.key, err));
    TRY(json_get_str(v, "url", &x.url, err));
    TRY(json_get_str(v, "version", &x.version, err));
    TRY(json_get_str(v, "etag", &x.etag, err));
    TRY(json_get_str(v, "last_modified", &x.last_modified, err));
    TRY(json_get_str(v, "sha256", &x.sha256, err));
    TRY(json_get_i64(v, "size", 0, INT64_MAX, &x.size, err));
    listing_init(&one, &e->arena); /* what may be in a listing is decided there */
    TRY(listing_add(&one, &x, err));
    e->entry = one.entries[0];
    return RC_OK;
}

enum rc entries_next(struct entries *e, struct err *err)
{
    if (e->rest.n == 0)
        return e->read == e->count ? RC_NOT_FOUND : no_listing("its count is wrong", err);
    if (e->read > 0 && !take(&e->rest, STR(",")))
        return no_listing("an entry does not end where it should", err);
    if (!str_starts(e->rest, STR("{")))
        return no_listing("an entry does not begin where it should", err);
    TRY(read_entry(e, take_span(&e->rest, object_length(e->rest)), err));
    if (e->read++ > 0 && strcmp(e->key, e->entry.key) >= 0)
        return no_listing("its keys are not in order", err);
    snprintf(e->key, sizeof e->key, "%s", e->entry.key);
    return RC_OK;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* One side of a comparison: at an entry, or at its end. */
struct side {
    struct entries *e;
    const struct listing_entry *at; /* NULL: at the end */
};

static enum rc step(struct side *s, struct err *err)
{
    enum rc rc = entries_next(s->e, err);
    s->at = rc == RC_OK ? &s->e->entry : NULL;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc tell(struct entry_counts *n, enum listing_change c, const struct listing_entry *old,
                    const struct listing_entry *now, listing_diff_fn *fn, void *ctx,
                    struct err *err)
{
    ++*(c == LISTING_ADDED ? &n->added : c == LISTING_REMOVED ? &n->removed : &n->modified);
    return fn ? fn(ctx, c, old, now, err) : RC_OK;
}

enum rc entries_diff(struct entries *old, struct entries *now, listing_diff_fn *fn, void *ctx,
                     struct entry_counts *ret, struct err *err)
{
    struct side o = {.e = old}, n = {.e = now};
    struct entry_counts counts = {.total = now->count};
    entries_rewind(old);
    entries_rewind(now);
    TRY(step(&o, err));
    TRY(step(&n, err));
    while (o.at || n.at) {
        int order = !n.at ? -1 : !o.at ? 1 : strcmp(o.at->key, n.at->key);
        if (order < 0)
            TRY(tell(&counts, LISTING_REMOVED, o.at, NULL, fn, ctx, err));
        else if (order > 0)
            TRY(tell(&counts, LISTING_ADDED, NULL, n.at, fn, ctx, err));
        else if (listing_differs(o.at, n.at))
            TRY(tell(&counts, LISTING_MODIFIED, o.at, n.at, fn, ctx, err));
        if (order <= 0)
            TRY(step(&o, err));
        if (order >= 0)
            TRY(step(&n, err));
    }
    *ret = counts;
    return RC_OK;
}
