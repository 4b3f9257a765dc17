/* compose: building, keeping and binding statements that depend on a request, and the SQL
 * functions they use. */
#include "ledger/compose.h"

#include <stdlib.h>

#define KEPT 24 /* shapes in use at one time; a prepared one is some KiB */

struct composed {
    struct {
        char *sql;
        sqlite3_stmt *s;
        uint64_t used;
    } kept[KEPT];
    uint64_t clock;
};

/* ---- building -------------------------------------------------------------------------------- */

void compose_init(struct compose *c, struct arena *a)
{
    *c = (struct compose){.a = a};
}

static void *more(struct compose *c, void *p, size_t *room, size_t need, size_t each, size_t max)
{
    size_t want = *room ? *room : 64;
    while (want < need)
        want *= 2;
    if (need <= *room)
        return p;
    void *wider = need > max ? NULL : arena_resize(c->a, p, *room * each, want * each);
    if (!wider)
        c->rc = need > max ? RC_TOO_LARGE : RC_NOMEM;
    else
        *room = want;
    return wider;
}

void compose_sql(struct compose *c, const char *words)
{
    size_t n = strlen(words);
    if (c->rc != RC_OK)
        return;
    char *sql = more(c, c->sql, &c->room, c->len + n + 1, 1, COMPOSE_SQL_MAX);
    if (!sql)
        return;
    c->sql = sql;
    memcpy(c->sql + c->len, words, n + 1);
    c->len += n;
}

static void add(struct compose *c, struct compose_arg arg)
{
    if (c->rc != RC_OK)
        return;
    struct compose_arg *args =
        more(c, c->args, &c->args_room, c->n + 1, sizeof *args, COMPOSE_ARGS_MAX);
    if (!args)
        return;
    c->args = args;
    c->args[c->n++] = arg;
    compose_sql(c, "?");
}

void compose_int(struct compose *c, int64_t v)
{
    add(c, (struct compose_arg){.kind = ARG_INT, .i = v});
}

void compose_real(struct compose *c, double v)
{
    add(c, (struct compose_arg){.kind = ARG_REAL, .d = v});
}

void compose_text(struct compose *c, struct str v)
{
    add(c, (struct compose_arg){.kind = ARG_TEXT, .s = v});
}

void compose_geom(struct compose *c, const struct place *g)
{
    add(c, (struct compose_arg){.kind = ARG_GEOM, .g = g});
}

void compose_counter(struct compose *c, int64_t *n)
{
    add(c, (struct compose_arg){.kind = ARG_COUNTER, .n = n});
}

/* ---- running --------------------------------------------------------------------------------- */

/* The kept statement with this text, or a free place for it: the one that was not used
 * for longest. */
static int find(struct composed *k, const char *sql, bool *ret_found)
{
    int oldest = -1;
    for (int i = 0; i < KEPT; i++) {
        bool busy = k->kept[i].s && sqlite3_stmt_busy(k->kept[i].s);
        if (busy)
            continue;
        if (k->kept[i].sql && strcmp(k->kept[i].sql, sql) == 0) {
            *ret_found = true;
            return i;
        }
        if (oldest < 0 || k->kept[i].used < k->kept[oldest].used)
            oldest = i;
    }
    *ret_found = false;
    return oldest;
}

static enum rc prepare(struct ledger *l, const char *sql, struct query *q, struct err *err)
{
    struct composed *k = l->composed;
    bool found;
    int at = find(k, sql, &found);
    if (at < 0)
        return err_set(err, RC_INTERNAL, "", "too many statements are open");
    if (!found) {
        sqlite3_finalize(k->kept[at].s);
        free(k->kept[at].sql);
        k->kept[at].s = NULL;
        k->kept[at].sql = strdup(sql);
        if (!k->kept[at].sql)
            return err_set(err, RC_NOMEM, "", "no memory for a statement");
        if (sqlite3_prepare_v3(l->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &k->kept[at].s, NULL) !=
            SQLITE_OK) {
            enum rc rc = query_error(l, err, "a search");
            free(k->kept[at].sql);
            k->kept[at].sql = NULL;
            return rc;
        }
    }
    k->kept[at].used = ++k->clock;
    *q = (struct query){.s = k->kept[at].s};
    return RC_OK;
}

