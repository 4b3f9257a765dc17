/* traffic: counters in shared memory. */
#include "api/traffic.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define NAME "freshet_http_request_seconds"

/* Upper bounds in microseconds: a lookup takes a tenth of a millisecond, a large page some ten. */
static const int64_t bounds[] = {100,   250,   500,    1000,   2500,    5000,   10000,
                                 25000, 50000, 100000, 250000, 1000000, 5000000};

struct traffic {
    _Atomic int64_t by_class[6]; /* 1xx … 5xx; 0: none of them */
    _Atomic int64_t within[ARRAY_LEN(bounds) + 1];
    _Atomic int64_t total_us;
};

struct traffic *traffic_new(void)
{
    void *p = mmap(NULL, sizeof(struct traffic), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p; /* zeroes */
}

static void add(_Atomic int64_t *to, int64_t n)
{
    atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

void traffic_count(struct traffic *t, int status, int64_t elapsed_us)
{
    size_t i = 0;
    if (!t)
        return;
    while (i < ARRAY_LEN(bounds) && elapsed_us > bounds[i])
        i++;
    add(&t->by_class[status >= 100 && status < 600 ? status / 100 : 0], 1);
    add(&t->within[i], 1);
    add(&t->total_us, elapsed_us);
}

static long long value(const _Atomic int64_t *p)
{
    return (long long)atomic_load_explicit(p, memory_order_relaxed);
}

static void put_times(const struct traffic *t, struct buf *out)
{
    long long n = 0;
    buf_puts(out, "# HELP " NAME " Time to make an answer, without the web server's.\n"
                  "# TYPE " NAME " histogram\n");
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        n += value(&t->within[i]);
        buf_printf(out, NAME "_bucket{le=\"%g\"} %lld\n", (double)bounds[i] / 1e6, n);
    }
    n += value(&t->within[ARRAY_LEN(bounds)]);
    buf_printf(out, NAME "_bucket{le=\"+Inf\"} %lld\n" NAME "_sum %.6f\n" NAME "_count %lld\n", n,
               (double)value(&t->total_us) / 1e6, n);
}

void traffic_put(const struct traffic *t, struct buf *out)
{
    if (!t)
        return;
    buf_puts(out,
             "# HELP freshet_http_requests_total Requests that freshet-api answered, by status.\n"
             "# TYPE freshet_http_requests_total counter\n");
    for (int c = 2; c < 6; c++)
        buf_printf(out, "freshet_http_requests_total{status=\"%dxx\"} %lld\n", c,
                   value(&t->by_class[c]));
    put_times(t, out);
}
