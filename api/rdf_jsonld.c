/* rdf_jsonld: a graph as JSON-LD 1.1, flat, with its context inside: nothing must be fetched to
 * read it. */
#include "api/rdf.h"

#include "core/json.h"

static void put_short(struct buf *b, const char *iri)
{
    struct str prefix, name;
    if (rdf_shorten(iri, &prefix, &name))
        buf_printf(b, "\"%.*s:%.*s\"", STR_FMT(prefix), STR_FMT(name));
    else
        json_put_str(b, str_of(iri));
}

static bool is_type(const struct rdf_triple *t)
{
    struct str prefix, name;
    return rdf_shorten(t->p, &prefix, &name) && str_is(prefix, "rdf") && str_is(name, "type");
}

static void put_value(struct buf *b, const struct rdf_triple *t)
{
    if (is_type(t)) {
        put_short(b, t->o);
    } else if (t->kind == RDF_IRI) {
        buf_puts(b, "{\"@id\":");
        json_put_str(b, str_of(t->o));
        buf_byte(b, '}');
    } else if (!t->type && !t->lang) {
        json_put_str(b, str_of(t->o));
    } else {
        buf_puts(b, "{\"@value\":");
        json_put_str(b, str_of(t->o));
        if (t->lang) {
            buf_printf(b, ",\"@language\":\"%s\"}", t->lang);
        } else {
            buf_puts(b, ",\"@type\":");
            put_short(b, t->type);
            buf_byte(b, '}');
        }
    }
}

static void put_context(struct buf *b)
{
    buf_puts(b, "{\"@context\":{");
    for (size_t i = 0; i < rdf_prefixes_n; i++)
        buf_printf(b, "%s\"%s\":\"%s\"", i ? "," : "", rdf_prefixes[i].name, rdf_prefixes[i].iri);
    buf_puts(b, "},\"@graph\":[");
}

void rdf_write_jsonld(struct rdf *g, struct buf *out)
{
    rdf_settle(g);
    put_context(out);
    for (size_t i = 0; i < g->n; i++) {
        const struct rdf_triple *t = &g->t[i], *before = i ? t - 1 : NULL;
        bool same_s = before && strcmp(before->s, t->s) == 0;
        bool same_p = same_s && strcmp(before->p, t->p) == 0;
        if (!same_p && before)
            buf_byte(out, ']');
        if (!same_s) {
            buf_puts(out, before ? "},{\"@id\":" : "{\"@id\":");
            json_put_str(out, str_of(t->s));
        }
        if (!same_p) {
            buf_byte(out, ',');
            if (is_type(t))
                buf_puts(out, "\"@type\"");
            else
                put_short(out, t->p);
            buf_puts(out, ":[");
        } else {
            buf_byte(out, ',');
        }
        put_value(out, t);
    }
    buf_puts(out, g->n ? "]}]}" : "]}");
}
