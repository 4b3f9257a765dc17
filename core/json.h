/* json: yyjson on the arena. All JSON read or written goes through here.
 *
 * Reading: json_parse, then yyjson's own getters or the checked ones below, which name the field
 * in their error. Writing: json_doc, yyjson_mut_* in the order the document shall have (the order
 * of insertion is the order of output, so goldens are bytes), json_write.
 *
 * Documents that we store carry absolute links as JSON_BASE "/path": a mark that no validated
 * input can hold (U+001F is refused everywhere), replaced by the public base URL on the way out
 * (json_put_based). So a stored document is valid JSON and does not know where it is served.
 *
 * Invariants
 *   1. Foreign JSON is bounded: size (JSON_MAX), depth (JSON_DEPTH_MAX) and valid UTF-8.
 *   2. json_canon is RFC 8785: same value, same bytes. Digests of JSON are over this form only.
 */
#ifndef FRESHET_CORE_JSON_H
#define FRESHET_CORE_JSON_H

#include <yyjson.h>
#include "core/arena.h"
#include "core/buf.h"
#include "core/rc.h"

#define JSON_MAX (64u << 20) /* no configuration or metadata document is larger */
#define JSON_DEPTH_MAX 64    /* deeper nesting is an attack, not data */
#define JSON_BASE "\x1f"     /* the mark of the public base URL, inside C strings */

/* Parses text into *ret (arena memory). `what` names the document in errors ("sources.json").
 * flags: 0 for strict JSON, JSON_RELAXED also takes comments and trailing commas (settings). */
#define JSON_RELAXED 1u
MUST_CHECK enum rc json_parse(struct arena *a, struct str text, unsigned flags, const char *what,
                              yyjson_val **ret, struct err *err);
MUST_CHECK enum rc json_parse_file(struct arena *a, const char *path, unsigned flags,
                                   yyjson_val **ret, struct err *err);

/* Checked getters of an object's member. A missing or null member leaves *ret untouched and is
 * RC_OK; a member of another type is RC_INVALID naming it. Strings are refused when they hold
 * control characters. */
MUST_CHECK enum rc json_get_str(yyjson_val *obj, const char *key, const char **ret,
                                struct err *err);
MUST_CHECK enum rc json_get_i64(yyjson_val *obj, const char *key, int64_t min, int64_t max,
                                int64_t *ret, struct err *err);
MUST_CHECK enum rc json_get_num(yyjson_val *obj, const char *key, double *ret, struct err *err);
MUST_CHECK enum rc json_get_bool(yyjson_val *obj, const char *key, bool *ret, struct err *err);
/* The same for a value at hand, which `key` names in errors; nothing is taken for missing. */
MUST_CHECK enum rc json_read_str(yyjson_val *v, const char *key, const char **ret, struct err *err);
MUST_CHECK enum rc json_read_i64(yyjson_val *v, const char *key, int64_t min, int64_t max,
                                 int64_t *ret, struct err *err);

/* The text of a string value, "" for anything else and for NULL. */
static inline struct str json_text(yyjson_val *v)
{
    return yyjson_is_str(v) ? (struct str){yyjson_get_str(v), yyjson_get_len(v)} : STR("");
}

/* The same of an object's member, as a C string: cut at its first NUL, should it hold one. */
static inline const char *json_member_text(yyjson_val *obj, const char *key)
{
    const char *s = yyjson_get_str(yyjson_obj_get(obj, key));
    return s ? s : "";
}

/* A new document on the arena; NULL when memory ran out (yyjson_mut_* accept NULL and pass it on,
 * so json_write is the one place to check). */
yyjson_mut_doc *json_doc(struct arena *a);
/* Adds key: string (copied), or null when s is NULL. key must outlive the document (a literal). */
void json_add_str(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, const char *s);
/* Adds key: a number, or null when n < 0. */
void json_add_count(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, int64_t n);
/* Adds key: RFC 3339 time, or null when at_ms < 0. */
void json_add_time(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, int64_t at_ms);
/* Adds key: a document rendered before, as it is. */
void json_add_raw(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, struct str json);
/* A printf'd string value. */
yyjson_mut_val *json_fmt(yyjson_mut_doc *d, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* RC_NOMEM when d is NULL or any allocation for it has failed, so that members may be missing.
 * json_write asks this itself; whoever takes the values another way (json_canon_mut) asks first. */
MUST_CHECK enum rc json_doc_rc(const yyjson_mut_doc *d);

/* Compact, or with JSON_PRETTY two-space indented and a newline at the end. Arena memory. */
#define JSON_PRETTY 1u
MUST_CHECK enum rc json_write(struct arena *a, const yyjson_mut_doc *d, unsigned flags,
                              struct str *ret, struct err *err);
/* The document as json_parse would give it back, without the text between: for values that were
 * checked before, as nothing is looked at here. Arena memory; NULL when that ran out. */
yyjson_val *json_fixed(struct arena *a, yyjson_mut_doc *d);
/* RFC 8785 canonical form of a parsed value, appended to out. */
MUST_CHECK enum rc json_canon(struct buf *out, yyjson_val *v, struct err *err);
/* Same for one being built. */
MUST_CHECK enum rc json_canon_mut(struct buf *out, yyjson_mut_val *v, struct err *err);
/* ECMAScript number form, as RFC 8785 wants; out has at least 32 bytes. False for NaN and Inf. */
bool json_number(double v, char out[32]);

/* A number or a boolean as text, whole numbers with all their digits. False for anything else. */
bool json_scalar(yyjson_val *v, char out[32]);

/* Appends s as a JSON string with its quotes; what is not UTF-8 becomes U+FFFD. */
void json_put_str(struct buf *out, struct str s);
/* Appends a stored document with every base mark (escaped by JSON as \u001F) replaced. */
void json_put_based(struct buf *out, struct str doc, struct str base);

#endif
