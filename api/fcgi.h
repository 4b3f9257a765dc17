/* fcgi: the only file that knows FastCGI (libfcgi) and CGI. It makes a struct req of what the web
 * server sends, and sends what became of it.
 *
 * Invariants
 *   1. A header that decides about identity or trust and comes twice refuses the request.
 *   2. The path is taken from PATH_INFO alone, decoded once, by the web server: routing and access
 *      rules look at the same variable, so neither can be told another path than the other.
 *   3. A process holds several kept connections and serves whichever speaks, so that idle ones
 *      never keep others waiting.
 *   4. Requests whose answers wait for a commit are held until what came with them is read, then
 *      settled and sent together; never beyond one round of waiting connections.
 *   5. After SIGTERM every request that was sent before it is answered: what waits in the accept
 *      queue and on kept connections is served, then the process ends.
 */
#ifndef FRESHET_API_FCGI_H
#define FRESHET_API_FCGI_H

#include "api/http.h"

/* Answers r by filling w, or leaves w->later set; ctx is the service. Instance, ledger and clock
 * are its business. */
typedef void fcgi_answer_fn(void *ctx, struct req *r, struct resp *w);
/* Completes answers that were left so, all that came at the same time. */
struct unsettled;
typedef void fcgi_settle_fn(void *ctx, const struct unsettled *list, size_t n);

struct fcgi {
    fcgi_answer_fn *answer;
    fcgi_settle_fn *settle;
    void *ctx;
    const struct conf *conf;
    struct arena *arena; /* of the one request of a CGI call */
    size_t body_max;     /* a larger body is read and thrown away */
};

/* Serves connections of listen_fd until SIGTERM. SIGTERM is blocked outside of waiting. Returns
 * an exit code. */
int fcgi_serve(const struct fcgi *f, int listen_fd);
/* Is standard input a listening socket (as spawn-fcgi hands it over)? */
bool fcgi_is_socket_given(void);
/* Is this a CGI call? */
bool fcgi_is_cgi(void);
/* Answers the one request of a CGI call. Returns an exit code. */
int fcgi_cgi(const struct fcgi *f);

#endif
