/* conf_edit: a scanner that knows just enough of JSON with comments to find where a member's value
 * begins and ends.
 *
 * Invariants
 *   1. Every byte outside the edited value (or the added member and its comma) is copied as it is.
 *   2. The scanner never reads beyond the text, whatever it holds.
 * Called by conf.c alone. */
#include "core/conf_edit.h"

#define INDENT "    "

struct cursor {
    const char *p, *end;
};

struct found {
    const char *value, *value_end; /* of the member looked for, NULL when absent */
    const char *last_end;          /* end of the last member's value, NULL in an empty object */
    bool last_comma;               /* a comma follows it already */
    const char *close;             /* the closing brace */
};

static bool at(const struct cursor *c, const char *text)
{
    return str_starts((struct str){c->p, (size_t)(c->end - c->p)}, str_of(text));
}

static bool is_blank(char ch)
{
    return ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r';
}

/* To behind the next `text`, or to the end. */
static void skip_past(struct cursor *c, const char *text)
{
    while (c->p < c->end && !at(c, text))
        c->p++;
    if (c->p < c->end)
        c->p += strlen(text);
}

/* White space and comments. */
static void skip_blank(struct cursor *c)
{
    for (;;) {
        const char *from = c->p;
        while (c->p < c->end && is_blank(*c->p))
            c->p++;
        if (at(c, "//")) {
            while (c->p < c->end && *c->p != '\n' && *c->p != '\r')
                c->p++;
        } else if (at(c, "/*")) {
            c->p += 2;
            skip_past(c, "*/");
        }
        if (c->p == from)
            return;
    }
}

static void skip_string(struct cursor *c)
{
    for (c->p++; c->p < c->end && *c->p != '"'; c->p++)
        if (*c->p == '\\' && c->p + 1 < c->end)
            c->p++;
    if (c->p < c->end)
        c->p++;
}

static void skip_scalar(struct cursor *c)
{
    while (c->p < c->end && !is_blank(*c->p) && !strchr(",]}/", *c->p))
        c->p++;
}

/* A string, a scalar, or brackets with all between them. */
static void skip_value(struct cursor *c)
{
    size_t depth = 0;
    do {
        if (depth > 0)
            skip_blank(c);
        if (c->p == c->end)
            return;
        if (*c->p == '"') {
            skip_string(c);
        } else if (*c->p == '{' || *c->p == '[') {
            depth++;
            c->p++;
        } else if (depth > 0 && (*c->p == '}' || *c->p == ']')) {
            depth--;
            c->p++;
        } else if (depth > 0 && strchr(",:/", *c->p)) {
            c->p++;
        } else {
            const char *from = c->p;
            skip_scalar(c);
            if (c->p == from)
                return;
        }
    } while (depth > 0);
}

/* One member, the cursor at its name. False when it is none. */
static bool scan_member(struct cursor *c, struct str name, struct found *f)
{
    const char *from = c->p;
    if (!at(c, "\""))
        return false;
    skip_string(c);
    struct str quoted = {from, (size_t)(c->p - from)};
    skip_blank(c);
    if (!at(c, ":"))
        return false;
    c->p++;
    skip_blank(c);
    from = c->p;
    skip_value(c);
    if (quoted.n == name.n + 2 && str_eq((struct str){quoted.p + 1, name.n}, name)) {
        f->value = from;
        f->value_end = c->p;
    }
    f->last_end = c->p;
    skip_blank(c);
    f->last_comma = at(c, ",");
    c->p += f->last_comma;
    skip_blank(c);
    return c->p > from;
}

static bool scan(struct str text, struct str name, struct found *f)
{
    struct cursor c = {text.p, text.p + text.n};
    skip_blank(&c);
    if (!at(&c, "{"))
        return false;
    c.p++;
    skip_blank(&c);
    while (!at(&c, "}"))
        if (!scan_member(&c, name, f))
            return false;
    f->close = c.p;
    return true;
}

static void put_span(struct buf *out, const char *from, const char *to)
{
    buf_add(out, from, (size_t)(to - from));
}

/* On a line of its own before the closing brace, so that a comment behind the last member stays
 * with that member. */
static void add_member(struct str text, struct str name, struct str json, const struct found *f,
                       struct buf *out)
{
    const char *p = text.p, *line = f->close;
    if (f->last_end) {
        put_span(out, p, f->last_end);
        buf_puts(out, f->last_comma ? "" : ",");
        p = f->last_end;
    }
    while (line > p && (line[-1] == ' ' || line[-1] == '\t'))
        line--;
    bool own_line = line > p && line[-1] == '\n';
    put_span(out, p, own_line ? line : f->close);
    buf_printf(out, "%s" INDENT "\"%.*s\": ", own_line ? "" : "\n", STR_FMT(name));
    buf_str(out, json);
    buf_byte(out, '\n');
    put_span(out, own_line ? line : f->close, text.p + text.n);
}

enum rc conf_edit(struct str text, struct str name, struct str json, struct buf *out)
{
    struct found f = {0};
    if (!scan(text, name, &f))
        return RC_INVALID;
    if (f.value) {
        put_span(out, text.p, f.value);
        buf_str(out, json);
        put_span(out, f.value_end, text.p + text.n);
    } else {
        add_member(text, name, json, &f, out);
    }
    return buf_rc(out);
}
