/* conditional: see the header. Called by route and the routes. */
#include "api/conditional.h"

#include "core/clock.h"
#include "core/version.h"

/* ---- ETags ----------------------------------------------------------------------------------- */

/* FNV-1a by words instead of bytes: lists hash some hundred numbers and names for each answer. The
 * shift brings down what a multiplication only carries up. */
static void etag_word(struct etag *e, uint64_t word)
{
    e->h = (e->h ^ word) * 0x100000001b3u;
    e->h ^= e->h >> 29;
}

static void etag_mix(struct etag *e, const char *p, size_t n)
{
    uint64_t word;
    for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
        memcpy(&word, p, sizeof word);
        etag_word(e, word);
    }
    word = 0;
    memcpy(&word, p, n);
    if (n)
        etag_word(e, word);
}

/* The length goes first, so that "ab","c" and "a","bc" differ. */
void etag_str(struct etag *e, struct str s)
{
    etag_int(e, (int64_t)s.n);
    etag_mix(e, s.p, s.n);
}

void etag_int(struct etag *e, int64_t v)
{
    etag_word(e, (uint64_t)v);
}

struct etag etag_start(const char *policy_version, struct str base)
{
    struct etag e = {0xcbf29ce484222325u};
    etag_str(&e, str_of(freshet_version));
    etag_str(&e, str_of(freshet_commit));
    etag_str(&e, str_of(policy_version));
    etag_str(&e, base);
    return e;
}

void etag_set(const struct etag *e, struct resp *w)
{
    snprintf(w->etag, sizeof w->etag, "\"%016llx\"", (unsigned long long)e->h);
}

/* ---- conditional requests -------------------------------------------------------------------- */

/* Takes one entity tag off the front of list; its opaque part with quotes goes to *tag. */
static bool next_tag(struct str *list, struct str *tag)
{
    struct str s = str_trim(*list);
    while (s.n > 0 && (s.p[0] == ',' || s.p[0] == ' ' || s.p[0] == '\t')) {
        s.p++;
        s.n--;
    }
    if (str_starts(s, STR("W/"))) {
        s.p += 2;
        s.n -= 2;
    }
    if (s.n < 2 || s.p[0] != '"')
        return false;
    const char *end = memchr(s.p + 1, '"', s.n - 1);
    if (!end)
        return false;
    tag->p = s.p;
    tag->n = (size_t)(end - s.p) + 1;
    *list = (struct str){s.p + tag->n, s.n - tag->n};
    return list->n == 0 || list->p[0] == ',' || list->p[0] == ' ' || list->p[0] == '\t';
}

static bool has_tag(struct str list, const char *etag)
{
    struct str tag;
    if (str_is(str_trim(list), "*"))
        return etag[0] != 0; /* what has no version cannot be had already */
    while (etag[0] && etag[0] && next_tag(&list, &tag))
        if (str_is(tag, etag))
            return true;
    return false;
}

bool resp_not_modified(const struct resp *w, const struct req *r)
{
    int64_t since;
    if (w->status != 200)
        return false;
    if (r->if_none_match.p)
        return has_tag(r->if_none_match, w->etag);
    if (!r->if_modified_since.p || w->last_modified < 0 || w->etag_only)
        return false;
    return time_parse_http(str_trim(r->if_modified_since), &since) == RC_OK &&
           w->last_modified / 1000 <= since / 1000;
}
