/* main_stream: freshet-stream, the live feed. Its ledger handle sees public tables only. */
#include <stdio.h>
#include "api/stream.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/version.h"

#define SETTINGS_MAX (1u << 20) /* memory for freshet.json */

static const char help[] =
    "usage: freshet-stream [-C DIR]\n"
    "Serves the feed of the instance in DIR as it grows, by HTTP on DIR/run/stream.sock, for nginx.\n"
    "  -C DIR   the instance (default: FRESHET_DIR or the current folder)\n"
    "`freshet up` starts it together with everything else.\n";

/* NULL when the arguments are not ours. */
static const char *folder(int argc, char **argv)
{
    const char *dir = env_get("FRESHET_DIR");
    if (argc == 3 && strcmp(argv[1], "-C") == 0)
        return argv[2];
    return argc == 1 ? (dir ? dir : ".") : NULL;
}

static enum rc run(struct arena *settings, const char *dir, struct err *err)
{
    struct instance inst;
    TRY(clock_init(err));
    TRY(log_open("stream", NULL, err));
    TRY(instance_load(settings, dir, &inst, err));
    return stream_run(&inst, err);
}

int main(int argc, char **argv)
{
    struct arena settings;
    struct err err = {0};
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "--version") == 0)) {
        printf("freshet-stream %s (%s)\n%s", freshet_version, freshet_commit,
               argv[1][2] == 'h' ? help : "");
        return 0;
    }
    const char *dir = folder(argc, argv);
    if (!dir) {
        fputs(help, stderr);
        return 2;
    }
    arena_init(&settings, SETTINGS_MAX);
    enum rc rc = run(&settings, dir, &err);
    if (rc != RC_OK)
        fprintf(stderr, "freshet-stream: %s\n", err.msg);
    arena_release(&settings);
    return rc == RC_OK ? 0 : 1;
}
