/* rdf: a small graph of triples, and its two writers. Whoever makes a document says triples; Turtle
 * and JSON-LD come from the same ones.
 *
 * Invariants
 *   1. The two writers write the same graph: triples are sorted and doubles dropped once,
 *      before writing.
 *   2. Whatever a title or an address holds, the output parses: IRIs are percent-encoded where RFC
 *      3987 wants it when they enter the graph, literals are escaped when they leave it.
 *   3. Same triples, same bytes.
 *   4. The first failure sticks (rdf_rc), so that a graph is built line by line and asked once.
 * Predicates, classes and datatypes are written as prefix:name of rdf_prefixes.def; subjects and
 * objects are whole IRIs, or _:name for blank nodes. Memory is of the arena. Called by dcat
 * and prov.
 */
#ifndef FRESHET_API_RDF_H
#define FRESHET_API_RDF_H

#include "core/arena.h"
#include "core/buf.h"
#include "core/rc.h"

#define RDF_TRIPLES_MAX 200000 /* of one document: some 30 MB */

enum rdf_kind { RDF_IRI, RDF_TEXT };
struct rdf_triple {
    const char *s, *p, *o;
    const char *type, *lang; /* of a literal; NULL: none */
    enum rdf_kind kind;
};
struct rdf {
    struct arena *a;
    struct str base; /* stands for the base mark in whatever is added */
    struct rdf_triple *t;
    size_t n, room;
    enum rc rc;
    bool sorted;
};

void rdf_init(struct rdf *g, struct arena *a, struct str base);
/* o is an IRI or a blank node. NULL or "" as s or o adds nothing, so that what is withheld is
 * left out. */
void rdf_link(struct rdf *g, const char *s, const char *p, const char *o);
void rdf_class(struct rdf *g, const char *s, const char *name); /* s a prefix:name */
/* A word of a vocabulary as object: prefix:name. */
void rdf_word(struct rdf *g, const char *s, const char *p, const char *name);
void rdf_text(struct rdf *g, const char *s, const char *p, const char *text);
void rdf_english(struct rdf *g, const char *s, const char *p, const char *text);
void rdf_typed(struct rdf *g, const char *s, const char *p, const char *text, const char *type);
/* A full IRI as predicate, for what a document brings with it. */
void rdf_text_under(struct rdf *g, const char *s, const char *iri, const char *text,
                    const char *type_iri);
/* The same for a link. */
void rdf_link_under(struct rdf *g, const char *s, const char *iri, const char *o);
/* The IRI of prefix:name; NULL when the prefix is unknown. */
const char *rdf_iri(struct rdf *g, const char *curie);
MUST_CHECK enum rc rdf_rc(const struct rdf *g, struct err *err);

void rdf_write_turtle(struct rdf *g, struct buf *out);
void rdf_write_jsonld(struct rdf *g, struct buf *out);

/* For the writers: prefix:name of an IRI where there is one; false: none. */
bool rdf_shorten(const char *iri, struct str *ret_prefix, struct str *ret_name);
struct rdf_prefix {
    const char *name, *iri;
};
extern const struct rdf_prefix rdf_prefixes[];
extern const size_t rdf_prefixes_n;
/* Sorts and drops doubles; the writers call it. */
void rdf_settle(struct rdf *g);

#endif
