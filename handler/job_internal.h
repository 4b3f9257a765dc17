/* job_internal: what the files of a job share. job.c takes the bytes in, job_inspect.c has them
 * inspected and compared, job_gate.c asks the policy, job_publish.c makes them a version,
 * job_rollback.c says which ones an operator wants back, job_end.c ends what has no effect. Nobody
 * else includes it. */
#ifndef FRESHET_HANDLER_JOB_INTERNAL_H
#define FRESHET_HANDLER_JOB_INTERNAL_H

#include "handler/diff.h"
#include "handler/entries.h"
#include "handler/facts.h"
#include "handler/gate.h"
#include "handler/job.h"
#include "ledger/rollback.h"

typedef enum rc step_fn(struct job *j, struct err *err);

struct job {
    const struct job_env *env;
    const struct job_claim *claim;
    struct source source;
    struct head head;
    step_fn *const *steps;     /* of this kind of run, once it is past the gate */
    struct transfer *transfer; /* under way, or arrived; NULL: the upstream is not asked */
    struct store_put *put;     /* until it is kept */
    bool staged;               /* it is to be kept, in this tier: */
    enum tier stage;
    struct bytes bytes;
    struct held_run held;                   /* when resumed */
    struct entries listing, listing_before; /* of a manifest source, open from check to the end */
    struct entry_counts moved;              /* from one to the other */
    struct rollback_order back;             /* of a rollback */
    struct arena reports;                   /* of the inspector: larger than all documents */
    yyjson_val *now, *then;    /* the report of the bytes, and of the head's; NULL: none */
    struct summary before;     /* of the head, format "" when there is none */
    struct diff diff;          /* from then to now, when both are geodata */
    yyjson_val *compared;      /* and what was measured between them; NULL: nothing */
    bool differed;             /* diff is made */
    int vintage_from, vintage; /* of a template */
    struct gate gate;          /* what the policy says, once facts.gate is set */
    struct facts facts;
    struct work_end end;
    step_fn *write;             /* how it ends, once that is decided: one transaction */
    struct inbox_finish finish; /* of one that ends without effect */
    struct promotion promotion; /* of one that is promoted */
    bool denied;                /* by the policy: no other try by itself */
    bool dead;                  /* it was the last try */
    bool replayed;              /* it ends as its log says */
    struct sha256 form;         /* bytes that say what the head says, when the run ends so */
    bool settles;               /* the head was found to be what the upstream has */
    run_also_fn *also;          /* of a run that ends without effect; may be NULL */
};

enum tier job_tier(const struct job *j);
/* Its candidate says that the upstream removed the source. */
bool job_claims_gone(const struct job *j);
/* Its candidate is an operator's rollback. */
bool job_is_rollback(const struct job *j);
/* What a rollback brings back: fills back, and bytes with those from before, or with the head's own
 * where there were none. *ret_refused is set to a reason code when it may not be done any more. */
MUST_CHECK enum rc job_find_prior(struct job *j, const char **ret_refused, struct err *err);
/* Were these bytes taken back? sha NULL: was the deletion? Then the run ends as ROLLED_BACK. */
#define JOB_ROLLED_BACK "ROLLED_BACK"
#define JOB_ROLLED_BACK_CONTENT "ROLLED_BACK_CONTENT" /* other bytes that say the same */
MUST_CHECK enum rc job_is_blocked(const struct job *j, const struct sha256 *sha, bool *ret,
                                  struct err *err);
/* Does what was inspected have the content of bytes that were taken back, written otherwise? */
MUST_CHECK enum rc job_is_blocked_content(const struct job *j, bool *ret, struct err *err);
/* Has the bytes of fd inspected, and reads what was told of the head's. */
MUST_CHECK enum rc job_inspect(struct job *j, int fd, struct summary *ret, struct err *err);
/* Fills diff where the new bytes are layers of features. */
MUST_CHECK enum rc job_diff(struct job *j, struct err *err);
/* The bytes of fd, which have another content digest than the head's: do they say the same within
 * the precision? Steps of the digest have edges, and a coordinate on one may fall to
 * either side. */
MUST_CHECK enum rc job_within_precision(struct job *j, int fd, bool *ret, struct err *err);
/* Is what was inspected the content of the head, written otherwise? */
bool job_same_content(const struct job *j);
/* The head's bytes, in whatever tier they are. */
MUST_CHECK enum rc job_open_head(const struct job *j, int *ret_fd, struct err *err);
/* Asks the policy: fills gate and facts.gate. */
MUST_CHECK enum rc job_gate(struct job *j, struct err *err);
/* A run_also_fn, inside the transaction that acts on it; nothing when the policy was not asked. */
MUST_CHECK enum rc job_record_gate(void *ctx, struct ledger *l, struct err *err);
/* A run_also_fn: the source's public rows as they are now. */
MUST_CHECK enum rc job_project(void *ctx, struct ledger *l, struct err *err);
/* Inside the transaction that ends a run which settles what is head: ends what was held before it
 * (overtake.h). Nothing in a replay, whose log has rows of their own. *ret: was there any? */
MUST_CHECK enum rc job_overtake(const struct job *j, struct ledger *l, bool *ret, struct err *err);
/* Inside the transaction that writes the row of the staged bytes: are they still there? Bytes
 * without a row may be removed, under the same lock (gc.h). RC_BUSY: they are taken in again. */
MUST_CHECK enum rc job_has_object(const struct job *j, enum tier tier, struct err *err);
/* Decides that it ends without effect: noop, failed, or another try after wait_ms. `also` is
 * written with it; NULL: nothing. */
MUST_CHECK enum rc job_finish_with(struct job *j, enum inbox_end end, const char *reason,
                                   int64_t wait_ms, run_also_fn *also, struct err *err);
MUST_CHECK enum rc job_finish(struct job *j, enum inbox_end end, const char *reason,
                              struct err *err);
/* A no-op, as the head is what the upstream has. */
MUST_CHECK enum rc job_settle(struct job *j, const char *reason, run_also_fn *also,
                              struct err *err);
/* A run_also_fn for who ends without the bytes of an entry. */
MUST_CHECK enum rc job_miss_entry(void *ctx, struct ledger *l, struct err *err);
/* Decides that it waits for a person. */
void job_hold(struct job *j, const char *reason);
/* The bytes are to be kept in this tier before the end is written. */
void job_stage(struct job *j, enum tier tier);
void job_begin_facts(struct job *j);
void job_begin_end(const struct job_claim *claim, struct work_end *end);
/* The last step: bytes that are accepted and staged, or a deletion, become the head. */
MUST_CHECK enum rc job_publish(struct job *j, struct err *err);

#endif
