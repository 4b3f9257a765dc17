/* json_canon: the canonical form of RFC 8785 (JCS), JSON strings, and the base mark.
 *
 * Invariants
 *   1. Same value, same bytes: members sorted by the UTF-16 code units of their names, numbers as
 *      ECMAScript prints them, strings with the shortest escapes, no white space.
 *   2. What has no canonical form is refused: a name given twice, text that is no UTF-8, NaN and
 *      infinities, nesting beyond JSON_DEPTH_MAX. On failure out holds a part: throw it away.
 *   3. Numbers are doubles, as RFC 8785 has it: integers beyond 2^53 are rounded, so identities and
 *      large counts go as strings.
 * Called by whoever hashes JSON; api uses json_put_based. */
#include "core/json.h"

/* ---- strings --------------------------------------------------------------------------------- */

/* The escape of a control character, a quote or a backslash; NULL for all others. */
static const char *escape_of(unsigned char c, char room[8])
{
    static const char *const named[0x20] = {
        ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r"};
    if (c == '"')
        return "\\\"";
    if (c == '\\')
        return "\\\\";
    if (c >= 0x20)
        return NULL;
    if (named[c])
        return named[c];
    snprintf(room, 8, "\\u%04x", c);
    return room;
}

/* Almost every byte there is: needs no escape and is a whole character. */
static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static size_t plain_run(struct str s)
{
    size_t n = 0;
    while (n < s.n && is_plain(s.p[n]))
        n++;
    return n;
}

/* The inside of a JSON string: runs that need nothing are copied at once. */
static void put_escaped(struct buf *out, struct str s)
{
    size_t from = 0, i = 0;
    while (i < s.n) {
        char room[8];
        if (is_plain(s.p[i])) {
            i++;
            continue;
        }
        size_t len = str_utf8_len((struct str){s.p + i, s.n - i});
        const char *instead = len == 0 ? "\xef\xbf\xbd" : escape_of((unsigned char)s.p[i], room);
        if (instead) {
            buf_add(out, s.p + from, i - from);
            buf_puts(out, instead);
            from = i + 1;
        }
        i += len ? len : 1;
    }
    buf_add(out, s.p + from, s.n - from);
}

void json_put_str(struct buf *out, struct str s)
{
    buf_byte(out, '"');
    put_escaped(out, s);
    buf_byte(out, '"');
}

static bool is_mark(const char *p, size_t n)
{
    return n >= 6 && memcmp(p, "\\u001", 5) == 0 && (p[5] == 'F' || p[5] == 'f');
}

void json_put_based(struct buf *out, struct str doc, struct str base)
{
    const char *p = doc.p, *end = doc.p + doc.n, *at;
    bool plain = plain_run(base) == base.n; /* asked once, not at every mark */
    /* Escapes are stepped over in pairs: in "\\u001F" the backslash is the escaped one, and what
     * follows is text. */
    while (p < end && (at = memchr(p, '\\', (size_t)(end - p)))) {
        size_t rest = (size_t)(end - at);
        bool mark = is_mark(at, rest);
        size_t keep = mark ? 0 : rest < 2 ? rest : 2;
        buf_add(out, p, (size_t)(at - p) + keep);
        if (mark && plain)
            buf_str(out, base);
        else if (mark)
            put_escaped(out, base);
        p = at + (mark ? 6 : keep);
    }
    buf_add(out, p, (size_t)(end - p));
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A positive number is 0.DIGITS x 10^point. */
struct decimal {
    char digits[40];
    int n, point;
};

/* Takes apart "123.4", "0.00012" or "1.2e-30". */
static struct decimal read_decimal(const char *text)
{
    struct decimal d = {0};
    bool after_point = false;
    const char *p = text;
    for (; *p && *p != 'e' && *p != 'E'; p++) {
        bool leading = d.n == 0 && *p == '0';
        if (*p == '.') {
            after_point = true;
            continue;
        }
        if (!leading)
            d.digits[d.n++] = *p;
        if (after_point)
            d.point -= leading;
        else
            d.point += !leading;
    }
    if (*p)
        d.point += (int)strtol(p + 1, NULL, 10);
    while (d.n > 1 && d.digits[d.n - 1] == '0')
        d.n--;
    return d;
}

/* The shortest digits that read back as v: yyjson finds them. */
static bool shortest(double v, struct decimal *d)
{
    char mem[512];
    yyjson_alc alc;
    yyjson_val val = {0};
    yyjson_set_real(&val, v);
    yyjson_alc_pool_init(&alc, mem, sizeof mem);
    char *text = yyjson_val_write_opts(&val, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
    if (!text || strlen(text) >= sizeof d->digits)
        return false;
    *d = read_decimal(text);
    return true;
}

/* Number::toString of ECMAScript, with n the digits and `point` the place of the point. */
static void put_decimal(const struct decimal *d, char *out, size_t room)
{
    int n = d->n, at = d->point;
    const char *s = d->digits;
    if (n <= at && at <= 21)
        snprintf(out, room, "%.*s%.*s", n, s, at - n, "000000000000000000000");
    else if (0 < at && at <= 21)
        snprintf(out, room, "%.*s.%.*s", at, s, n - at, s + at);
    else if (-6 < at && at <= 0)
        snprintf(out, room, "0.%.*s%.*s", -at, "000000", n, s);
    else
        snprintf(out, room, "%c%s%.*se%+d", s[0], n > 1 ? "." : "", n - 1, s + 1, at - 1);
}

bool json_number(double v, char out[32])
{
    struct decimal d;
    if (v != v || v - v != 0) /* NaN; infinities */
        return false;
    if (v > -0x1p53 && v < 0x1p53 && (double)(int64_t)v == v) {
        snprintf(out, 32, "%lld", (long long)v); /* and -0 is 0 */
        return true;
    }
    if (!shortest(v < 0 ? -v : v, &d))
        return false;
    out[0] = '-';
    put_decimal(&d, out + (v < 0), 31);
    return true;
}

bool json_scalar(yyjson_val *v, char out[32])
{
    if (yyjson_is_uint(v))
        snprintf(out, 32, "%llu", (unsigned long long)yyjson_get_uint(v));
    else if (yyjson_is_sint(v))
        snprintf(out, 32, "%lld", (long long)yyjson_get_sint(v));
    else if (yyjson_is_bool(v))
        snprintf(out, 32, "%s", yyjson_get_bool(v) ? "true" : "false");
    else
        return yyjson_is_real(v) && json_number(yyjson_get_real(v), out);
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* yyjson's parsed and built values begin alike; its unsafe_ getters read both. Only stepping to
 * the next member differs, and `built` says how. */
struct canon {
    struct buf *out;
    struct err *err;
    bool built;
};

struct member {
    struct str name;
    void *value;
};

static enum rc put_value(const struct canon *c, void *v, int depth);

static struct str text_of(void *v)
{
    return (struct str){unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v)};
}

static enum rc put_text(const struct canon *c, struct str s)
{
    if (!str_is_utf8(s))
        return err_set(c->err, RC_INVALID, "", "a string is not UTF-8");
    json_put_str(c->out, s);
    return RC_OK;
}

static enum rc put_num(const struct canon *c, void *v)
{
    char text[32];
    if (!json_number(unsafe_yyjson_get_num(v), text))
        return err_set(c->err, RC_INVALID, "", "a number is not finite");
    buf_puts(c->out, text);
    return RC_OK;
}

/* A document that was rendered before is read again, as its own order need not be canonical. */
static enum rc put_raw(const struct canon *c, void *v, int depth)
{
    struct str s = text_of(v);
    yyjson_read_err why;
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)s.p, s.n, 0, NULL, &why);
    if (!doc && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return err_set(c->err, RC_NOMEM, "", "no memory for the canonical form");
    if (!doc)
        return err_set(c->err, RC_INVALID, "", "a rendered part is not valid JSON: %s", why.msg);
    struct canon parsed = {c->out, c->err, false};
    enum rc rc = put_value(&parsed, yyjson_doc_get_root(doc), depth);
    yyjson_doc_free(doc);
    return rc;
}

static enum rc put_array(const struct canon *c, void *v, int depth)
{
    size_t n = unsafe_yyjson_get_len(v);
    yyjson_arr_iter it = {0};
    yyjson_mut_arr_iter built_it = {0};
    if (c->built)
        yyjson_mut_arr_iter_init(v, &built_it);
    else
        yyjson_arr_iter_init(v, &it);
    buf_byte(c->out, '[');
    for (size_t i = 0; i < n; i++) {
        void *item = c->built ? (void *)yyjson_mut_arr_iter_next(&built_it)
                              : (void *)yyjson_arr_iter_next(&it);
        if (i > 0)
            buf_byte(c->out, ',');
        enum rc rc = put_value(c, item, depth - 1);
        if (rc != RC_OK)
            return rc;
    }
    buf_byte(c->out, ']');
    return RC_OK;
}

static void collect(const struct canon *c, void *v, struct member *out, size_t n)
{
    yyjson_obj_iter it = {0};
    yyjson_mut_obj_iter built_it = {0};
    if (c->built)
        yyjson_mut_obj_iter_init(v, &built_it);
    else
        yyjson_obj_iter_init(v, &it);
    for (size_t i = 0; i < n; i++) {
        if (c->built) {
            yyjson_mut_val *key = yyjson_mut_obj_iter_next(&built_it);
            out[i] = (struct member){text_of(key), yyjson_mut_obj_iter_get_val(key)};
        } else {
            yyjson_val *key = yyjson_obj_iter_next(&it);
            out[i] = (struct member){text_of(key), yyjson_obj_iter_get_val(key)};
        }
    }
}

/* UTF-8 bytes sort like code points. UTF-16 code units do too, but for one thing: what lies beyond
 * U+FFFF (lead bytes F0..F4) is written with surrogates, which come before U+E000..U+FFFF (lead
 * bytes EE and EF, which stand nowhere else). */
static int unit_rank(char c)
{
    unsigned char u = (unsigned char)c;
    return u == 0xee || u == 0xef ? u + 0x10 : u;
}

static int by_name(const void *x, const void *y)
{
    const struct str a = ((const struct member *)x)->name, b = ((const struct member *)y)->name;
    for (size_t i = 0; i < a.n && i < b.n; i++)
        if (a.p[i] != b.p[i])
            return unit_rank(a.p[i]) < unit_rank(b.p[i]) ? -1 : 1;
    return a.n < b.n ? -1 : a.n > b.n;
}

static enum rc put_members(const struct canon *c, const struct member *m, size_t n, int depth)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && str_eq(m[i].name, m[i - 1].name))
            return err_set(c->err, RC_INVALID, "", "a member name is given twice");
        if (i > 0)
            buf_byte(c->out, ',');
        enum rc rc = put_text(c, m[i].name);
        buf_byte(c->out, ':');
        if (rc == RC_OK)
            rc = put_value(c, m[i].value, depth - 1);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

static enum rc put_object(const struct canon *c, void *v, int depth)
{
    size_t n = unsafe_yyjson_get_len(v);
    struct member *m = calloc(n ? n : 1, sizeof *m);
    if (!m)
        return err_set(c->err, RC_NOMEM, "", "no memory for the canonical form");
    collect(c, v, m, n);
    qsort(m, n, sizeof *m, by_name);
    buf_byte(c->out, '{');
    enum rc rc = put_members(c, m, n, depth);
    buf_byte(c->out, '}');
    free(m);
    return rc;
}

static enum rc put_value(const struct canon *c, void *v, int depth)
{
    yyjson_type type = unsafe_yyjson_get_type(v);
    if (depth == 0 && unsafe_yyjson_is_ctn(v))
        return err_set(c->err, RC_INVALID, "", "nested deeper than %d levels", JSON_DEPTH_MAX);
    switch (type) {
    case YYJSON_TYPE_NULL: buf_puts(c->out, "null"); return RC_OK;
    case YYJSON_TYPE_BOOL:
        buf_puts(c->out, unsafe_yyjson_get_bool(v) ? "true" : "false");
        return RC_OK;
    case YYJSON_TYPE_NUM: return put_num(c, v);
    case YYJSON_TYPE_STR: return put_text(c, text_of(v));
    case YYJSON_TYPE_RAW: return put_raw(c, v, depth);
    case YYJSON_TYPE_ARR: return put_array(c, v, depth);
    case YYJSON_TYPE_OBJ: return put_object(c, v, depth);
    default: return err_set(c->err, RC_INVALID, "", "a value has no type");
    }
}

static enum rc canon(struct buf *out, void *v, bool built, struct err *err)
{
    struct canon c = {out, err, built};
    if (!v)
        return err_set(err, RC_INVALID, "", "there is no value");
    enum rc rc = put_value(&c, v, JSON_DEPTH_MAX);
    if (rc == RC_OK && buf_rc(out) != RC_OK)
        rc = err_set(err, buf_rc(out), "", "the canonical form exceeds %zu bytes", out->max);
    return rc;
}

enum rc json_canon(struct buf *out, yyjson_val *v, struct err *err)
{
    return canon(out, v, false, err);
}

enum rc json_canon_mut(struct buf *out, yyjson_mut_val *v, struct err *err)
{
    return canon(out, v, true, err);
}
