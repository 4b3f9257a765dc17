/* negotiate: f= and Accept against a table. */
#include "api/negotiate.h"

#define ACCEPT_RANGES_MAX 64 /* a browser sends eight; more is not read */

/* "0.5" → 500, what is no quality → 1000 (a parameter that nobody can read takes nothing away). */
static int read_q(struct str s)
{
    int v = 0, unit = 100;
    if (s.n == 0 || s.n > 5 || (s.p[0] != '0' && s.p[0] != '1') || (s.n > 1 && s.p[1] != '.'))
        return 1000;
    for (size_t i = 2; i < s.n; i++, unit /= 10) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return 1000;
        v += (s.p[i] - '0') * unit;
    }
    return s.p[0] == '1' ? 1000 : v;
}

static int quality_of(struct str params)
{
    struct str one;
    while (str_next(&params, ';', &one)) {
        struct str p = str_trim(one);
        if (p.n > 2 && (p.p[0] == 'q' || p.p[0] == 'Q') && p.p[1] == '=')
            return read_q((struct str){p.p + 2, p.n - 2});
    }
    return 1000;
}

/* 3: the type itself, 2: its family, 1: anything, 0: not this. */
static int fits(struct str range, struct str type)
{
    if (str_ieq(range, type))
        return 3;
    if (str_is(range, "*/*"))
        return 1;
    const char *slash = memchr(type.p, '/', type.n);
    size_t family = slash ? (size_t)(slash - type.p) + 1 : type.n;
    bool any = range.n == family + 1 && range.p[family] == '*';
    return any && str_ieq((struct str){range.p, family}, (struct str){type.p, family}) ? 2 : 0;
}

static bool next_param(struct str *params, struct str *name, struct str *value)
{
    struct str one;
    if (!str_next(params, ';', &one))
        return false;
    one = str_trim(one);
    const char *is = one.n ? memchr(one.p, '=', one.n) : NULL;
    *name = (struct str){one.p, is ? (size_t)(is - one.p) : one.n};
    *value = is ? (struct str){is + 1, one.n - name->n - 1} : STR("");
    return true;
}

/* Does a range ask for another version of the type? A parameter that the type does not have is
 * passed over. */
static bool is_other(struct str range_params, struct str type_params)
{
    struct str name, value, have, is;
    while (next_param(&range_params, &name, &value)) {
        struct str rest = type_params;
        while (next_param(&rest, &have, &is))
            if (str_ieq(name, have) && !str_ieq(value, is))
                return true;
    }
    return false;
}

/* Of the range that fits best, if it fits at least so well. */
static int quality(struct str accept, struct str type, int least)
{
    struct str item, range, plain = {"", 0};
    int best = least - 1, q = 0;
    (void)str_next(&type, ';', &plain); /* what is left are its parameters */
    for (int i = 0; i < ACCEPT_RANGES_MAX && str_next(&accept, ',', &item); i++) {
        struct str rest = item;
        if (!str_next(&rest, ';', &range))
            continue;
        int fit = is_other(rest, type) ? 0 : fits(str_trim(range), plain);
        if (fit > best) {
            best = fit;
            q = quality_of(rest);
        }
    }
    return q;
}

int accept_quality(struct str accept, struct str type)
{
    return str_trim(accept).n == 0 ? 1000 : quality(accept, type, 1);
}

int accept_named(struct str accept, struct str type)
{
    return quality(accept, type, 3);
}

static void put_names(struct buf *b, const struct media *table, size_t n, bool types)
{
    for (size_t i = 0; i < n; i++) {
        buf_puts(b, i ? ", " : "");
        buf_puts(b, types ? table[i].type : table[i].name);
    }
}

static enum rc refuse(enum rc rc, const struct media *table, size_t n, struct err *err)
{
    struct buf names;
    buf_init(&names, 1024);
    put_names(&names, table, n, rc == RC_NOT_ACCEPTABLE);
    const char *list = names.data ? names.data : "";
    if (rc == RC_INVALID)
        err_set(err, rc, "f", "must be one of: %s", list);
    else
        err_set(err, rc, "Accept", "this address has: %s", list);
    buf_release(&names);
    return rc;
}

enum rc negotiate(const struct req *r, struct resp *w, const struct media *table, size_t n,
                  size_t *ret, struct err *err)
{
    struct str f = req_param(r, "f");
    int best = 0;
    size_t found = n;
    for (size_t i = 0; i < n; i++) {
        int q = !f.p                       ? accept_quality(r->accept, str_of(table[i].type))
                : str_is(f, table[i].name) ? 1000
                                           : 0;
        if (q > best) {
            best = q;
            found = i;
        }
    }
    if (found == n)
        return refuse(f.p ? RC_INVALID : RC_NOT_ACCEPTABLE, table, n, err);
    w->content_type = table[found].content_type;
    *ret = found;
    return RC_OK;
}

void link_alternates(struct resp *w, const struct req *r, const char *path,
                     const struct media *table, size_t n, size_t chosen)
{
    for (size_t i = 0; i < n; i++)
        if (i != chosen)
            resp_header(w, "Link", "<%.*s%s?f=%s>; rel=\"alternate\"; type=\"%s\"",
                        STR_FMT(r->base), path, table[i].name, table[i].type);
}
