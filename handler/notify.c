/* notify: a request has a slot; what ended stays in it until one commit keeps them all. */
#include "handler/notify.h"

#include <sys/stat.h>
#include "core/clock.h"
#include "handler/job.h"
#include "handler/message.h"

#define SLOTS (SUBSCRIBERS_MAX * NOTIFY_IN_FLIGHT)
#define FILE_MEMORY_MAX (8u << 20)
#define MESSAGE_MEMORY_MAX (16u << 20) /* a source, an entry, and the message made of them */
#define ANSWER_MAX 65536               /* what a receiver says is not read further */
#define ANSWER_MS 15000
#define HTTP_GONE 410
/* Of a wait: a slow receiver must not keep the answers of others from being kept. */
#define SLICE_MS 20

/* A subscriber that asked to be left alone. */
struct pause {
    char subscriber[SUBSCRIBER_NAME_MAX + 1];
    int64_t until; /* clock_mono */
};

/* A request under way, or one that has ended and is not kept yet. */
struct slot {
    bool busy, ended;
    char subscriber[SUBSCRIBER_NAME_MAX + 1];
    struct delivery delivery;
    int http;
    enum fetch_end end;
    int64_t retry_after_ms;
};

struct notify {
    struct ledger *ledger;
    const struct instance *inst;
    struct conf conf; /* the instance's, but for what would let one receiver stop another */
    struct fetch *engine;
    struct arena file, message;
    struct subscribers all;
    struct stat read; /* of notify.json as it was read; st_ino 0: there was none */
    bool known;       /* it was looked for */
    char wrong[512];
    struct slot slots[SLOTS];
    struct pause pauses[SUBSCRIBERS_MAX];
};

enum rc notify_new(struct ledger *l, const struct instance *inst, struct notify **ret,
                   struct err *err)
{
    struct notify *n = calloc(1, sizeof *n);
    if (!n)
        return err_set(err, RC_NOMEM, "", "no memory for notifications");
    n->ledger = l;
    n->inst = inst;
    n->conf = inst->conf;
    n->conf.breaker_failures =
        0; /* two hooks of one host are two receivers; each has its own backoff */
    n->conf.per_host = n->conf.max_concurrency = SLOTS;
    arena_init(&n->file, FILE_MEMORY_MAX);
    arena_init(&n->message, MESSAGE_MEMORY_MAX);
    *ret = n;
    return RC_OK;
}

void notify_free(struct notify **np)
{
    struct notify *n = *np;
    if (!n)
        return;
    fetch_free(&n->engine);
    arena_release(&n->file);
    arena_release(&n->message);
    free(n);
    *np = NULL;
}

const char *notify_wrong(const struct notify *n)
{
    return n->wrong;
}

/* ---- who ------------------------------------------------------------------------------------- */

struct strangers {
    const struct notify *n;
    char names[SUBSCRIBERS_MAX][SUBSCRIBER_NAME_MAX + 1];
    size_t count;
};

static enum rc add_stranger(void *ctx, const struct delivery_stats *s, struct err *err)
{
    struct strangers *x = ctx;
    (void)err;
    if (x->count < SUBSCRIBERS_MAX && !subscribers_find(&x->n->all, s->subscriber))
        snprintf(x->names[x->count++], sizeof x->names[0], "%s", s->subscriber);
    return RC_OK;
}

