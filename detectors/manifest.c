/* manifest: the reader of the format turns a page into entries (manifest_page.h); here is what
 * goes on from page to page. The flow is in the header. Pure. */
#include "detectors/manifest.h"
#include "detectors/etag.h"
#include "detectors/manifest_page.h"

/* Between the asks of a check. */
struct memo {
    struct listing listing;
    struct ask first; /* why the check looks at all */
    enum manifest_format format;
    int pages;
    int readings;                            /* that were not believed alone */
    struct sha256 keys;                      /* what the last of them named */
    struct sha256 asked[MANIFEST_PAGES_MAX]; /* digests of the URLs, to notice a circle */
};

static struct ask collected(struct ask ask)
{
    ask.head = false; /* a listing is small, and judged whole */
    ask.collect = MANIFEST_PAGE_BYTES_MAX;
    return ask;
}

static struct ask plan(const struct source *s, const struct check_state *st,
                       const struct conf *conf, int64_t now)
{
    (void)s;
    return collected(etag_plan(st, conf, now));
}

static const char *url_asked(const struct answer *a)
{
    return a->ask.url ? a->ask.url : a->source->url;
}

static struct memo *memo_of(const struct answer *a)
{
    struct memo *m = *a->memo;
    if (!m && (m = ARENA_NEW(a->arena, struct memo)) != NULL) {
        listing_init(&m->listing, a->arena);
        *a->memo = m;
    }
    return m;
}

/* Trouble with our memory is not the upstream's. */
static struct verdict refused(const struct memo *m, const struct err *err)
{
    enum outcome o = err->rc == RC_NOMEM ? OUTCOME_unavailable : OUTCOME_wrong_shape;
    return verdict_of(o, "page %d: %.*s", m->pages, STR_CUT(err->msg, 150));
}

/* ---- the end --------------------------------------------------------------------------------- */

/* The cursor holds the language of the last listing, the number of its entries, and how many of
 * them are blind, if any: "s3 1200 37". */
static void put_cursor(struct check_state *st, const struct memo *m, size_t blind)
{
    int n = snprintf(st->cursor, sizeof st->cursor, "%s %zu", manifest_format_name(m->format),
                     m->listing.n);
    if (blind > 0)
        snprintf(st->cursor + n, sizeof st->cursor - (size_t)n, " %zu", blind);
}

/* The nth number of the cursor; 0 when it is not there. */
static int64_t cursor_number(const struct check_state *st, int nth)
{
    struct str rest = str_of(st->cursor), word;
    int64_t n = 0;
    for (int i = 0; i <= nth; i++)
        if (!str_next(&rest, ' ', &word))
            return 0;
    return str_to_i64(word, &n) == RC_OK ? n : 0;
}

static int64_t entries_before(const struct check_state *st, struct str *ret_format)
{
    struct str rest = str_of(st->cursor);
    *ret_format = (struct str){0};
    if (!st->has_seen || !str_next(&rest, ' ', ret_format))
        return 0;
    return cursor_number(st, 1);
}

int64_t manifest_blind(const struct check_state *st)
{
    return cursor_number(st, 2);
}

/* Nothing of it can move but its name: bytes that change behind it leave the listing as it was. */
static size_t count_blind(const struct listing *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct listing_entry *e = &l->entries[i];
        n += !e->version && !e->etag && !e->last_modified && !e->sha256 && e->size < 0;
    }
    return n;
}

/* Why the listing cannot be the successor of the last one. */
static bool is_suspect(const struct check_state *st, const struct answer *a, const struct memo *m,
                       struct verdict *ret)
{
    struct str format;
    int64_t before = entries_before(st, &format);
    if (format.n > 0 && !a->source->manifest.format[0] &&
        !str_is(format, manifest_format_name(m->format))) {
        *ret = verdict_of(OUTCOME_wrong_shape, "%s where %.*s was: set manifest.format if it moved",
                          manifest_format_name(m->format), STR_FMT(format));
        return true;
    }
    if ((int64_t)m->listing.n * 10 >= before || a->accepted)
        return false;
    *ret = verdict_of(
        OUTCOME_wrong_shape,
        "%zu entries where %lld were: too few to be believed; if that is right, --accept it",
        m->listing.n, (long long)before);
    return true;
}

