/* query: how this room runs the statements of statements.def. Private to ledger/.
 *
 *   CLEANUP(query_close) struct query q = {0};
 *   TRY(query_open(l, Q_SOURCE_BY_ID, &q, err, "t", id));
 *   while ((rc = query_next(l, &q, err)) == RC_OK) ... col_i64(&q, 0) ...
 *   // RC_NOT_FOUND is the end of the rows
 *
 * Parameter letters: i int64_t · t const char* (NULL is NULL) · s struct str · h struct sha256*
 * (NULL is NULL) · m int64_t time, -1 is NULL · o int64_t, INT64_MIN is NULL · d double
 *
 * Texts and digests are copied by query_open, which may be stepped later; query_run and query_i64
 * use them where they are.
 *
 * Invariants
 *   1. Statements are prepared once per connection and reset when the query is closed, so no read
 *      transaction outlives its query, but that of ledger_read_begin.
 *   2. A statement above the handle's role is refused before SQLite sees it.
 */
#ifndef FRESHET_LEDGER_QUERY_H
#define FRESHET_LEDGER_QUERY_H

#include <sqlite3.h>
#include "ledger/ledger.h"

#define LEDGER_BUSY_MS 10000 /* only tools from outside can make us wait: ours hold ledger.lock */

/* Filters of the feed. Parameters 3 to 13 are those of CHANGE_FILTER, NULL where nothing is asked;
 * 14 to 29 a list of sources or collections, of which unused ones are NULL and match nothing. */
#define CHANGE_LIST                                                                                \
    "(?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)"
#define CHANGE_LIST_FIRST 14
#define CHANGE_FILTER                                                                              \
    " AND (?3 IS NULL OR instr(?3, ',' || collection || ','))"                                     \
    " AND (?4 IS NULL OR instr(?4, ',' || change_type || ','))"                                    \
    " AND (?5 IS NULL OR instr(?5, ',' || change_class || ','))"                                   \
    " AND (?6 IS NULL OR instr(?6, ',' || detector || ','))"                                       \
    " AND (?7 IS NULL OR finalized_at >= ?7) AND (?8 IS NULL OR finalized_at <= ?8)"               \
    " AND (?9 IS NULL OR unexpected = ?9) AND (?10 IS NULL OR (south <= ?13 AND north >= ?11"      \
    " AND CASE WHEN ?10 <= ?12 THEN west <= ?12 AND east >= ?10"                                   \
    " ELSE west <= ?12 OR east >= ?10 END))"

/* An item i with the ids of the newest and of the next version of its source. Most are the newest
 * themselves, so the next is seldom looked for. */
#define ITEM_COLUMNS                                                                               \
    "SELECT doc, gen, at, i.item_id, i.collection, h.item_id, CASE WHEN h.version > i.version"     \
    " THEN (SELECT n.item_id FROM public_items n WHERE n.src_no = i.src_no AND"                    \
    " n.version > i.version ORDER BY n.version LIMIT 1) END"
#define ITEM_HEAD " LEFT JOIN public_heads h ON h.src_no = i.src_no"

enum stmt_id {
#define X(name, role, sql) Q_##name,
#include "ledger/statements.def"
#undef X
    Q_COUNT
};

struct ledger {
    sqlite3 *db;
    enum ledger_role role;
    sha256_fn *hash;
    int lock_fd; /* ledger.lock, -1 for readers */
    bool in_tx, reading;
    bool group;         /* a group is open: what in_tx tells is one of its transactions */
    bool withdraws;     /* this transaction takes something from the public: see slots.h */
    int wal_pages;      /* after the last commit */
    int64_t generation; /* that this transaction's public rows carry; 0 before it touched one */
    int64_t replay_seq; /* newest row of the replay log; -1 before this transaction has read it */
    struct sha256 replay_hash;
    const struct replay_row *script; /* while a log is replayed: the row that must be written now */
    bool scripted;                   /* it was */
    sqlite3_stmt *stmts[Q_COUNT];
    struct composed *composed; /* compose.c: statements made while running, by their text */
};

struct query {
    sqlite3_stmt *s;
    bool own; /* a second copy, because the cached one was busy */
};

MUST_CHECK enum rc query_open(struct ledger *l, enum stmt_id id, struct query *ret, struct err *err,
                              const char *types, ...);
/* Binds a list to the parameters first … first + max - 1, NULL where the list is shorter. */
void query_bind_list(struct query *q, int first, int max, const struct str *list, size_t n);
/* RC_OK: a row. RC_NOT_FOUND: no more (err is not set). */
MUST_CHECK enum rc query_next(struct ledger *l, struct query *q, struct err *err);
void query_close(struct query *q);
/* Key of the row that was inserted last. */
int64_t query_last_no(const struct ledger *l);
/* Runs a statement without rows. */
MUST_CHECK enum rc query_run(struct ledger *l, enum stmt_id id, struct err *err, const char *types,
                             ...);
/* First column of the first row as a number; RC_NOT_FOUND without a row. */
MUST_CHECK enum rc query_i64(struct ledger *l, enum stmt_id id, int64_t *ret, struct err *err,
                             const char *types, ...);
/* SQLite's own words as an error. */
enum rc query_error(struct ledger *l, struct err *err, const char *doing);
/* A write outside a transaction is a mistake of ours. */
MUST_CHECK enum rc ledger_need_tx(const struct ledger *l, struct err *err);
/* Reads a row that begins with the columns of SOURCE_BY_NO. source.c */
#define SOURCE_COLUMNS 8
struct source;
MUST_CHECK enum rc source_from_row(struct arena *a, const struct query *q, struct source *ret,
                                   struct err *err);
/* The generation that rows of this transaction carry. */
MUST_CHECK enum rc ledger_generation(struct ledger *l, int64_t now, int64_t *ret, struct err *err);

int64_t col_i64(const struct query *q, int i);  /* NULL → 0 */
int64_t col_time(const struct query *q, int i); /* NULL → -1 */
double col_num(const struct query *q, int i);
bool col_null(const struct query *q, int i);
struct str col_view(const struct query *q, int i); /* valid until the next step */
const char *col_text(struct arena *a, const struct query *q,
                     int i); /* NULL → ""; NULL on no memory */
struct str col_str(struct arena *a, const struct query *q, int i);
void col_copy(const struct query *q, int i, char *out, size_t n); /* cut to fit */
bool col_sha(const struct query *q, int i, struct sha256 *ret);   /* false when NULL */

#endif
