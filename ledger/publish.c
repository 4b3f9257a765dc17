/* publish: stores public rows that somebody else has redacted. Every function runs inside the
 * caller's transaction and stamps its rows with the transaction's generation. */
#include "ledger/publish.h"

#include "core/clock.h"
#include "ledger/query.h"

enum rc publish_facts(struct ledger *l, struct arena *a, int64_t src_no, struct public_facts *ret,
                      struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_PUB_FACTS, &q, err, "i", src_no));
    TRY(query_next(l, &q, err));
    struct public_facts f = {.held = col_i64(&q, 0) != 0, .qa_status = col_text(a, &q, 1)};
    if (!f.qa_status)
        return err_set(err, RC_NOMEM, "", "no memory for the facts of a source");
    *ret = f;
    return RC_OK;
}

enum rc publish_source(struct ledger *l, const struct public_source *p, int64_t now,
                       struct err *err)
{
    static const enum stmt_id wipes[] = {Q_WIPE_SOURCES, Q_WIPE_FRESH, Q_WIPE_CHECKS};
    bool mend = p->how == PUBLISH_MEND;
    int64_t gen;
    TRY(ledger_generation(l, now, &gen, err));
    /* INSERT OR REPLACE would copy every page it is about to touch, to be able to undo. */
    for (size_t i = 0; p->how == PUBLISH_OVER && i < ARRAY_LEN(wipes); i++)
        TRY(query_run(l, wipes[i], err, "i", p->src_no));
    TRY(query_run(l, mend ? Q_MEND_SOURCE : Q_PUB_SOURCE, err, "titsii", p->source_id, p->src_no,
                  p->collection, p->doc, gen, now));
    TRY(query_run(l, mend ? Q_MEND_FRESH : Q_PUB_FRESH, err,
                  "tittt"      /* who */
                  "iii"        /* what it declares */
                  "mttttttim", /* its head */
                  p->source_id, p->src_no, p->title, p->collection, p->level, (int64_t)p->held,
                  (int64_t)p->retired, p->freshness_days, p->updated_at, p->window, p->run_id,
                  p->identity, p->delta_id, p->qa_status, p->qa_note, gen, p->removed_at));
    if (!p->shows_checks)
        return mend ? query_run(l, Q_WIPE_CHECKS, err, "i", p->src_no) : RC_OK;
    return query_run(l, mend ? Q_MEND_CHECKS : Q_PUB_CHECKS, err, "immimtimi", p->src_no,
                     p->checked_at, p->reached_at, p->failures, p->next_check_at, p->last_outcome,
                     gen, p->verified_at, (int64_t)p->retired);
}

enum rc publish_nothing(struct ledger *l, int64_t src_no, int64_t now, struct err *err)
{
    static const enum stmt_id wipes[] = {Q_WIPE_COLLECTIONS, Q_WIPE_DATASETS, Q_WIPE_CHANGES,
                                         Q_WIPE_SOURCES,     Q_WIPE_FRESH,    Q_WIPE_CHECKS,
                                         Q_WIPE_BOXES,       Q_WIPE_ITEMS,    Q_WIPE_PROV,
                                         Q_WIPE_DELTAS,      Q_WIPE_ASSETS};
    int64_t gen;
    TRY(ledger_generation(l, now, &gen, err));
    ledger_withdraws(l);
    for (size_t i = 0; i < ARRAY_LEN(wipes); i++)
        TRY(query_run(l, wipes[i], err, "i", src_no));
    return RC_OK;
}

enum rc publish_has_collection(struct ledger *l, const char *collection, bool *ret, struct err *err)
{
    int64_t one;
    enum rc rc = query_i64(l, Q_PUB_HAS_COLLECTION, &one, err, "t", collection);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = rc == RC_OK;
    return RC_OK;
}

enum rc publish_collection(struct ledger *l, const char *collection, struct str doc,
                           struct str dataset, int64_t now, struct err *err)
{
    int64_t gen;
    TRY(ledger_generation(l, now, &gen, err));
    TRY(query_run(l, Q_PUB_COLLECTION, err, "tsi", collection, doc, gen));
    return dataset.n ? query_run(l, Q_PUB_DATASET, err, "tsi", collection, dataset, gen) : RC_OK;
}

