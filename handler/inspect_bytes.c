/* inspect_bytes: from bytes to report: sniff, read, render. Apart from inspect.c, as only programs
 * that read shall need GEOS. */
#include "handler/inspect_report.h"

/* Of one inspection. Above the memory that the sandbox leaves, allocation fails earlier. */
#define ARENA_MAX ((size_t)4 << 30)

static void finish(struct inspect *in)
{
    for (size_t i = 0; i < in->n_layers; i++)
        layer_release(in->layers[i]);
    valid_free(&in->tools.valid);
    geom_scratch_release(&in->tools.scratch);
    arena_release(in->arena);
}

static enum rc start(struct inspect *in, struct err *err)
{
    arena_init(in->arena, ARENA_MAX);
    in->doc = json_doc(in->arena);
    in->tools.valid = valid_new();
    in->tools.check = valid_check;
    if (geom_scratch_init(&in->tools.scratch) != RC_OK || !in->tools.valid || !in->doc)
        return err_set(err, RC_NOMEM, "", "no memory to inspect");
    return RC_OK;
}

enum rc inspect_bytes(struct str bytes, const struct inspect_options *o, inspect_reader *reader,
                      struct buf *out, struct err *err)
{
    return inspect_features(bytes, o, reader, NULL, NULL, out, err);
}

enum rc inspect_features(struct str bytes, const struct inspect_options *o, inspect_reader *reader,
                         layer_seen_fn *seen, void *ctx, struct buf *out, struct err *err)
{
    struct arena arena;
    struct inspect in = {
        .arena = &arena, .options = o, .bytes = bytes, .format = inspect_sniff(bytes)};
    in.tools.seen = seen;
    in.tools.seen_ctx = ctx;
    enum rc rc = start(&in, err);
    if (rc == RC_OK && inspect_formats[in.format].engine != ENGINE_NONE && reader)
        rc = reader(&in, err);
    if (rc == RC_OK)
        rc = inspect_render(&in, (int64_t)bytes.n, out, err);
    finish(&in);
    return rc;
}
