/* daemon: arguments, log, settings, signals. */
#include "core/daemon.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/version.h"

static void put_help(const struct daemon *d, FILE *out)
{
    fprintf(out, "usage: %s [-C DIR]\n%s", d->program, d->help);
}

const char *daemon_folder(const struct daemon *d, int argc, char **argv, int *ret_code)
{
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'v'}, {0}};
    const char *dir = env_get("FRESHET_DIR") ? env_get("FRESHET_DIR") : ".";
    for (int o; (o = getopt_long(argc, argv, "C:h", options, NULL)) != -1;) {
        if (o == 'C') {
            dir = optarg;
            continue;
        }
        if (o == 'v')
            printf("%s %s (%s)\n", d->program, freshet_version, freshet_commit);
        else
            put_help(d, o == 'h' ? stdout : stderr);
        *ret_code = o == '?' ? 2 : 0;
        return NULL;
    }
    if (optind == argc)
        return dir;
    put_help(d, stderr);
    *ret_code = 2;
    return NULL;
}

enum rc daemon_begin(const struct daemon *d, const char *dir, struct arena *settings,
                     struct instance *ret, struct err *err)
{
    enum log_level level;
    TRY(clock_init(err));
    TRY(log_open(d->proc, NULL, err));
    TRY(instance_load(settings, dir, ret, err));
    if (log_level_parse(ret->conf.log_level, &level))
        log_level_min(level);
    return RC_OK;
}

enum rc daemon_signals(int *ret_fd, struct err *err)
{
    sigset_t set;
    int fd = -1;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
        fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return err_set(err, RC_INTERNAL, "", "cannot catch signals: %s", strerror(errno));
    *ret_fd = fd;
    return RC_OK;
}

bool daemon_told_to_stop(int signals)
{
    struct signalfd_siginfo info;
    bool told = false;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
        told = true;
    return told;
}
