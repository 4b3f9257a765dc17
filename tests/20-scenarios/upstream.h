/* upstream: the freshet-upstream of a run: started, commanded through /control/, ended. Included by
 * runner.c alone; what goes wrong here ends the run with status 2. */
#ifndef FRESHET_TESTS_SCENARIOS_UPSTREAM_H
#define FRESHET_TESTS_SCENARIOS_UPSTREAM_H

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fetch.h"
#include "core/json.h"

#define HERE "tests/20-scenarios"
#define READY_MS 20000 /* for the upstream to start, under a sanitizer on a busy machine */

struct upstream {
    char ca[96]; /* the certificate it shows */
    pid_t pid;
    int port, tls_port;
    struct conf conf; /* of the control connection */
    const char *hosts[1];
    struct fetch *fetch;
};

static noreturn void die(const char *what, const struct err *err)
{
    fprintf(stderr, "runner: %s: %s %s\n", what, err->field, err->msg);
    exit(2);
}

static void upstream_exec(const struct upstream *u, const char *build, const char *port_file)
{
    char program[128];
    snprintf(program, sizeof program, "%s/freshet-upstream", build);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl(program, program, "--port", "0", "--tls-port", "0", "--scenario", HERE, "--port-file",
          port_file, "--cert-out", u->ca, "--quiet", (char *)NULL);
    fprintf(stderr, "runner: cannot start %s: %s\n", program, strerror(errno));
    _exit(127);
}

static void upstream_ports(struct upstream *u, const char *port_file)
{
    for (int64_t until = clock_mono() + READY_MS; access(port_file, R_OK) != 0;) {
        if (clock_mono() > until || waitpid(u->pid, NULL, WNOHANG) != 0) {
            fprintf(stderr, "runner: the upstream did not start\n");
            exit(2);
        }
        usleep(2000);
    }
    struct err err = {0};
    CLEANUP(arena_release) struct arena a = {0};
    yyjson_val *ports;
    arena_init(&a, 65536);
    if (json_parse_file(&a, port_file, 0, &ports, &err) != RC_OK)
        die("the port file", &err);
    u->port = yyjson_get_int(yyjson_obj_get(ports, "http"));
    u->tls_port = yyjson_get_int(yyjson_obj_get(ports, "https"));
}

/* With the programs of `build`; port file and certificate go to dir. */
static void upstream_start(struct upstream *u, const char *build, const char *dir)
{
    char port_file[96];
    struct err err = {0};
    snprintf(port_file, sizeof port_file, "%s/ports", dir);
    snprintf(u->ca, sizeof u->ca, "%s/ca.pem", dir);
    u->pid = fork();
    if (u->pid == 0)
        upstream_exec(u, build, port_file);
    upstream_ports(u, port_file);
    conf_defaults(&u->conf);
    u->hosts[0] = "127.0.0.1";
    u->conf.allow_hosts = (struct conf_list){u->hosts, 1};
    if (fetch_new(&u->conf, &u->fetch, &err) != RC_OK)
        die("fetch", &err);
}

static void upstream_stop(struct upstream *u)
{
    fetch_free(&u->fetch);
    kill(u->pid, SIGTERM);
    waitpid(u->pid, NULL, 0);
}

struct reply {
    struct buf *body;
    struct fetch_res res;
};

static enum rc on_reply_body(void *ctx, const void *p, size_t n)
{
    struct reply *reply = ctx;
    buf_add(reply->body, p, n);
    return buf_rc(reply->body);
}

static void on_reply(void *ctx, const struct fetch_res *res)
{
    struct reply *reply = ctx;
    reply->res = *res;
}

/* Sends a command to /control/ and gives its parsed answer. */
static yyjson_val *upstream_control(struct upstream *u, struct arena *a, const char *method,
                                    const char *what, struct str body)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct reply reply = {.body = &out};
    struct err err = {0};
    yyjson_val *doc = NULL;
    buf_init(&out, 64u << 20);
    struct fetch_req req = {.method = method,
                            .url = arena_printf(a, "http://127.0.0.1:%d/control/%s", u->port, what),
                            .body = body,
                            .max_body = 64 << 20,
                            .timeout_ms = READY_MS,
                            .attempts = 1,
                            .on_body = on_reply_body,
                            .on_done = on_reply,
                            .ctx = &reply};
    if (fetch_one(u->fetch, &req, &err) != RC_OK)
        die(what, &err);
    struct str text = {arena_str(a, buf_view(&out)), out.len};
    if (reply.res.http != 200 || json_parse(a, text, 0, "answer", &doc, &err) != RC_OK) {
        fprintf(stderr, "runner: /control/%s: %s %s\n", what, reply.res.detail, text.p);
        exit(2);
    }
    return doc;
}

#endif