/* Rows of those that notify.json does not name. */
static enum rc forget_strangers(struct notify *n, struct err *err)
{
    struct strangers x = {.n = n};
    enum rc rc = RC_OK;
    TRY(delivery_each(n->ledger, add_stranger, &x, err));
    if (!x.count)
        return RC_OK;
    TRY(ledger_begin(n->ledger, err));
    for (size_t i = 0; i < x.count && rc == RC_OK; i++)
        rc = delivery_forget(n->ledger, x.names[i], err);
    return ledger_end(n->ledger, rc, err);
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static enum rc read_file(struct notify *n, struct err *err)
{
    struct stat st = {0};
    struct err why = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/" NOTIFY_FILE, n->inst->dir);
    if (stat(path, &st) != 0)
        st = (struct stat){0};
    if (n->known && same(&st, &n->read))
        return RC_OK;
    arena_reset(&n->file);
    n->all.n = 0;
    memset(n->pauses, 0,
           sizeof n->pauses); /* a name may be another's now, or have another address */
    n->wrong[0] = '\0';
    n->known = true;
    n->read = st;
    if (subscribers_load(&n->file, n->inst, &n->all, &why) == RC_OK)
        return forget_strangers(n, err);
    n->all.n = 0;
    snprintf(n->wrong, sizeof n->wrong, "%s%s%.400s", why.field, *why.field ? ": " : "", why.msg);
    return RC_OK;
}

/* ---- sorting --------------------------------------------------------------------------------- */

/* What a notice is about, as it is now. An entry that the public has not is none. */
static enum rc look_up(struct notify *n, const struct notice *x, struct source *s,
                       struct notice_entry *entry, struct occurrence *ret, struct err *err)
{
    struct err none;
    arena_reset(&n->message);
    TRY(source_by_no(n->ledger, &n->message, x->src_no, s, err));
    *ret = (struct occurrence){.kind = x->kind, .source = s};
    if (x->kind != NOTICE_change)
        return RC_OK;
    enum rc rc = notice_entry(n->ledger, &n->message, x->event_id, entry, &none);
    if (rc == RC_OK)
        ret->entry = entry;
    return rc == RC_OK || rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "", "%s", none.msg);
}

static enum rc sort_one(struct notify *n, const struct notice *x, struct err *err)
{
    struct source s;
    struct notice_entry entry;
    struct occurrence o;
    if (n->all.n)
        TRY(look_up(n, x, &s, &entry, &o, err));
    for (size_t i = 0; i < n->all.n; i++)
        if (subscriber_hears(&n->all.list[i], &o))
            TRY(notice_deliver(n->ledger, x->no, n->all.list[i].name, x->at, err));
    return notice_sorted(n->ledger, x->no, err);
}

