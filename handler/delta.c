/* delta: manifests and their checksums. */
#include "handler/delta.h"

#include <math.h>

/* A whole-file manifest has about a kilobyte; 3 * DIFF_LISTED_MAX features with keys of
 * INSPECT_KEY_MAX bytes, all of them escaped, less than this. */
#define DELTA_MAX (4u << 20)
#define CHECKSUM_MAX (sizeof "sha256:" + SHA256_HEX)

static yyjson_mut_val *identity(yyjson_mut_doc *d, const struct identity *id)
{
    char hex[SHA256_HEX];
    if (id->version == 0)
        return yyjson_mut_null(d);
    yyjson_mut_val *v = yyjson_mut_obj(d);
    sha256_hex(&id->sha, hex);
    json_add_str(d, v, "sha256", hex);
    yyjson_mut_obj_add_int(d, v, "size", id->size);
    json_add_str(d, v, "media_type", id->media_type);
    yyjson_mut_obj_add_int(d, v, "version", id->version);
    return v;
}

/* To have these bytes as head: put them there; without a version before: remove it. */
static void add_operation(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key,
                          const struct identity *to)
{
    char hex[SHA256_HEX];
    yyjson_mut_val *op = yyjson_mut_arr_add_obj(d, yyjson_mut_obj_add_arr(d, o, key));
    json_add_str(d, op, "op", to->version ? "put" : "remove");
    if (!to->version)
        return;
    sha256_hex(&to->sha, hex);
    json_add_str(d, op, "sha256", hex);
    yyjson_mut_obj_add_int(d, op, "size", to->size);
}

static void checksum_text(struct str canonical, char out[CHECKSUM_MAX])
{
    struct sha256 sha;
    char hex[SHA256_HEX];
    digest_sha256(canonical.p, canonical.n, &sha);
    sha256_hex(&sha, hex);
    snprintf(out, CHECKSUM_MAX, "sha256:%s", hex);
}

enum rc delta_seal(yyjson_mut_doc *d, yyjson_mut_val *o, struct err *err)
{
    CLEANUP(buf_release) struct buf canonical;
    char text[CHECKSUM_MAX];
    buf_init(&canonical, DELTA_MAX);
    if (json_doc_rc(d) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for a delta manifest");
    TRY(json_canon_mut(&canonical, o, err));
    checksum_text(buf_view(&canonical), text);
    json_add_str(d, o, "checksum", text);
    return RC_OK;
}

/* ---- features -------------------------------------------------------------------------------- */

/* Keys are foreign text. A control character could be the mark of the base URL (core/json.h). */
static yyjson_mut_val *key_of(yyjson_mut_doc *d, yyjson_val *feature)
{
    yyjson_val *key = yyjson_obj_get(feature, "key");
    CLEANUP(buf_release) struct buf b;
    buf_init(&b, 4 * INSPECT_KEY_MAX);
    if (!yyjson_is_str(key))
        return yyjson_mut_null(d);
    for (const char *p = yyjson_get_str(key); *p; p++)
        buf_add(&b, (unsigned char)*p < ' ' ? "\xef\xbf\xbd" : p, (unsigned char)*p < ' ' ? 3 : 1);
    return yyjson_mut_strncpy(d, b.data ? b.data : "", b.len);
}

static void add_copy(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, yyjson_val *v)
{
    yyjson_mut_obj_add_val(d, o, key, v ? yyjson_val_mut_copy(d, v) : yyjson_mut_null(d));
}

static void add_row(yyjson_mut_doc *d, yyjson_mut_val *list, const struct diff_row *row)
{
    yyjson_val *any = row->now ? row->now : row->old;
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(d, list);
    yyjson_mut_obj_add_val(d, o, "key", key_of(d, any));
    if (row->old)
        add_copy(d, o, "old_digest", yyjson_obj_get(row->old, "digest"));
    if (row->now)
        add_copy(d, o, "new_digest", yyjson_obj_get(row->now, "digest"));
    add_copy(d, o, "bbox", yyjson_obj_get(any, "bbox"));
    if (!row->old || !row->now)
        return;
    add_copy(d, o, "old_bbox", yyjson_obj_get(row->old, "bbox"));
    yyjson_mut_obj_add_bool(d, o, "moved", diff_moved(row));
}

static void add_list(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key,
                     const struct diff_list *from)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, o, key);
    for (size_t i = 0; i < from->n; i++)
        add_row(d, list, &from->rows[i]);
}

