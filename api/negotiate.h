/* negotiate: which representation a client gets, from f= or Accept (RFC 9110), over the table of
 * what an address has.
 *
 * Invariants
 *   1. f= wins; what it may be is named when it is wrong (400).
 *   2. The most specific range that fits a type gives its quality; the highest quality wins, and
 *      among equals what stands first in the table. Nothing that fits, or only q=0: 406, with
 *      the list.
 *   3. A range with another value of a parameter of the type (version=3.0) is not this type.
 *   4. Accept is foreign bytes: what cannot be read of it is passed over.
 * Called by the routes that have more than one representation.
 */
#ifndef FRESHET_API_NEGOTIATE_H
#define FRESHET_API_NEGOTIATE_H

#include "api/http.h"

struct media {
    const char *name;         /* as in f= */
    const char *type;         /* as in Accept, with the parameters that tell it from others */
    const char *content_type; /* as in Content-Type */
};

/* The quality of type in an Accept header, in thousandths; an empty header takes all. */
int accept_quality(struct str accept, struct str type);
/* The same where Accept has the type itself, not only a range that it falls into; else 0. */
int accept_named(struct str accept, struct str type);
/* Sets w->content_type too. *ret: place in the table. */
MUST_CHECK enum rc negotiate(const struct req *r, struct resp *w, const struct media *table,
                             size_t n, size_t *ret, struct err *err);
/* Link headers to the other representations of an address without query; its path is ours. */
void link_alternates(struct resp *w, const struct req *r, const char *path,
                     const struct media *table, size_t n, size_t chosen);

#endif
