/* digest_loop SECONDS: takes sha256 of blocks of 16 KB for so long, through core/digest.h;
 * prints MB/s. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "core/digest.h"

#define BLOCK 16384

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* as openssl speed: of our own */
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static char block[BLOCK];
    struct digest *d = digest_new();
    struct sha256 sha;
    double n = 0, from = now(), until = from + (argc > 1 ? strtod(argv[1], NULL) : 1);
    if (!d)
        return 1;
    while (now() < until) {
        for (int i = 0; i < 256; i++)
            digest_add(d, block, sizeof block);
        n += 256.0 * BLOCK;
    }
    printf("%.1f\n", n / (now() - from) / 1e6);
    digest_take(d, &sha);
    digest_free(&d);
}
