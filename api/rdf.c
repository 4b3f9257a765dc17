/* rdf: building and settling a graph. */
#include "api/rdf.h"

#include <stdlib.h>
#include "core/json.h"

const struct rdf_prefix rdf_prefixes[] = {
#define X(name, iri) {#name, iri},
#include "api/rdf_prefixes.def"
#undef X
};
const size_t rdf_prefixes_n = ARRAY_LEN(rdf_prefixes);

void rdf_init(struct rdf *g, struct arena *a, struct str base)
{
    *g = (struct rdf){.a = a, .base = base};
}

/* ---- terms ----------------------------------------------------------------------------------- */

static bool is_iri_byte(unsigned char c)
{
    return c > 0x20 && c != 0x7f && !strchr("<>\"{}|\\^`", c);
}

/* A copy with the base mark replaced; of an IRI, with what may not stand in one as %XX. */
static const char *copy(struct rdf *g, const char *text, bool iri)
{
    size_t n = 0;
    for (const char *c = text; *c; c++)
        n += *c == JSON_BASE[0] ? g->base.n : iri && !is_iri_byte((unsigned char)*c) ? 3 : 1;
    char *out = arena_alloc(g->a, n + 1), *at = out;
    if (!out) {
        g->rc = RC_NOMEM;
        return NULL;
    }
    for (const char *c = text; *c; c++) {
        if (*c == JSON_BASE[0])
            at = mempcpy(at, g->base.p, g->base.n);
        else if (iri && !is_iri_byte((unsigned char)*c))
            at += snprintf(at, 4, "%%%02X", (unsigned char)*c);
        else
            *at++ = *c;
    }
    *at = 0;
    return out;
}

const char *rdf_iri(struct rdf *g, const char *curie)
{
    const char *colon = strchr(curie, ':');
    for (size_t i = 0; colon && i < rdf_prefixes_n; i++) {
        size_t n = strlen(rdf_prefixes[i].name);
        if (n != (size_t)(colon - curie) || memcmp(curie, rdf_prefixes[i].name, n) != 0)
            continue;
        char *iri = arena_printf(g->a, "%s%s", rdf_prefixes[i].iri, colon + 1);
        if (!iri)
            g->rc = RC_NOMEM;
        return iri;
    }
    g->rc = RC_INTERNAL;
    return NULL;
}

bool rdf_shorten(const char *iri, struct str *ret_prefix, struct str *ret_name)
{
    for (size_t i = 0; i < rdf_prefixes_n; i++) {
        size_t n = strlen(rdf_prefixes[i].iri);
        if (strncmp(iri, rdf_prefixes[i].iri, n) != 0)
            continue;
        const char *name = iri + n;
        size_t plain =
            strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
        if (plain == 0 || name[plain] || (name[0] >= '0' && name[0] <= '9'))
            return false;
        *ret_prefix = str_of(rdf_prefixes[i].name);
        *ret_name = (struct str){name, plain};
        return true;
    }
    return false;
}

/* ---- triples --------------------------------------------------------------------------------- */

static void add(struct rdf *g, struct rdf_triple t)
{
    if (g->rc != RC_OK || !t.s || !t.p || !t.o)
        return;
    if (g->n == RDF_TRIPLES_MAX) {
        g->rc = RC_TOO_LARGE;
        return;
    }
    if (g->n == g->room) {
        size_t room = g->room ? g->room * 2 : 256;
        struct rdf_triple *more =
            arena_resize(g->a, g->t, g->room * sizeof *g->t, room * sizeof *g->t);
        if (!more) {
            g->rc = RC_NOMEM;
            return;
        }
        g->t = more;
        g->room = room;
    }
    g->t[g->n++] = t;
    g->sorted = false;
}

static bool is_absent(const char *s, const char *o)
{
    return !s || !*s || !o || !*o;
}

void rdf_link(struct rdf *g, const char *s, const char *p, const char *o)
{
    if (!is_absent(s, o))
        add(g,
            (struct rdf_triple){
                .s = copy(g, s, true), .p = rdf_iri(g, p), .o = copy(g, o, true), .kind = RDF_IRI});
}

void rdf_link_under(struct rdf *g, const char *s, const char *iri, const char *o)
{
    if (!is_absent(s, o))
        add(g, (struct rdf_triple){.s = copy(g, s, true),
                                   .p = copy(g, iri, true),
                                   .o = copy(g, o, true),
                                   .kind = RDF_IRI});
}

void rdf_word(struct rdf *g, const char *s, const char *p, const char *name)
{
    if (!is_absent(s, name))
        rdf_link(g, s, p, rdf_iri(g, name));
}

void rdf_class(struct rdf *g, const char *s, const char *name)
{
    rdf_word(g, s, "rdf:type", name);
}

static void add_literal(struct rdf *g, const char *s, const char *p_iri, const char *text,
                        const char *type_iri, const char *lang)
{
    if (!is_absent(s, text))
        add(g, (struct rdf_triple){.s = copy(g, s, true),
                                   .p = p_iri,
                                   .o = copy(g, text, false),
                                   .type = type_iri,
                                   .lang = lang,
                                   .kind = RDF_TEXT});
}

void rdf_text(struct rdf *g, const char *s, const char *p, const char *text)
{
    add_literal(g, s, rdf_iri(g, p), text, NULL, NULL);
}

void rdf_english(struct rdf *g, const char *s, const char *p, const char *text)
{
    add_literal(g, s, rdf_iri(g, p), text, NULL, "en");
}

void rdf_typed(struct rdf *g, const char *s, const char *p, const char *text, const char *type)
{
    add_literal(g, s, rdf_iri(g, p), text, rdf_iri(g, type), NULL);
}

void rdf_text_under(struct rdf *g, const char *s, const char *iri, const char *text,
                    const char *type_iri)
{
    add_literal(g, s, copy(g, iri, true), text, type_iri, NULL);
}

enum rc rdf_rc(const struct rdf *g, struct err *err)
{
    if (g->rc == RC_OK)
        return RC_OK;
    return err_set(err, g->rc, "", "the graph could not be built");
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare(const void *x, const void *y)
{
    const struct rdf_triple *a = x, *b = y;
    int d = strcmp(a->s, b->s);
    d = d ? d : strcmp(a->p, b->p);
    d = d ? d : (int)a->kind - (int)b->kind;
    d = d ? d : strcmp(a->o, b->o);
    d = d ? d : compare_text(a->type, b->type);
    return d ? d : compare_text(a->lang, b->lang);
}

void rdf_settle(struct rdf *g)
{
    size_t kept = 0;
    if (g->sorted || g->n == 0)
        return;
    qsort(g->t, g->n, sizeof *g->t, compare);
    for (size_t i = 1; i < g->n; i++)
        if (compare(&g->t[kept], &g->t[i]) != 0)
            g->t[++kept] = g->t[i];
    g->n = kept + 1;
    g->sorted = true;
}
