/* job_publish: the documents of a change, and its promotion with all that must be written together
 * with it. */
#include "handler/job_internal.h"

#include "core/clock.h"
#include "core/fd.h"
#include "handler/children.h"
#include "handler/delta.h"
#include "handler/entry.h"
#include "handler/outbox.h"
#include "handler/prov.h"
#include "handler/redact.h"
#include "handler/stac.h"

/* Bytes that come back are called what they were called before. */
static void classify_rollback(struct job *j)
{
    struct facts *f = &j->facts;
    const struct rollback_order *b = &j->back;
    f->change_type = f->change_class = "rollback";
    f->reverts = b->delta_id;
    if (*b->reverted_item_id && strcmp(b->reverted_item_id, j->head.item_id) != 0) {
        f->reverted_item_id = b->reverted_item_id;
        f->reverted = (struct identity){j->head.sha, j->head.size, b->reverted_version,
                                        j->head.media_type}; /* which the head stands for */
    }
    if (f->deletes)
        return;
    f->to.media_type = b->media_type;
    f->restored = (struct identity){b->sha, b->size, b->version, b->media_type};
    f->restored_item_id = b->item_id;
}

static bool other_schema(const struct job *j)
{
    const char *now = j->facts.qa.now.schema_digest, *before = j->before.schema_digest;
    return *now && *before && strcmp(now, before) != 0;
}

static void classify(struct job *j)
{
    struct facts *f = &j->facts;
    const struct head *h = &j->head;
    bool same = h->deleted && sha256_eq(&h->sha, &j->bytes.sha);
    f->change_type = h->version == 0 ? "new" : h->deleted ? "reinstated" : "modified";
    f->change_class = h->version == 0   ? "new"
                      : same            ? "reinstated"
                      : other_schema(j) ? "schema"
                                        : "content";
    f->last = (struct identity){h->sha, h->size, h->version - h->deleted, h->media_type};
    if (!h->deleted)
        f->from = f->last;
    f->deletes = job_is_rollback(j) ? j->back.version == 0 : job_claims_gone(j);
    if (f->deletes)
        f->change_type = f->change_class = "deleted";
    else
        f->to = (struct identity){j->bytes.sha, j->bytes.size, h->version + 1, f->qa.media_type};
    if (job_is_rollback(j))
        classify_rollback(j);
    f->prev_item_id = h->version > 0 && h->item_id && *h->item_id ? h->item_id : NULL;
    f->result = "promoted";
    f->reason = "";
}

static enum rc complete_facts(struct job *j, struct err *err)
{
    struct facts *f = &j->facts;
    struct arena *a = j->env->arena;
    classify(j);
    f->finalized_at = clock_now();
    if (!f->deletes)
        f->item_id = arena_printf(a, "%s-v%lld", j->source.id, (long long)f->to.version);
    f->delta_id = arena_printf(a, "dlt_%s", j->claim->run_id);
    if ((!f->deletes && !f->item_id) || !f->delta_id)
        return err_set(err, RC_NOMEM, "", "no memory for the ids of a change");
    return RC_OK;
}

static void fill_promotion(const struct job *j, struct promotion *p)
{
    const struct facts *f = &j->facts;
    const struct candidate *c = &j->claim->cand;
    const struct identity *bytes = f->deletes ? &f->last : &f->to;
    p->cand_no = c->no;
    p->lease_token = c->lease_token;
    p->run_id = j->claim->run_id;
    p->source = &j->source;
    p->event_id = c->event_id;
    p->detector = c->detector;
    p->version = j->head.version + 1;
    p->deletes = f->deletes;
    p->sha = bytes->sha;
    p->prev_sha = f->from.sha;
    p->has_prev = f->from.version > 0;
    p->size = bytes->size;
    p->media_type = bytes->media_type;
    p->tier = tier_name(job_tier(j));
    p->change_type = f->change_type;
    p->change_class = f->change_class;
    p->delta_id = f->delta_id;
    p->item_id = f->item_id;
    p->reverts = f->reverts ? j->back.plan.run_id : NULL;
    p->news_no = f->reverts ? j->head.cand_no : c->no;
    p->qa = f->qa.report;
    p->tell[0] = OUTBOX_ARTIFACTS;
    if (!j->env->again && f->lineage)
        p->tell[1] = OUTBOX_OPENLINEAGE; /* what was told is not told again by a replay */
    if (!j->bytes.fetched)
        return;
    p->etag = j->bytes.etag;
    p->last_modified = j->bytes.last_modified;
    p->final_url = j->bytes.final_url;
}

