/* batch: hands, and what they hold. */
#include "handler/batch.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/version.h"
#include "handler/facts.h"
#include "ledger/rollback.h"

/* Those that end and those that the same commit claims; one more for a rollback that comes while
 * all are full. */
#define HANDS (2 * BATCH_MAX + 1)
#define JOB_MEMORY_MAX (256u << 20) /* Documents of one change; bytes and parsing have their own. */
#define BATCH_MEMORY (64u << 20)
/* A local upstream answers in less; nobody notices it beside a remote one. */
#define BATCH_WAIT_MS 20
#define BATCH_DECIDE_MS 200 /* a full batch of small files takes a tenth of it */
#define LARGE_BYTES 1000000 /* takes long to inspect, compared with a commit */

enum hand_state { HAND_FREE, HAND_CLAIMED, HAND_BEGUN, HAND_DECIDED };
struct hand {
    enum hand_state state;
    struct arena arena;
    struct job_env env;
    struct job_claim claim;
    struct job *job; /* begun or decided; NULL when it could not begin */
    enum rc rc;      /* decided: unless RC_OK an error of ours, */
    struct err err;  /* in words */
    int64_t from;    /* clock_mono */
};

struct batch {
    struct job_env lent;
    const char *owner;
    struct hand hands[HANDS];
    size_t turn; /* whose file is inspected first */
};

enum rc batch_new(const struct job_env *lent, const char *owner, struct batch **ret,
                  struct err *err)
{
    struct batch *b = calloc(1, sizeof *b);
    if (!b)
        return err_set(err, RC_NOMEM, "", "no memory for a batch");
    b->lent = *lent;
    b->owner = owner;
    for (size_t i = 0; i < HANDS; i++)
        arena_init(&b->hands[i].arena, JOB_MEMORY_MAX);
    *ret = b;
    return RC_OK;
}

static void empty_hand(struct hand *h)
{
    job_free(&h->job);
    h->state = HAND_FREE;
}

void batch_free(struct batch **b)
{
    if (!*b)
        return;
    fetch_free((*b)->lent.engine); /* transfers write to what is freed now */
    for (size_t i = 0; i < HANDS; i++) {
        empty_hand(&(*b)->hands[i]);
        arena_release(&(*b)->hands[i].arena);
    }
    free(*b);
    *b = NULL;
}

static size_t count(const struct batch *b, enum hand_state s)
{
    size_t n = 0;
    for (size_t i = 0; i < HANDS; i++)
        n += b->hands[i].state == s;
    return n;
}

size_t batch_count(const struct batch *b)
{
    return HANDS - count(b, HAND_FREE);
}

/* ---- claiming -------------------------------------------------------------------------------- */

struct job_claim batch_new_claim(const struct policy *p)
{
    return (struct job_claim){.at = clock_now(),
                              .tags = {freshet_version, freshet_commit, RULES_VERSION, p->tag}};
}

static struct hand *free_hand(struct batch *b)
{
    struct hand *h = b->hands;
    while (h->state != HAND_FREE)
        h++; /* callers have counted */
    arena_reset(&h->arena);
    h->env = b->lent;
    h->env.arena = &h->arena;
    h->job = NULL;
    h->rc = RC_OK;
    h->from = clock_mono();
    h->claim = batch_new_claim(b->lent.policy);
    return h;
}

static int64_t lease_ms(const struct batch *b)
{
    return b->lent.inst->conf.lease_s * 1000;
}

/* One that may kill us is at work: it goes on alone. */
static bool holds_suspect(const struct batch *b)
{
    for (size_t i = 0; i < HANDS; i++) {
        const struct hand *h = &b->hands[i];
        if ((h->state == HAND_CLAIMED || h->state == HAND_BEGUN) && h->claim.cand.suspect)
            return true;
    }
    return false;
}

/* Within the caller's transaction. What was claimed counts once that is committed. */
static enum rc claim_up_to(struct batch *b, size_t max, struct err *err)
{
    struct ledger *l = b->lent.ledger;
    for (size_t n = batch_count(b); n < max && !holds_suspect(b); n++) {
        struct hand *h = free_hand(b);
        struct job_claim *c = &h->claim;
        enum rc rc = inbox_claim_next(l, &h->arena, b->owner, c->at, lease_ms(b), &c->tags, n > 0,
                                      &c->cand, c->run_id, &c->resumed, err);
        if (rc != RC_OK)
            return rc == RC_NOT_FOUND ? RC_OK : rc;
        h->state = HAND_CLAIMED;
    }
    return RC_OK;
}

