/* committer: the phase says whose the batch is: the thread's when GIVEN, the caller's in all
 * others. */
#include "detectors/committer.h"

#include <pthread.h>
#include <signal.h>
#include "core/digest.h"

enum phase { IDLE, GIVEN, DONE, STOP };

struct committer {
    struct ledger *ledger; /* the thread's */
    pthread_t thread;
    pthread_mutex_t mutex; /* of all that follows */
    pthread_cond_t moved;
    enum phase phase;
    const struct looks *batch, *ahead;
    int64_t now;
    enum rc rc;
    struct err err;
};

static enum rc commit(struct ledger *l, const struct looks *batch, int64_t now, struct err *err)
{
    struct check_batch b;
    struct look *k;
    TRY(check_begin(l, now, &b, err));
    TAILQ_FOREACH(k, batch, link)
    {
        enum rc rc = check_put(&b, &k->result, err);
        if (rc != RC_OK) {
            check_abort(&b);
            return rc;
        }
    }
    return check_end(&b, err);
}

static void read_ahead(struct ledger *l, const struct looks *ahead)
{
    struct look *k;
    struct err ignored;
    if (TAILQ_EMPTY(ahead) || ledger_read_begin(l, &ignored) != RC_OK)
        return;
    TAILQ_FOREACH(k, ahead, link)
    {
        k->loaded = look_load(k, l, k->result.src_no, &ignored) == RC_OK;
    }
    ledger_read_end(l);
}

static void *work(void *ctx)
{
    struct committer *c = ctx;
    pthread_mutex_lock(&c->mutex);
    for (;;) {
        while (c->phase != GIVEN && c->phase != STOP)
            pthread_cond_wait(&c->moved, &c->mutex);
        if (c->phase == STOP)
            break;
        struct err err = {0};
        pthread_mutex_unlock(&c->mutex);
        enum rc rc = commit(c->ledger, c->batch, c->now, &err);
        read_ahead(c->ledger, c->ahead);
        pthread_mutex_lock(&c->mutex);
        c->rc = rc;
        c->err = err;
        c->phase = DONE;
        pthread_cond_broadcast(&c->moved);
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

/* Signals are for the loop: it is what they are meant to wake. */
static int start_thread(struct committer *c)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&c->thread, NULL, work, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

enum rc committer_new(const char *dir, struct committer **ret, struct err *err)
{
    struct committer *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(err, RC_NOMEM, "", "no memory for the committer");
    enum rc rc = ledger_open(dir, LEDGER_INBOX, digest_sha256, &c->ledger, err);
    if (rc != RC_OK) {
        free(c);
        return rc;
    }
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->moved, NULL);
    int failed = start_thread(c);
    if (failed) {
        ledger_close(&c->ledger);
        free(c);
        return err_set(err, RC_NOMEM, "", "no thread for the committer: %s", strerror(failed));
    }
    *ret = c;
    return RC_OK;
}

void committer_free(struct committer **cp)
{
    struct committer *c = *cp;
    if (!c)
        return;
    pthread_mutex_lock(&c->mutex);
    while (c->phase == GIVEN)
        pthread_cond_wait(&c->moved, &c->mutex);
    c->phase = STOP;
    pthread_cond_broadcast(&c->moved);
    pthread_mutex_unlock(&c->mutex);
    pthread_join(c->thread, NULL);
    ledger_close(&c->ledger);
    pthread_cond_destroy(&c->moved);
    pthread_mutex_destroy(&c->mutex);
    free(c);
    *cp = NULL;
}

void committer_give(struct committer *c, const struct looks *batch, const struct looks *ahead,
                    int64_t now)
{
    pthread_mutex_lock(&c->mutex);
    c->batch = batch;
    c->ahead = ahead;
    c->now = now;
    c->phase = GIVEN;
    pthread_cond_broadcast(&c->moved);
    pthread_mutex_unlock(&c->mutex);
}

bool committer_take(struct committer *c, bool wait, enum rc *ret_rc, struct err *err)
{
    pthread_mutex_lock(&c->mutex);
    while (wait && c->phase == GIVEN)
        pthread_cond_wait(&c->moved, &c->mutex);
    bool done = c->phase == DONE;
    if (done) {
        *ret_rc = c->rc;
        if (c->rc != RC_OK)
            *err = c->err;
        c->phase = IDLE;
    }
    pthread_mutex_unlock(&c->mutex);
    return done;
}