static void add_lists(yyjson_mut_doc *d, yyjson_mut_val *o, const struct diff *x)
{
    yyjson_mut_val *f = yyjson_mut_obj_add_obj(d, o, "features");
    int64_t listed = (int64_t)(x->added.n + x->removed.n + x->modified.n);
    yyjson_mut_obj_add_bool(d, f, "complete",
                            listed == x->added.total + x->removed.total + x->modified.total);
    add_list(d, f, "added", &x->added);
    add_list(d, f, "removed", &x->removed);
    add_list(d, f, "modified", &x->modified);
}

static void add_count(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, int64_t n)
{
    if (n >= 0)
        yyjson_mut_obj_add_int(d, o, key, n);
    else
        yyjson_mut_obj_add_null(d, o, key);
}

static void add_area(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, double km2)
{
    if (km2 >= 0)
        yyjson_mut_obj_add_real(d, o, key, rint(km2 * 1e6) / 1e6);
    else
        yyjson_mut_obj_add_null(d, o, key);
}

static void add_totals(yyjson_mut_doc *d, yyjson_mut_val *o, const struct diff *x)
{
    yyjson_mut_val *t = yyjson_mut_obj_add_obj(d, o, "totals");
    double pct;
    add_count(d, t, "before", x->before);
    add_count(d, t, "after", x->after);
    add_count(d, t, "added", x->added.total);
    add_count(d, t, "removed", x->removed.total);
    add_count(d, t, "modified", x->modified.total);
    add_area(d, t, "area_before_km2", x->area_before);
    add_area(d, t, "area_after_km2", x->area_after);
    add_area(d, t, "area_gained_km2", x->gained);
    add_area(d, t, "area_lost_km2", x->lost);
    if (diff_area_pct(x, &pct))
        yyjson_mut_obj_add_real(d, t, "area_change_pct", pct);
    else
        yyjson_mut_obj_add_null(d, t, "area_change_pct");
}

static void add_diff(yyjson_mut_doc *d, yyjson_mut_val *o, const struct diff *x)
{
    json_add_str(d, o, "verdict", x->verdict);
    add_totals(d, o, x);
    if (x->verdict)
        add_lists(d, o, x);
}

/* ---- the manifest ---------------------------------------------------------------------------- */

enum rc delta_render(struct arena *a, const struct facts *f, struct str *ret, struct err *err)
{
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "delta_id", f->delta_id);
    json_add_str(d, o, "manifest_version", "1");
    json_add_str(d, o, "granularity", f->diff ? "feature" : "file");
    json_add_str(d, o, "source_id", f->source->id);
    json_add_str(d, o, "collection", f->source->collection);
    json_add_str(d, o, "change_event_id", f->cand->event_id);
    json_add_str(d, o, "run_id", f->run_id);
    json_add_time(d, o, "created_at", f->finalized_at);
    json_add_str(d, o, "change_type", f->change_type);
    json_add_str(d, o, "change_class", f->change_class);
    yyjson_mut_obj_add_val(d, o, "from", identity(d, &f->from));
    yyjson_mut_obj_add_val(d, o, "to", identity(d, &f->to));
    add_operation(d, o, "apply", &f->to);
    add_operation(d, o, "revert", &f->from);
    if (f->reverts)
        json_add_str(d, o, "reverts", f->reverts);
    if (f->manifest_id)
        json_add_str(d, o, "manifest", f->manifest_id);
    if (f->diff)
        add_diff(d, o, f->diff);
    TRY(delta_seal(d, o, err));
    return json_write(a, d, 0, ret, err);
}

enum rc delta_check(struct str manifest, struct err *err)
{
    CLEANUP(arena_release) struct arena a;
    CLEANUP(buf_release) struct buf canonical;
    char text[CHECKSUM_MAX];
    yyjson_val *root;
    arena_init(&a, 8 * DELTA_MAX);
    buf_init(&canonical, DELTA_MAX);
    TRY(json_parse(&a, manifest, 0, "the delta manifest", &root, err));
    yyjson_mut_doc *d = json_doc(&a);
    yyjson_mut_val *o = yyjson_val_mut_copy(d, root);
    yyjson_mut_val *stated = yyjson_mut_obj_remove_key(o, "checksum");
    if (json_doc_rc(d) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory to check a delta manifest");
    TRY(json_canon_mut(&canonical, o, err));
    checksum_text(buf_view(&canonical), text);
    if (yyjson_mut_equals_str(stated, text))
        return RC_OK;
    return err_set(err, RC_CORRUPT, "checksum", "is not that of the delta manifest");
}