/* The listing in canonical form, judged as if it were the body of the first answer. */
static struct verdict judge_listing(struct check_state *st, const struct answer *a,
                                    const struct memo *m, struct str content, int64_t now)
{
    struct fetch_res res = *a->res;
    struct answer whole = *a;
    struct verdict v;
    if (is_suspect(st, a, m, &v))
        return v;
    if (m->pages > 1)
        res.etag[0] = res.last_modified[0] = '\0';
    whole.res = &res;
    whole.ask = m->first;
    whole.body = (struct body_facts){.read = true, .size = (int64_t)content.n};
    digest_sha256(content.p, content.n, &whole.body.sha);
    v = etag_judge(st, &whole, now);
    if (outcome_failure(v.outcome))
        return v;
    size_t blind = count_blind(&m->listing);
    put_cursor(st, m, blind);
    int n = snprintf(v.detail, sizeof v.detail, "%zu %s on %d page%s%s%s", m->listing.n,
                     m->listing.n == 1 ? "entry" : "entries", m->pages, m->pages > 1 ? "s" : "",
                     m->readings > 0 ? ", read again" : "",
                     m->first.why == ASK_AUDIT ? ", digest audit" : "");
    if (blind > 0)
        snprintf(v.detail + n, sizeof v.detail - (size_t)n,
                 "; of %zu it tells no version, date, size or digest", blind);
    v.content = content;
    return v;
}

static void digest_keys(const struct listing *l, struct sha256 *ret)
{
    struct buf b;
    buf_init(&b, LISTING_BYTES_MAX);
    for (size_t i = 0; i < l->n; i++) {
        buf_puts(&b, l->entries[i].key);
        buf_byte(&b, '\n');
    }
    digest_sha256(b.len ? b.data : "", b.len, ret);
    buf_release(&b);
}

/* Entries that go while pages are read shift others over the edge of a page, where nobody sees
 * them: news from several pages counts when two readings in a row name the same entries. Pages of
 * S3 begin behind a key, and shift nothing. repeated: an entry was on two pages. */
static bool is_believed(const struct check_state *st, struct memo *m, struct str content,
                        bool repeated)
{
    struct sha256 sha, keys;
    bool first = m->readings == 0;
    if ((m->pages == 1 && first) || m->format == MANIFEST_S3)
        return true;
    digest_sha256(content.p, content.n, &sha);
    bool same = st->has_seen && sha256_eq(&sha, &st->seen_sha);
    if (same || (first && !st->has_seen && !repeated))
        return true;
    digest_keys(&m->listing, &keys);
    bool confirmed = !first && sha256_eq(&keys, &m->keys);
    m->keys = keys;
    return confirmed;
}

static struct verdict read_again(struct memo *m)
{
    if (++m->readings == MANIFEST_READINGS_MAX)
        return verdict_of(OUTCOME_unavailable,
                          "%d readings of its pages named different entries: it moves meanwhile",
                          m->readings);
    m->pages = 0;
    m->listing.n = 0;
    return verdict_again(collected((struct ask){.why = ASK_ABOUT}));
}

