/* prov: one run as PROV-JSON. Local names are made of [A-Za-z0-9_-], so that they are the same in
 * every serialisation. */
#include "handler/prov.h"

#include "handler/gate.h"
#include "handler/uri.h"

/* The document while it is built, and the names of its nodes. */
struct prov {
    yyjson_mut_doc *d;
    yyjson_mut_val *root;
    const struct facts *f;
    const char *uri, *upstream, *version, *before, *restored, *reverted, *report, *decision, *gate,
        *activity;
};
#define AGENT "agt:freshet"

static yyjson_mut_val *section(struct prov *p, const char *name)
{
    yyjson_mut_val *s = yyjson_mut_obj_get(p->root, name);
    return s ? s : yyjson_mut_obj_add_obj(p->d, p->root, name);
}

/* A node or relation; key is copied. */
static yyjson_mut_val *add(struct prov *p, const char *kind, const char *key)
{
    yyjson_mut_val *v = yyjson_mut_obj(p->d);
    yyjson_mut_obj_add(section(p, kind), yyjson_mut_strcpy(p->d, key), v);
    return v;
}

static void add_typed(struct prov *p, yyjson_mut_val *o, const char *key, const char *value,
                      const char *type)
{
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(p->d, o, key);
    json_add_str(p->d, v, "$", value);
    json_add_str(p->d, v, "type", type);
}

static void add_type(struct prov *p, yyjson_mut_val *o, const char *type)
{
    add_typed(p, o, "prov:type", type, "prov:QUALIFIED_NAME");
}

