/* manifest_markup: a token is a view of the page, and reading one moves on what is left of it.
 * Pure. */
#include "detectors/manifest_markup.h"

void markup_open(struct markup *m, struct str text, bool html)
{
    *m = (struct markup){.rest = str_skip_bom(text), .html = html};
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static struct str take(struct markup *m, size_t n)
{
    struct str s = {m->rest.p, n};
    m->rest = (struct str){m->rest.p + n, m->rest.n - n};
    return s;
}

static struct markup_token broken(struct markup *m)
{
    take(m, m->rest.n);
    return (struct markup_token){.kind = MARKUP_BROKEN};
}

/* Skips to behind `end`; false when it is not there. */
static bool skip_past(struct markup *m, const char *end)
{
    const char *at = memmem(m->rest.p, m->rest.n, end, strlen(end));
    if (at)
        take(m, (size_t)(at - m->rest.p) + strlen(end));
    return at != NULL;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Where the tag that rest begins with ends, its '>' included; 0 when it does not. A '>' inside
 * quotes does not count. */
static size_t tag_length(struct str s)
{
    char quote = 0;
    for (size_t i = 1; i < s.n; i++) {
        char c = s.p[i];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '>')
            return i + 1;
    }
    return 0;
}

static struct str local_name(struct str name)
{
    const char *colon = memchr(name.p, ':', name.n);
    return colon ? (struct str){colon + 1, (size_t)(name.p + name.n - colon - 1)} : name;
}

static struct markup_token read_tag(struct markup *m, size_t length)
{
    struct str tag = take(m, length), name;
    bool closing = length > 1 && tag.p[1] == '/';
    size_t from = closing ? 2 : 1, to = from;
    struct markup_token t = {.kind = closing ? MARKUP_CLOSE : MARKUP_OPEN};
    while (to < length - 1 && !is_space(tag.p[to]) && tag.p[to] != '/')
        to++;
    name = (struct str){tag.p + from, to - from};
    t.name = m->html ? name : local_name(name);
    t.attrs = (struct str){tag.p + to, length - 1 - to};
    t.empty = !closing && str_ends(t.attrs, STR("/"));
    if (t.empty)
        t.attrs.n--;
    return t;
}

static struct markup_token read_cdata(struct markup *m)
{
    take(m, strlen("<![CDATA["));
    const char *from = m->rest.p;
    if (!skip_past(m, "]]>"))
        return broken(m);
    return (struct markup_token){.kind = MARKUP_TEXT,
                                 .text = {from, (size_t)(m->rest.p - from) - strlen("]]>")},
                                 .cdata = true};
}

static struct markup_token read_text(struct markup *m)
{
    /* A '<' that begins no tag is text. */
    const char *lt = m->rest.n > 1 ? memchr(m->rest.p + 1, '<', m->rest.n - 1) : NULL;
    struct str s = take(m, lt ? (size_t)(lt - m->rest.p) : m->rest.n);
    return (struct markup_token){.kind = MARKUP_TEXT, .text = s};
}

/* Comments, instructions and, in HTML, the document type: false when there was none. */
static bool skip_asides(struct markup *m, bool *ret_broken)
{
    *ret_broken = false;
    if (str_starts(m->rest, STR("<!--")))
        *ret_broken = !skip_past(m, "-->");
    else if (str_starts(m->rest, STR("<?")))
        *ret_broken = !skip_past(m, "?>");
    else if (m->html && str_starts(m->rest, STR("<!")))
        *ret_broken = !skip_past(m, ">");
    else
        return false;
    return true;
}

/* What is behind <script> and <style> is not for readers. */
static void skip_raw(struct markup *m, struct str name)
{
    bool script = str_ieq(name, STR("script")), style = str_ieq(name, STR("style"));
    while ((script || style) && m->rest.n > 0) {
        const char *at = memmem(m->rest.p, m->rest.n, "</", 2);
        take(m, at ? (size_t)(at - m->rest.p) : m->rest.n);
        struct str word = {m->rest.p + 2, name.n};
        if (m->rest.n < name.n + 2 || str_ieq(word, name))
            return;
        take(m, 2);
    }
}

static struct markup_token read_markup(struct markup *m)
{
    struct str s = m->rest;
    bool tag = s.n > 2 && (is_name_start(s.p[1]) || (s.p[1] == '/' && is_name_start(s.p[2])));
    size_t length = tag ? tag_length(s) : 0;
    if (length == 0 && !m->html)
        return broken(m);
    bool cut = s.n == 1 || (s.n == 2 && s.p[1] == '/');
    if (length == 0 && (tag || cut)) /* nothing behind it could be believed */
        return broken(m);
    if (length == 0)
        return read_text(m);
    struct markup_token t = read_tag(m, length);
    if (m->html && t.kind == MARKUP_OPEN)
        skip_raw(m, t.name);
    return t;
}

struct markup_token markup_next(struct markup *m)
{
    bool bad = false;
    while (m->rest.n > 0 && skip_asides(m, &bad))
        if (bad)
            return broken(m);
    if (m->rest.n == 0)
        return (struct markup_token){.kind = MARKUP_END};
    if (m->rest.p[0] != '<')
        return read_text(m);
    if (str_starts(m->rest, STR("<![CDATA[")))
        return read_cdata(m);
    return read_markup(m);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void skip_spaces(struct str *s)
{
    while (s->n > 0 && is_space(s->p[0]))
        *s = (struct str){s->p + 1, s->n - 1};
}

static struct str take_until(struct str *s, const char *stops)
{
    size_t n = 0;
    while (n < s->n && !is_space(s->p[n]) && (s->p[n] == '\0' || !strchr(stops, s->p[n])))
        n++;
    struct str head = {s->p, n};
    *s = (struct str){s->p + n, s->n - n};
    return head;
}

static struct str take_value(struct str *s)
{
    char quote = s->n > 0 ? s->p[0] : 0;
    if (quote != '"' && quote != '\'')
        return take_until(s, "");
    *s = (struct str){s->p + 1, s->n - 1};
    const char *end = memchr(s->p, quote, s->n);
    struct str value = {s->p, end ? (size_t)(end - s->p) : s->n};
    size_t used = value.n + (end ? 1 : 0);
    *s = (struct str){s->p + used, s->n - used};
    return value;
}

bool markup_attr(struct str attrs, const char *name, struct str *ret)
{
    for (;;) {
        skip_spaces(&attrs);
        if (attrs.n == 0)
            return false;
        struct str key = take_until(&attrs, "="), value = {"", 0};
        skip_spaces(&attrs);
        if (attrs.n > 0 && attrs.p[0] == '=') {
            attrs = (struct str){attrs.p + 1, attrs.n - 1};
            skip_spaces(&attrs);
            value = take_value(&attrs);
        }
        if (str_ieq(key, str_of(name))) {
            *ret = value;
            return true;
        }
    }
}

/* ---- references to characters ---------------------------------------------------------------- */

static size_t put_utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return n;
}

static bool read_number(struct str digits, unsigned base, uint32_t *ret)
{
    uint32_t c = 0;
    if (digits.n == 0 || digits.n > 8)
        return false;
    for (size_t i = 0; i < digits.n; i++) {
        char d = digits.p[i];
        unsigned v = d >= '0' && d <= '9'   ? (unsigned)(d - '0')
                     : d >= 'a' && d <= 'f' ? (unsigned)(d - 'a' + 10)
                     : d >= 'A' && d <= 'F' ? (unsigned)(d - 'A' + 10)
                                            : 99;
        if (v >= base)
            return false;
        c = c * base + v;
    }
    *ret = c;
    return c > 0 && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

/* name is what stands between & and ; */
static bool read_reference(struct str name, uint32_t *ret)
{
    static const struct {
        const char *name;
        uint32_t c;
    } known[] = {{"amp", '&'},  {"lt", '<'},    {"gt", '>'},
                 {"quot", '"'}, {"apos", '\''}, {"nbsp", 0xa0}};
    if (str_starts(name, STR("#x")) || str_starts(name, STR("#X")))
        return read_number((struct str){name.p + 2, name.n - 2}, 16, ret);
    if (str_starts(name, STR("#")))
        return read_number((struct str){name.p + 1, name.n - 1}, 10, ret);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(name, known[i].name)) {
            *ret = known[i].c;
            return true;
        }
    return false;
}

#define REFERENCE_MAX 12 /* "#x0010FFFF" is the longest */

enum rc markup_text(struct arena *a, struct str raw, bool html, const char **ret, struct err *err)
{
    char *out = arena_alloc(a, raw.n + 1), *to = out;
    if (!out)
        return err_set(err, RC_NOMEM, "", "no memory for the page");
    for (size_t i = 0; i < raw.n;) {
        size_t left = raw.n - i;
        const char *end = raw.p[i] != '&'
                              ? NULL
                              : memchr(raw.p + i, ';', left < REFERENCE_MAX ? left : REFERENCE_MAX);
        uint32_t c;
        struct str name = {raw.p + i + 1, end ? (size_t)(end - raw.p) - i - 1 : 0};
        if (end && read_reference(name, &c)) {
            to += put_utf8(c, to);
            i += name.n + 2;
            continue;
        }
        if (raw.p[i] == '\0' || (raw.p[i] == '&' && !html))
            return err_set(err, RC_INVALID, "", "the page holds a broken reference or a NUL byte");
        *to++ = raw.p[i++];
    }
    *to = '\0';
    *ret = out;
    return RC_OK;
}
