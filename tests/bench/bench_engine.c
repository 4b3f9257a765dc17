/* bench_engine: the fetch engine alone: conditional HEADs through fetch_start and fetch_run, no
 * detector, no ledger. The callers' way of feeding it: never more started than are in flight.
 * usage: bench_engine BASE COUNT PARALLEL HOSTS ETAG LAST_MODIFIED
 * BASE may be two with a comma between, asked in turns. With HOSTS above 1 the host in BASE
 * (http://localhost:PORT/...) becomes h0.localhost and so on, which libcurl resolves by itself.
 * Prints requests, 304s, seconds and CPU seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "core/clock.h"
#include "core/fetch.h"

#define HOSTS_MAX 256

static struct {
    struct fetch *engine;
    const char *base, *other, *etag, *last_modified;
    long count, next, done, not_modified;
    int hosts;
} b;

static void on_done(void *ctx, const struct fetch_res *res);

static void start_one(void)
{
    char url[300];
    long n = b.next++;
    if (b.hosts > 1)
        snprintf(url, sizeof url, "http://h%ld.%s/%ld", n % b.hosts, b.base + 7, n);
    else
        snprintf(url, sizeof url, "%s/%ld", n % 2 ? b.other : b.base, n);
    struct fetch_header headers[] = {{"If-None-Match", b.etag, false},
                                     {"If-Modified-Since", b.last_modified, false}};
    struct fetch_req req = {.method = "HEAD",
                            .url = url,
                            .headers = headers,
                            .n_headers = 2,
                            .timeout_ms = 20000,
                            .on_done = on_done};
    struct err err;
    if (fetch_start(b.engine, &req, &err) != RC_OK) {
        fprintf(stderr, "bench_engine: %s: %s\n", err.field, err.msg);
        exit(1);
    }
}

static void on_done(void *ctx, const struct fetch_res *res)
{
    (void)ctx;
    b.done++;
    b.not_modified += res->http == 304;
    if (res->end != FETCH_OK)
        fprintf(stderr, "bench_engine: %s\n", res->detail);
    if (b.next < b.count)
        start_one();
}

static double cpu_seconds(void)
{
    struct rusage ru;
    getrusage(RUSAGE_SELF, &ru);
    return (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
           (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    static char names[HOSTS_MAX + 2][32];
    static const char *allow[HOSTS_MAX + 2] = {"127.0.0.1", "localhost"};
    struct conf conf;
    struct err err;
    if (argc < 7)
        return 2;
    long parallel = strtol(argv[3], NULL, 10);
    char *comma = strchr(argv[1], ',');
    if (comma)
        *comma = '\0';
    b.base = argv[1], b.other = comma ? comma + 1 : argv[1];
    b.etag = argv[5], b.last_modified = argv[6];
    b.count = strtol(argv[2], NULL, 10);
    b.hosts = (int)strtol(argv[4], NULL, 10);
    if (b.hosts < 1 || b.hosts > HOSTS_MAX)
        return 2;
    for (int i = 0; i < b.hosts; i++) {
        snprintf(names[i], sizeof names[i], "h%d.localhost", i);
        allow[i + 2] = names[i];
    }
    conf_defaults(&conf);
    conf.allow_hosts = (struct conf_list){allow, (size_t)b.hosts + 2};
    conf.max_concurrency = parallel;
    conf.per_host = (parallel + b.hosts - 1) / b.hosts;
    conf.per_host_rate = 0;
    if (fetch_new(&conf, &b.engine, &err) != RC_OK) {
        fprintf(stderr, "bench_engine: %s\n", err.msg);
        return 1;
    }
    int64_t from = clock_mono();
    while (b.next < b.count && b.next < parallel)
        start_one();
    while (fetch_run(b.engine, 1000))
        ;
    double seconds = (double)(clock_mono() - from) / 1000;
    printf("%ld %ld %.3f %.3f\n", b.done, b.not_modified, seconds, cpu_seconds());
    fetch_free(&b.engine);
    return 0;
}
