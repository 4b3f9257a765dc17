/* delta: manifests and their checksums. */
#include "handler/delta.h"

#include <math.h>

/* A whole-file manifest has about a kilobyte; 3 * DIFF_LISTED_MAX features with keys of
 * INSPECT_KEY_MAX bytes, all of them escaped, less than 3 MB; and a comparison has COMPARE_MAX. */
#define DELTA_MAX (6u << 20)
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
    CLEANUP(buf_release) struct buf canonical = {0};
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

/* Foreign text: a control character could be the mark of the base URL (core/json.h). */
static yyjson_mut_val *clean_text(yyjson_mut_doc *d, yyjson_val *text)
{
    CLEANUP(buf_release) struct buf b = {0};
    buf_init(&b, DELTA_MAX);
    const char *p = yyjson_get_str(text), *end = p + yyjson_get_len(text);
    for (; p < end; p++)
        buf_add(&b, (unsigned char)*p < ' ' ? "\xef\xbf\xbd" : p, (unsigned char)*p < ' ' ? 3 : 1);
    return yyjson_mut_strncpy(d, b.data ? b.data : "", b.len);
}

static yyjson_mut_val *key_of(yyjson_mut_doc *d, yyjson_val *feature)
{
    yyjson_val *key = yyjson_obj_get(feature, "key");
    return yyjson_is_str(key) ? clean_text(d, key) : yyjson_mut_null(d);
}

/* What the sandbox told, copied with every text in it made harmless. Its depth was bounded when it
 * was parsed. */
static yyjson_mut_val *clean_copy(yyjson_mut_doc *d, yyjson_val *v)
{
    yyjson_val *name, *item;
    yyjson_mut_val *to;
    size_t i, n;
    if (yyjson_is_str(v))
        return clean_text(d, v);
    if (yyjson_is_arr(v)) {
        to = yyjson_mut_arr(d);
        yyjson_arr_foreach(v, i, n, item) yyjson_mut_arr_append(to, clean_copy(d, item));
        return to;
    }
    if (!yyjson_is_obj(v))
        return yyjson_val_mut_copy(d, v);
    to = yyjson_mut_obj(d);
    yyjson_obj_foreach(v, i, n, name, item)
        yyjson_mut_obj_add(to, clean_text(d, name), clean_copy(d, item));
    return to;
}

static void add_copy(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, yyjson_val *v)
{
    yyjson_mut_obj_add_val(d, o, key, v ? yyjson_val_mut_copy(d, v) : yyjson_mut_null(d));
}

/* The members of a comparison's row that a manifest takes over, in its order. */
static void add_measures(yyjson_mut_doc *d, yyjson_mut_val *o, yyjson_val *row)
{
    static const char *const members[] = {"moved_m", "gained",    "lost",      "attributes",
                                          "shape",   "old_shape", "new_shape", "legal_date"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        yyjson_val *v = yyjson_obj_get(row, members[i]);
        if (v)
            yyjson_mut_obj_add_val(d, o, members[i], clean_copy(d, v));
    }
}

static bool same_digest(yyjson_val *feature, yyjson_val *row, const char *name)
{
    return !feature || yyjson_equals(yyjson_obj_get(feature, "digest"), yyjson_obj_get(row, name));
}

static void add_row(yyjson_mut_doc *d, yyjson_mut_val *list, const struct diff_row *row,
                    yyjson_val *compared)
{
    yyjson_val *any = row->now ? row->now : row->old;
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(d, list);
    yyjson_mut_obj_add_val(d, o, "key", key_of(d, any));
    if (row->old)
        add_copy(d, o, "old_digest", yyjson_obj_get(row->old, "digest"));
    if (row->now)
        add_copy(d, o, "new_digest", yyjson_obj_get(row->now, "digest"));
    add_copy(d, o, "bbox", yyjson_obj_get(any, "bbox"));
    if (row->old && row->now) {
        add_copy(d, o, "old_bbox", yyjson_obj_get(row->old, "bbox"));
        yyjson_mut_obj_add_bool(d, o, "moved", diff_moved(row));
    }
    if (compared && same_digest(row->old, compared, "old_digest") &&
        same_digest(row->now, compared, "new_digest"))
        add_measures(d, o, compared);
}

static void add_list(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key,
                     const struct diff_list *from, yyjson_val *compared)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, o, key);
    yyjson_val *measured = yyjson_obj_get(compared, key);
    for (size_t i = 0; i < from->n; i++)
        add_row(d, list, &from->rows[i], yyjson_arr_get(measured, i));
}

