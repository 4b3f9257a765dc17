/* cql2: OGC CQL2 filters, from text or JSON to one tree.
 *
 * The whole grammar is read: what a server cannot answer (a function it does not have) is refused
 * by who evaluates (ledger/item_filter.c), with a name, not by the parser as a mistake of syntax.
 *
 * Invariants
 *   1. Length, depth and number of nodes are bounded; hostile input costs what honest input
 *      may cost.
 *   2. The same filter as text and as JSON gives the same tree (cql2_put shows it).
 *   3. Names of operators and of the standard's functions are lower case in the tree.
 * Pure. Called by the api and by tests.
 */
#ifndef FRESHET_CORE_CQL2_H
#define FRESHET_CORE_CQL2_H

#include "core/place.h"

#define CQL2_TEXT_MAX 65536 /* bytes of text; a query string is shorter anyway */
#define CQL2_DEPTH_MAX 32   /* of parentheses, NOT and arguments */
#define CQL2_NODES_MAX 2000

enum cql2_kind {
    CQL2_OP,       /* name: and or not = <> < > <= >= like between in isnull + - * / % ^ div */
    CQL2_FUNCTION, /* name: s_intersects, t_after, casei, ... */
    CQL2_PROPERTY, /* text */
    CQL2_TEXT,     /* text */
    CQL2_NUMBER,
    CQL2_BOOL,
    CQL2_TIMESTAMP, /* at */
    CQL2_DATE,      /* at: its midnight */
    CQL2_INTERVAL,  /* two of: TIMESTAMP, DATE, PROPERTY, OPEN, function */
    CQL2_OPEN,      /* .. */
    CQL2_GEOMETRY,
    CQL2_LIST
};

struct cql2 {
    enum cql2_kind kind;
    const char *name;
    struct str text;
    double number;
    bool flag;
    int64_t at;
    const struct place *geom;
    struct cql2 **args;
    size_t n;
};

MUST_CHECK enum rc cql2_from_text(struct arena *a, struct str text, struct cql2 **ret,
                                  struct err *err);
MUST_CHECK enum rc cql2_from_json(struct arena *a, yyjson_val *v, struct cql2 **ret,
                                  struct err *err);
/* One form for one tree: (and (= city "Toronto") ...). */
void cql2_put(struct buf *out, const struct cql2 *q);
bool cql2_is(const struct cql2 *q, const char *name); /* an OP or FUNCTION of this name */

/* ---- for the two parsers (cql2.c) ------------------------------------------------------------ */

struct cql2_build {
    struct arena *a;
    size_t nodes;
    struct err *err;
};
#define CQL2_FIELD "filter" /* what errors name */
MUST_CHECK enum rc cql2_node(struct cql2_build *b, enum cql2_kind kind, const char *name,
                             struct cql2 **ret);
MUST_CHECK enum rc cql2_arg(struct cql2_build *b, struct cql2 *to, struct cql2 *arg);
/* "2026-07-02T10:00:00Z", or a date alone where date; '..' makes OPEN where open. */
MUST_CHECK enum rc cql2_time(struct cql2_build *b, struct str s, enum cql2_kind kind,
                             struct cql2 **ret);
MUST_CHECK enum rc cql2_interval_end(struct cql2_build *b, struct str s, struct cql2 **ret);
/* The top of a filter must be something that is true or false; operators have their arguments. */
MUST_CHECK enum rc cql2_check(const struct cql2 *q, struct err *err);

#endif
