/* compose: statements whose shape depends on a request (searches with filters). Private to ledger/.
 *
 *   compose_init(&c, arena);
 *   compose_sql(&c, "SELECT doc FROM public_items WHERE title = ");
 *   compose_text(&c, title);
 *   TRY(compose_open(l, &c, &q, err));   // then query_next, query_close
 *
 * Invariants
 *   1. SQL text is made of literals of this room only; what a request holds is always bound.
 *   2. Statements are kept by their text, so that the same shape with other values is
 *      prepared once.
 *   3. Role and authorizer of the handle apply as to every other statement.
 */
#ifndef FRESHET_LEDGER_COMPOSE_H
#define FRESHET_LEDGER_COMPOSE_H

#include "core/place.h"
#include "ledger/query.h"

#define COMPOSE_SQL_MAX (256u << 10) /* 2,000 parts of a filter with some words each */
#define COMPOSE_ARGS_MAX 8000        /* below SQLite's own 32,766 */

struct compose_arg {
    enum { ARG_INT, ARG_REAL, ARG_TEXT, ARG_GEOM, ARG_COUNTER } kind;
    int64_t i;
    double d;
    struct str s;
    const struct place *g;
    int64_t *n;
};
struct compose {
    struct arena *a;
    char *sql;
    size_t len, room;
    struct compose_arg *args;
    size_t n, args_room;
    enum rc rc; /* the first failure sticks */
};

void compose_init(struct compose *c, struct arena *a);
/* A literal, or a word from a table of this room. Never a value. */
void compose_sql(struct compose *c, const char *words);
/* Each adds a parameter and its value; texts and geometries must outlive the query. */
void compose_int(struct compose *c, int64_t v);
void compose_real(struct compose *c, double v);
void compose_text(struct compose *c, struct str v);
void compose_geom(struct compose *c, const struct place *g);
/* For tally: *n is what is counted to. */
void compose_counter(struct compose *c, int64_t *n);
MUST_CHECK enum rc compose_open(struct ledger *l, const struct compose *c, struct query *ret,
                                struct err *err);

/* The functions that composed statements use: geom_meets(west, south, east, north, geometry),
 * has_words(text, words), and tally(counter, row), which is true and counts how often it was asked.
 * Called by ledger_open and ledger_close. */
MUST_CHECK enum rc compose_setup(struct ledger *l, struct err *err);
void compose_teardown(struct ledger *l);

#endif
