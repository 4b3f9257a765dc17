/* manifest_s3: a page of a bucket: ListBucketResult of ListObjectsV2, or of version 1, which also
 * other stores speak. Pure.
 *
 * Invariants
 *   1. The document is whole: ListBucketResult is opened, everything is closed, nothing follows.
 *   2. A truncated page names its continuation, or it is refused.
 *   3. An object's URL is the bucket's followed by its key: no key leads to another host.
 */
#include "detectors/manifest_markup.h"
#include "detectors/manifest_page.h"
#include "detectors/manifest_url.h"

#define DEPTH_MAX 8    /* Contents/Owner/ID is the deepest there is */
#define TEXT_MAX 65536 /* a token; keys are far shorter */

struct reader {
    struct manifest_page *p;
    struct markup markup;
    struct str path[DEPTH_MAX];
    size_t depth;
    bool whole;      /* the root was closed */
    struct buf text; /* of the element at hand */
    struct manifest_item item;
    const char *more, *token, *marker;
    bool encoded; /* keys are percent-encoded */
};

static enum rc refuse(struct err *err, const char *why)
{
    return err_set(err, RC_INVALID, "", "%s", why);
}

/* Where the text of an element goes; NULL when nobody asks for it. */
static const char **place_of(struct reader *r)
{
    const struct {
        size_t depth;
        const char *name, **to;
    } places[] = {{3, "Key", &r->item.key},
                  {3, "ETag", &r->item.etag},
                  {3, "Size", &r->item.size},
                  {3, "LastModified", &r->item.last_modified},
                  {3, "VersionId", &r->item.version},
                  {2, "IsTruncated", &r->more},
                  {2, "NextContinuationToken", &r->token},
                  {2, "NextMarker", &r->marker}};
    if (r->depth == 3 && !str_is(r->path[1], "Contents"))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (places[i].depth == r->depth && str_is(r->path[r->depth - 1], places[i].name))
            return places[i].to;
    return NULL;
}

static const char *decoded(struct reader *r, const char *text)
{
    return r->encoded ? manifest_url_decode(r->p->scratch, str_of(text), true) : text;
}

static enum rc take_object(struct reader *r, struct err *err)
{
    struct arena *a = r->p->scratch;
    struct manifest_item item = r->item;
    r->item = (struct manifest_item){0};
    if (!item.key)
        return refuse(err, "an object has no key");
    const char *bucket = manifest_url_bucket(a, r->p->final_url);
    const char *path = (item.key = decoded(r, item.key)) ? manifest_url_encode(a, item.key) : NULL;
    item.url = bucket && path ? arena_printf(a, "%s%s", bucket, path) : NULL;
    if (!item.url)
        return err_set(err, RC_NOMEM, "", "no memory for the page");
    return manifest_page_add(r->p, &item, err);
}

static enum rc on_open(struct reader *r, const struct markup_token *t, struct err *err)
{
    if (r->whole || (r->depth == 0 && !str_is(t->name, "ListBucketResult")))
        return refuse(err, "no listing of a bucket: ListBucketResult is not its root");
    if (r->depth == DEPTH_MAX)
        return refuse(err, "nested deeper than any listing of a bucket");
    buf_clear(&r->text);
    r->path[r->depth++] = t->name;
    return RC_OK;
}

static enum rc on_close(struct reader *r, struct str name, struct err *err)
{
    if (r->depth == 0 || !str_eq(r->path[r->depth - 1], name))
        return refuse(err, "an element is closed that is not open");
    const char **to = place_of(r);
    if (to && !(*to = arena_str(r->p->scratch, buf_view(&r->text))))
        return err_set(err, RC_NOMEM, "", "no memory for the page");
    buf_clear(&r->text);
    if (r->depth == 2 && str_is(name, "Contents"))
        TRY(take_object(r, err));
    r->whole = --r->depth == 0;
    return RC_OK;
}

static enum rc on_text(struct reader *r, const struct markup_token *t, struct err *err)
{
    const char *text;
    if (r->depth == 0)
        return str_trim(t->text).n == 0 ? RC_OK : refuse(err, "text outside of the document");
    if (!place_of(r))
        return RC_OK;
    if (t->cdata)
        buf_str(&r->text, t->text);
    else {
        TRY(markup_text(r->p->scratch, t->text, false, &text, err));
        buf_puts(&r->text, text);
    }
    if (buf_rc(&r->text) != RC_OK)
        return err_set(err, buf_rc(&r->text), "", "a text of the page is too long");
    if (memchr(buf_view(&r->text).p, '\0', r->text.len))
        return refuse(err, "a text of the page holds a NUL byte");
    return RC_OK;
}

static enum rc read_tokens(struct reader *r, struct err *err)
{
    for (;;) {
        struct markup_token t = markup_next(&r->markup);
        switch (t.kind) {
        case MARKUP_END: return r->whole ? RC_OK : refuse(err, "the XML is not whole: truncated");
        case MARKUP_BROKEN:
            return refuse(err, "the XML is not well-formed, or has a document type");
        case MARKUP_TEXT: TRY(on_text(r, &t, err)); break;
        case MARKUP_CLOSE: TRY(on_close(r, t.name, err)); break;
        case MARKUP_OPEN:
            TRY(on_open(r, &t, err));
            if (t.empty)
                TRY(on_close(r, t.name, err));
            break;
        }
    }
}

static const char *next_by_marker(struct reader *r)
{
    const char *marker = decoded(r, r->marker);
    return marker ? manifest_url_with(r->p->scratch, r->p->url, "marker", marker) : NULL;
}

static enum rc find_next(struct reader *r, struct err *err)
{
    struct manifest_page *p = r->p;
    if (!r->more || strcmp(r->more, "true") != 0)
        return RC_OK;
    if (r->token && *r->token)
        p->next = manifest_url_with(p->scratch, p->url, "continuation-token", r->token);
    else if (r->marker && *r->marker)
        p->next = next_by_marker(r);
    else
        return err_set(err, RC_INVALID, "url",
                       "the page is truncated and names no continuation: add list-type=2");
    return p->next ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for the page");
}

/* This may stand behind the objects it is about. */
static bool says_encoded(struct str text)
{
    static const char mark[] = "<EncodingType>url</EncodingType>";
    return memmem(text.p, text.n, mark, strlen(mark)) != NULL;
}

enum rc manifest_s3_read(struct manifest_page *p, struct err *err)
{
    struct reader r = {.p = p, .encoded = says_encoded(p->text)};
    markup_open(&r.markup, p->text, false);
    buf_init(&r.text, TEXT_MAX);
    enum rc rc = read_tokens(&r, err);
    if (rc == RC_OK)
        rc = find_next(&r, err);
    buf_release(&r.text);
    return rc;
}
