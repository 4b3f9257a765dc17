/* dcat: the catalog as DCAT 3 (JSON-LD, Turtle) and as DCAT-US (/data.json), from one model.
 *
 * A dataset is a collection; each of its versions is an item. The model is read from public rows,
 * which are redacted before they exist: what a level withholds cannot be in it, and what a new
 * field withholds has no member here. Publisher and contact are settings.
 *
 * Invariants
 *   1. Every document is made of struct dcat_dataset, nothing else.
 *   2. An answer is bounded: datasets of a page, versions of a dataset (the newest).
 *   3. A version has a distribution exactly where the public may have the bytes.
 *   4. A licence is told of that whose source declares it, and of nothing else.
 */
#ifndef FRESHET_API_DCAT_H
#define FRESHET_API_DCAT_H

#include "api/conditional.h"
#include "api/rdf.h"
#include "api/route.h"

#define DCAT_VERSIONS_MAX 100     /* of a dataset under its own address */
#define DCAT_PAGE_VERSIONS_MAX 20 /* of a dataset on a page of the catalog */
#define DCAT_SOURCES_MAX 200      /* that a dataset is described by */

struct dcat_version {
    const char *item_id, *source_id, *title, *version, *created; /* "": unknown */
    const char *license;                        /* that its own source declares; "": none */
    const char *sha256, *media_type, *download; /* of the bytes; "": not public */
    int64_t size;
    const char *item, *prov, *via; /* addresses, with base marks */
    bool has_bbox, current, deprecated;
    double bbox[4];
    const char *previous; /* item before, where it is here too; NULL: not */
};
struct dcat_dataset {
    const char *collection, *title, *description, *modified, *issued, *boundary_type;
    const char *license; /* that all of its sources declare; "": none, or they differ */
    const char *access;  /* PUBLIC, RESTRICTED or NON_PUBLIC, as the most open of its sources */
    struct dcat_version *versions; /* newest first */
    size_t n, n_sources, n_current;
    bool has_bbox, series;
    double bbox[4];
    int64_t at; /* when something of it moved last */
    struct etag gens;
};
/* RC_NOT_FOUND when nothing public is in the collection. */
MUST_CHECK enum rc dcat_read(struct req *r, struct str collection, int64_t versions,
                             struct dcat_dataset *ret, struct err *err);

/* Who publishes, whom to ask. */
struct dcat_publisher {
    const char *iri, *name, *mail; /* mail with mailto: */
};
MUST_CHECK enum rc dcat_publisher(struct req *r, struct dcat_publisher *ret, struct err *err);

void dcat_graph_dataset(struct rdf *g, const struct dcat_dataset *d,
                        const struct dcat_publisher *p);
void dcat_graph_catalog(struct rdf *g, const struct dcat_publisher *p);
/* DCAT-US 1.1; only of a dataset that was modified once. */
void dcat_us_dataset(struct req *r, struct buf *out, const struct dcat_dataset *d,
                     const struct dcat_publisher *p);
void dcat_us3_dataset(struct req *r, struct buf *out, const struct dcat_dataset *d,
                      const struct dcat_publisher *p);
/* The address of a licence: its own, or that of its SPDX page; "" for a text that is neither. */
const char *dcat_license(struct arena *a, const char *license);
/* "POLYGON((...))" of a box. */
const char *dcat_wkt(struct arena *a, const double b[4]);

route_fn dcat_catalog, dcat_catalog_jsonld, dcat_catalog_turtle;
route_fn dcat_dataset, dcat_dataset_jsonld, dcat_dataset_turtle;
route_fn data_json;

#endif
