/* prov: /prov/{run} and /prov/sources/{source}.
 *
 * Invariants (those of prov.h, and)
 *   1. PROV-JSON of one run leaves as it is stored, with base marks replaced.
 * Called by the route table. */
#include "api/prov.h"

#include "api/conditional.h"
#include "api/negotiate.h"
#include "ledger/public.h"

#define RUN_ID_MAX 36
#define CHAIN_DEFAULT 100
#define CHAIN_MAX 500 /* runs of one answer: each has some three KiB and sixty triples */

enum { PROV_JSON, PROV_JSONLD, PROV_TURTLE };
static const struct media formats[] = {
    {"provjson", "application/json", "application/json"},
    {"jsonld", "application/ld+json", "application/ld+json"},
    {"ttl", "text/turtle", "text/turtle; charset=utf-8"},
};

static enum rc put_graph(struct req *r, struct resp *w, yyjson_val *doc, size_t format,
                         struct err *err)
{
    struct rdf g;
    rdf_init(&g, r->arena, r->base);
    TRY(prov_graph(&g, doc, err));
    if (format == PROV_TURTLE)
        rdf_write_turtle(&g, &w->body);
    else
        rdf_write_jsonld(&g, &w->body);
    return RC_OK;
}

static enum rc put_etag(const struct req *r, struct resp *w, struct etag *gens, size_t format,
                        struct err *err)
{
    struct public_meta m = {0};
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    struct etag e = etag_start(m.policy_version, r->base);
    etag_int(&e, (int64_t)gens->h);
    etag_int(&e, (int64_t)format);
    etag_set(&e, w);
    return RC_OK;
}

enum rc prov_one(struct req *r, struct resp *w, struct err *err)
{
    struct public_doc d = {0};
    struct str id = r->path_vars[0];
    size_t format;
    yyjson_val *doc;
    if (!str_is_slug(id, RUN_ID_MAX))
        return route_not_found(err);
    TRY(route_lookup(public_prov_get(r->ledger, r->arena, id, &d, err), err));
    TRY(negotiate(r, w, formats, ARRAY_LEN(formats), &format, err));
    if (format == PROV_JSON) {
        json_put_based(&w->body, d.doc, r->base);
    } else {
        TRY(json_parse(r->arena, d.doc, 0, "a stored provenance document", &doc, err));
        TRY(put_graph(r, w, doc, format, err));
    }
    char path[16 + RUN_ID_MAX];
    snprintf(path, sizeof path, "/prov/%.*s", STR_FMT(id));
    link_alternates(w, r, path, formats, ARRAY_LEN(formats), format);
    struct etag gens = {(uint64_t)d.gen};
    w->last_modified = d.at;
    return put_etag(r, w, &gens, format, err);
}

/* ---- the chain of a source ------------------------------------------------------------------- */

struct chain {
    struct req *r;
    yyjson_mut_doc *d;
    yyjson_mut_val *root;
    struct etag gens;
    int64_t n, limit, newest;
    bool more;
    char last[RUN_ID_MAX + 1]; /* the oldest run shown */
};

/* Relations have names of their document only: here they get the run's number too. */
static yyjson_mut_val *chain_key(struct chain *x, const char *section, const char *key)
{
    bool relation = key[0] == '_' && key[1] == ':';
    (void)section;
    if (!relation)
        return yyjson_mut_strcpy(x->d, key);
    return json_fmt(x->d, "_:r%lld%s", (long long)x->n, key + 2);
}

static void merge_section(struct chain *x, const char *name, yyjson_val *section)
{
    size_t i, n;
    yyjson_val *key, *v;
    yyjson_mut_val *into = yyjson_mut_obj_get(x->root, name);
    if (!into) {
        into = yyjson_mut_obj(x->d);
        yyjson_mut_obj_add(x->root, yyjson_mut_strcpy(x->d, name), into);
    }
    yyjson_obj_foreach(section, i, n, key, v)
    {
        yyjson_mut_val *k = chain_key(x, name, yyjson_get_str(key));
        if (k && !yyjson_mut_obj_get(into, yyjson_mut_get_str(k)))
            yyjson_mut_obj_add(into, k, yyjson_val_mut_copy(x->d, v));
    }
}

static enum rc merge(void *ctx, struct str run, const struct public_doc *p, struct err *err)
{
    struct chain *x = ctx;
    yyjson_val *doc, *key, *section;
    size_t i, n;
    if (x->n == x->limit) {
        x->more = true;
        return RC_OK;
    }
    x->n++;
    snprintf(x->last, sizeof x->last, "%.*s", STR_FMT(run));
    etag_int(&x->gens, p->gen);
    etag_str(&x->gens, run);
    x->newest = p->at > x->newest ? p->at : x->newest;
    TRY(json_parse(x->r->arena, p->doc, 0, "a stored provenance document", &doc, err));
    yyjson_obj_foreach(doc, i, n, key, section) merge_section(x, yyjson_get_str(key), section);
    return RC_OK;
}

static enum rc put_chain(struct chain *x, struct resp *w, size_t format, struct err *err)
{
    struct str text;
    yyjson_val *doc;
    TRY(json_write(x->r->arena, x->d, 0, &text, err));
    if (format == PROV_JSON) {
        json_put_based(&w->body, text, x->r->base);
        return RC_OK;
    }
    TRY(json_parse(x->r->arena, text, 0, "a chain of provenance", &doc, err));
    return put_graph(x->r, w, doc, format, err);
}

enum rc prov_chain(struct req *r, struct resp *w, struct err *err)
{
    struct str id = r->path_vars[0], before = req_param(r, "before");
    struct chain x = {.r = r, .d = json_doc(r->arena), .gens = {0xcbf29ce484222325u}, .newest = -1};
    size_t format;
    if (!str_is_slug(id, REQ_ID_MAX))
        return route_not_found(err);
    TRY(param_limit(req_param(r, "limit"), CHAIN_DEFAULT, CHAIN_MAX, &x.limit, err));
    if (before.p && !str_is_slug(before, RUN_ID_MAX))
        return err_set(err, RC_INVALID, "before", "must be the id of a run");
    x.root = yyjson_mut_obj(x.d);
    yyjson_mut_doc_set_root(x.d, x.root);
    TRY(public_prov_each(r->ledger, id, before.p ? before : STR(""), x.limit + 1, merge, &x, err));
    if (x.n == 0)
        return route_not_found(err);
    TRY(negotiate(r, w, formats, ARRAY_LEN(formats), &format, err));
    TRY(put_chain(&x, w, format, err));
    if (x.more)
        resp_header(w, "Link", "<%.*s/prov/sources/%.*s?limit=%lld&before=%s&f=%s>; rel=\"next\"",
                    STR_FMT(r->base), STR_FMT(id), (long long)x.limit, x.last,
                    formats[format].name);
    w->last_modified = x.newest;
    w->etag_only = true; /* a run that was withdrawn moves no date */
    return put_etag(r, w, &x.gens, format, err);
}
