/* prov_graph: from PROV-JSON to PROV-O, by the table of relations. Only what our own documents hold
 * is read; anything else in one is an error, not a silent loss. */
#include "api/prov.h"

static const struct {
    const char *name, *from, *to, *direct, *qualified, *class, *object;
} relations[] = {
#define X(name, from, to, direct, qualified, class, object)                                        \
    {name, from, to, direct, qualified, class, object},
#include "api/prov_relations.def"
#undef X
};

struct reading {
    struct rdf *g;
    yyjson_val *prefixes;
    enum rc rc;
};

/* prefix:name by the document's own prefixes; blank nodes stay. */
static const char *name_iri(struct reading *x, const char *name)
{
    const char *colon = name ? strchr(name, ':') : NULL;
    if (!colon) {
        x->rc = RC_CORRUPT;
        return NULL;
    }
    if (name[0] == '_')
        return name;
    yyjson_val *iri = yyjson_obj_getn(x->prefixes, name, (size_t)(colon - name));
    char *out =
        yyjson_is_str(iri) ? arena_printf(x->g->a, "%s%s", yyjson_get_str(iri), colon + 1) : NULL;
    if (!out)
        x->rc = RC_CORRUPT;
    return out;
}

/* Names of PROV-JSON that are called otherwise in PROV-O. */
static const char *property(struct reading *x, const char *key)
{
    static const char *const other[][2] = {{"prov:label", "rdfs:label"},
                                           {"prov:type", "rdf:type"},
                                           {"prov:startTime", "prov:startedAtTime"},
                                           {"prov:endTime", "prov:endedAtTime"},
                                           {"prov:time", "prov:atTime"}};
    for (size_t i = 0; i < ARRAY_LEN(other); i++)
        if (strcmp(key, other[i][0]) == 0)
            return rdf_iri(x->g, other[i][1]);
    return name_iri(x, key);
}

static bool is_time(const char *key)
{
    return strcmp(key, "prov:startTime") == 0 || strcmp(key, "prov:endTime") == 0 ||
           strcmp(key, "prov:time") == 0;
}

static void add_value(struct reading *x, const char *node, const char *key, yyjson_val *v)
{
    char number[32];
    const char *p = property(x, key), *type = NULL, *text = yyjson_get_str(v);
    if (yyjson_is_obj(v)) { /* {"$": value, "type": name} */
        text = yyjson_get_str(yyjson_obj_get(v, "$"));
        type = yyjson_get_str(yyjson_obj_get(v, "type"));
    } else if (is_time(key)) {
        type = "xsd:dateTime";
    } else if (json_scalar(v, number)) {
        text = number;
        type = yyjson_is_bool(v) ? "xsd:boolean" : yyjson_is_int(v) ? "xsd:integer" : "xsd:double";
    }
    if (yyjson_is_null(v))
        return;
    if (!text || !p) {
        x->rc = RC_CORRUPT;
    } else if (type && strcmp(type, "prov:QUALIFIED_NAME") == 0) {
        const char *o = name_iri(x, text);
        if (o)
            rdf_link_under(x->g, node, p, o);
    } else {
        rdf_text_under(x->g, node, p, text, type ? rdf_iri(x->g, type) : NULL);
    }
}

static void add_attribute(struct reading *x, const char *node, const char *key, yyjson_val *v)
{
    size_t i, n;
    yyjson_val *one;
    if (!yyjson_is_arr(v)) {
        add_value(x, node, key, v);
        return;
    }
    yyjson_arr_foreach(v, i, n, one) add_value(x, node, key, one);
}

static void add_nodes(struct reading *x, yyjson_val *section, const char *class)
{
    size_t i, n, j, m;
    yyjson_val *key, *node, *name, *v;
    yyjson_obj_foreach(section, i, n, key, node)
    {
        const char *iri = name_iri(x, yyjson_get_str(key));
        if (!iri)
            return;
        rdf_class(x->g, iri, class);
        yyjson_obj_foreach(node, j, m, name, v) add_attribute(x, iri, yyjson_get_str(name), v);
    }
}

static bool is_revision(yyjson_val *v)
{
    const char *type = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(v, "prov:type"), "$"));
    return type && strcmp(type, "prov:Revision") == 0;
}

static void add_relation(struct reading *x, size_t at, const char *key, yyjson_val *v)
{
    const char *from = name_iri(x, yyjson_get_str(yyjson_obj_get(v, relations[at].from)));
    const char *to = name_iri(x, yyjson_get_str(yyjson_obj_get(v, relations[at].to)));
    yyjson_val *when = yyjson_obj_get(v, "prov:time");
    bool revision = is_revision(v);
    if (!from || !to)
        return;
    rdf_link(x->g, from, relations[at].direct, to);
    if (revision)
        rdf_link(x->g, from, "prov:wasRevisionOf", to);
    rdf_link(x->g, from, revision ? "prov:qualifiedRevision" : relations[at].qualified, key);
    rdf_class(x->g, key, revision ? "prov:Revision" : relations[at].class);
    rdf_link(x->g, key, relations[at].object, to);
    if (when)
        add_value(x, key, "prov:time", when);
}

enum rc prov_graph(struct rdf *g, yyjson_val *doc, struct err *err)
{
    struct reading x = {.g = g, .prefixes = yyjson_obj_get(doc, "prefix")};
    size_t i, n;
    yyjson_val *key, *v;
    add_nodes(&x, yyjson_obj_get(doc, "entity"), "prov:Entity");
    add_nodes(&x, yyjson_obj_get(doc, "activity"), "prov:Activity");
    add_nodes(&x, yyjson_obj_get(doc, "agent"), "prov:Agent");
    for (size_t at = 0; at < ARRAY_LEN(relations); at++)
        yyjson_obj_foreach(yyjson_obj_get(doc, relations[at].name), i, n, key, v)
            add_relation(&x, at, yyjson_get_str(key), v);
    if (x.rc != RC_OK)
        return err_set(err, x.rc, "", "a stored provenance document cannot be read");
    return rdf_rc(g, err);
}
