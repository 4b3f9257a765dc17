/* base: the address in front of links that a command prints: the public one, or what `freshet up`
 * listens on. */
#ifndef FRESHET_CLI_BASE_H
#define FRESHET_CLI_BASE_H

#include "cli/cli.h"

/* scheme://host without a slash at the end; arena memory. The instance must be loaded. */
struct str cli_base(struct cli *c);

#endif
