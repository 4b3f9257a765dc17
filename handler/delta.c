/* delta: whole-file manifests and their checksums. */
#include "handler/delta.h"

#define DELTA_MAX (1u << 20) /* a whole-file manifest has about a kilobyte */
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

enum rc delta_render(struct arena *a, const struct facts *f, struct str *ret, struct err *err)
{
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "delta_id", f->delta_id);
    json_add_str(d, o, "manifest_version", "1");
    json_add_str(d, o, "granularity", "file");
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