static int bind(sqlite3_stmt *s, int at, const struct compose_arg *a)
{
    switch (a->kind) {
    case ARG_INT: return sqlite3_bind_int64(s, at, a->i);
    case ARG_REAL: return sqlite3_bind_double(s, at, a->d);
    case ARG_TEXT: return sqlite3_bind_text64(s, at, a->s.p, a->s.n, SQLITE_STATIC, SQLITE_UTF8);
    case ARG_GEOM: return sqlite3_bind_pointer(s, at, (void *)(uintptr_t)a->g, "geom", NULL);
    case ARG_COUNTER: return sqlite3_bind_pointer(s, at, a->n, "counter", NULL);
    }
    return SQLITE_MISUSE;
}

enum rc compose_open(struct ledger *l, const struct compose *c, struct query *ret, struct err *err)
{
    if (c->rc == RC_TOO_LARGE)
        return err_set(err, RC_INVALID, "filter", "is too long");
    if (c->rc != RC_OK)
        return err_set(err, c->rc, "", "no memory for a search");
    TRY(prepare(l, c->sql, ret, err));
    for (size_t i = 0; i < c->n; i++)
        if (bind(ret->s, (int)i + 1, &c->args[i]) != SQLITE_OK)
            return query_error(l, err, "a search");
    return RC_OK;
}

/* ---- functions ------------------------------------------------------------------------------- */

static void geom_meets(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    const struct place *g = sqlite3_value_pointer(v[4], "geom");
    double box[4];
    (void)n;
    if (!g || sqlite3_value_type(v[0]) == SQLITE_NULL)
        return; /* NULL */
    for (int i = 0; i < 4; i++)
        box[i] = sqlite3_value_double(v[i]);
    sqlite3_result_int(ctx, place_meets_box(g, box));
}

/* tally(counter, row): counts, and is true. */
static void tally(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    int64_t *counter = sqlite3_value_pointer(v[0], "counter");
    (void)n;
    if (counter)
        ++*counter;
    sqlite3_result_int(ctx, 1);
}

static unsigned char fold(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

static bool in_word(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80;
}

/* Do the words stand in the text, one after the other, as whole words? ASCII case does
 * not matter. */
static bool has_words(struct str text, struct str words)
{
    for (size_t i = 0; words.n && i + words.n <= text.n; i++) {
        size_t k = 0;
        while (k < words.n && fold((unsigned char)text.p[i + k]) == fold((unsigned char)words.p[k]))
            k++;
        bool begins = i == 0 || !in_word((unsigned char)text.p[i - 1]);
        bool ends = i + k == text.n || !in_word((unsigned char)text.p[i + k]);
        if (k == words.n && begins && ends)
            return true;
    }
    return false;
}

static struct str value_str(sqlite3_value *v)
{
    const char *p = (const char *)sqlite3_value_text(v);
    return (struct str){p ? p : "", p ? (size_t)sqlite3_value_bytes(v) : 0};
}

static void call_has_words(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    sqlite3_result_int(ctx, has_words(value_str(v[0]), value_str(v[1])));
}

enum rc compose_setup(struct ledger *l, struct err *err)
{
    const int counts = SQLITE_UTF8 | SQLITE_DIRECTONLY, how = counts | SQLITE_DETERMINISTIC;
    l->composed = calloc(1, sizeof *l->composed);
    if (!l->composed)
        return err_set(err, RC_NOMEM, "", "no memory for the ledger handle");
    if (sqlite3_create_function(l->db, "geom_meets", 5, how, NULL, geom_meets, NULL, NULL) ||
        sqlite3_create_function(l->db, "has_words", 2, how, NULL, call_has_words, NULL, NULL) ||
        sqlite3_create_function(l->db, "tally", 2, counts, NULL, tally, NULL, NULL))
        return query_error(l, err, "functions");
    return RC_OK;
}

void compose_teardown(struct ledger *l)
{
    for (int i = 0; l->composed && i < KEPT; i++) {
        sqlite3_finalize(l->composed->kept[i].s);
        free(l->composed->kept[i].sql);
    }
    free(l->composed);
    l->composed = NULL;
}
