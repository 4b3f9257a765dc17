/* put: writers of JSON, straight into a buffer, for answers that are too many or too large to be
 * built as documents first.
 *
 * Invariants
 *   1. A comma stands where the one before it ends: nobody counts.
 *   2. Members come in the order called. Keys, rel, base and path are ours and need no escapes;
 *      values get them.
 */
#ifndef FRESHET_API_PUT_H
#define FRESHET_API_PUT_H

#include "core/json.h"

/* A member: `"key":` alone, or with its value. */
void put_key(struct buf *b, const char *key);
/* `{` of an object, with a comma in front where one was before it; the caller closes it. */
void put_object(struct buf *b);
void put_text(struct buf *b, const char *key, const char *value); /* NULL or "": null */
void put_time(struct buf *b, const char *key, int64_t at);        /* -1: null */
void put_number(struct buf *b, const char *key, int64_t v);
/* Digits alone; for what is written a hundred times per answer, printf is too slow. */
void put_digits(struct buf *b, int64_t v);
/* A link object {"rel":...,"href":base path,"type":"application/json"} with a comma where due. */
void put_link(struct buf *b, const char *rel, struct str base, const char *path);

#endif
