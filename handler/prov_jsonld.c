/* prov_jsonld: nodes first, then each relation onto its subject. */
#include "handler/prov_jsonld.h"

#include "core/json.h"

static const struct {
    const char *section, *type;
} nodes[] = {{"entity", "prov:Entity"}, {"activity", "prov:Activity"}, {"agent", "prov:Agent"}};

static const struct {
    const char *section, *from, *to;
} relations[] = {{"used", "prov:activity", "prov:entity"},
                 {"wasGeneratedBy", "prov:entity", "prov:activity"},
                 {"wasInvalidatedBy", "prov:entity", "prov:activity"},
                 {"wasDerivedFrom", "prov:generatedEntity", "prov:usedEntity"},
                 {"wasAssociatedWith", "prov:activity", "prov:agent"},
                 {"wasAttributedTo", "prov:entity", "prov:agent"},
                 {"wasInformedBy", "prov:informed", "prov:informant"},
                 {"actedOnBehalfOf", "prov:delegate", "prov:responsible"},
                 {"specializationOf", "prov:specificEntity", "prov:generalEntity"},
                 {"alternateOf", "prov:alternate1", "prov:alternate2"},
                 {"hadMember", "prov:collection", "prov:entity"}};

struct graph {
    yyjson_mut_doc *d;
    yyjson_mut_val *list; /* of nodes */
};

/* {"$": value, "type": t} is a typed literal, or a name. */
static yyjson_mut_val *value_of(struct graph *g, yyjson_val *v)
{
    yyjson_val *text = yyjson_obj_get(v, "$"), *type = yyjson_obj_get(v, "type");
    if (!text)
        return yyjson_val_mut_copy(g->d, v);
    bool name =
        yyjson_equals_str(type, "prov:QUALIFIED_NAME") || yyjson_equals_str(type, "xsd:QName");
    yyjson_mut_val *o = yyjson_mut_obj(g->d);
    yyjson_mut_obj_add_val(g->d, o, name ? "@id" : "@value", yyjson_val_mut_copy(g->d, text));
    if (!name && type)
        yyjson_mut_obj_add_val(g->d, o, "@type", yyjson_val_mut_copy(g->d, type));
    return o;
}

static void add_time(struct graph *g, yyjson_mut_val *n, const char *key, yyjson_val *v)
{
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(g->d, n, key);
    yyjson_mut_obj_add_val(g->d, o, "@value", yyjson_val_mut_copy(g->d, v));
    yyjson_mut_obj_add_str(g->d, o, "@type", "xsd:dateTime");
}

static void add_node(struct graph *g, yyjson_val *key, yyjson_val *attrs, const char *type)
{
    yyjson_mut_val *n = yyjson_mut_arr_add_obj(g->d, g->list), *types;
    yyjson_val *k, *v;
    yyjson_obj_iter it = yyjson_obj_iter_with(attrs);
    yyjson_mut_obj_add_val(g->d, n, "@id", yyjson_val_mut_copy(g->d, key));
    types = yyjson_mut_obj_add_arr(g->d, n, "@type");
    yyjson_mut_arr_add_str(g->d, types, type);
    while ((k = yyjson_obj_iter_next(&it))) {
        v = yyjson_obj_iter_get_val(k);
        if (yyjson_equals_str(k, "prov:type"))
            yyjson_mut_arr_add_val(
                types, yyjson_val_mut_copy(g->d, yyjson_is_obj(v) ? yyjson_obj_get(v, "$") : v));
        else if (yyjson_equals_str(k, "prov:startTime"))
            add_time(g, n, "prov:startedAtTime", v);
        else if (yyjson_equals_str(k, "prov:endTime"))
            add_time(g, n, "prov:endedAtTime", v);
        else
            yyjson_mut_obj_add(n, yyjson_val_mut_copy(g->d, k), value_of(g, v));
    }
}

static yyjson_mut_val *find_node(struct graph *g, const char *id)
{
    yyjson_mut_val *n;
    yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(g->list);
    while ((n = yyjson_mut_arr_iter_next(&it)))
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(n, "@id"), id))
            return n;
    n = yyjson_mut_arr_add_obj(g->d, g->list);
    yyjson_mut_obj_add_strcpy(g->d, n, "@id", id);
    return n;
}

static void add_edge(struct graph *g, const char *from, const char *name, const char *to)
{
    char key[64];
    yyjson_mut_val *n = find_node(g, from);
    snprintf(key, sizeof key, "prov:%s", name);
    yyjson_mut_val *list = yyjson_mut_obj_get(n, key);
    if (!list) {
        list = yyjson_mut_arr(g->d);
        yyjson_mut_obj_add(n, yyjson_mut_strcpy(g->d, key), list);
    }
    yyjson_mut_obj_add_strcpy(g->d, yyjson_mut_arr_add_obj(g->d, list), "@id", to);
}

/* A derivation of this type is a relation of its own in PROV-O. */
static const char *name_of(const char *section, yyjson_val *v)
{
    yyjson_val *t = yyjson_obj_get(v, "prov:type");
    yyjson_val *text = yyjson_is_obj(t) ? yyjson_obj_get(t, "$") : t;
    return yyjson_equals_str(text, "prov:Revision") ? "wasRevisionOf" : section;
}

static void add_relations(struct graph *g, yyjson_val *root)
{
    for (size_t i = 0; i < ARRAY_LEN(relations); i++) {
        yyjson_val *k, *s = yyjson_obj_get(root, relations[i].section);
        yyjson_obj_iter it = yyjson_obj_iter_with(s);
        while (s && (k = yyjson_obj_iter_next(&it))) {
            yyjson_val *v = yyjson_obj_iter_get_val(k);
            const char *from = yyjson_get_str(yyjson_obj_get(v, relations[i].from));
            const char *to = yyjson_get_str(yyjson_obj_get(v, relations[i].to));
            if (from && to)
                add_edge(g, from, name_of(relations[i].section, v), to);
        }
    }
}

enum rc prov_jsonld(struct arena *a, struct str provjson, struct str *ret, struct err *err)
{
    yyjson_val *root;
    TRY(json_parse(a, provjson, 0, "a provenance bundle", &root, err));
    struct graph g = {.d = json_doc(a)};
    yyjson_mut_val *o = yyjson_mut_obj(g.d);
    yyjson_mut_doc_set_root(g.d, o);
    yyjson_val *prefix = yyjson_obj_get(root, "prefix");
    if (prefix)
        yyjson_mut_obj_add_val(g.d, o, "@context", yyjson_val_mut_copy(g.d, prefix));
    g.list = yyjson_mut_obj_add_arr(g.d, o, "@graph");
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        yyjson_val *k, *s = yyjson_obj_get(root, nodes[i].section);
        yyjson_obj_iter it = yyjson_obj_iter_with(s);
        while (s && (k = yyjson_obj_iter_next(&it)))
            add_node(&g, k, yyjson_obj_iter_get_val(k), nodes[i].type);
    }
    add_relations(&g, root);
    TRY(json_doc_rc(g.d));
    return json_write(a, g.d, 0, ret, err);
}
