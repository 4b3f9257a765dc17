/* import_rows: see the header. A ring of batches: the thread fills the one after the last full one,
 * the caller empties the oldest; each waits when there is none for it. */
#include "cli/import_rows.h"
#include "cli/source_put.h"

#include <pthread.h>
#include <signal.h>
#include "handler/project.h"

#define BATCHES 3               /* one filled, one emptied, one between */
#define BATCH_ROWS 256          /* enough that handing over costs nothing */
#define BATCH_MEMORY (4u << 20) /* a batch with long rows ends earlier */

struct batch {
    struct arena arena; /* all that its rows need */
    size_t n;
    struct import_row rows[BATCH_ROWS];
};

struct import_rows {
    struct import_file file;
    yyjson_arr_iter at; /* JSON: the next row */
    int64_t place;
    size_t next; /* row of the batch being emptied */
    pthread_t thread;
    pthread_mutex_t mutex; /* of the counts and flags */
    pthread_cond_t moved;
    uint64_t filled, emptied;
    bool ended, stop;
    struct batch batches[BATCHES];
};

/* ---- CSV ------------------------------------------------------------------------------------- */

static bool is_text_field(const char *name)
{
    static const char *const names[] = {
#define TEXT(name, required, longest) #name,
#define NUMBER(name, def, min, max)
#define OTHER(name)
#include "ledger/source_fields.def"
#undef TEXT
#undef NUMBER
#undef OTHER
    };
    return str_is_one_of(str_of(name), names, ARRAY_LEN(names));
}

/* A cell is JSON where that is what its field wants; else it is text, and the field says what it is
 * not. What begins as a list or an object is meant as one. */
static enum rc cell_value(struct arena *a, yyjson_mut_doc *d, const char *name, const char *cell,
                          yyjson_mut_val **ret, struct err *err)
{
    yyjson_val *v = NULL;
    struct err why;
    bool text = is_text_field(name);
    enum rc rc = text ? RC_INVALID : json_parse(a, str_of(cell), 0, "the cell", &v, &why);
    if (rc == RC_OK) {
        *ret = yyjson_val_mut_copy(d, v);
        return RC_OK;
    }
    size_t blanks = strspn(cell, " \t");
    if (!text && (cell[blanks] == '[' || cell[blanks] == '{'))
        return err_set(err, RC_INVALID, name, "%s", why.msg);
    *ret = yyjson_mut_strcpy(d, cell);
    return RC_OK;
}

/* The column that is not UTF-8 in its cell, or "" where its name is not; NULL: all are. */
static const char *not_utf8(const struct csv_record *head, const struct csv_record *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (!str_is_utf8(str_of(head->fields[i])))
            return "";
        else if (!str_is_utf8(str_of(r->fields[i])))
            return head->fields[i];
    return NULL;
}

