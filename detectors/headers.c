/* headers: see the header. */
#include "detectors/headers.h"

bool headers_at_home(const struct source *s, const char *url)
{
    return !url || fetch_url_same_origin(url, s->url);
}

static enum rc put(struct arena *a, const struct instance *inst, const struct source_header *h,
                   struct fetch_header *ret, struct err *err)
{
    const char *secret = source_header_secret(h);
    *ret = (struct fetch_header){h->name, h->value, secret != NULL};
    return secret ? instance_secret(a, inst, secret, &ret->value, err) : RC_OK;
}

enum rc headers_add(struct arena *a, const struct instance *inst, const struct source *s,
                    const char *url, struct fetch_header *h, size_t *n, struct err *err)
{
    bool home = headers_at_home(s, url);
    for (size_t i = 0; i < s->n_headers; i++)
        if (home || !source_header_secret(&s->headers[i]))
            TRY(put(a, inst, &s->headers[i], &h[(*n)++], err));
    return RC_OK;
}