/* The claims of a transaction that was undone. */
static void unclaim(struct batch *b)
{
    for (size_t i = 0; i < HANDS; i++)
        if (b->hands[i].state == HAND_CLAIMED)
            b->hands[i].state = HAND_FREE;
}

static enum rc claim_in_tx(struct batch *b, size_t max, struct err *err)
{
    struct ledger *l = b->lent.ledger;
    TRY(ledger_begin(l, err));
    return ledger_end(l, claim_up_to(b, max, err), err);
}

enum rc batch_claim(struct batch *b, size_t max, struct err *err)
{
    bool ready;
    size_t before = batch_count(b);
    TRY(inbox_ready(b->lent.ledger, clock_now(), &ready,
                    err)); /* idle workers do not queue for the lock */
    if (!ready)
        return RC_NOT_FOUND;
    enum rc rc = claim_in_tx(b, max, err);
    if (rc != RC_OK) {
        unclaim(b);
        return rc;
    }
    return batch_count(b) > before ? RC_OK : RC_NOT_FOUND;
}

enum rc batch_claim_rollback(struct batch *b, const char *id, struct err *err)
{
    if (batch_count(b) > BATCH_MAX || holds_suspect(b))
        return RC_NOT_FOUND;
    struct hand *h = free_hand(b);
    struct job_claim *c = &h->claim;
    TRY(rollback_claim(b->lent.ledger, &h->arena, id, b->owner, c->at, lease_ms(b), &c->tags,
                       &c->cand, c->run_id, err));
    h->state = HAND_CLAIMED;
    return RC_OK;
}

enum rc batch_renew(struct batch *b, struct err *err)
{
    int64_t until = clock_now() + lease_ms(b);
    for (size_t i = 0; i < HANDS; i++) {
        const struct hand *h = &b->hands[i];
        enum rc rc = h->state == HAND_FREE ? RC_OK
                                           : inbox_renew(b->lent.ledger, h->claim.cand.no,
                                                         h->claim.cand.lease_token, until, err);
        if (rc != RC_OK && rc != RC_CONFLICT) /* who lost it is refused when its end is written */
            return rc;
    }
    return RC_OK;
}

/* When it fails, the freed lock of the slot says the same. */
static void give_back(struct batch *b, struct hand *h)
{
    struct err err;
    const struct candidate *c = &h->claim.cand;
    if (inbox_release(b->lent.ledger, c->no, c->lease_token, &err) != RC_OK)
        log_err(LOG_WARN, "handler.not_given_back", &err);
    empty_hand(h);
}

void batch_give_back(struct batch *b, bool begun_too)
{
    if (begun_too)
        fetch_free(b->lent.engine);
    for (size_t i = 0; i < HANDS; i++) {
        enum hand_state s = b->hands[i].state;
        if (s == HAND_CLAIMED || (begun_too && s != HAND_FREE))
            give_back(b, &b->hands[i]);
    }
}

/* ---- deciding -------------------------------------------------------------------------------- */

static void begin_claimed(struct batch *b)
{
    for (size_t i = 0; i < HANDS; i++) {
        struct hand *h = &b->hands[i];
        if (h->state != HAND_CLAIMED)
            continue;
        h->rc = job_begin(&h->env, &h->claim, &h->job, &h->err);
        h->state = h->rc == RC_OK ? HAND_BEGUN : HAND_DECIDED;
    }
}

static bool has_arrived(const struct hand *h)
{
    return h->state == HAND_BEGUN && !job_waits(h->job);
}

static size_t arrived(const struct batch *b)
{
    size_t n = 0;
    for (size_t i = 0; i < HANDS; i++)
        n += has_arrived(&b->hands[i]);
    return n;
}

