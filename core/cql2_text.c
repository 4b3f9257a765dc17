/* cql2_text: CQL2 text to the tree, by recursive descent. One ladder for all expressions:
 *
 *   or ▸ and ▸ not ▸ predicate (=, LIKE, BETWEEN, IN, IS NULL) ▸ sum ▸ product ▸ power ▸ sign
 *      ▸ value
 *
 * A parenthesis starts at the top again, so that conditions, arithmetic and lists need no look
 * ahead; cql2_check sorts out afterwards what must be true or false. */
#include "core/cql2.h"

#include <math.h>
#include <stdlib.h>

enum kind { END, NAME, QUOTED, STRING, NUMBER, SIGN };
struct token {
    enum kind kind;
    struct str s; /* as written; of QUOTED and STRING what is inside, unescaped */
    double number;
};

struct parser {
    struct cql2_build b;
    struct str rest;
    size_t length;
    struct token t; /* the one at hand */
    int depth;
};

static enum rc wrong(struct parser *p, const char *wanted)
{
    size_t at = p->length - p->rest.n;
    if (p->t.kind == END)
        return err_set(p->b.err, RC_INVALID, CQL2_FIELD, "ends where %s is expected", wanted);
    return err_set(p->b.err, RC_INVALID, CQL2_FIELD,
                   "%s is expected before character %zu, not '%.*s'", wanted, at,
                   STR_FMT(str_cut(p->t.s, 32)));
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool starts_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || (c & 0x80);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void take(struct parser *p, size_t n, enum kind kind)
{
    p->t.kind = kind;
    p->t.s = (struct str){p->rest.p, n};
    p->rest = (struct str){p->rest.p + n, p->rest.n - n};
}

static void lex_name(struct parser *p)
{
    size_t n = 1;
    while (n < p->rest.n &&
           (starts_name(p->rest.p[n]) || is_digit(p->rest.p[n]) || p->rest.p[n] == '.'))
        n++;
    take(p, n, NAME);
}

static enum rc lex_number(struct parser *p)
{
    char text[64];
    size_t n = 0;
    const char *c = p->rest.p;
    while (n < p->rest.n && (is_digit(c[n]) || c[n] == '.'))
        n++;
    if (n + 1 < p->rest.n && (c[n] == 'e' || c[n] == 'E')) {
        size_t e = n + 1 + (c[n + 1] == '+' || c[n + 1] == '-');
        if (e < p->rest.n && is_digit(c[e]))
            for (n = e; n < p->rest.n && is_digit(c[n]);)
                n++;
    }
    if (n >= sizeof text)
        return err_set(p->b.err, RC_INVALID, CQL2_FIELD, "a number is too long");
    memcpy(text, c, n);
    text[n] = 0;
    char *end;
    p->t.number = strtod(text, &end);
    if (*end || !isfinite(p->t.number))
        return err_set(p->b.err, RC_INVALID, CQL2_FIELD, "'%s' is not a number", text);
    take(p, n, NUMBER);
    return RC_OK;
}

/* 'it''s' and 'it\'s'; "a ""name""". */
static bool is_escape(struct str s, size_t i, char quote)
{
    bool may = s.p[i] == quote || (s.p[i] == '\\' && quote == '\'');
    return may && i + 1 < s.n && s.p[i + 1] == quote;
}

/* Where the quote that s begins with is closed; 0: nowhere. */
static size_t closing(struct str s, char quote)
{
    for (size_t i = 1; i < s.n; i++) {
        if (is_escape(s, i, quote))
            i++;
        else if (s.p[i] == quote)
            return i;
    }
    return 0;
}

static enum rc lex_quoted(struct parser *p, char quote)
{
    size_t n = 0, end = closing(p->rest, quote);
    if (end == 0)
        return err_set(p->b.err, RC_INVALID, CQL2_FIELD, "a quote (%c) is not closed", quote);
    char *out = arena_alloc(p->b.a, end); /* not the rest: a list of texts would cost its square */
    if (!out)
        return err_set(p->b.err, RC_NOMEM, "", "no memory for a filter");
    for (size_t i = 1; i < end; i++) {
        i += is_escape(p->rest, i, quote);
        out[n++] = p->rest.p[i];
    }
    take(p, end + 1, quote == '"' ? QUOTED : STRING);
    p->t.s = (struct str){out, n};
    return RC_OK;
}

static enum rc advance(struct parser *p)
{
    while (p->rest.n && (p->rest.p[0] == ' ' || (p->rest.p[0] >= '\t' && p->rest.p[0] <= '\r')))
        p->rest = (struct str){p->rest.p + 1, p->rest.n - 1};
    if (p->rest.n == 0) {
        p->t = (struct token){.kind = END, .s = STR("")};
        return RC_OK;
    }
    char c = p->rest.p[0], next = p->rest.n > 1 ? p->rest.p[1] : 0;
    if (c == '\'' || c == '"')
        return lex_quoted(p, c);
    if (is_digit(c) || (c == '.' && is_digit(next)))
        return lex_number(p);
    if (starts_name(c)) {
        lex_name(p);
        return RC_OK;
    }
    bool two = (c == '<' && (next == '>' || next == '=')) || (c == '>' && next == '=');
    if (!strchr("=<>+-*/%^(),", c))
        return err_set(p->b.err, RC_INVALID, CQL2_FIELD, "has a character that means nothing here");
    take(p, two ? 2 : 1, SIGN);
    return RC_OK;
}

static bool at_word(const struct parser *p, const char *word)
{
    return p->t.kind == NAME && str_ieq(p->t.s, str_of(word));
}

static bool at_sign(const struct parser *p, const char *sign)
{
    return p->t.kind == SIGN && str_is(p->t.s, sign);
}

static enum rc expect_sign(struct parser *p, const char *sign)
{
    return at_sign(p, sign) ? advance(p) : wrong(p, sign);
}

static enum rc expect_word(struct parser *p, const char *word)
{
    return at_word(p, word) ? advance(p) : wrong(p, word);
}

static enum rc deeper(struct parser *p)
{
    if (++p->depth > CQL2_DEPTH_MAX)
        return err_set(p->b.err, RC_INVALID, CQL2_FIELD, "is nested more than %d deep",
                       CQL2_DEPTH_MAX);
    return RC_OK;
}

/* ---- the ladder ------------------------------------------------------------------------------ */

static enum rc parse_or(struct parser *p, struct cql2 **ret);
static enum rc parse_sum(struct parser *p, struct cql2 **ret);

static enum rc op2(struct parser *p, const char *name, struct cql2 *x, struct cql2 *y,
                   struct cql2 **ret)
{
    struct cql2 *q;
    TRY(cql2_node(&p->b, CQL2_OP, name, &q));
    TRY(cql2_arg(&p->b, q, x));
    if (y)
        TRY(cql2_arg(&p->b, q, y));
    *ret = q;
    return RC_OK;
}

/* Elements up to the closing parenthesis. */
static enum rc parse_list(struct parser *p, struct cql2 *to)
{
    if (at_sign(p, ")"))
        return advance(p);
    for (;;) {
        struct cql2 *arg;
        TRY(parse_or(p, &arg));
        TRY(cql2_arg(&p->b, to, arg));
        if (!at_sign(p, ","))
            return expect_sign(p, ")");
        TRY(advance(p));
    }
}

static enum rc parse_parenthesis(struct parser *p, struct cql2 **ret)
{
    struct cql2 *first, *list;
    TRY(deeper(p));
    TRY(advance(p));
    TRY(parse_or(p, &first));
    if (at_sign(p, ")")) {
        *ret = first;
        TRY(advance(p));
    } else {
        TRY(expect_sign(p, ","));
        TRY(cql2_node(&p->b, CQL2_LIST, NULL, &list));
        TRY(cql2_arg(&p->b, list, first));
        TRY(parse_list(p, list));
        *ret = list;
    }
    p->depth--;
    return RC_OK;
}

/* ---- geometries ------------------------------------------------------------------------------ */

static enum rc wkt_number(struct parser *p, double *ret)
{
    bool minus = at_sign(p, "-");
    if (minus || at_sign(p, "+"))
        TRY(advance(p));
    if (p->t.kind != NUMBER)
        return wrong(p, "a number");
    *ret = minus ? -p->t.number : p->t.number;
    return advance(p);
}

static enum rc wkt_position(struct parser *p, struct place *g)
{
    double v[3];
    TRY(wkt_number(p, &v[0]));
    TRY(wkt_number(p, &v[1]));
    if (!at_sign(p, ",") && !at_sign(p, ")"))
        TRY(wkt_number(p, &v[2]));
    return place_add(p->b.a, g, v[0], v[1], p->b.err);
}

static enum rc wkt_line(struct parser *p, struct place *g, enum place_kind kind)
{
    TRY(place_part(p->b.a, g, kind, p->b.err));
    TRY(expect_sign(p, "("));
    for (;;) {
        TRY(wkt_position(p, g));
        if (!at_sign(p, ","))
            return expect_sign(p, ")");
        TRY(advance(p));
    }
}

static enum rc wkt_polygon(struct parser *p, struct place *g)
{
    TRY(expect_sign(p, "("));
    for (enum place_kind kind = PLACE_RING;; kind = PLACE_HOLE) {
        TRY(wkt_line(p, g, kind));
        if (!at_sign(p, ","))
            return expect_sign(p, ")");
        TRY(advance(p));
    }
}

/* MULTIPOINT takes both (1 2, 3 4) and ((1 2), (3 4)). */
static enum rc wkt_point(struct parser *p, struct place *g)
{
    bool inner = at_sign(p, "(");
    if (inner)
        TRY(advance(p));
    TRY(place_part(p->b.a, g, PLACE_POINT, p->b.err));
    TRY(wkt_position(p, g));
    return inner ? expect_sign(p, ")") : RC_OK;
}

static enum rc wkt_linestring(struct parser *p, struct place *g)
{
    return wkt_line(p, g, PLACE_LINE);
}

static enum rc wkt_any(struct parser *p, struct place *g);

static const struct {
    const char *name;
    bool many;
    enum rc (*one)(struct parser *p, struct place *g);
} shapes[] = {{"POINT", false, wkt_point},           {"MULTIPOINT", true, wkt_point},
              {"LINESTRING", false, wkt_linestring}, {"MULTILINESTRING", true, wkt_linestring},
              {"POLYGON", false, wkt_polygon},       {"MULTIPOLYGON", true, wkt_polygon},
              {"GEOMETRYCOLLECTION", true, wkt_any}};

static int shape_of(const struct parser *p)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
        if (at_word(p, shapes[i].name))
            return (int)i;
    return -1;
}