/* The item of the new bytes; those of deleted ones, or of such that were taken back, with
 * a mark. */
static enum rc render_items(const struct job *j, struct promotion *p, struct err *err)
{
    struct arena *a = j->env->arena;
    const struct facts *f = &j->facts;
    struct str item;
    if (!f->deletes)
        TRY(stac_item(a, f, &p->item, err));
    if (!f->deletes && (!f->reverts || j->head.deleted))
        return RC_OK;
    p->marked_ids[0] = f->prev_item_id;
    p->marked_ids[1] = f->reverted_item_id;
    for (size_t i = 0; i < MARKED_MAX && p->marked_ids[i]; i++) {
        TRY(item_get(j->env->ledger, a, p->marked_ids[i], &item, err));
        TRY(stac_item_gone(a, item, f, &p->marked[i], err));
    }
    return RC_OK;
}

static enum rc render(const struct job *j, struct promotion *p, struct err *err)
{
    struct arena *a = j->env->arena;
    const struct facts *f = &j->facts;
    TRY(entry_render(a, f, &p->entry, err));
    TRY(delta_render(a, f, &p->delta, err));
    TRY(render_items(j, p, err));
    TRY(prov_render(a, f, &p->prov, err));
    const struct redact_change whole = {p->entry, p->prov,         p->delta,
                                        p->item,  f->finalized_at, {p->marked[0], p->marked[1]}};
    return redact_rows(a, &j->source, &whole, &p->pub, err);
}

/* The listing that is head. Bytes of the time before the source had listings count as none. */
static enum rc open_before(struct job *j, struct err *err)
{
    const struct head *h = &j->head;
    CLEANUP(fd_close) int fd = -1;
    entries_none(&j->listing_before);
    if (h->version == 0)
        return RC_OK;
    TRY(job_open_head(j, &fd, err));
    enum rc rc = entries_open(&j->listing_before, fd, h->size, err);
    return rc == RC_INVALID ? RC_OK : rc;
}

static enum rc compare(struct job *j, struct err *err)
{
    struct facts *f = &j->facts;
    if (job_claims_gone(j) || (job_is_rollback(j) && !j->back.version))
        return RC_OK;
    if (!source_is_listing(&j->source))
        return job_diff(j, err);
    TRY(open_before(j, err));
    TRY(entries_diff(&j->listing_before, &j->listing, NULL, NULL, &j->moved, err));
    f->entries = &j->moved;
    f->manifest_id = arena_printf(j->env->arena, "man_%s", j->claim->run_id);
    return f->manifest_id ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for an id");
}

enum rc job_has_object(const struct job *j, enum tier tier, struct err *err)
{
    CLEANUP(fd_close) int fd = -1;
    enum rc rc = store_read(j->env->store, tier, &j->bytes.sha, &fd, err);
    return rc == RC_NOT_FOUND ? err_set(err, RC_BUSY, "", "staged bytes were removed by gc") : rc;
}

static enum rc publish_also(void *ctx, struct ledger *l, struct err *err)
{
    struct job *j = ctx;
    bool any;
    if (!j->facts.deletes)
        TRY(job_has_object(j, job_tier(j), err));
    TRY(job_record_gate(j, l, err));
    TRY(job_overtake(j, l, &any, err));
    TRY(job_project(ctx, l, err));
    if (j->facts.manifest_id && !j->env->again) /* replayed children have rows of their own */
        TRY(children_follow(l, j->env->inst, &j->source, &j->claim->cand, &j->listing_before,
                            &j->listing, j->facts.finalized_at, err));
    return RC_OK;
}

static enum rc write_promotion(struct job *j, struct err *err)
{
    TRY(promote(j->env->ledger, &j->promotion, j->facts.finalized_at, publish_also, j, &j->end.seq,
                err));
    j->end.result = WORK_PROMOTED;
    j->end.version = j->promotion.version;
    return RC_OK;
}

enum rc job_publish(struct job *j, struct err *err)
{
    TRY(compare(j, err));
    TRY(complete_facts(j, err));
    fill_promotion(j, &j->promotion);
    TRY(render(j, &j->promotion, err));
    j->write = write_promotion;
    return RC_OK;
}
