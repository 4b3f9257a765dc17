/* inspect_valid: is a geometry valid in the sense of OGC Simple Features, and if not, why? GEOS
 * says; what GEOS would not even take (open rings, too few vertices) is said here in its words. */
#ifndef FRESHET_HANDLER_INSPECT_VALID_H
#define FRESHET_HANDLER_INSPECT_VALID_H

#include "handler/inspect_geom.h"

#define VALID_REASON_MAX 64

struct valid;                  /* a GEOS context */
struct valid *valid_new(void); /* NULL: no memory */
void valid_free(struct valid **v);

struct valid_fault {
    char reason[VALID_REASON_MAX]; /* "Self-intersection"; words of GEOS, never of the data */
    bool has_at;
    double at[2];
};
/* True: valid, or empty. */
bool valid_check(struct valid *v, const struct geom *g, struct valid_fault *ret);

#endif
