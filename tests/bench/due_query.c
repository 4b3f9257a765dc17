/* due_query: how long the question "what is due?" takes: due_query DIR LIMIT [NOW_MS]. Prints rows
 * and the median of 101 answers in microseconds. */
#include <stdio.h>
#include <time.h>
#include "core/clock.h"
#include "ledger/check.h"

#define TIMES 101

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static enum rc count(void *ctx, int64_t src_no, int64_t due_at, struct err *err)
{
    (void)src_no, (void)due_at, (void)err;
    ++*(long *)ctx;
    return RC_OK;
}

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
    struct ledger *l = NULL;
    struct err err;
    double took[TIMES];
    long n = 0;
    if (argc < 3 || ledger_open(argv[1], LEDGER_INBOX, digest_sha256, &l, &err) != RC_OK)
        return 2;
    int64_t now = argc > 3 ? strtoll(argv[3], NULL, 10) : clock_now();
    for (int i = 0; i < TIMES; i++) {
        double began = now_us();
        n = 0;
        if (check_due(l, now, strtoll(argv[2], NULL, 10), count, &n, &err) != RC_OK)
            return 1;
        took[i] = now_us() - began;
    }
    qsort(took, TIMES, sizeof *took, by_size);
    printf("%ld %.0f\n", n, took[TIMES / 2]);
    ledger_close(&l);
    return 0;
}
