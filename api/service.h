/* service: what freshet-api and freshet-intake have in common: options, instance, log, the ledger
 * of a process, and the way from a request to its router.
 */
#ifndef FRESHET_API_SERVICE_H
#define FRESHET_API_SERVICE_H

#include "api/route.h"
#include "core/daemon.h"

struct service {
    struct daemon self;
    const char *socket; /* under the instance's folder */
    const struct router *router;
    enum ledger_role role;
    sha256_fn *hash;
    int (*processes)(const struct conf *c);
    size_t (*body_max)(const struct conf *c);
    /* Ends requests that write together (route.h). NULL: no route does. */
    void (*settle)(const struct unsettled *list, size_t n);
};

/* Runs until SIGTERM (or once, as CGI). Returns the exit code: 0 done, 1 failed, 2 usage. */
int service_main(const struct service *s, int argc, char **argv);

#endif