/* Those whose bytes are there, until settling must not wait any more. */
static void decide_arrived(struct batch *b)
{
    size_t decided = count(b, HAND_DECIDED), memory = 0;
    int64_t until = clock_mono() + BATCH_DECIDE_MS;
    for (size_t n = 0; n < HANDS && memory < BATCH_MEMORY; n++, b->turn = (b->turn + 1) % HANDS) {
        struct hand *h = &b->hands[b->turn];
        if (!has_arrived(h))
            continue;
        if (decided && (job_size(h->job) > LARGE_BYTES || clock_mono() > until))
            return;
        h->rc = job_decide(h->job, &h->err);
        h->state = HAND_DECIDED;
        memory += h->arena.used;
        decided++;
    }
}

/* ---- settling -------------------------------------------------------------------------------- */

static enum rc keep_bytes(struct batch *b, struct err *err)
{
    struct store_keep keep[STORE_KEEP_MAX];
    size_t n = 0;
    for (size_t i = 0; i < HANDS; i++) {
        struct hand *h = &b->hands[i];
        if (h->state == HAND_DECIDED && h->rc == RC_OK)
            n += job_stages(h->job, &keep[n]);
    }
    return n ? store_keep_all(b->lent.store, keep, n, err) : RC_OK;
}

static enum rc write_ends(struct batch *b, size_t refill, struct err *err)
{
    for (size_t i = 0; i < HANDS; i++) {
        struct hand *h = &b->hands[i];
        if (h->state == HAND_DECIDED && h->rc == RC_OK)
            TRY(job_write(h->job, err));
    }
    /* Hands that end here are free in a moment: they count as such. */
    return refill ? claim_in_tx(b, refill + count(b, HAND_DECIDED), err) : RC_OK;
}

static enum rc write_group(struct batch *b, size_t refill, struct err *err)
{
    struct ledger *l = b->lent.ledger;
    TRY(ledger_group_begin(l, err));
    enum rc rc = write_ends(b, refill, err);
    if (rc == RC_OK)
        return ledger_group_commit(l, err);
    ledger_abort(l);
    return rc;
}

static enum rc write_alone(struct hand *h, struct err *err)
{
    struct store_keep keep;
    if (job_stages(h->job, &keep))
        TRY(store_keep_all(h->env.store, &keep, 1, err));
    return job_write(h->job, err);
}

/* Ends a hand whose job cannot: RC_CONFLICT says that the candidate is another worker's now. */
static enum rc give_up(struct hand *h, struct work_end *end, struct err *err)
{
    enum rc rc = job_give_up(&h->env, &h->claim, h->rc, end, err);
    if (rc != RC_CONFLICT)
        return rc;
    end->result = WORK_RETRY;
    end->reason = "LEASE_LOST";
    return RC_OK;
}

static enum rc end_hand(struct hand *h, bool written, batch_end_fn *fn, void *ctx, struct err *err)
{
    struct work_end end = {.reason = ""};
    enum rc rc = RC_OK;
    if (h->rc == RC_OK && !written)
        h->rc = write_alone(h, &h->err);
    if (h->rc == RC_OK)
        job_done(h->job, &end);
    else
        rc = give_up(h, &end, err);
    end.elapsed_ms = clock_mono() - h->from;
    if (rc == RC_OK)
        fn(ctx, &end);
    empty_hand(h);
    return rc;
}

static enum rc settle(struct batch *b, size_t refill, batch_end_fn *fn, void *ctx, struct err *err)
{
    struct err why;
    enum rc rc = keep_bytes(b, &why);
    if (rc == RC_OK)
        rc = write_group(b, refill, &why);
    if (rc != RC_OK)
        unclaim(b);
    bool written = rc == RC_OK;
    rc = RC_OK;
    for (size_t i = 0; i < HANDS; i++) {
        enum rc one = RC_OK;
        if (b->hands[i].state == HAND_DECIDED)
            one = end_hand(&b->hands[i], written, fn, ctx, rc == RC_OK ? err : &why);
        rc = rc == RC_OK ? one : rc;
    }
    return rc;
}

enum rc batch_work(struct batch *b, size_t refill, batch_end_fn *fn, void *ctx, struct err *err)
{
    begin_claimed(b);
    if (count(b, HAND_BEGUN) > arrived(b))
        (void)fetch_run(*b->lent.engine, BATCH_WAIT_MS);
    TRY(b->lent.tick(b->lent.tick_ctx, err));
    decide_arrived(b);
    return count(b, HAND_DECIDED) ? settle(b, refill, fn, ctx, err) : RC_OK;
}
