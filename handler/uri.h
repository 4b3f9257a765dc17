/* uri: how the address of a source appears in documents.
 *
 * Invariants
 *   1. (I12) No user-info, no fragment, no query parameter that carries a credential.
 */
#ifndef FRESHET_HANDLER_URI_H
#define FRESHET_HANDLER_URI_H

#include "core/arena.h"

/* The address as it may be stored and shown; NULL when memory ran out. */
char *uri_shown(struct arena *a, const char *url);
/* Scheme and host alone: "https://data.example.org/". */
char *uri_host_only(struct arena *a, const char *url);

#endif
