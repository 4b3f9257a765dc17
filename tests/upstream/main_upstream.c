/* freshet-upstream: the upstream that tests and the demo watch. See tests/20-scenarios/README.md.
 *
 * Here: options, the port file, and the order of starting. The port file appears when requests
 * are answered, and not before, so a test waits for it instead of sleeping. */
#include <getopt.h>
#include <signal.h>
#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "tests/upstream/demo.h"
#include "tests/upstream/generate.h"
#include "tests/upstream/server.h"

#define SCENARIOS_MAX 64

static const char usage[] =
    "Usage: freshet-upstream [--port N] [--tls-port N] [--scenario FILE|DIR]... [--demo]\n"
    "                        [--tick MS] [--port-file F] [--cert-out F] [--no-tickets] [--quiet]\n"
    "An upstream on 127.0.0.1 that plays scenarios; 0 takes any free port.\n"
    "  --port N         HTTP port (0)\n"
    "  --tls-port N     HTTPS port; without it there is no HTTPS\n"
    "  --no-tickets     no TLS session is resumed: every handshake is a whole one\n"
    "  --scenario F     a scenario file, or a folder of them; may be given often\n"
    "  --demo           invented datasets under /data/ that change by themselves\n"
    "  --tick MS        milliseconds between two changes of the demo (4000)\n"
    "  --port-file F    write {\"http\":PORT,\"https\":PORT} there when ready (https 0: none)\n"
    "  --cert-out F     write the certificate authority there, for SSL_CERT_FILE\n"
    "  --quiet          only errors on standard error\n"
    "  --expect FILE    print the expected checks of a scenario as strict JSON, and end\n"
    "  --fields         print the table of reply fields and kinds of bodies, and end\n";

struct options {
    int64_t port, tls_port, tick;
    const char *scenarios[SCENARIOS_MAX];
    size_t n_scenarios;
    const char *port_file, *cert_out, *expect;
    bool demo, quiet, fields, help, no_tickets;
};

static enum rc number(const char *name, const char *text, int64_t min, int64_t max, int64_t *ret,
                      struct err *err)
{
    int64_t n;
    if (str_to_i64(str_of(text), &n) != RC_OK || n < min || n > max)
        return err_set(err, RC_INVALID, name, "must be a number from %lld to %lld", (long long)min,
                       (long long)max);
    *ret = n;
    return RC_OK;
}

static enum rc option(struct options *o, int c, struct err *err)
{
    switch (c) {
    case 'p': return number("--port", optarg, 0, 65535, &o->port, err);
    case 't': return number("--tls-port", optarg, 0, 65535, &o->tls_port, err);
    case 'k': return number("--tick", optarg, 10, 3600000, &o->tick, err);
    case 'f': o->port_file = optarg; break;
    case 'c': o->cert_out = optarg; break;
    case 'e': o->expect = optarg; break;
    case 'd': o->demo = true; break;
    case 'q': o->quiet = true; break;
    case 'F': o->fields = true; break;
    case 'h': o->help = true; break;
    case 'n': o->no_tickets = true; break;
    case 's':
        if (o->n_scenarios == SCENARIOS_MAX)
            return err_set(err, RC_INVALID, "--scenario", "at most %d; give a folder",
                           SCENARIOS_MAX);
        o->scenarios[o->n_scenarios++] = optarg;
        break;
    default: return err_set(err, RC_INVALID, "", "see --help");
    }
    return RC_OK;
}

