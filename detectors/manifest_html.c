/* manifest_html: the index page of a folder, as web servers write it. Pure.
 *
 *   Apache     <a href="x.zip">x.zip</a>   2024-01-02 10:11  1.2M       (also as cells of a table)
 *   nginx      <a href="x.zip">x.zip</a>   02-Jan-2024 10:11      12345
 *   lighttpd   <td><a href="x.zip">x.zip</a></td><td>2024-Jan-02 10:11:12</td><td>1.2M</td>
 *
 * A link counts when it leads below the folder of the page itself, has no query, and is no folder.
 * Date and size are taken when they are the first that stands behind it; they are kept as they are
 * written. A page where nothing counts is an index only when it says so ("Index of"), and a page
 * that asks for a password never is.
 *
 * Invariants
 *   1. A file that is linked several times (icon and name) is one entry, with the facts of the link
 *      that has some.
 */
#include "detectors/manifest_markup.h"
#include "detectors/manifest_page.h"
#include "detectors/manifest_url.h"

#define BEHIND_MAX 4096 /* text behind a link; date and size come first */

/* A page that begins one of these ends it: else it was cut off, and what it lacks is not gone. */
static const char *const wholes[] = {"html", "pre", "table", "ul"};

struct link {
    const char *key, *url, *date, *size; /* date and size NULL when not told */
};

struct reader {
    struct manifest_page *p;
    struct markup markup;
    const char *folder;
    struct link *links; /* in scratch */
    size_t n, room;
    bool collecting; /* text goes behind the newest link */
    bool in_link;
    struct buf behind;
    bool index, password;
    int open[ARRAY_LEN(wholes)]; /* of each, opened and not closed */
};

static enum rc no_memory(struct err *err)
{
    return err_set(err, RC_NOMEM, "", "no memory for the page");
}

/* ---- what stands behind a link --------------------------------------------------------------- */

/* "dddd-dd-dd" against a text: d is a digit, a is a letter. */
static bool has_form(struct str s, const char *form)
{
    if (s.n != strlen(form))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool digit = c >= '0' && c <= '9';
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (form[i] == 'd' ? !digit : form[i] == 'a' ? !letter : c != form[i])
            return false;
    }
    return true;
}

static bool is_date(struct str s)
{
    return has_form(s, "dddd-dd-dd") || has_form(s, "dd-aaa-dddd") || has_form(s, "dddd-aaa-dd");
}

static bool is_time(struct str s)
{
    return has_form(s, "dd:dd") || has_form(s, "dd:dd:dd");
}

/* 12345, 1.2K, 56M, - */
static bool is_size(struct str s)
{
    if (str_is(s, "-"))
        return true;
    if (s.n > 1 && strchr("KMGTBkmgt", s.p[s.n - 1]))
        s.n--;
    bool digits = s.n > 0 && s.p[0] >= '0' && s.p[0] <= '9';
    for (size_t i = 0; i < s.n; i++)
        digits = digits && ((s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '.');
    return digits;
}

/* Words are parted by white space, also by the one of &nbsp;. */
static bool next_word(struct str *s, struct str *ret)
{
    size_t n = 0;
    for (;;) {
        *s = str_trim(*s);
        if (!str_starts(*s, STR("\xc2\xa0")))
            break;
        *s = (struct str){s->p + 2, s->n - 2};
    }
    while (n < s->n && !strchr(" \t\r\n\xc2", s->p[n]))
        n++;
    *ret = (struct str){s->p, n};
    *s = (struct str){s->p + n, s->n - n};
    return n > 0;
}

static enum rc take_behind(struct reader *r, struct err *err)
{
    struct arena *a = r->p->scratch;
    struct str rest = buf_view(&r->behind), date, time, size;
    bool dated = r->n > 0 && next_word(&rest, &date) && is_date(date) && next_word(&rest, &time) &&
                 is_time(time);
    r->collecting = false;
    if (dated) {
        struct link *l = &r->links[r->n - 1];
        if (!(l->date = arena_printf(a, "%.*s %.*s", STR_FMT(date), STR_FMT(time))))
            return no_memory(err);
        if (next_word(&rest, &size) && is_size(size) && !(l->size = arena_str(a, size)))
            return no_memory(err);
    }
    buf_clear(&r->behind);
    return RC_OK;
}

static enum rc on_text(struct reader *r, struct str raw, struct err *err)
{
    const char *text;
    size_t room = BEHIND_MAX - r->behind.len;
    if (!r->index) {
        struct str s = str_trim(raw);
        r->index = s.n >= 8 && str_ieq((struct str){s.p, 8}, STR("Index of"));
    }
    if (!r->collecting || r->in_link || room <= 1)
        return RC_OK;
    TRY(markup_text(r->p->scratch, str_cut(raw, room - 1), true, &text, err));
    buf_puts(&r->behind, text);
    buf_byte(&r->behind, ' '); /* cells are words of their own */
    return RC_OK;
}

/* ---- links ----------------------------------------------------------------------------------- */

static enum rc add_link(struct reader *r, struct link l, struct err *err)
{
    if (r->n == r->room) {
        size_t room = r->room ? r->room * 2 : 64;
        void *more = arena_resize(r->p->scratch, r->links, r->room * sizeof l, room * sizeof l);
        if (!more)
            return no_memory(err);
        r->links = more;
        r->room = room;
    }
    r->links[r->n++] = l;
    r->collecting = true;
    return RC_OK;
}

/* Has the path a segment that leads up, however it is written? */
static bool leads_up(const char *key)
{
    struct str rest = str_of(key), part;
    while (str_next(&rest, '/', &part))
        if (str_is(part, ".") || str_is(part, ".."))
            return true;
    return false;
}

static enum rc on_link(struct reader *r, struct str raw, struct err *err)
{
    struct arena *a = r->p->scratch;
    char url[FETCH_URL_MAX];
    struct err ignored;
    const char *href;
    TRY(markup_text(a, str_trim(raw), true, &href, err));
    size_t folder = strlen(r->folder);
    if (*href == '\0' || *href == '#' ||
        fetch_url_join(r->p->final_url, href, url, &ignored) != RC_OK)
        return RC_OK;
    if (strncmp(url, r->folder, folder) != 0 || url[folder] == '\0' || strchr(url, '?'))
        return RC_OK;
    struct link l = {.url = arena_strdup(a, url)};
    if (!l.url || !(l.key = manifest_url_decode(a, str_of(url + folder), false)))
        return no_memory(err);
    if (leads_up(l.key))
        return RC_OK;
    if (!str_is_clean(str_of(l.key)) || !str_is_utf8(str_of(l.key)))
        l.key = l.url + folder; /* encoded, it is text at least */
    return add_link(r, l, err);
}

static void count_whole(struct reader *r, struct str name, int step)
{
    for (size_t i = 0; i < ARRAY_LEN(wholes); i++)
        if (str_ieq(name, str_of(wholes[i])) && r->open[i] + step >= 0)
            r->open[i] += step;
}

static enum rc on_open(struct reader *r, const struct markup_token *t, struct err *err)
{
    struct str value;
    if (!t->empty)
        count_whole(r, t->name, 1);
    if (str_ieq(t->name, STR("input")) && markup_attr(t->attrs, "type", &value))
        r->password |= str_ieq(value, STR("password"));
    if (!str_ieq(t->name, STR("a")))
        return RC_OK;
    TRY(take_behind(r, err));
    r->in_link = !t->empty;
    return markup_attr(t->attrs, "href", &value) ? on_link(r, value, err) : RC_OK;
}

static enum rc on_close(struct reader *r, struct str name, struct err *err)
{
    static const char *const rows[] = {"tr", "li", "pre", "table", "ul"};
    count_whole(r, name, -1);
    if (str_ieq(name, STR("a")))
        r->in_link = false;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_ieq(name, str_of(rows[i])))
            return take_behind(r, err);
    return RC_OK;
}

