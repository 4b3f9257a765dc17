/* outbox: takes rows by kind and hands them to their consumers. */
#include "handler/outbox.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/log.h"
#include "handler/artifacts.h"
#include "handler/job.h"
#include "handler/notify.h"
#include "handler/openlineage.h"

#define RUN_MEMORY_MAX (64u << 20) /* documents of one run */

static const struct consumer {
    const char *kind;
    outbox_tell_fn *tell;
    outbox_settle_fn *settle;
    size_t at_a_time;
} consumers[] = {
#define X(kind, tell, settle, n) {kind, tell, settle, n},
#include "handler/outbox.def"
#undef X
};

/* An error of the consumer is kept with the row; one of the ledger is ours. */
static enum rc note_failure(const struct outbox_env *env, const struct outbox_row *r,
                            const char *why, struct outbox_counts *n, struct err *err)
{
    int64_t now = clock_now();
    bool dead = r->attempts + 1 >= OUTBOX_TRIES_MAX;
    TRY(outbox_failed(env->ledger, r->no, why, dead ? -1 : now + job_backoff(r->attempts + 1, -1),
                      now, err));
    ++*(dead ? &n->dead : &n->failed);
    return RC_OK;
}

static enum rc take(const struct outbox_env *env, const struct consumer *c, struct outbox_counts *n,
                    bool *ret_more, struct err *err)
{
    struct outbox_row rows[OUTBOX_ROWS_MAX];
    int64_t told[OUTBOX_ROWS_MAX];
    size_t found, n_told = 0;
    TRY(outbox_next(env->ledger, c->kind, clock_now(), c->at_a_time, rows, &found, err));
    for (size_t i = 0; i < found; i++) {
        struct err why = {0};
        arena_reset(env->arena);
        if (c->tell(env, rows[i].run_id, &why) == RC_OK)
            told[n_told++] = rows[i].no;
        else
            TRY(note_failure(env, &rows[i], why.msg, n, err));
    }
    *ret_more |= found > 0;
    if (n_told && c->settle)
        TRY(c->settle(env->inst, err));
    if (n_told)
        TRY(outbox_done(env->ledger, told, n_told, err));
    n->told += (int64_t)n_told;
    return RC_OK;
}

enum rc outbox_turn(const struct outbox_env *env, struct outbox_counts *n, bool *ret_more,
                    struct err *err)
{
    *ret_more = false;
    for (size_t i = 0; i < ARRAY_LEN(consumers); i++)
        TRY(take(env, &consumers[i], n, ret_more, err));
    return RC_OK;
}

/* Until nothing is due and nothing is under way. */
static enum rc drain_notices(struct ledger *l, const struct instance *inst,
                             struct outbox_counts *ret, struct err *err)
{
    struct notify *n = NULL;
    bool more = true;
    TRY(notify_new(l, inst, &n, err));
    enum rc rc = RC_OK;
    while (rc == RC_OK && more)
        rc = notify_turn(n, ret, &more, err);
    notify_free(&n);
    return rc;
}

enum rc outbox_drain(struct ledger *l, const struct instance *inst, struct outbox_counts *ret,
                     struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct fetch *engine = NULL;
    const struct outbox_env env = {l, inst, &a, &engine};
    bool more = true;
    enum rc rc = RC_OK;
    arena_init(&a, RUN_MEMORY_MAX);
    while (rc == RC_OK && more)
        rc = outbox_turn(&env, ret, &more, err);
    fetch_free(&engine);
    if (rc == RC_OK)
        rc = drain_notices(l, inst, ret, err);
    return rc == RC_OK ? outbox_count(l, clock_now(), err) : rc;
}

void outbox_wake(const struct instance *inst)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int n = snprintf(to.sun_path, sizeof to.sun_path, "%s/run/wake.sock", inst->dir);
    int fd = n < (int)sizeof to.sun_path ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return;
    (void)sendto(fd, "1", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to);
    close(fd);
}
