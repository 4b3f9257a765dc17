/* stream_view: clients ask alike when base URL and filters, written as one text, are the same. */
#include "api/stream_view.h"

#include <stdlib.h>

/* A base URL and all filters: a query has at most REQ_QUERY_MAX bytes. */
#define KEY_MAX (16u << 10)

/* The base, then "name=value" on a line each. Values hold no line breaks (http_decode). */
static void write_key(struct buf *key, const struct feed_query *q, struct str base)
{
    buf_str(key, base);
    for (size_t i = 0; i < q->n_given; i++) {
        buf_byte(key, '\n');
        buf_str(key, q->given[i].name);
        buf_byte(key, '=');
        buf_str(key, q->given[i].value);
    }
}

static enum rc read_filters(struct stream_view *v, struct err *err)
{
    struct str rest = v->key, line, name;
    char text[32]; /* the longest name has ten letters */
    (void)str_next(&rest, '\n', &v->base);
    feed_query_init(&v->q);
    while (str_next(&rest, '\n', &line)) {
        (void)str_next(&line, '=', &name);
        snprintf(text, sizeof text, "%.*s", STR_FMT(name));
        TRY(feed_query_set(&v->q, text, line, err));
    }
    return RC_OK;
}

static enum rc view_new(struct str key, struct stream_view **ret, struct err *err)
{
    struct stream_view *v = malloc(sizeof *v + key.n + 1);
    if (!v)
        return err_set(err, RC_NOMEM, "", "no memory for a client of the stream");
    *v = (struct stream_view){.refs = 1, .judged = -1};
    memcpy(v->text, key.p, key.n);
    v->text[key.n] = 0;
    v->key = (struct str){v->text, key.n};
    enum rc rc = read_filters(v, err);
    if (rc == RC_OK)
        *ret = v;
    else
        free(v);
    return rc;
}

static enum rc get(struct stream_view **all, struct str key, struct stream_view **ret,
                   struct err *err)
{
    for (struct stream_view *v = *all; v; v = v->next)
        if (str_eq(v->key, key)) {
            v->refs++;
            *ret = v;
            return RC_OK;
        }
    TRY(view_new(key, ret, err));
    (*ret)->next = *all;
    *all = *ret;
    return RC_OK;
}

enum rc stream_view_get(struct stream_view **all, const struct feed_query *q, struct str base,
                        struct stream_view **ret, struct err *err)
{
    struct buf key;
    buf_init(&key, KEY_MAX);
    write_key(&key, q, base);
    enum rc rc = buf_rc(&key) == RC_OK ? get(all, buf_view(&key), ret, err)
                                       : err_set(err, buf_rc(&key), "", "the filters are too long");
    buf_release(&key);
    return rc;
}

void stream_view_drop(struct stream_view **all, struct stream_view **pv)
{
    struct stream_view *v = *pv;
    *pv = NULL;
    if (!v || --v->refs > 0)
        return;
    while (*all != v)
        all = &(*all)->next;
    *all = v->next;
    free(v);
}

bool stream_view_passes(struct stream_view *v, const struct stream_entry *e)
{
    if (v->judged != e->seq) {
        v->passes_judged = feed_matches(&v->q, &e->facts);
        v->judged = e->seq;
    }
    return v->passes_judged;
}
