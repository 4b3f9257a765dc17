/* table: rows on standard output. A person gets aligned columns under headings, a program gets tabs
 * and no headings, so that `cut -f` and `while read` work, unless the table is made to be pasted.
 *
 * Invariants
 *   1. A cell never holds a tab, a newline or another control character.
 *   2. The last column is not padded: no line ends with spaces.
 * Called by the command files. */
#include "cli/cli.h"

#define ROOM_FIRST 64

static bool make_room(struct table *t)
{
    if (t->rows < t->room)
        return true;
    size_t room = t->room ? t->room * 2 : ROOM_FIRST * t->columns;
    const char **cells =
        arena_resize(&t->c->arena, t->cells, t->room * sizeof *cells, room * sizeof *cells);
    if (!cells)
        return false;
    t->cells = cells;
    t->room = room;
    return true;
}

static char clean(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f ? ' ' : c;
}

void table_row(const char *const *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (const char *p = cells[i] && *cells[i] ? cells[i] : "-"; *p; p++)
            putchar(clean(*p));
        putchar(i + 1 < n ? '\t' : '\n');
    }
}

void table_cell(struct table *t, const char *text)
{
    char *copy = arena_strdup(&t->c->arena, text && *text ? text : "-");
    if (!copy || !make_room(t)) {
        t->columns = 0; /* asked at the end */
        return;
    }
    for (char *p = copy; *p; p++)
        *p = clean(*p);
    t->cells[t->rows++] = copy;
}

void table_cell_i64(struct table *t, int64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)n);
    table_cell(t, text);
}

void table_begin(struct table *t, struct cli *c, const char *headings)
{
    struct str rest = str_of(headings), one;
    *t = (struct table){.c = c, .columns = 1};
    for (const char *p = headings; *p; p++)
        t->columns += *p == '|';
    while (str_next(&rest, '|', &one))
        table_cell(t, arena_str(&c->arena, one));
}

/* Columns a text takes on the screen: UTF-8 sequences count once. */
static int width(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static int column_width(const struct table *t, size_t column)
{
    int widest = 0;
    for (size_t i = column; i < t->rows; i += t->columns) {
        int w = width(t->cells[i]);
        widest = w > widest ? w : widest;
    }
    return widest;
}

static void print_aligned(const struct table *t)
{
    int widths[16];
    for (size_t k = 0; k < t->columns; k++)
        widths[k] = column_width(t, k);
    for (size_t i = 0; i < t->rows; i++) {
        size_t k = i % t->columns;
        bool last = k + 1 == t->columns;
        if (i == 0)
            fputs(cli_on(t->c, CLI_BOLD), stdout);
        printf("%s%*s%s", t->cells[i], last ? 0 : widths[k] - width(t->cells[i]), "",
               last ? "" : "  ");
        if (i + 1 == t->columns)
            fputs(cli_off(t->c), stdout);
        if (last)
            putchar('\n');
    }
}

bool table_end(struct table *t)
{
    if (t->columns == 0)
        return false;
    if (t->c->tty && t->rows > t->columns) {
        print_aligned(t);
        return true;
    }
    for (size_t i = t->headed ? 0 : t->columns; i < t->rows; i++)
        printf("%s%c", t->cells[i], (i + 1) % t->columns ? '\t' : '\n');
    return true;
}
