/* csv: reads RFC 4180 text record by record. Pure; bounded by its input. */
#ifndef FRESHET_CORE_CSV_H
#define FRESHET_CORE_CSV_H

#include "core/arena.h"

#define CSV_FIELDS_MAX 64 /* twice the fields of a declaration; more than any index has */

struct csv {
    struct str rest;
    int64_t line; /* of the next record, from 1 */
    int64_t at;   /* line where the record read last began */
};
struct csv_record {
    const char *fields[CSV_FIELDS_MAX];
    size_t n;
};

/* text may begin with a byte order mark; CRLF and LF both end a record. */
void csv_open(struct csv *c, struct str text);
/* Next record that is not blank; RC_NOT_FOUND at the end, RC_INVALID when it is broken. */
MUST_CHECK enum rc csv_next(struct csv *c, struct arena *a, struct csv_record *ret,
                            struct err *err);

#endif
