/* inspect_attributes: the attributes of one feature in their normal form: canonical JSON, sorted by
 * name, null values left out. Readers add values in any order. */
#ifndef FRESHET_HANDLER_INSPECT_ATTRIBUTES_H
#define FRESHET_HANDLER_INSPECT_ATTRIBUTES_H

#include "core/buf.h"
#include "core/json.h"

#define ATTRIBUTES_MAX (256u << 20) /* bytes of one feature */

struct attributes {
    struct buf text; /* "name":value, one behind the other */
    struct buf out;
    struct attribute {
        size_t at, name, len; /* in text: where, length of the name, of all */
    } * list;
    size_t n, room;
};

void attributes_init(struct attributes *a);
void attributes_clear(struct attributes *a);
void attributes_release(struct attributes *a);

/* A JSON value; null is left out. RC_INVALID when it has no canonical form. */
MUST_CHECK enum rc attributes_json(struct attributes *a, struct str name, yyjson_val *v,
                                   struct err *err);
void attributes_text(struct attributes *a, struct str name, struct str value);
void attributes_number(struct attributes *a, struct str name, double v);
void attributes_integer(struct attributes *a, struct str name, int64_t v);
/* JSON rendered by the caller, canonical. */
void attributes_raw(struct attributes *a, struct str name, struct str json);
/* False when memory ran out. *ret is valid until the next clear. */
bool attributes_finish(struct attributes *a, struct str *ret);

/* A value as the text of a feature key: at most INSPECT_KEY_MAX bytes, longer ones by their digest.
 * False for null, lists and objects. */
bool attributes_key(yyjson_val *v, char out[]);
bool attributes_key_text(struct str text, char out[]);

#endif