static void add_lists(yyjson_mut_doc *d, yyjson_mut_val *o, const struct diff *x,
                      yyjson_val *compared)
{
    yyjson_mut_val *f = yyjson_mut_obj_add_obj(d, o, "features");
    int64_t listed = (int64_t)(x->added.n + x->removed.n + x->modified.n);
    yyjson_mut_obj_add_bool(d, f, "complete",
                            listed == x->added.total + x->removed.total + x->modified.total);
    add_list(d, f, "added", &x->added, compared);
    add_list(d, f, "removed", &x->removed, compared);
    add_list(d, f, "modified", &x->modified, compared);
}

static void add_area(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, double km2)
{
    if (km2 >= 0)
        yyjson_mut_obj_add_real(d, o, key, rint(km2 * 1e6) / 1e6);
    else
        yyjson_mut_obj_add_null(d, o, key);
}

/* A share of what was before; null without any. */
static void add_share(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, double km2,
                      double before)
{
    if (km2 >= 0 && before > 0)
        yyjson_mut_obj_add_real(d, o, key, rint(km2 / before * 1e6) / 1e4);
    else
        yyjson_mut_obj_add_null(d, o, key);
}

/* How far borders moved, and what they enclose between them. null: nobody measured. */
static void add_moves(yyjson_mut_doc *d, yyjson_mut_val *t, yyjson_val *compared)
{
    static const char *const members[] = {"moved_m", "gained_patches", "lost_patches", "slivers",
                                          "slivers_km2"};
    yyjson_val *from = yyjson_obj_get(compared, "totals");
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        yyjson_val *v = yyjson_obj_get(from, members[i]);
        add_copy(d, t, members[i], yyjson_is_num(v) ? v : NULL);
    }
}

static void add_totals(yyjson_mut_doc *d, yyjson_mut_val *o, const struct diff *x,
                       yyjson_val *compared)
{
    yyjson_mut_val *t = yyjson_mut_obj_add_obj(d, o, "totals");
    double pct;
    json_add_count(d, t, "before", x->before);
    json_add_count(d, t, "after", x->after);
    json_add_count(d, t, "added", x->added.total);
    json_add_count(d, t, "removed", x->removed.total);
    json_add_count(d, t, "modified", x->modified.total);
    add_area(d, t, "area_before_km2", x->area_before);
    add_area(d, t, "area_after_km2", x->area_after);
    add_area(d, t, "area_gained_km2", x->gained);
    add_area(d, t, "area_lost_km2", x->lost);
    if (diff_area_pct(x, &pct))
        yyjson_mut_obj_add_real(d, t, "area_change_pct", pct);
    else
        yyjson_mut_obj_add_null(d, t, "area_change_pct");
    add_share(d, t, "area_gained_pct", x->gained, x->area_before);
    add_share(d, t, "area_lost_pct", x->lost, x->area_before);
    add_moves(d, t, compared);
}

/* Was all of it measured, and if not, why? */
static void add_compared(yyjson_mut_doc *d, yyjson_mut_val *o, const struct diff *x,
                         yyjson_val *compared)
{
    yyjson_val *reason = yyjson_obj_get(compared, "reason");
    yyjson_mut_val *c = yyjson_mut_obj_add_obj(d, o, "comparison");
    yyjson_mut_obj_add_bool(d, c, "complete", x->measured);
    yyjson_mut_obj_add_val(d, c, "reason",
                           yyjson_is_str(reason) ? clean_text(d, reason) : yyjson_mut_null(d));
    yyjson_val *left = yyjson_ptr_get(compared, "/totals/unmeasured");
    add_copy(d, c, "unmeasured", yyjson_is_int(left) ? left : NULL);
}

static void add_legal_dates(yyjson_mut_doc *d, yyjson_mut_val *o, yyjson_val *compared)
{
    yyjson_val *first = yyjson_ptr_get(compared, "/totals/legal_date_first");
    yyjson_val *last = yyjson_ptr_get(compared, "/totals/legal_date_last");
    if (!yyjson_is_str(first) || !yyjson_is_str(last))
        return;
    yyjson_mut_val *x = yyjson_mut_obj_add_obj(d, o, "legal_dates");
    yyjson_mut_obj_add_val(d, x, "first", clean_text(d, first));
    yyjson_mut_obj_add_val(d, x, "last", clean_text(d, last));
}

static void add_diff(yyjson_mut_doc *d, yyjson_mut_val *o, const struct facts *f)
{
    const struct diff *x = f->diff;
    json_add_str(d, o, "verdict", x->verdict);
    add_totals(d, o, x, f->compared);
    if (f->compared)
        add_compared(d, o, x, f->compared);
    add_legal_dates(d, o, f->compared);
    if (x->verdict)
        add_lists(d, o, x, f->compared);
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
    json_add_time(d, o, "detected_at", f->cand->detected_at);
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
        add_diff(d, o, f);
    TRY(delta_seal(d, o, err));
    return json_write(a, d, 0, ret, err);
}

enum rc delta_check(struct str manifest, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(buf_release) struct buf canonical = {0};
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