static enum rc parse_options(int argc, char **argv, struct options *o, struct err *err)
{
    static const struct option names[] = {
        {"port", 1, NULL, 'p'},     {"tls-port", 1, NULL, 't'}, {"scenario", 1, NULL, 's'},
        {"demo", 0, NULL, 'd'},     {"tick", 1, NULL, 'k'},     {"port-file", 1, NULL, 'f'},
        {"cert-out", 1, NULL, 'c'}, {"quiet", 0, NULL, 'q'},    {"fields", 0, NULL, 'F'},
        {"help", 0, NULL, 'h'},     {"expect", 1, NULL, 'e'},   {"no-tickets", 0, NULL, 'n'},
        {NULL, 0, NULL, 0},
    };
    enum rc rc = RC_OK;
    for (int c; rc == RC_OK && (c = getopt_long(argc, argv, "", names, NULL)) != -1;)
        rc = option(o, c, err);
    if (rc == RC_OK && optind < argc)
        rc = err_set(err, RC_INVALID, argv[optind], "is not an option; see --help");
    return rc;
}

/* The options that print something and end. */
static enum rc print(const struct options *o, struct err *err)
{
    CLEANUP(buf_release) struct buf out = {0};
    buf_init(&out, 16u << 20);
    enum rc rc = RC_OK;
    if (o->help) {
        buf_puts(&out, usage);
    } else if (o->expect) {
        rc = world_expect(o->expect, &out, err);
    } else {
        spec_help(&out);
        buf_byte(&out, '\n');
        generate_help(&out);
    }
    if (rc == RC_OK)
        fwrite(out.data, 1, out.len, stdout);
    return rc;
}

static enum rc announce(const struct server *s, const struct options *o, struct err *err)
{
    char ports[64];
    enum rc rc = RC_OK;
    snprintf(ports, sizeof ports, "{\"http\":%d,\"https\":%d}\n", s->port, s->tls_port);
    if (o->cert_out && !s->tls)
        return err_set(err, RC_INVALID, "--cert-out", "needs --tls-port");
    if (o->cert_out)
        rc = file_replace(o->cert_out, str_of(tls_ca_pem(s->tls)), 0644, err);
    if (rc == RC_OK && o->port_file)
        rc = file_replace(o->port_file, str_of(ports), 0644, err);
    if (rc == RC_OK)
        log_event(LOG_INFO, "upstream.ready", LOG_I("http", s->port), LOG_I("https", s->tls_port));
    return rc;
}

static void tick(void *ctx)
{
    demo_tick(ctx);
    log_event(LOG_INFO, "upstream.changed", LOG_S("what", demo_last(ctx)));
}

static enum rc serve(const struct options *o, struct err *err)
{
    static struct server s; /* static: it holds a read buffer of 64 KB */
    struct demo *demo = NULL;
    enum rc rc = server_open(&s, (int)o->port, (int)o->tls_port, err);
    if (rc == RC_OK && o->no_tickets && s.tls)
        tls_forget_sessions(s.tls);
    for (size_t i = 0; rc == RC_OK && i < o->n_scenarios; i++)
        rc = world_load(&s.world, o->scenarios[i], err);
    if (rc == RC_OK && o->demo) {
        rc = demo_new(&s.world, &demo, err);
        s.tick = tick;
        s.reset = demo_reset;
        s.tick_ms = o->tick;
        s.ctx = demo;
    }
    if (rc == RC_OK)
        rc = announce(&s, o, err);
    if (rc == RC_OK)
        rc = server_run(&s, err);
    server_close(&s);
    demo_free(&demo);
    return rc;
}

int main(int argc, char **argv)
{
    struct options o = {.tls_port = -1, .tick = 4000};
    struct err err = {0};
    (void)signal(SIGPIPE, SIG_IGN);
    if (parse_options(argc, argv, &o, &err) != RC_OK) {
        fprintf(stderr, "freshet-upstream: %s %s\n", err.field, err.msg);
        return 2;
    }
    if (o.quiet)
        log_level_min(LOG_ERROR);
    if (log_open("upstream", NULL, &err) != RC_OK || clock_init(&err) != RC_OK ||
        (o.help || o.fields || o.expect ? print(&o, &err) : serve(&o, &err)) != RC_OK) {
        fprintf(stderr, "freshet-upstream: %s: %s\n", err.field, err.msg);
        return 1;
    }
    return 0;
}