static enum rc put_item(struct ledger *l, const struct publication *p, int64_t gen, struct err *err)
{
    const struct public_rows *r = p->rows;
    TRY(query_run(l, Q_PUB_ITEM, err, "titisi", p->item_id, p->source->no, p->source->collection,
                  r->shown_at, r->item, gen));
    if (!r->has_bbox)
        return RC_OK;
    return query_run(l, Q_PUB_ITEM_BOX, err, "tdddd", p->item_id, r->bbox[0], r->bbox[2],
                     r->bbox[1], r->bbox[3]);
}

enum rc publish_rows(struct ledger *l, const struct publication *p, struct err *err)
{
    const struct public_rows *r = p->rows;
    const struct source *s = p->source;
    int64_t gen;
    if (!r->entry.n)
        return RC_OK;
    TRY(ledger_generation(l, r->shown_at, &gen, err)); /* Last-Modified of lists tells it */
    for (size_t i = 0; p->marked_ids && i < MARKED_MAX && p->marked_ids[i]; i++)
        if (r->marked[i].n)
            TRY(query_run(l, Q_PUB_ITEM_DOC, err, "tsi", p->marked_ids[i], r->marked[i], gen));
    TRY(query_run(l, Q_PUB_CHANGE, err, "iitttttisi", p->seq, s->no, s->id, s->collection,
                  r->sorted ? p->change_type : "", r->sorted ? p->change_class : "",
                  r->sorted ? p->detector : "", r->shown_at, r->entry, gen));
    if (r->prov.n)
        TRY(query_run(l, Q_PUB_PROV, err, "tisii", p->run_id, s->no, r->prov, r->shown_at, gen));
    if (r->delta.n)
        TRY(query_run(l, Q_PUB_DELTA, err, "tisii", p->delta_id, s->no, r->delta, r->shown_at,
                      gen));
    if (r->item.n)
        TRY(put_item(l, p, gen, err));
    if (r->asset)
        TRY(query_run(l, Q_PUB_ASSET, err, "hititi", p->sha, s->no, p->run_id, p->size,
                      p->media_type, r->shown_at));
    return RC_OK;
}

enum rc publish_withheld(struct ledger *l, const struct publication *p, struct err *err)
{
    const struct public_rows *r = p->rows;
    if (!r->entry.n)
        TRY(query_run(l, Q_DROP_CHANGE, err, "i", p->seq));
    if (!r->entry.n || !r->prov.n)
        TRY(query_run(l, Q_DROP_PROV, err, "t", p->run_id));
    if (!r->entry.n || !r->delta.n)
        TRY(query_run(l, Q_DROP_DELTA, err, "t", p->delta_id));
    if (!p->item_id) /* a deletion: the item of what went is that of an earlier change */
        return RC_OK;
    if (!r->entry.n || !r->item.n || !r->has_bbox)
        TRY(query_run(l, Q_DROP_BOX, err, "t", p->item_id));
    if (!r->entry.n || !r->item.n)
        TRY(query_run(l, Q_DROP_ITEM, err, "t", p->item_id));
    return r->asset ? RC_OK : query_run(l, Q_DROP_ASSET, err, "hi", p->sha, p->source->no);
}

/* ---- retention ------------------------------------------------------------------------------- */

static enum rc forget_before(struct ledger *l, int64_t first, int64_t now, int64_t *ret,
                             struct err *err)
{
    int64_t gen;
    TRY(query_run(l, Q_FEED_FORGET, err, "i", first));
    *ret = sqlite3_changes64(l->db);
    TRY(query_run(l, Q_FEED_BEGIN, err, "i", first));
    return ledger_generation(l, now, &gen, err);
}

enum rc feed_forget(struct ledger *l, int64_t since, int64_t now, int64_t *ret, struct err *err)
{
    int64_t first = 0, begins = 0;
    *ret = 0;
    /* Whole days: of some levels nothing finer is in the rows. */
    TRY(query_i64(l, Q_FEED_FIRST, &first, err, "i", since - since % DAY_MS));
    TRY(query_i64(l, Q_FEED_BEGINS, &begins, err, ""));
    if (first <= begins)
        return RC_OK;
    TRY(ledger_begin(l, err));
    enum rc rc = forget_before(l, first, now, ret, err);
    if (rc != RC_OK) {
        ledger_abort(l);
        return rc;
    }
    return ledger_commit(l, err);
}
