/* embedded: files carried inside a program, written by build-aux/embed. */
#ifndef FRESHET_CORE_EMBEDDED_H
#define FRESHET_CORE_EMBEDDED_H

#include <stddef.h>

struct embedded {
    const char *name; /* base name; NULL ends the list */
    const char *text; /* NUL-terminated */
    size_t len;
};

extern const struct embedded schema_files[];    /* ledger/schema, in number order */
extern const struct embedded schemas_files[];   /* schemas/, by name */
extern const struct embedded templates_files[]; /* nginx templates */

#endif
