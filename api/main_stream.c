/* main_stream: freshet-stream, the live feed. Its ledger handle sees public tables only. */
#include <stdio.h>
#include "api/stream.h"
#include "core/clock.h"
#include "core/daemon.h"
#include "core/log.h"

#define SETTINGS_MAX (1u << 20) /* memory for freshet.json */

static const struct daemon self = {
    "freshet-stream", "stream",
    "Serves the feed of the instance in DIR as it grows, by HTTP on DIR/run/stream.sock, for nginx.\n"
    "  -C DIR   the instance (default: FRESHET_DIR or the current folder)\n"
    "`freshet up` starts it together with everything else.\n"};

static enum rc run(struct arena *settings, const char *dir, struct err *err)
{
    struct instance inst;
    TRY(daemon_begin(&self, dir, settings, &inst, err));
    return stream_run(&inst, err);
}

int main(int argc, char **argv)
{
    struct arena settings;
    struct err err = {0};
    int code = 0;
    const char *dir = daemon_folder(&self, argc, argv, &code);
    if (!dir)
        return code;
    arena_init(&settings, SETTINGS_MAX);
    enum rc rc = run(&settings, dir, &err);
    if (rc != RC_OK)
        fprintf(stderr, "freshet-stream: %s\n", err.msg);
    arena_release(&settings);
    return rc == RC_OK ? 0 : 1;
}