static struct verdict finish(struct check_state *st, const struct answer *a, struct memo *m,
                             int64_t now)
{
    struct err err;
    struct buf b;
    struct str content = {0};
    size_t named = m->listing.n;
    if (listing_close(&m->listing, &err) != RC_OK)
        return refused(m, &err);
    buf_init(&b, LISTING_BYTES_MAX);
    enum rc rc = listing_write(&m->listing, &b, &err);
    if (rc == RC_OK && !is_believed(st, m, buf_view(&b), m->listing.n < named)) {
        buf_release(&b);
        return read_again(m);
    }
    if (rc == RC_OK) {
        content = (struct str){arena_str(a->arena, buf_view(&b)), b.len};
        if (!content.p)
            rc = err_set(&err, RC_NOMEM, "", "no memory for the listing");
    }
    buf_release(&b);
    return rc == RC_OK ? judge_listing(st, a, m, content, now) : refused(m, &err);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Was this URL asked before? Remembers it. */
static bool in_circle(struct memo *m, const char *url)
{
    struct sha256 sha;
    digest_sha256(url, strlen(url), &sha);
    for (int i = 0; i < m->pages; i++)
        if (sha256_eq(&m->asked[i], &sha))
            return true;
    m->asked[m->pages++] = sha;
    return false;
}

static enum rc read_page(const struct answer *a, struct memo *m, const char **ret_next,
                         struct err *err)
{
    struct arena scratch;
    arena_init(&scratch, MANIFEST_PAGE_MEMORY_MAX);
    struct manifest_page p = {.text = a->text,
                              .content_type = a->res->content_type,
                              .url = url_asked(a),
                              .final_url = a->res->final_url,
                              .endless = a->res->content_length < 0 && !a->res->streams &&
                                         a->res->transfer_encoding[0] == '\0',
                              .options = &a->source->manifest,
                              .scratch = &scratch,
                              .to = &m->listing};
    enum rc rc = manifest_page_read(&p, err);
    if (rc == RC_OK) {
        m->format = p.format;
        *ret_next = arena_strdup(a->arena, p.next);
        if (!*ret_next)
            rc = err_set(err, RC_NOMEM, "", "no memory for the next page");
    }
    arena_release(&scratch);
    return rc;
}

static struct verdict ask_next(const struct answer *a, const struct memo *m, const char *next)
{
    if (m->pages == MANIFEST_PAGES_MAX)
        return verdict_of(OUTCOME_wrong_shape, "more than %d pages", MANIFEST_PAGES_MAX);
    if (!fetch_url_same_origin(next, a->source->url))
        return verdict_of(OUTCOME_blocked, "page %d names a next one at another origin", m->pages);
    return verdict_again(collected((struct ask){.why = ASK_ABOUT, .url = next}));
}

static struct verdict judge_page(struct check_state *st, const struct answer *a, struct memo *m,
                                 int64_t now)
{
    const char *next;
    struct err err;
    if (m->pages == 0 && m->readings == 0)
        m->first = a->ask;
    if (in_circle(m, url_asked(a)))
        return verdict_of(OUTCOME_wrong_shape, "page %d leads back to an earlier one", m->pages);
    if (read_page(a, m, &next, &err) != RC_OK)
        return refused(m, &err);
    return next[0] != '\0' ? ask_next(a, m, next) : finish(st, a, m, now);
}

static struct verdict judge(struct check_state *st, const struct answer *a, int64_t now)
{
    struct memo *m = memo_of(a);
    if (!m)
        return verdict_of(OUTCOME_unavailable, "here: no memory for the listing");
    if (a->res->end == FETCH_OK && a->res->http == 200 && a->text.p)
        return judge_page(st, a, m, now);
    struct verdict v = etag_judge(st, a, now); /* a 304, or a failure */
    if (v.again)
        return verdict_again(collected(v.next));
    if (m->pages == 0 && m->readings == 0)
        return v;
    struct verdict named = v;
    snprintf(named.detail, sizeof named.detail, "page %d: %.180s", m->pages + 1, v.detail);
    return named;
}

const struct detector manifest_detector = {.name = "manifest",
                                           .asks_max =
                                               MANIFEST_READINGS_MAX * MANIFEST_PAGES_MAX + 1,
                                           .memory_max = MANIFEST_MEMORY_MAX,
                                           .plan = plan,
                                           .judge = judge};
