/* rebuild: sources first, then changes in the order of their finalization, so that items get the
 * numbers they had. */
#include "handler/rebuild.h"

#include <stdarg.h>
#include "handler/project.h"
#include "ledger/rebuild.h"

#define CHANGE_MEMORY_MAX (128u << 20) /* the documents of one change */

struct pass {
    struct ledger *l;
    const struct instance *inst;
    int64_t now, total;
    rebuild_progress_fn *progress;
    void *ctx;
    struct arena source_memory, change_memory;
    struct source source; /* of the change before; no 0: none */
    struct rebuild_counts n;
    rebuild_problem_fn *problem; /* of a check: told instead of mended */
    void *problem_ctx;
};

static void PRINTF_LIKE(2, 3) report(struct pass *p, const char *fmt, ...)
{
    char sentence[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    p->problem(p->problem_ctx, sentence);
}

/* What is wrong with the rows that a projection is made of; anything else ends the check. */
static bool is_damage(enum rc rc)
{
    return rc == RC_INVALID || rc == RC_CORRUPT || rc == RC_CONFLICT || rc == RC_NOT_FOUND;
}

/* One more is done; counts it where something was written for it. */
static void tell(struct pass *p, int64_t written_before, int64_t *mended)
{
    *mended += rebuild_written(p->l) != written_before;
    if (p->progress)
        p->progress(p->ctx, p->n.sources + p->n.changes, p->total);
}

static enum rc mend_source(void *ctx, const struct source *s, struct err *err)
{
    struct pass *p = ctx;
    int64_t before = rebuild_written(p->l);
    enum rc rc = project_mend_source(p->l, p->inst, s, err);
    if (p->problem && is_damage(rc))
        report(p, "the public rows of source %s cannot be made: %s", s->id, err->msg);
    else
        TRY(rc);
    if (p->problem && rc == RC_OK && rebuild_written(p->l) != before)
        report(p, "the public rows of source %s are not what they must be: freshet rebuild", s->id);
    p->n.sources++;
    tell(p, before, &p->n.sources_mended);
    return RC_OK;
}

/* The changes of a source often come one after the other. */
static enum rc find_source(struct pass *p, int64_t no, struct err *err)
{
    if (p->source.no == no)
        return RC_OK;
    arena_reset(&p->source_memory);
    p->source.no = 0;
    return source_by_no(p->l, &p->source_memory, no, &p->source, err);
}

static enum rc mend_change(void *ctx, const struct change *c, struct err *err)
{
    struct pass *p = ctx;
    int64_t before = rebuild_written(p->l);
    enum rc rc = RC_OK;
    TRY(find_source(p, c->src_no, err));
    if (p->source.level != LEVEL_SOVEREIGN)
        rc = project_mend_change(p->l, &p->change_memory, &p->source, c, p->now, err);
    if (p->problem && is_damage(rc))
        report(p, "the public rows of run %s cannot be made: %s", c->run_id, err->msg);
    else
        TRY(rc);
    if (p->problem && rc == RC_OK && rebuild_written(p->l) != before)
        report(p, "the public rows of run %s are not what they must be: freshet rebuild",
               c->run_id);
    p->n.changes++;
    tell(p, before, &p->n.changes_mended);
    return RC_OK;
}

static enum rc mend_all(struct pass *p, struct err *err)
{
    int64_t before = rebuild_written(p->l);
    TRY(rebuild_strays(p->l, err));
    TRY(rebuild_sums(p->l, !p->problem, err));
    p->n.removed = rebuild_written(p->l) - before;
    if (p->problem && p->n.removed)
        report(p, "%lld public rows have nothing behind them, or wrong sums: freshet rebuild",
               (long long)p->n.removed);
    TRY(source_each(p->l, 0, mend_source, p, err));
    return change_each(p->l, mend_change, p, err);
}

static enum rc run(struct pass *p, struct err *err)
{
    arena_init(&p->source_memory, SOURCE_CHANGE_MEMORY_MAX);
    arena_init(&p->change_memory, CHANGE_MEMORY_MAX);
    enum rc rc = mend_all(p, err);
    arena_release(&p->source_memory);
    arena_release(&p->change_memory);
    return rc;
}

static bool is_intact(const struct rebuild_counts *n)
{
    return !n->tip && !n->removed && !n->sources_mended && !n->changes_mended;
}

enum rc rebuild(struct ledger *l, const struct instance *inst, int64_t now,
                rebuild_progress_fn *progress, void *ctx, struct rebuild_counts *ret,
                struct err *err)
{
    struct pass p = {.l = l, .inst = inst, .now = now, .progress = progress, .ctx = ctx};
    TRY(rebuild_begin(l, now, &p.total, &p.n.tip, err));
    enum rc rc = run(&p, err);
    if (rc != RC_OK || is_intact(&p.n)) /* then not even the generation moves */
        ledger_abort(l);
    else
        rc = ledger_commit(l, err);
    TRY(rc);
    *ret = p.n;
    return RC_OK;
}

enum rc rebuild_check(struct ledger *l, const struct instance *inst, int64_t now,
                      rebuild_problem_fn *problem, void *ctx, struct err *err)
{
    struct pass p = {.l = l, .inst = inst, .now = now, .problem = problem, .problem_ctx = ctx};
    TRY(rebuild_begin(l, now, &p.total, &p.n.tip, err));
    enum rc rc = run(&p, err);
    ledger_abort(l);
    return rc;
}
