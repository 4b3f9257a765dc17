/* declare: see the header. */
#include "handler/declare.h"

#include "handler/children.h"
#include "handler/levels.h"
#include "handler/project.h"

/* What was withheld is shown only when a second person agrees. Until then s keeps the level
 * it has. */
static enum rc ask_to_lower(const struct declare *d, const struct source *before, struct source *s,
                            int64_t now, struct declared *ret, struct err *err)
{
    struct source kept;
    TRY(level_ask(d->ledger, before->no, before->level, s->level, d->by ? d->by : "operator",
                  d->note ? d->note : "no reason was given", now, ret->level_id, err));
    TRY(levels_declare(d->arena, s, before->level, &kept, err));
    ret->level = before->level;
    *s = kept;
    return RC_OK;
}

static enum rc change(const struct declare *d, struct arena *a, const struct source *before,
                      struct source *s, int64_t now, struct err *err)
{
    TRY(children_allow(d->ledger, a, before, s, err));
    s->no = before->no;
    s->created_at = before->created_at;
    s->retired_at = before->retired_at;
    s->updated_at = now;
    s->parent_no = before->parent_no;
    s->entry = before->entry;
    s->unlisted_at = before->unlisted_at;
    TRY(source_put(d->ledger, s, now, err));
    TRY(project_all_of_source(d->ledger, d->inst, s, now, err));
    return children_set(d->ledger, d->inst, s, before->level, now, err);
}

enum rc declare_source(const struct declare *d, struct source *s, int64_t now, struct declared *ret,
                       struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0}; /* of its own: an import stores a million */
    struct source before;
    arena_init(&a, SOURCE_CHANGE_MEMORY_MAX);
    *ret = (struct declared){0};
    enum rc rc = d->update ? source_by_id(d->ledger, &a, s->id, &before, err) : RC_NOT_FOUND;
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    ret->updated = rc == RC_OK;
    if (d->by)
        TRY(policy_check_text("by", d->by, PERSON_MAX, err));
    if (ret->updated && s->level < before.level)
        TRY(ask_to_lower(d, &before, s, now, ret, err));
    s->by = d->by;
    if (ret->updated) {
        TRY(change(d, &a, &before, s, now, err));
    } else {
        TRY(source_add(d->ledger, s, now, err));
        TRY(project_added(d->ledger, &a, d->inst, s, d->doc, now, err));
    }
    return RC_OK;
}

enum rc declare_retired(const struct declare *d, const char *id, int64_t now, struct err *err)
{
    struct source s;
    TRY(source_by_id(d->ledger, d->arena, id, &s, err));
    if (s.retired_at >= 0)
        return err_set(err, RC_CONFLICT, "", "%s is retired already", id);
    TRY(source_retire(d->ledger, s.no, now, err));
    TRY(source_by_id(d->ledger, d->arena, id, &s, err));
    TRY(project_source(d->ledger, d->inst, &s, now, err));
    return children_retire(d->ledger, d->inst, s.no, now, err);
}
