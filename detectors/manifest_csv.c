/* manifest_csv: a listing as a table. The first row names the columns. Pure.
 *
 * Invariants
 *   1. A row with another number of cells than the header is refused: half a row is half a file.
 */
#include "core/csv.h"
#include "detectors/manifest_page.h"

#define NO_COLUMN SIZE_MAX

static size_t column_named(const struct csv_record *head, struct str name, bool exact)
{
    for (size_t i = 0; i < head->n; i++) {
        struct str cell = str_trim(str_of(head->fields[i]));
        if (exact ? str_eq(cell, name) : str_ieq(cell, name))
            return i;
    }
    return NO_COLUMN;
}

static enum rc find_column(const struct manifest_page *p, const struct csv_record *head, size_t i,
                           size_t *ret, struct err *err)
{
    const char *wanted = manifest_name_told(p->options, i);
    struct str name;
    size_t at = NO_COLUMN;
    if (*wanted)
        at = column_named(head, str_of(wanted), true);
    if (*wanted && at == NO_COLUMN)
        return err_set(err, RC_INVALID, "manifest", "there is no column %.*s",
                       STR_CUT(wanted, 100));
    for (size_t nth = 0; at == NO_COLUMN && manifest_name_usual(i, nth, &name); nth++)
        at = column_named(head, name, false);
    *ret = at;
    return RC_OK;
}

static enum rc take_row(struct manifest_page *p, const size_t *columns, const struct csv *c,
                        const struct csv_record *head, const struct csv_record *r, struct err *err)
{
    struct manifest_item item = {0};
    if (r->n != head->n)
        return err_set(err, RC_INVALID, "", "line %lld has %zu cells, the header %zu",
                       (long long)c->at, r->n, head->n);
    for (size_t i = 0; i < MANIFEST_NAMES; i++)
        if (columns[i] != NO_COLUMN)
            *manifest_item_field(&item, i) = r->fields[columns[i]];
    return manifest_page_add(p, &item, err);
}

enum rc manifest_csv_read(struct manifest_page *p, struct err *err)
{
    struct csv c;
    struct csv_record head, r;
    size_t columns[MANIFEST_NAMES];
    if (p->endless && !str_ends(p->text, STR("\n")) && !str_ends(p->text, STR("\r")))
        return err_set(
            err, RC_INVALID, "",
            "the last line has no end, and the length of the page was not told: cut off");
    csv_open(&c, p->text);
    enum rc rc = csv_next(&c, p->scratch, &head, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_INVALID, "", "the table has no header row");
    TRY(rc);
    for (size_t i = 0; i < MANIFEST_NAMES; i++)
        TRY(find_column(p, &head, i, &columns[i], err));
    if (columns[0] == NO_COLUMN && columns[1] == NO_COLUMN)
        return err_set(err, RC_INVALID, "manifest.key",
                       "no column looks like a key: name the one that tells entries apart");
    while ((rc = csv_next(&c, p->scratch, &r, err)) == RC_OK)
        TRY(take_row(p, columns, &c, &head, &r, err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