static enum rc on_end(struct reader *r, struct err *err)
{
    const char *open = r->in_link ? "a link" : NULL;
    for (size_t i = 0; i < ARRAY_LEN(wholes) && !open; i++)
        open = r->open[i] > 0 ? wholes[i] : NULL;
    if (open)
        return err_set(err, RC_INVALID, "", "the page ends inside of %s: cut off", open);
    return take_behind(r, err);
}

static enum rc read_tokens(struct reader *r, struct err *err)
{
    for (;;) {
        struct markup_token t = markup_next(&r->markup);
        switch (t.kind) {
        case MARKUP_END: return on_end(r, err);
        case MARKUP_BROKEN:
            return err_set(err, RC_INVALID, "", "a tag or comment has no end: the page is cut off");
        case MARKUP_TEXT: TRY(on_text(r, t.text, err)); break;
        case MARKUP_OPEN: TRY(on_open(r, &t, err)); break;
        case MARKUP_CLOSE: TRY(on_close(r, t.name, err)); break;
        }
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

/* By key; of one key those with facts first. */
static int by_key(const void *x, const void *y)
{
    const struct link *a = x, *b = y;
    int order = strcmp(a->key, b->key);
    return order ? order : (b->date != NULL) - (a->date != NULL);
}

static enum rc add_all(struct reader *r, struct err *err)
{
    if (r->n > 0)
        qsort(r->links, r->n, sizeof *r->links, by_key);
    for (size_t i = 0; i < r->n; i++) {
        const struct link *l = &r->links[i];
        bool repeated = i > 0 && strcmp(l->key, r->links[i - 1].key) == 0;
        if (repeated && !l->date)
            continue;
        struct manifest_item item = {
            .key = l->key, .url = l->url, .last_modified = l->date, .size = l->size};
        TRY(manifest_page_add(r->p, &item, err));
    }
    return RC_OK;
}

enum rc manifest_html_read(struct manifest_page *p, struct err *err)
{
    struct reader r = {.p = p, .folder = manifest_url_folder(p->scratch, p->final_url)};
    if (!r.folder)
        return no_memory(err);
    markup_open(&r.markup, p->text, true);
    buf_init(&r.behind, BEHIND_MAX);
    enum rc rc = read_tokens(&r, err);
    buf_release(&r.behind);
    TRY(rc);
    if (r.password)
        return err_set(err, RC_INVALID, "", "a login page, no index");
    if (r.n == 0 && !r.index)
        return err_set(err, RC_INVALID, "", "no index: the page links to nothing below its folder");
    return add_all(&r, err);
}