/* Half a row is half a file: what is left of an address may be one, and of no level at all. */
static enum rc declaration(struct arena *a, const struct csv_record *head,
                           const struct csv_record *r, yyjson_val **ret, struct err *err)
{
    if (r->n != head->n)
        return err_set(err, RC_INVALID, "", "has %zu cell%s, but the header row has %zu", r->n,
                       r->n == 1 ? "" : "s", head->n);
    const char *broken = not_utf8(head, r);
    if (broken)
        return err_set(err, RC_INVALID, broken, "is not UTF-8: save the file in that encoding");
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    for (size_t i = 0; i < r->n; i++) {
        yyjson_mut_val *v = NULL;
        if (!*r->fields[i])
            continue;
        TRY(cell_value(a, d, head->fields[i], r->fields[i], &v, err));
        yyjson_mut_obj_add(o, yyjson_mut_strcpy(d, head->fields[i]), v);
    }
    yyjson_val *decl = json_fixed(a, d);
    if (!decl)
        return err_set(err, RC_NOMEM, "", "no memory for a row of the file");
    *ret = decl;
    return RC_OK;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* RC_NOT_FOUND: there is no further row. A broken CSV has none either: its error is the
 * last row. */
static enum rc next_declaration(struct import_rows *r, struct arena *a, yyjson_val **ret,
                                struct err *err)
{
    struct csv_record record;
    if (!r->file.head) {
        yyjson_val *v = yyjson_arr_iter_next(&r->at);
        if (!v)
            return RC_NOT_FOUND;
        r->place++;
        *ret = v;
        return RC_OK;
    }
    enum rc rc = csv_next(&r->file.csv, a, &record, err);
    r->place = r->file.csv.at;
    if (rc == RC_INVALID)
        r->file.csv.rest.n = 0;
    TRY(rc);
    return declaration(a, r->file.head, &record, ret, err);
}

/* False at the end. */
static bool read_row(struct import_rows *r, struct arena *a, struct import_row *row)
{
    yyjson_val *decl = NULL;
    row->err = (struct err){.rc = RC_OK};
    enum rc rc = next_declaration(r, a, &decl, &row->err);
    if (rc == RC_NOT_FOUND)
        return false;
    row->place = r->place;
    if (rc == RC_OK)
        rc = source_parse(a, decl, &row->source, &row->err);
    if (rc == RC_OK)
        rc = source_check_adapter(&row->source, &row->err);
    if (rc == RC_OK)
        rc = project_describe(a, r->file.inst, &row->source, &row->doc, &row->err);
    row->err.rc = rc;
    return true;
}

static bool fill(struct import_rows *r, struct batch *b)
{
    arena_reset(&b->arena);
    for (b->n = 0; b->n < BATCH_ROWS && b->arena.used < BATCH_MEMORY; b->n++)
        if (!read_row(r, &b->arena, &b->rows[b->n]))
            return false;
    return true;
}

static void *work(void *ctx)
{
    struct import_rows *r = ctx;
    pthread_mutex_lock(&r->mutex);
    while (!r->ended) {
        while (!r->stop && r->filled - r->emptied == BATCHES)
            pthread_cond_wait(&r->moved, &r->mutex);
        if (r->stop)
            break;
        pthread_mutex_unlock(&r->mutex);
        bool more = fill(r, &r->batches[r->filled % BATCHES]);
        pthread_mutex_lock(&r->mutex);
        r->ended = !more;
        r->filled++;
        pthread_cond_broadcast(&r->moved);
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

/* ---- the caller ------------------------------------------------------------------------------ */

/* Signals are for the caller. */
static int start_thread(struct import_rows *r)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&r->thread, NULL, work, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

enum rc import_rows_open(const struct import_file *file, struct import_rows **ret, struct err *err)
{
    struct import_rows *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(err, RC_NOMEM, "", "no memory to read the file");
    r->file = *file;
    r->place = -1;
    if (!file->head)
        yyjson_arr_iter_init(file->list, &r->at);
    for (size_t i = 0; i < BATCHES; i++)
        arena_init(&r->batches[i].arena, BATCH_MEMORY + SOURCE_CHANGE_MEMORY_MAX);
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->moved, NULL);
    int failed = start_thread(r);
    if (failed) {
        free(r);
        return err_set(err, RC_NOMEM, "", "no thread to read the file: %s", strerror(failed));
    }
    *ret = r;
    return RC_OK;
}

/* The oldest full batch, NULL when none will come; the one that was emptied goes back. */
static struct batch *next_batch(struct import_rows *r, bool emptied)
{
    pthread_mutex_lock(&r->mutex);
    if (emptied) {
        r->emptied++;
        r->next = 0;
        pthread_cond_broadcast(&r->moved);
    }
    while (r->filled == r->emptied && !r->ended)
        pthread_cond_wait(&r->moved, &r->mutex);
    bool none = r->filled == r->emptied;
    pthread_mutex_unlock(&r->mutex);
    return none ? NULL : &r->batches[r->emptied % BATCHES];
}

bool import_rows_next(struct import_rows *r, struct import_row **ret)
{
    /* A batch with no rows is the last one. */
    struct batch *b = r->next ? &r->batches[r->emptied % BATCHES] : next_batch(r, false);
    if (b && r->next == b->n && b->n > 0)
        b = next_batch(r, true);
    if (!b || b->n == 0)
        return false;
    *ret = &b->rows[r->next++];
    return true;
}

void import_rows_close(struct import_rows **rp)
{
    struct import_rows *r = *rp;
    if (!r)
        return;
    pthread_mutex_lock(&r->mutex);
    r->stop = true;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->mutex);
    pthread_join(r->thread, NULL);
    pthread_cond_destroy(&r->moved);
    pthread_mutex_destroy(&r->mutex);
    for (size_t i = 0; i < BATCHES; i++)
        arena_release(&r->batches[i].arena);
    free(r);
    *rp = NULL;
}
