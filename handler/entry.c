/* entry: what the feed says about one change. */
#include "handler/entry.h"

#include "handler/entries.h"
#include "handler/uri.h"

static void add_identity(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key,
                         const struct identity *id)
{
    char hex[SHA256_HEX];
    if (id->version == 0) {
        yyjson_mut_obj_add_null(d, o, key);
        return;
    }
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(d, o, key);
    sha256_hex(&id->sha, hex);
    json_add_str(d, v, "sha256", hex);
    yyjson_mut_obj_add_int(d, v, "version", id->version);
}

/* Approved by a person although a rule said hold, passed otherwise. A deletion has no bytes that a
 * rule could judge; where a person did, that is all that is said: the level may hide what
 * it was. */
static const char *status_of(const struct facts *f)
{
    if (f->reviewer && (f->deletes || f->qa.outcome == VERDICT_HOLD))
        return "approved";
    return f->deletes ? "none" : verdict_name(f->qa.outcome);
}

/* The features of a listing are its entries. What is no geodata has none. */
static void add_features(yyjson_mut_doc *d, yyjson_mut_val *q, const struct facts *f)
{
    const struct diff *x = f->diff;
    const struct entry_counts geo = {f->qa.features, x ? x->added.total : -1,
                                     x ? x->removed.total : -1, x ? x->modified.total : -1};
    const struct entry_counts *c = f->manifest_id ? f->entries : &geo;
    yyjson_mut_val *n = yyjson_mut_obj_add_obj(d, q, "features");
    json_add_count(d, n, "total", c->total);
    json_add_count(d, n, "added", c->added);
    json_add_count(d, n, "removed", c->removed);
    json_add_count(d, n, "modified", c->modified);
}

static void add_qa(yyjson_mut_doc *d, yyjson_mut_val *o, const struct facts *f)
{
    yyjson_mut_val *q = yyjson_mut_obj_add_obj(d, o, "qa_summary");
    double pct;
    json_add_str(d, q, "status", status_of(f));
    yyjson_mut_obj_add_int(d, q, "checks", f->qa.checks);
    yyjson_mut_obj_add_int(d, q, "failed", f->qa.failed);
    yyjson_mut_val *reasons = yyjson_mut_obj_add_arr(d, q, "reasons");
    for (size_t i = 0; i < f->qa.n_reasons; i++)
        yyjson_mut_arr_add_str(d, reasons, f->qa.reasons[i]);
    add_features(d, q, f);
    if (f->diff && diff_area_pct(f->diff, &pct))
        yyjson_mut_obj_add_real(d, q, "area_change_pct", pct);
    else
        yyjson_mut_obj_add_null(d, q, "area_change_pct");
}

static void add_bbox(yyjson_mut_doc *d, yyjson_mut_val *o, const struct validation *qa)
{
    if (!qa->has_bbox) {
        yyjson_mut_obj_add_null(d, o, "bbox");
        return;
    }
    yyjson_mut_val *box = yyjson_mut_obj_add_arr(d, o, "bbox");
    for (int i = 0; i < 4; i++)
        yyjson_mut_arr_add_real(d, box, qa->bbox[i]);
}

static void add_head(yyjson_mut_doc *d, yyjson_mut_val *o, const struct facts *f)
{
    json_add_str(d, o, "change_event_id", f->cand->event_id);
    json_add_str(d, o, "change_type", f->change_type);
    json_add_str(d, o, "change_class", f->change_class);
    json_add_str(d, o, "source_id", f->source->id);
    json_add_str(d, o, "collection", f->source->collection);
    json_add_str(d, o, "title", f->source->title);
    json_add_str(d, o, "detector", f->cand->detector);
    json_add_time(d, o, "detected_at", f->cand->detected_at);
    json_add_time(d, o, "received_at", f->cand->received_at);
    json_add_time(d, o, "finalized_at", f->finalized_at);
}

static void add_ref(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, const char *path,
                    const char *id)
{
    yyjson_mut_obj_add_val(d, o, key, json_fmt(d, JSON_BASE "%s%s", path, id));
}

static void add_evidence(yyjson_mut_doc *d, yyjson_mut_val *o, const struct facts *f)
{
    add_ref(d, o, "delta_manifest_ref", "/deltas/", f->delta_id);
    add_qa(d, o, f);
    add_ref(d, o, "prov_ref", "/prov/", f->run_id);
    /* What was deleted has its last item, which says so. */
    yyjson_mut_obj_add_val(d, o, "stac_ref",
                           json_fmt(d, JSON_BASE "/stac/collections/%s/items/%s",
                                    f->source->collection,
                                    f->deletes ? f->prev_item_id : f->item_id));
    if (f->lineage) /* where the events went is nobody's business: the run's id finds them there */
        yyjson_mut_obj_add_val(d, o, "openlineage_ref", json_fmt(d, "urn:uuid:%s", f->run_id));
    else
        yyjson_mut_obj_add_null(d, o, "openlineage_ref");
    add_bbox(d, o, &f->qa);
}

/* How to take the change back: the request, complete but for its reason and its token. */
static void add_rollback(yyjson_mut_doc *d, yyjson_mut_val *o, const struct facts *f)
{
    yyjson_mut_val *r = yyjson_mut_obj_add_obj(d, o, "rollback_ref");
    json_add_str(d, r, "method", "POST");
    yyjson_mut_obj_add_val(d, r, "href", json_fmt(d, JSON_BASE "/admin/rollbacks"));
    json_add_str(d, yyjson_mut_obj_add_obj(d, r, "body"), "delta", f->delta_id);
}

enum rc entry_render(struct arena *a, const struct facts *f, struct str *ret, struct err *err)
{
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    const char *uri = uri_shown(a, f->source->url);
    if (!uri)
        return err_set(err, RC_NOMEM, "", "no memory for a feed entry");
    yyjson_mut_doc_set_root(d, o);
    add_head(d, o, f);
    json_add_str(d, o, "source_uri", uri);
    add_identity(d, o, "object_identity", &f->to);
    add_identity(d, o, "previous_identity", &f->from);
    add_evidence(d, o, f);
    yyjson_mut_obj_add_bool(d, o, "unexpected", f->cand->unexpected);
    json_add_str(d, o, "sensitivity", level_name(f->source->level));
    yyjson_mut_obj_add_arr(d, o, "redacted");
    add_rollback(d, o, f);
    return json_write(a, d, 0, ret, err);
}
