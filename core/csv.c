/* csv: RFC 4180, record by record.
 *
 * Invariants
 *   1. A quoted field may hold separators, quotes (doubled) and line ends; after its closing quote
 *      only a separator or the end of the record may follow.
 *   2. `at` is the line where the record began, also after fields with line ends in them.
 *   3. A field takes as much memory as it is long: a file of many small ones is not many
 *      large ones.
 * Called by the import of sources and by the reader of listings. */
#include "core/csv.h"

void csv_open(struct csv *c, struct str text)
{
    *c = (struct csv){.rest = str_skip_bom(text), .line = 1};
}

static int peek(const struct csv *c)
{
    return c->rest.n ? (unsigned char)c->rest.p[0] : -1;
}

static int take(struct csv *c)
{
    int ch = peek(c);
    if (ch < 0)
        return ch;
    c->rest.p++;
    c->rest.n--;
    c->line += ch == '\n';
    return ch;
}

/* At the end of a record? Takes the line end. */
static bool take_end(struct csv *c)
{
    if (peek(c) == '\r' && c->rest.n > 1 && c->rest.p[1] == '\n')
        take(c);
    if (peek(c) == '\n')
        take(c);
    else if (peek(c) >= 0)
        return false;
    return true;
}

static enum rc quoted(struct csv *c, char *out, size_t *ret_n, struct err *err)
{
    size_t n = 0;
    take(c);
    for (;;) {
        int ch = take(c);
        if (ch < 0)
            return err_set(err, RC_INVALID, "", "a quoted field has no end");
        if (ch == '"' && peek(c) != '"')
            break;
        if (ch == '"')
            take(c);
        out[n++] = (char)ch;
    }
    int after = peek(c);
    if (after >= 0 && after != ',' && after != '\r' && after != '\n')
        return err_set(err, RC_INVALID, "", "after a closing quote comes a comma or a new line");
    *ret_n = n;
    return RC_OK;
}

static void plain(struct csv *c, char *out, size_t *ret_n)
{
    size_t n = 0;
    while (peek(c) >= 0 && peek(c) != ',' && peek(c) != '\n')
        out[n++] = (char)take(c);
    if (n > 0 && out[n - 1] == '\r' && peek(c) != ',')
        n--;
    *ret_n = n;
}

/* At most so many bytes has the field that begins here. */
static size_t extent(const struct csv *c)
{
    const char *p = c->rest.p, *end = p + c->rest.n;
    if (peek(c) == '"')
        for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"'));)
            p += *p == '"' ? 2 : 1;
    else
        while (p < end && *p != ',' && *p != '\n')
            p++;
    return (size_t)(p - c->rest.p);
}

static enum rc field(struct csv *c, struct arena *a, const char **ret, struct err *err)
{
    size_t n = 0;
    char *out = arena_alloc(a, extent(c) + 1);
    if (!out)
        return err_set(err, RC_NOMEM, "", "no memory for the file");
    if (peek(c) == '"')
        TRY(quoted(c, out, &n, err));
    else
        plain(c, out, &n);
    out[n] = '\0';
    if (strlen(out) != n)
        return err_set(err, RC_INVALID, "", "a field holds a NUL byte");
    *ret = out;
    return RC_OK;
}

static enum rc record(struct csv *c, struct arena *a, struct csv_record *ret, struct err *err)
{
    *ret = (struct csv_record){0};
    c->at = c->line;
    for (;;) {
        if (ret->n == CSV_FIELDS_MAX)
            return err_set(err, RC_INVALID, "", "more than %d columns", CSV_FIELDS_MAX);
        TRY(field(c, a, &ret->fields[ret->n++], err));
        if (take_end(c))
            return RC_OK;
        take(c); /* the comma */
    }
}

enum rc csv_next(struct csv *c, struct arena *a, struct csv_record *ret, struct err *err)
{
    struct csv_record r;
    do {
        if (c->rest.n == 0)
            return RC_NOT_FOUND;
        TRY(record(c, a, &r, err));
    } while (r.n == 1 && r.fields[0][0] == '\0');
    *ret = r;
    return RC_OK;
}
