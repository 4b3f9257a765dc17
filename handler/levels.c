/* levels: lowers what was approved. */
#include "handler/levels.h"

#include "handler/children.h"
#include "handler/project.h"

enum rc levels_declare(struct arena *a, const struct source *s, enum level to, struct source *ret,
                       struct err *err)
{
    yyjson_val *spec;
    struct str text;
    TRY(json_parse(a, s->spec, 0, "the declaration", &spec, err));
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_val_mut_copy(d, spec);
    yyjson_mut_doc_set_root(d, o);
    yyjson_mut_obj_put(o, yyjson_mut_str(d, "sensitivity"), yyjson_mut_str(d, level_name(to)));
    TRY(json_write(a, d, 0, &text, err));
    TRY(json_parse(a, text, 0, "the declaration", &spec, err));
    struct source x;
    TRY(source_derive(a, spec, &x, err));
    x.no = s->no;
    x.created_at = s->created_at;
    x.updated_at = s->updated_at;
    x.retired_at = s->retired_at;
    x.parent_no = s->parent_no;
    x.entry = s->entry;
    x.unlisted_at = s->unlisted_at;
    *ret = x;
    return RC_OK;
}

static enum rc apply(struct ledger *l, struct arena *a, const struct instance *inst,
                     const struct level_order *o, int64_t now, struct err *err)
{
    struct source before, s;
    TRY(source_by_no(l, a, o->src_no, &before, err));
    TRY(level_applied(l, o, now, err));
    if (o->old != before.level || o->to >= before.level)
        return RC_OK;
    TRY(levels_declare(a, &before, o->to, &s, err));
    s.updated_at = now;
    TRY(source_put(l, &s, now, err));
    TRY(project_all_of_source(l, inst, &s, now, err));
    return children_set(l, inst, &s, before.level, now, err);
}

enum rc levels_apply(struct ledger *l, const struct instance *inst, int64_t now, struct err *err)
{
    for (;;) {
        CLEANUP(arena_release) struct arena a = {0};
        struct level_order o;
        arena_init(&a, SOURCE_CHANGE_MEMORY_MAX);
        enum rc rc = level_next(l, &o, err); /* a look without the lock: mostly there is nothing */
        if (rc != RC_OK)
            return rc == RC_NOT_FOUND ? RC_OK : rc;
        TRY(ledger_begin(l, err));
        rc = level_next(l, &o, err);
        if (rc == RC_OK)
            rc = apply(l, &a, inst, &o, now, err);
        TRY(ledger_end(l, rc == RC_NOT_FOUND ? RC_OK : rc, err));
    }
}
