/* check_lines: see the header. A record is the line as it is in memory, the lengths of its texts
 * and the texts: only this process reads it. */
#include "cli/check_lines.h"

struct record {
    struct report_line line;
    size_t lengths[LINE_TEXTS];
};

static void put(struct check_lines *ls, const void *p, size_t n)
{
    if (!ls->broken && fwrite(p, 1, n, ls->file) != n)
        ls->broken = true;
}

static void go_to(struct check_lines *ls, long at, int from)
{
    if (!ls->broken && ls->file && fseek(ls->file, at, from) != 0)
        ls->broken = true;
}

void lines_add(struct check_lines *ls, const struct report_line *l)
{
    const char *texts[LINE_TEXTS] = {l->source_id, l->url, l->detail, l->event_id};
    struct record r = {.line = *l};
    size_t sum = 0;
    if (!ls->file && !ls->broken)
        ls->file = tmpfile();
    for (size_t i = 0; i < LINE_TEXTS; i++)
        sum += r.lengths[i] = strlen(texts[i]) + 1;
    if (!ls->file || sum > LINE_TEXT_MAX)
        ls->broken = true;
    put(ls, &r, sizeof r);
    for (size_t i = 0; i < LINE_TEXTS; i++)
        put(ls, texts[i], r.lengths[i]);
    ls->n += !ls->broken;
}

void lines_rewind(struct check_lines *ls)
{
    go_to(ls, 0, SEEK_SET);
    ls->at = 0;
}

bool lines_next(struct check_lines *ls, struct report_line *ret)
{
    struct record r;
    size_t sum = 0;
    if (!ls->file || ls->broken)
        return false;
    ls->at = ftell(ls->file);
    if (fread(&r, sizeof r, 1, ls->file) != 1) {
        ls->broken = ferror(ls->file) != 0;
        return false;
    }
    const char *texts[LINE_TEXTS];
    for (size_t i = 0; i < LINE_TEXTS; i++) {
        texts[i] = ls->text + sum;
        sum += r.lengths[i];
    }
    if (fread(ls->text, 1, sum, ls->file) != sum) {
        ls->broken = true;
        return false;
    }
    *ret = r.line;
    ret->source_id = texts[0];
    ret->url = texts[1];
    ret->detail = texts[2];
    ret->event_id = texts[3];
    return true;
}

void lines_put_fate(struct check_lines *ls, const struct inbox_fate *fate)
{
    long next = ftell(ls->file);
    go_to(ls, ls->at + (long)offsetof(struct record, line.fate), SEEK_SET);
    put(ls, fate, sizeof *fate);
    go_to(ls, next, SEEK_SET);
}

void lines_close(struct check_lines *ls)
{
    if (ls->file)
        fclose(ls->file);
    ls->file = NULL;
}
