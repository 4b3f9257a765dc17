/* main_intake: freshet-intake, the only way in: it verifies, normalises and writes to the inbox
 * side of the ledger. Its crypto is mbedTLS. */
#include "api/service.h"

static int processes(const struct conf *c)
{
    return (int)c->intake_processes;
}

static size_t body_max(const struct conf *c)
{
    int64_t most = c->admin_max_body > c->hook_max_body ? c->admin_max_body : c->hook_max_body;
    return (size_t)most;
}

int main(int argc, char **argv)
{
    static const struct service intake = {
        .self =
            {"freshet-intake", "intake",
             "Takes deliveries and admin requests for the instance in DIR by FastCGI on DIR/run/intake.sock.\n"
             "  -C DIR   the instance (default: FRESHET_DIR or the current folder)\n"},
        .socket = "run/intake.sock",
        .router = &router_intake,
        .role = LEDGER_INBOX,
        .hash = digest_mbed_sha256,
        .processes = processes,
        .body_max = body_max,
        .settle = route_settle,
    };
    return service_main(&intake, argc, argv);
}
