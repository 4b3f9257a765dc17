/* confirms: see the header. */
#include "detectors/confirms.h"

#include "core/clock.h"
#include "core/fetch.h"
#include "core/log.h"
#include "ledger/push.h"

#define LOOK_MS 1000           /* between two looks at what is due */
#define ANSWER_MAX (64u << 10) /* a few hundred bytes of XML */
#define TIMEOUT_MS 30000
#define SOURCE_MEMORY (1u << 20) /* a source with the longest spec */
#define PAUSE_MS 15000 /* before the second try; doubles: the eighth is half an hour later */

struct confirms {
    struct ledger *ledger;
    const struct instance *inst;
    struct fetch *fetch; /* made when it is needed first */
    int64_t looked_at;   /* clock_mono */
    bool under_way, ended;
    struct push_confirmation now;
    int http;
    bool good;
    char detail[200];
};

static void on_done(void *ctx, const struct fetch_res *res)
{
    struct confirms *c = ctx;
    c->ended = true;
    c->http = res->http;
    c->good = res->end == FETCH_OK && res->http == 200;
    if (res->end == FETCH_OK)
        snprintf(c->detail, sizeof c->detail, "HTTP %d", res->http);
    else
        snprintf(c->detail, sizeof c->detail, "%s", res->detail);
}

static void fail_at_once(struct confirms *c, const struct err *err)
{
    c->ended = true;
    c->good = false;
    snprintf(c->detail, sizeof c->detail, "%.190s", err->msg);
}

static enum rc begin(struct confirms *c, struct err *err)
{
    struct fetch_req req = {.method = "GET",
                            .url = c->now.url,
                            .max_body = ANSWER_MAX,
                            .timeout_ms = TIMEOUT_MS,
                            .attempts = 1,
                            .on_done = on_done,
                            .ctx = c};
    enum rc rc = push_confirm_next(c->ledger, clock_now(), &c->now, err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    req.url = c->now.url;
    if (!c->fetch)
        TRY(fetch_new(&c->inst->conf, &c->fetch, err));
    c->under_way = true;
    c->ended = false;
    struct err why = {0};
    if (fetch_start(c->fetch, &req, &why) != RC_OK)
        fail_at_once(c, &why);
    return RC_OK;
}

static void name_source(const struct confirms *c, char name[SOURCE_LOG_NAME_MAX])
{
    CLEANUP(arena_release) struct arena a = {0};
    struct source s;
    struct err ignored;
    name[0] = '\0';
    arena_init(&a, SOURCE_MEMORY);
    if (source_by_no(c->ledger, &a, c->now.src_no, &s, &ignored) == RC_OK)
        (void)source_log_name(&s, name);
}

static enum rc settle(struct confirms *c, struct err *err)
{
    const struct push_confirmation *p = &c->now;
    bool last = p->attempts + 1 >= PUSH_CONFIRM_TRIES;
    char name[SOURCE_LOG_NAME_MAX];
    int64_t now = clock_now(), pause = (int64_t)PAUSE_MS << p->attempts;
    name_source(c, name);
    log_event(c->good ? LOG_INFO : LOG_WARN, c->good ? "confirm.done" : "confirm.failed",
              LOG_S("source", name), LOG_I("attempt", p->attempts + 1), LOG_I("http", c->http));
    c->under_way = false;
    explicit_bzero(c->now.url, sizeof c->now.url);
    if (c->good || last)
        return push_confirm_end(c->ledger, p->no, c->good, c->detail, now, err);
    return push_confirm_again(c->ledger, p->no, now + pause, c->detail, err);
}

enum rc confirms_turn(struct confirms *c, struct err *err)
{
    if (c->fetch)
        (void)fetch_run(c->fetch, 0);
    if (c->under_way)
        return c->ended ? settle(c, err) : RC_OK;
    if (c->looked_at && clock_mono() - c->looked_at < LOOK_MS)
        return RC_OK;
    c->looked_at = clock_mono();
    return begin(c, err);
}

enum rc confirms_new(struct ledger *l, const struct instance *inst, struct confirms **ret,
                     struct err *err)
{
    struct confirms *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(err, RC_NOMEM, "", "no memory for confirmations");
    c->ledger = l;
    c->inst = inst;
    *ret = c;
    return RC_OK;
}

void confirms_free(struct confirms **p)
{
    if (!*p)
        return;
    fetch_free(&(*p)->fetch);
    free(*p);
    *p = NULL;
}
