/* rdf_turtle: a graph as Turtle. Subjects are blocks; IRIs with a prefix of ours are short. */
#include "api/rdf.h"

/* What may not stand in quotes, escaped; the rest is UTF-8 and stays. */
static void put_string(struct buf *b, const char *s)
{
    buf_byte(b, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", c);
        else if (c == '\n')
            buf_puts(b, "\\n");
        else if (c == '\r')
            buf_puts(b, "\\r");
        else if (c < 0x20 || c == 0x7f)
            buf_printf(b, "\\u%04X", c);
        else
            buf_byte(b, *s);
    }
    buf_byte(b, '"');
}

static void put_node(struct buf *b, const char *iri)
{
    struct str prefix, name;
    if (iri[0] == '_' && iri[1] == ':')
        buf_puts(b, iri);
    else if (rdf_shorten(iri, &prefix, &name))
        buf_printf(b, "%.*s:%.*s", STR_FMT(prefix), STR_FMT(name));
    else
        buf_printf(b, "<%s>", iri);
}

static void put_object(struct buf *b, const struct rdf_triple *t)
{
    if (t->kind == RDF_IRI) {
        put_node(b, t->o);
        return;
    }
    put_string(b, t->o);
    if (t->lang) {
        buf_printf(b, "@%s", t->lang);
    } else if (t->type) {
        buf_puts(b, "^^");
        put_node(b, t->type);
    }
}

void rdf_write_turtle(struct rdf *g, struct buf *out)
{
    rdf_settle(g);
    for (size_t i = 0; i < rdf_prefixes_n; i++)
        buf_printf(out, "@prefix %s: <%s> .\n", rdf_prefixes[i].name, rdf_prefixes[i].iri);
    for (size_t i = 0; i < g->n; i++) {
        const struct rdf_triple *t = &g->t[i], *before = i ? t - 1 : NULL;
        bool same_s = before && strcmp(before->s, t->s) == 0;
        bool same_p = same_s && strcmp(before->p, t->p) == 0;
        if (!same_s) {
            buf_puts(out, before ? " .\n\n" : "\n");
            put_node(out, t->s);
        }
        buf_puts(out, same_p ? ", " : same_s ? " ;\n    " : "\n    ");
        if (!same_p) {
            put_node(out, t->p);
            buf_byte(out, ' ');
        }
        put_object(out, t);
    }
    buf_puts(out, g->n ? " .\n" : "");
}