static enum rc wkt_any(struct parser *p, struct place *g)
{
    int i = shape_of(p);
    if (i < 0)
        return wrong(p, "a geometry");
    TRY(deeper(p));
    TRY(advance(p));
    if (at_word(p, "Z"))
        TRY(advance(p));
    if (!at_sign(p, "("))
        return wrong(p, "(");
    if (!shapes[i].many) {
        TRY(shapes[i].one(p, g));
    } else {
        do {
            TRY(advance(p));
            TRY(shapes[i].one(p, g));
        } while (at_sign(p, ","));
        TRY(expect_sign(p, ")"));
    }
    p->depth--;
    return RC_OK;
}

static enum rc parse_geometry(struct parser *p, struct cql2 **ret)
{
    struct place *g = place_new(p->b.a);
    struct cql2 *q;
    if (!g)
        return err_set(p->b.err, RC_NOMEM, "", "no memory for a geometry");
    TRY(wkt_any(p, g));
    TRY(place_done(g, p->b.err));
    TRY(cql2_node(&p->b, CQL2_GEOMETRY, NULL, &q));
    q->geom = g;
    *ret = q;
    return RC_OK;
}

static enum rc parse_bbox(struct parser *p, struct cql2 **ret)
{
    double v[6];
    size_t n = 0;
    struct place *g;
    struct cql2 *q;
    do {
        TRY(advance(p));
        if (n == ARRAY_LEN(v))
            return wrong(p, ")");
        TRY(wkt_number(p, &v[n++]));
    } while (at_sign(p, ","));
    TRY(expect_sign(p, ")"));
    TRY(place_from_bbox(p->b.a, v, n, &g, p->b.err));
    TRY(cql2_node(&p->b, CQL2_GEOMETRY, NULL, &q));
    q->geom = g;
    *ret = q;
    return RC_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* At the parenthesis of DATE('…') or TIMESTAMP('…'). */
static enum rc parse_instant(struct parser *p, enum cql2_kind kind, struct cql2 **ret)
{
    TRY(advance(p));
    if (p->t.kind != STRING)
        return wrong(p, "a time in quotes");
    TRY(cql2_time(&p->b, p->t.s, kind, ret));
    TRY(advance(p));
    return expect_sign(p, ")");
}

static enum rc parse_interval_end(struct parser *p, struct cql2 *to)
{
    struct cql2 *end;
    TRY(advance(p));
    if (p->t.kind == STRING) {
        TRY(cql2_interval_end(&p->b, p->t.s, &end));
        TRY(advance(p));
    } else {
        TRY(parse_sum(p, &end));
    }
    return cql2_arg(&p->b, to, end);
}

static enum rc parse_interval(struct parser *p, struct cql2 **ret)
{
    struct cql2 *q;
    TRY(cql2_node(&p->b, CQL2_INTERVAL, NULL, &q));
    TRY(parse_interval_end(p, q));
    if (!at_sign(p, ","))
        return wrong(p, ",");
    TRY(parse_interval_end(p, q));
    *ret = q;
    return expect_sign(p, ")");
}

static enum rc parse_call(struct parser *p, struct str name, struct cql2 **ret)
{
    struct cql2 *q;
    char *lower = arena_str(p->b.a, name);
    if (!lower)
        return err_set(p->b.err, RC_NOMEM, "", "no memory for a filter");
    for (char *c = lower; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    TRY(cql2_node(&p->b, CQL2_FUNCTION, lower, &q));
    TRY(deeper(p));
    TRY(advance(p));
    TRY(parse_list(p, q));
    p->depth--;
    *ret = q;
    return RC_OK;
}

static enum rc leaf(struct parser *p, enum cql2_kind kind, struct cql2 **ret)
{
    struct cql2 *q;
    TRY(cql2_node(&p->b, kind, NULL, &q));
    q->text = p->t.s;
    q->number = p->t.number;
    q->flag = at_word(p, "TRUE");
    *ret = q;
    return advance(p);
}

/* Words that cannot be the name of a property without quotes. */
static bool is_reserved(const struct parser *p)
{
    static const char *const words[] = {"AND", "OR", "NOT",  "LIKE", "BETWEEN",
                                        "IN",  "IS", "NULL", "DIV"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (at_word(p, words[i]))
            return true;
    return false;
}

static enum rc parse_name(struct parser *p, struct cql2 **ret)
{
    struct token name = p->t;
    if (is_reserved(p))
        return wrong(p, "a value");
    if (at_word(p, "TRUE") || at_word(p, "FALSE"))
        return leaf(p, CQL2_BOOL, ret);
    if (shape_of(p) >= 0)
        return parse_geometry(p, ret);
    TRY(advance(p));
    if (!at_sign(p, "(")) {
        struct cql2 *q;
        TRY(cql2_node(&p->b, CQL2_PROPERTY, NULL, &q));
        q->text = name.s;
        *ret = q;
        return RC_OK;
    }
    if (str_ieq(name.s, STR("DATE")))
        return parse_instant(p, CQL2_DATE, ret);
    if (str_ieq(name.s, STR("TIMESTAMP")))
        return parse_instant(p, CQL2_TIMESTAMP, ret);
    if (str_ieq(name.s, STR("INTERVAL")))
        return parse_interval(p, ret);
    if (str_ieq(name.s, STR("BBOX")))
        return parse_bbox(p, ret);
    return parse_call(p, name.s, ret);
}

static enum rc parse_value(struct parser *p, struct cql2 **ret)
{
    switch (p->t.kind) {
    case NUMBER: return leaf(p, CQL2_NUMBER, ret);
    case STRING: return leaf(p, CQL2_TEXT, ret);
    case QUOTED: return leaf(p, CQL2_PROPERTY, ret);
    case NAME: return parse_name(p, ret);
    case SIGN:
        if (at_sign(p, "("))
            return parse_parenthesis(p, ret);
        break;
    case END: break;
    }
    return wrong(p, "a value");
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* -5 is a number, -x is (-1 * x). */
static enum rc parse_signed(struct parser *p, struct cql2 **ret)
{
    struct cql2 *x, *minus;
    if (!at_sign(p, "-"))
        return parse_value(p, ret);
    TRY(advance(p));
    TRY(parse_value(p, &x));
    if (x->kind == CQL2_NUMBER) {
        x->number = -x->number;
        *ret = x;
        return RC_OK;
    }
    TRY(cql2_node(&p->b, CQL2_NUMBER, NULL, &minus));
    minus->number = -1;
    return op2(p, "*", minus, x, ret);
}

static enum rc parse_power(struct parser *p, struct cql2 **ret)
{
    struct cql2 *y;
    TRY(parse_signed(p, ret));
    if (!at_sign(p, "^"))
        return RC_OK;
    TRY(advance(p));
    TRY(parse_signed(p, &y));
    return op2(p, "^", *ret, y, ret);
}

static const char *product_sign(const struct parser *p)
{
    return at_sign(p, "*")     ? "*"
           : at_sign(p, "/")   ? "/"
           : at_sign(p, "%")   ? "%"
           : at_word(p, "DIV") ? "div"
                               : NULL;
}

static enum rc parse_product(struct parser *p, struct cql2 **ret)
{
    const char *sign;
    TRY(parse_power(p, ret));
    while ((sign = product_sign(p))) {
        struct cql2 *y;
        TRY(advance(p));
        TRY(parse_power(p, &y));
        TRY(op2(p, sign, *ret, y, ret));
    }
    return RC_OK;
}

static enum rc parse_sum(struct parser *p, struct cql2 **ret)
{
    TRY(parse_product(p, ret));
    while (at_sign(p, "+") || at_sign(p, "-")) {
        const char *sign = at_sign(p, "+") ? "+" : "-";
        struct cql2 *y;
        TRY(advance(p));
        TRY(parse_product(p, &y));
        TRY(op2(p, sign, *ret, y, ret));
    }
    return RC_OK;
}

/* ---- conditions ------------------------------------------------------------------------------ */

static enum rc parse_between(struct parser *p, struct cql2 *x, struct cql2 **ret)
{
    struct cql2 *low, *high;
    TRY(parse_sum(p, &low));
    TRY(expect_word(p, "AND"));
    TRY(parse_sum(p, &high));
    TRY(op2(p, "between", x, low, ret));
    return cql2_arg(&p->b, *ret, high);
}

static enum rc parse_in(struct parser *p, struct cql2 *x, struct cql2 **ret)
{
    struct cql2 *list;
    TRY(cql2_node(&p->b, CQL2_LIST, NULL, &list));
    TRY(expect_sign(p, "("));
    TRY(parse_list(p, list));
    return op2(p, "in", x, list, ret);
}

/* What follows a value with a word: LIKE, BETWEEN, IN. */
static enum rc parse_worded(struct parser *p, struct cql2 *x, struct cql2 **ret)
{
    struct cql2 *y;
    bool like = at_word(p, "LIKE"), between = at_word(p, "BETWEEN");
    if (!like && !between && !at_word(p, "IN"))
        return wrong(p, "LIKE, BETWEEN or IN");
    TRY(advance(p));
    if (between)
        return parse_between(p, x, ret);
    if (!like)
        return parse_in(p, x, ret);
    TRY(parse_sum(p, &y));
    return op2(p, "like", x, y, ret);
}

static enum rc parse_is_null(struct parser *p, struct cql2 *x, struct cql2 **ret)
{
    TRY(advance(p));
    bool not = at_word(p, "NOT");
    if (not )
        TRY(advance(p));
    TRY(expect_word(p, "NULL"));
    TRY(op2(p, "isnull", x, NULL, ret));
    return not ? op2(p, "not", *ret, NULL, ret) : RC_OK;
}

static enum rc parse_predicate(struct parser *p, struct cql2 **ret)
{
    static const char *const signs[] = {"=", "<>", "<=", ">=", "<", ">"};
    struct cql2 *x, *y;
    TRY(parse_sum(p, &x));
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (at_sign(p, signs[i])) {
            TRY(advance(p));
            TRY(parse_sum(p, &y));
            return op2(p, signs[i], x, y, ret);
        }
    if (at_word(p, "IS"))
        return parse_is_null(p, x, ret);
    if (at_word(p, "NOT")) {
        TRY(advance(p));
        TRY(parse_worded(p, x, ret));
        return op2(p, "not", *ret, NULL, ret);
    }
    if (at_word(p, "LIKE") || at_word(p, "BETWEEN") || at_word(p, "IN"))
        return parse_worded(p, x, ret);
    *ret = x;
    return RC_OK;
}

static enum rc parse_not(struct parser *p, struct cql2 **ret)
{
    if (!at_word(p, "NOT"))
        return parse_predicate(p, ret);
    TRY(deeper(p));
    TRY(advance(p));
    TRY(parse_not(p, ret));
    p->depth--;
    return op2(p, "not", *ret, NULL, ret);
}

/* a AND b AND c is one node, as JSON writes it. */
static enum rc parse_chain(struct parser *p, const char *word, const char *name,
                           enum rc (*each)(struct parser *p, struct cql2 **ret), struct cql2 **ret)
{
    struct cql2 *x, *y, *q = NULL;
    TRY(each(p, &x));
    while (at_word(p, word)) {
        TRY(advance(p));
        TRY(each(p, &y));
        if (q)
            TRY(cql2_arg(&p->b, q, y));
        else
            TRY(op2(p, name, x, y, &q));
    }
    *ret = q ? q : x;
    return RC_OK;
}

static enum rc parse_and(struct parser *p, struct cql2 **ret)
{
    return parse_chain(p, "AND", "and", parse_not, ret);
}

static enum rc parse_or(struct parser *p, struct cql2 **ret)
{
    return parse_chain(p, "OR", "or", parse_and, ret);
}

enum rc cql2_from_text(struct arena *a, struct str text, struct cql2 **ret, struct err *err)
{
    struct parser p = {.b = {.a = a, .err = err}, .rest = text, .length = text.n};
    struct cql2 *q;
    if (text.n > CQL2_TEXT_MAX)
        return err_set(err, RC_INVALID, CQL2_FIELD, "is longer than %d bytes", CQL2_TEXT_MAX);
    if (!str_is_utf8(text) || memchr(text.p, 0, text.n))
        return err_set(err, RC_INVALID, CQL2_FIELD, "is not UTF-8 text");
    TRY(advance(&p));
    TRY(parse_or(&p, &q));
    if (p.t.kind != END)
        return wrong(&p, "the end or AND, OR");
    TRY(cql2_check(q, err));
    *ret = q;
    return RC_OK;
}
