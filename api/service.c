/* service: start of a program, and one request.
 *
 * Invariants
 *   1. The ledger is opened in the process that uses it, after the fork, and anew after it failed:
 *      a process without a ledger still answers /healthz and says 503 to the rest.
 *   2. The clock is read once per request.
 * Called by main_api and main_intake. */
#include "api/service.h"

#include <stdio.h>
#include "api/fcgi.h"
#include "api/prefork.h"
#include "api/traffic.h"
#include "core/clock.h"
#include "core/daemon.h"
#include "core/log.h"

#define SETTINGS_MAX (1u << 20) /* memory for freshet.json */

struct process {
    const struct service *s;
    struct instance inst;
    struct ledger *ledger;
    struct arena arena;
    struct traffic *traffic;
    bool complained; /* the ledger could not be opened, and the log says so */
};

static void open_ledger(struct process *p)
{
    struct err err = {0};
    if (p->ledger)
        return;
    if (ledger_open(p->inst.dir, p->s->role, p->s->hash, &p->ledger, &err) == RC_OK) {
        p->complained = false;
    } else if (!p->complained) {
        p->complained = true;
        log_err(LOG_ERROR, "api.no_ledger", &err);
    }
}

static void answer(void *ctx, struct req *r, struct resp *w)
{
    struct process *p = ctx;
    open_ledger(p);
    r->ledger = p->ledger;
    r->inst = &p->inst;
    r->now = clock_now();
    r->traffic = p->traffic;
    int64_t from = clock_mono_us();
    route_serve(p->s->router, r, w);
    traffic_count(p->traffic, w->status, clock_mono_us() - from);
    if (w->status == 500 && p->ledger)
        ledger_close(&p->ledger); /* whatever was wrong with it, the next request starts afresh */
}

static void settle(void *ctx, const struct unsettled *list, size_t n)
{
    struct process *p = ctx;
    p->s->settle(list, n);
    for (size_t i = 0; i < n; i++)
        if (list[i].w->status == 500)
            ledger_close(&p->ledger);
}

static struct fcgi fcgi_of(struct process *p)
{
    return (struct fcgi){.answer = answer,
                         .settle = settle,
                         .ctx = p,
                         .conf = &p->inst.conf,
                         .arena = &p->arena,
                         .body_max = p->s->body_max(&p->inst.conf)};
}

static int child(void *ctx, int listen_fd)
{
    struct process *p = ctx;
    struct fcgi f = fcgi_of(p);
    open_ledger(p);
    int code = fcgi_serve(&f, listen_fd);
    ledger_close(&p->ledger);
    return code;
}

static enum rc serve(struct process *p, struct arena *settings, int *ret_code, struct err *err)
{
    struct fcgi f = fcgi_of(p);
    if (fcgi_is_socket_given()) {
        *ret_code = child(p, 0);
        return RC_OK;
    }
    if (fcgi_is_cgi()) {
        *ret_code = fcgi_cgi(&f);
        ledger_close(&p->ledger);
        return RC_OK;
    }
    struct prefork pre = {.socket = instance_path(settings, &p->inst, p->s->socket),
                          .processes = p->s->processes(&p->inst.conf),
                          .child = child,
                          .ctx = p};
    if (!pre.socket)
        return err_set(err, RC_NOMEM, "", "no memory for the path of the socket");
    TRY(prefork_run(&pre, err));
    *ret_code = 0;
    return RC_OK;
}

static enum rc start(struct process *p, struct arena *settings, const char *dir, int *ret_code,
                     struct err *err)
{
    TRY(daemon_begin(&p->s->self, dir, settings, &p->inst, err));
    return serve(p, settings, ret_code, err);
}

int service_main(const struct service *s, int argc, char **argv)
{
    struct process p = {.s = s};
    struct arena settings;
    struct err err = {0};
    int code = 1;
    const char *dir = daemon_folder(&s->self, argc, argv, &code);
    if (!dir)
        return code;
    arena_init(&settings, SETTINGS_MAX);
    arena_init(&p.arena, REQ_ARENA_MAX);
    p.traffic = traffic_new();
    if (start(&p, &settings, dir, &code, &err) != RC_OK)
        fprintf(stderr, "%s: %s\n", s->self.program, err.msg);
    arena_release(&p.arena);
    arena_release(&settings);
    return code;
}
