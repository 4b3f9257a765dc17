/* main_api: freshet-api, the public read side. Its ledger handle sees public tables only. */
#include "api/service.h"
#include "api/stac.h"

static int processes(const struct conf *c)
{
    return (int)c->api_processes;
}

/* A search may come as a body (POST /stac/search). */
static size_t body_max(const struct conf *c)
{
    (void)c;
    return STAC_BODY_MAX;
}

int main(int argc, char **argv)
{
    static const struct service api = {
        .self =
            {"freshet-api", "api",
             "Serves the public, read-only addresses of the instance in DIR by FastCGI on\n"
             "DIR/run/api.sock; started by a web server as a CGI program, answers that one request.\n"
             "  -C DIR   the instance (default: FRESHET_DIR or the current folder)\n"},
        .socket = "run/api.sock",
        .router = &router_api,
        .role = LEDGER_READ,
        .processes = processes,
        .body_max = body_max,
    };
    return service_main(&api, argc, argv);
}