/* Another process may have been quicker: the list is read again under the lock. */
static enum rc sort_some(struct notify *n, bool *ret_more, struct err *err)
{
    struct notice list[NOTICES_MAX];
    size_t count = 0;
    TRY(notice_new(n->ledger, list, &count, err));
    if (!count)
        return RC_OK;
    TRY(ledger_begin(n->ledger, err));
    enum rc rc = notice_new(n->ledger, list, &count, err);
    for (size_t i = 0; i < count && rc == RC_OK; i++)
        rc = sort_one(n, &list[i], err);
    *ret_more = *ret_more || rc == RC_OK;
    return ledger_end(n->ledger, rc, err);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void on_done(void *ctx, const struct fetch_res *res)
{
    struct slot *s = ctx;
    s->ended = true;
    s->http = res->http;
    s->end = res->end;
    s->retry_after_ms = res->retry_after_ms;
}

static struct fetch_req request_of(const struct message *m)
{
    return (struct fetch_req){.method = "POST",
                              .url = m->url,
                              .headers = m->headers,
                              .n_headers = m->n_headers,
                              .body = m->body,
                              .max_body = ANSWER_MAX,
                              .timeout_ms = ANSWER_MS,
                              .attempts = 1};
}

/* The address may be a secret, so not even an error of the engine is repeated. */
static enum rc start_request(struct fetch *engine, const struct fetch_req *req, struct err *err)
{
    struct err why = {0};
    enum rc rc = fetch_start(engine, req, &why);
    if (rc == RC_OK)
        return RC_OK;
    return err_set(err, rc, "url", MESSAGE_REFUSED);
}

/* Two hooks of one host are two receivers: what one of them asks for is no matter of the other. */
static enum rc need_engine(struct notify *n, struct err *err)
{
    if (n->engine)
        return RC_OK;
    TRY(fetch_new(&n->conf, &n->engine, err));
    fetch_each_alone(n->engine);
    return RC_OK;
}

/* *ret_told: there is nothing that it may be told any more. */
static enum rc post(struct notify *n, const struct subscriber *who, struct slot *slot,
                    bool *ret_told, struct err *err)
{
    const struct notice *x = &slot->delivery.notice;
    struct source s;
    struct notice_entry entry;
    struct occurrence o;
    struct message m;
    struct str body;
    TRY(look_up(n, x, &s, &entry, &o, err));
    *ret_told = !subscriber_hears(who, &o);
    if (*ret_told)
        return RC_OK;
    TRY(message_body(&n->message, n->inst, who->format, x, &s, o.entry, &body, err));
    TRY(message_seal(&n->message, n->inst, who, x->id, body, clock_now(), &m, err));
    TRY(need_engine(n, err));
    struct fetch_req req = request_of(&m);
    req.on_done = on_done;
    req.ctx = slot;
    return start_request(n->engine, &req, err);
}

static enum rc keep_now(struct notify *n, const struct delivery_end *e, struct err *err)
{
    TRY(ledger_begin(n->ledger, err));
    return ledger_end(n->ledger, delivery_put(n->ledger, e, clock_now(), err), err);
}

static struct delivery_end failed(const struct slot *s, const char *why, int64_t retry_after_ms)
{
    int64_t tries = s->delivery.attempts + 1;
    bool dead = tries >= OUTBOX_TRIES_MAX || s->http == HTTP_GONE;
    return (struct delivery_end){.notice_no = s->delivery.notice.no,
                                 .subscriber = s->subscriber,
                                 .why = why,
                                 .counts = true,
                                 .next_at =
                                     dead ? -1 : clock_now() + job_backoff(tries, retry_after_ms)};
}

static void count(struct outbox_counts *c, const struct delivery_end *e)
{
    ++*(e->done ? &c->told : e->next_at < 0 ? &c->dead : &c->failed);
}

/* What cannot even be sent (a secret is missing) has failed like what was refused. */
static enum rc start_one(struct notify *n, const struct subscriber *who, const struct delivery *d,
                         struct slot *slot, struct outbox_counts *c, struct err *err)
{
    struct err why = {0};
    bool told = false;
    *slot = (struct slot){.delivery = *d};
    snprintf(slot->subscriber, sizeof slot->subscriber, "%s", who->name);
    if (post(n, who, slot, &told, &why) == RC_OK && !told) {
        slot->busy = true;
        return RC_OK;
    }
    struct delivery_end e = failed(slot, why.msg, -1);
    e.done = told;
    if (!told)
        count(c, &e);
    return keep_now(n, &e, err);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static size_t under_way(const struct notify *n, const char *subscriber)
{
    size_t busy = 0;
    for (size_t i = 0; i < SLOTS; i++)
        busy +=
            n->slots[i].busy && (!subscriber || strcmp(n->slots[i].subscriber, subscriber) == 0);
    return busy;
}

static bool is_under_way(const struct notify *n, const char *subscriber, int64_t notice_no)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (n->slots[i].busy && n->slots[i].delivery.notice.no == notice_no &&
            strcmp(n->slots[i].subscriber, subscriber) == 0)
            return true;
    return false;
}

static struct slot *free_slot(struct notify *n)
{
    size_t i = 0;
    while (i < SLOTS && n->slots[i].busy)
        i++;
    return i < SLOTS ? &n->slots[i] : NULL;
}

/* ---- pauses ---------------------------------------------------------------------------------- */

/* Of this one, or the one that is over first: there are as many as there can be subscribers. */
static struct pause *pause_of(struct notify *n, const char *subscriber)
{
    struct pause *first = n->pauses;
    for (size_t i = 0; i < SUBSCRIBERS_MAX; i++) {
        if (strcmp(n->pauses[i].subscriber, subscriber) == 0)
            return &n->pauses[i];
        if (n->pauses[i].until < first->until)
            first = &n->pauses[i];
    }
    return first;
}

static void pause_for(struct notify *n, const char *subscriber, int64_t ms)
{
    struct pause *p = pause_of(n, subscriber);
    int64_t until = clock_mono() + ms;
    if (strcmp(p->subscriber, subscriber) != 0)
        *p = (struct pause){0};
    snprintf(p->subscriber, sizeof p->subscriber, "%s", subscriber);
    p->until = p->until > until ? p->until : until;
}

/* 0: it may be told. */
static int64_t pause_left(struct notify *n, const char *subscriber)
{
    const struct pause *p = pause_of(n, subscriber);
    int64_t left = p->until - clock_mono();
    return left > 0 && strcmp(p->subscriber, subscriber) == 0 ? left : 0;
}

static enum rc put_off_all(struct notify *n, const struct subscriber *who,
                           const struct delivery *due, size_t n_due, int64_t ms, struct err *err)
{
    int64_t now = clock_now();
    for (size_t i = 0; i < n_due; i++) {
        const struct delivery_end e = {.notice_no = due[i].notice.no,
                                       .subscriber = who->name,
                                       .why = "the receiver asked to be left alone",
                                       .next_at = now + ms};
        TRY(delivery_put(n->ledger, &e, now, err));
    }
    return RC_OK;
}

/* Until its pause is over; that is no try. */
static enum rc put_off(struct notify *n, const struct subscriber *who, const struct delivery *due,
                       size_t n_due, int64_t ms, struct err *err)
{
    TRY(ledger_begin(n->ledger, err));
    return ledger_end(n->ledger, put_off_all(n, who, due, n_due, ms, err), err);
}

/* ---- what is due ----------------------------------------------------------------------------- */

static size_t leave_out_started(const struct notify *n, const char *subscriber,
                                struct delivery *due, size_t n_due)
{
    size_t kept = 0;
    for (size_t i = 0; i < n_due; i++)
        if (!is_under_way(n, subscriber, due[i].notice.no))
            due[kept++] = due[i];
    return kept;
}

static enum rc start_some(struct notify *n, const struct subscriber *who, struct outbox_counts *c,
                          bool *ret_more, struct err *err)
{
    struct delivery due[DELIVERIES_MAX];
    struct slot *slot;
    size_t count = 0;
    if (!who->enabled || under_way(n, who->name) >= NOTIFY_IN_FLIGHT)
        return RC_OK;
    TRY(delivery_due(n->ledger, who->name, clock_now(), due, &count, err));
    count = leave_out_started(n, who->name, due, count);
    *ret_more = *ret_more || count > 0;
    int64_t left = count > 0 ? pause_left(n, who->name) : 0;
    if (left > 0)
        return put_off(n, who, due, count, left, err);
    for (size_t i = 0; i < count && under_way(n, who->name) < NOTIFY_IN_FLIGHT; i++) {
        if (!(slot = free_slot(n)))
            continue;
        TRY(start_one(n, who, &due[i], slot, c, err));
    }
    return RC_OK;
}

static void say(const struct slot *s, char *out, size_t room)
{
    if (s->http)
        snprintf(out, room, "the receiver answered %d", s->http);
    else
        snprintf(out, room, "no answer: %s", fetch_end_text(s->end));
}

static bool answered_well(const struct slot *s)
{
    return s->end == FETCH_OK && s->http >= 200 && s->http < 300;
}

static struct delivery_end end_of(const struct slot *s, const char *why)
{
    struct delivery_end e = failed(s, why, s->retry_after_ms);
    e.done = answered_well(s);
    return e;
}

static bool asks_for_pause(const struct slot *s)
{
    return (s->http == 429 || s->http == 503) && s->retry_after_ms > 0;
}

static enum rc keep_ended(struct notify *n, struct outbox_counts *c, struct err *err)
{
    char why[200];
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *s = &n->slots[i];
        if (!s->busy || !s->ended)
            continue;
        if (asks_for_pause(s))
            pause_for(n, s->subscriber, s->retry_after_ms);
        say(s, why, sizeof why);
        const struct delivery_end e = end_of(s, why);
        TRY(delivery_put(n->ledger, &e, clock_now(), err));
        count(c, &e);
    }
    return RC_OK;
}

