/* export: the public catalog as a tree of files: STAC, DCAT, PROV, the feed.
 *
 *   catalog.json  catalogs/  collections/{c}/collection.json, items/, years/   STAC, links relative
 *   dcat/catalog.jsonld, .ttl, datasets/{c}.jsonld, .ttl    data.json          DCAT 3, DCAT-US
 *   prov/{run}.json, .jsonld, .ttl   deltas/{d}.json   changes.ndjson          evidence, the feed
 *   index.html
 *
 * Invariants
 *   1. Every document is an answer of the route table, read through a handle that sees public rows
 *      only: what the api may not show cannot be in the tree.
 *   2. The same rows make the same bytes: nothing of the clock, the machine or the order of work is
 *      in them. All is read in one transaction.
 *   3. The folder appears, or is exchanged, when all of it is on disk; what was there before stays
 *      until then. A folder that is neither empty nor an export is not touched.
 *   4. Every link within the tree is relative and has its file; the others lead to the instance
 *      (assets, and the identifiers of RDF), and are absolute.
 */
#ifndef FRESHET_CLI_EXPORT_H
#define FRESHET_CLI_EXPORT_H

#include "core/instance.h"
#include "ledger/ledger.h"

struct export_counts {
    int64_t collections, items, provenance, deltas, changes, files, bytes;
};
typedef void export_fn(void *ctx, int64_t items, int64_t total);

/* base: in front of links that leave the tree, without a slash at its end. fn is told how far
 * it is. */
MUST_CHECK enum rc export_tree(const struct instance *inst, const char *dir, struct str base,
                               export_fn *fn, void *ctx, struct export_counts *ret,
                               struct err *err);

/* The file of an address of the api ("/stac/collections/c" → "collections/c/collection.json"), or
 * false when it has none. Pure, tested on its own. */
#define EXPORT_PATH_MAX 512
bool export_file_of(struct str path, char ret[EXPORT_PATH_MAX]);

#endif
