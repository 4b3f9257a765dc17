/* main_freshet: the program `freshet`. Reads the command line, runs one command of commands.def.
 *
 * Invariants
 *   1. Files made here are for their owner and group only.
 *   2. A closed pipe is an error that writing returns, never a signal that ends the process. */
#include <signal.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "core/clock.h"

int main(int argc, char **argv)
{
    struct cli c = {0};
    int code = CLI_USAGE;
    umask(027);
    signal(SIGPIPE, SIG_IGN);
    arena_init(&c.arena, CLI_MEMORY_MAX);
    if (cli_parse(&c, argc, argv, &code)) {
        if (clock_init(&c.err) == RC_OK)
            code = cli_flush(&c, c.command->run(&c));
        else
            code = cli_fail(&c);
    }
    cli_release(&c);
    return code;
}