/* All that ended, in one commit. */
static enum rc settle(struct notify *n, struct outbox_counts *c, struct err *err)
{
    size_t ended = 0;
    for (size_t i = 0; i < SLOTS; i++)
        ended += n->slots[i].busy && n->slots[i].ended;
    if (!ended)
        return RC_OK;
    TRY(ledger_begin(n->ledger, err));
    enum rc rc = ledger_end(n->ledger, keep_ended(n, c, err), err);
    for (size_t i = 0; i < SLOTS; i++)
        n->slots[i].busy = n->slots[i].busy && !n->slots[i].ended;
    return rc;
}

enum rc notify_turn(struct notify *n, struct outbox_counts *c, bool *ret_more, struct err *err)
{
    *ret_more = false;
    TRY(read_file(n, err));
    if (!*n->wrong)
        TRY(sort_some(n, ret_more, err));
    for (size_t i = 0; i < n->all.n; i++)
        TRY(start_some(n, &n->all.list[i], c, ret_more, err));
    if (under_way(n, NULL)) {
        *ret_more = true;
        (void)fetch_run(n->engine, SLICE_MS);
    }
    return settle(n, c, err);
}

/* ---- a test ---------------------------------------------------------------------------------- */

struct test {
    struct notify_answer *answer;
    size_t n;
};

