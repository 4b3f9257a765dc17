/* inspect_loop FOLDER COUNT FILE: asks the inspectors in FOLDER about FILE COUNT times, as the
 * handler would, and prints "seconds cpu_seconds". */
#include <fcntl.h>
#include <sys/resource.h>
#include "core/clock.h"
#include "handler/inspector.h"

static double cpu_of(int who)
{
    struct rusage r;
    getrusage(who, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    struct conf c;
    struct err err;
    struct inspector *in;
    struct inspect_options o;
    struct inspection i;
    struct arena a;
    int fd = argc == 4 ? open(argv[3], O_RDONLY | O_CLOEXEC) : -1;
    long count = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
    conf_defaults(&c);
    inspect_options_default(&o);
    arena_init(&a, 256u << 20);
    if (fd < 0 || inspector_new(&c, argv[1], &in, &err) != RC_OK ||
        inspector_run(in, fd, &o, &a, &i, &err) != RC_OK)
        return 1;
    int64_t begin = clock_mono();
    for (long k = 0; k < count; k++) {
        arena_reset(&a);
        if (inspector_run(in, fd, &o, &a, &i, &err) != RC_OK)
            return 1;
    }
    double seconds = (double)(clock_mono() - begin) / 1000;
    inspector_free(&in);
    printf("%.3f %.3f\n", seconds, cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN));
    return 0;
}