static void add_relation(struct prov *p, const char *kind, const char *key, const char *from_role,
                         const char *from, const char *to_role, const char *to)
{
    yyjson_mut_val *v = add(p, kind, key);
    json_add_str(p->d, v, from_role, from);
    json_add_str(p->d, v, to_role, to);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void add_prefixes(struct prov *p)
{
    yyjson_mut_val *x = yyjson_mut_obj_add_obj(p->d, p->root, "prefix");
    json_add_str(p->d, x, "prov", "http://www.w3.org/ns/prov#");
    json_add_str(p->d, x, "xsd", "http://www.w3.org/2001/XMLSchema#");
    json_add_str(p->d, x, "kfm", "urn:kfm:ns:");
    json_add_str(p->d, x, "ent", JSON_BASE "/id/entity/");
    json_add_str(p->d, x, "act", JSON_BASE "/prov/");
    json_add_str(p->d, x, "agt", JSON_BASE "/id/agent/");
}

static void add_upstream(struct prov *p)
{
    yyjson_mut_val *e = add(p, "entity", p->upstream);
    add_type(p, e, "kfm:UpstreamObject");
    json_add_str(p->d, e, "prov:label", p->f->source->title);
    json_add_str(p->d, e, "kfm:source_id", p->f->source->id);
    add_typed(p, e, "kfm:uri", p->uri, "xsd:anyURI");
    json_add_str(p->d, e, "kfm:version_hint", p->f->cand->version_hint);
}

static void add_bytes(struct prov *p, const char *name, const struct identity *id)
{
    char hex[SHA256_HEX];
    yyjson_mut_val *e = add(p, "entity", name);
    sha256_hex(&id->sha, hex);
    add_type(p, e, "kfm:Artifact");
    json_add_str(p->d, e, "kfm:sha256", hex);
    yyjson_mut_obj_add_int(p->d, e, "kfm:bytes", id->size);
    json_add_str(p->d, e, "kfm:media_type", id->media_type);
    yyjson_mut_obj_add_int(p->d, e, "kfm:version", id->version);
}

static void add_report(struct prov *p)
{
    const struct validation *qa = &p->f->qa;
    yyjson_mut_val *e = add(p, "entity", p->report);
    add_type(p, e, "kfm:ValidationReport");
    json_add_str(p->d, e, "kfm:outcome", verdict_name(qa->outcome));
    json_add_str(p->d, e, "kfm:rules_version", p->f->tags.rules_version);
    yyjson_mut_obj_add_int(p->d, e, "kfm:checks", qa->checks);
    yyjson_mut_obj_add_int(p->d, e, "kfm:failed", qa->failed);
    if (qa->n_reasons == 0)
        return; /* PROV-JSON knows no empty lists of values */
    yyjson_mut_val *codes = yyjson_mut_obj_add_arr(p->d, e, "kfm:reasons");
    for (size_t i = 0; i < qa->n_reasons; i++)
        yyjson_mut_arr_add_str(p->d, codes, qa->reasons[i]);
}

static void add_decision(struct prov *p)
{
    yyjson_mut_val *e = add(p, "entity", p->decision);
    add_type(p, e, "kfm:Decision");
    json_add_str(p->d, e, "kfm:decision", p->f->reverts ? "rollback" : "approve");
    json_add_str(p->d, e, "kfm:reviewer", p->f->reviewer);
    json_add_str(p->d, e, "kfm:note", p->f->note ? p->f->note : "");
}

/* What the policy decided, by which version of it, and what was let pass by a waiver. */
static void add_gate(struct prov *p)
{
    const struct gate *g = p->f->gate;
    yyjson_mut_val *e = add(p, "entity", p->gate), *waivers = NULL;
    add_type(p, e, "kfm:PolicyDecision");
    json_add_str(p->d, e, "kfm:policy_version", p->f->tags.policy_version);
    json_add_str(p->d, e, "kfm:verdict", gate_verdict_name(g->verdict));
    if (*g->reason)
        json_add_str(p->d, e, "kfm:reason", g->reason);
    for (size_t i = 0; i < g->n; i++) {
        if (!g->findings[i].waiver)
            continue;
        if (!waivers)
            waivers = yyjson_mut_obj_add_arr(p->d, e, "kfm:waived");
        yyjson_mut_arr_append(waivers, json_fmt(p->d, "%s by waiver %lld", g->findings[i].reason,
                                                (long long)g->findings[i].waiver));
    }
}

static void add_activity(struct prov *p)
{
    const struct facts *f = p->f;
    yyjson_mut_val *x = add(p, "activity", p->activity);
    json_add_time(p->d, x, "prov:startTime", f->started_at);
    json_add_time(p->d, x, "prov:endTime", f->finalized_at);
    add_type(p, x, "kfm:ChangeRun");
    json_add_str(p->d, x, "kfm:run_id", f->run_id);
    json_add_str(p->d, x, "kfm:change_event_id", f->cand->event_id);
    json_add_str(p->d, x, "kfm:detector", f->cand->detector);
    json_add_str(p->d, x, "kfm:tool_version", f->tags.tool_version);
    json_add_str(p->d, x, "kfm:commit", f->tags.tool_commit);
    json_add_str(p->d, x, "kfm:rules_version", f->tags.rules_version);
    json_add_str(p->d, x, "kfm:policy_version", f->tags.policy_version);
    json_add_str(p->d, x, "kfm:result", f->result);
    if (*f->reason)
        json_add_str(p->d, x, "kfm:reason", f->reason);
}

static void add_agent(struct prov *p)
{
    yyjson_mut_val *x = add(p, "agent", AGENT);
    add_type(p, x, "prov:SoftwareAgent");
    json_add_str(p->d, x, "prov:label", "Freshet");
    json_add_str(p->d, x, "kfm:tool_version", p->f->tags.tool_version);
}

/* ---- relations ------------------------------------------------------------------------------- */

static void add_used(struct prov *p)
{
    /* A rollback does not look at the upstream. */
    const char *source = p->restored ? p->restored : p->before;
    add_relation(p, "used", "_:u1", "prov:activity", p->activity, "prov:entity",
                 p->f->reverts && source ? source : p->upstream);
    if (p->report)
        add_relation(p, "used", "_:u2", "prov:activity", p->activity, "prov:entity", p->report);
    if (p->decision)
        add_relation(p, "used", "_:u3", "prov:activity", p->activity, "prov:entity", p->decision);
    if (p->gate)
        add_relation(p, "used", "_:u4", "prov:activity", p->activity, "prov:entity", p->gate);
}

static void add_made(struct prov *p)
{
    add_relation(p, "wasGeneratedBy", "_:g1", "prov:entity", p->version, "prov:activity",
                 p->activity);
    add_relation(p, "wasDerivedFrom", "_:d1", "prov:generatedEntity", p->version, "prov:usedEntity",
                 p->upstream);
    const char *earlier = p->restored ? p->restored : p->before;
    if (!earlier)
        return;
    add_relation(p, "wasDerivedFrom", "_:d2", "prov:generatedEntity", p->version, "prov:usedEntity",
                 earlier);
    add_type(p, yyjson_mut_obj_get(section(p, "wasDerivedFrom"), "_:d2"), "prov:Revision");
}

static void add_removal(struct prov *p, const char *key, const char *entity)
{
    add_relation(p, "wasInvalidatedBy", key, "prov:entity", entity, "prov:activity", p->activity);
    json_add_time(p->d, yyjson_mut_obj_get(section(p, "wasInvalidatedBy"), key), "prov:time",
                  p->f->finalized_at);
}

static enum rc name_nodes(struct arena *a, struct prov *p, struct err *err)
{
    const struct facts *f = p->f;
    bool made = f->item_id != NULL, back = made && f->restored_item_id;
    /* After a deletion the last version is the one that comes back. */
    bool again = back && f->prev_item_id && strcmp(f->prev_item_id, f->restored_item_id) == 0;
    bool follows = f->prev_item_id && (made || f->deletes) && !again;
    p->uri = uri_shown(a, f->source->url);
    p->upstream = arena_printf(a, "ent:upstream-%s", f->run_id);
    p->activity = arena_printf(a, "act:%s", f->run_id);
    p->version = made ? arena_printf(a, "ent:%s", f->item_id) : NULL;
    p->before = follows ? arena_printf(a, "ent:%s", f->prev_item_id) : NULL;
    p->restored = back ? arena_printf(a, "ent:%s", f->restored_item_id) : NULL;
    p->reverted = f->reverted_item_id ? arena_printf(a, "ent:%s", f->reverted_item_id) : NULL;
    p->report = f->qa.report.n ? arena_printf(a, "ent:report-%s", f->run_id) : NULL;
    p->decision = f->reviewer ? arena_printf(a, "ent:decision-%s", f->run_id) : NULL;
    p->gate = f->gate ? arena_printf(a, "ent:policy-%s", f->run_id) : NULL;
    if (!p->uri || !p->upstream || !p->activity || (made && !p->version) ||
        (follows && !p->before) || (back && !p->restored) ||
        (f->reverted_item_id && !p->reverted) || (f->qa.report.n && !p->report) ||
        (f->reviewer && !p->decision) || (f->gate && !p->gate))
        return err_set(err, RC_NOMEM, "", "no memory for provenance");
    return RC_OK;
}

enum rc prov_render(struct arena *a, const struct facts *f, struct str *ret, struct err *err)
{
    struct prov p = {.d = json_doc(a), .f = f};
    p.root = yyjson_mut_obj(p.d);
    yyjson_mut_doc_set_root(p.d, p.root);
    TRY(name_nodes(a, &p, err));
    add_prefixes(&p);
    add_upstream(&p);
    if (p.version)
        add_bytes(&p, p.version, &f->to);
    if (p.before)
        add_bytes(&p, p.before, &f->last);
    if (p.restored)
        add_bytes(&p, p.restored, &f->restored);
    if (p.reverted)
        add_bytes(&p, p.reverted, &f->reverted);
    if (p.report)
        add_report(&p);
    if (p.decision)
        add_decision(&p);
    if (p.gate)
        add_gate(&p);
    add_activity(&p);
    add_agent(&p);
    add_used(&p);
    if (p.version)
        add_made(&p);
    if (p.before && (!p.version || f->reverts))
        add_removal(&p, "_:i1", p.before);
    if (p.reverted)
        add_removal(&p, "_:i2", p.reverted);
    add_relation(&p, "wasAssociatedWith", "_:a1", "prov:activity", p.activity, "prov:agent", AGENT);
    return json_write(a, p.d, 0, ret, err);
}