static enum rc on_test_body(void *ctx, const void *p, size_t n)
{
    struct test *t = ctx;
    size_t room = sizeof t->answer->text - 1 - t->n;
    n = n < room ? n : room;
    memcpy(t->answer->text + t->n, p, n);
    t->n += n;
    return RC_OK;
}

static void on_test_done(void *ctx, const struct fetch_res *res)
{
    struct notify_answer *a = ((struct test *)ctx)->answer;
    a->http = res->http;
    a->end = res->end;
    a->elapsed_ms = res->elapsed_ms;
}

static enum rc run_test(struct arena *a, struct fetch *engine, const struct instance *inst,
                        const struct subscriber *s, struct notify_answer *ret, struct err *err)
{
    struct test t = {.answer = ret};
    struct message m;
    struct str body;
    char uuid[37];
    uuid7(clock_now(), uuid);
    snprintf(ret->id, sizeof ret->id, "msg_%s", uuid);
    TRY(message_test_body(a, s->format, ret->id, clock_now(), &body, err));
    TRY(message_seal(a, inst, s, ret->id, body, clock_now(), &m, err));
    struct fetch_req req = request_of(&m);
    req.on_body = on_test_body;
    req.on_done = on_test_done;
    req.ctx = &t;
    TRY(start_request(engine, &req, err));
    while (fetch_run(engine, -1) > 0)
        continue;
    for (size_t i = 0; i < t.n; i++) /* of a stranger, for a terminal */
        if ((unsigned char)ret->text[i] < ' ' || (unsigned char)ret->text[i] > '~')
            ret->text[i] = ' ';
    return RC_OK;
}

enum rc notify_test(const struct instance *inst, const struct subscriber *s,
                    struct notify_answer *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct fetch *engine = NULL;
    *ret = (struct notify_answer){0};
    arena_init(&a, MESSAGE_MEMORY_MAX);
    TRY(fetch_new(&inst->conf, &engine, err));
    enum rc rc = run_test(&a, engine, inst, s, ret, err);
    fetch_free(&engine);
    return rc;
}
