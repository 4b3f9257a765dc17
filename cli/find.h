/* find: where the programs and files that belong to this one lie. Used by up, doctor and check. */
#ifndef FRESHET_CLI_FIND_H
#define FRESHET_CLI_FIND_H

#include "cli/cli.h"

/* The folder of this executable, also in a build tree. */
MUST_CHECK enum rc find_own_folder(struct arena *a, const char **ret, struct err *err);
/* A program beside this one ("freshet-api"). RC_NOT_FOUND names it. */
MUST_CHECK enum rc find_program(struct arena *a, const char *name, const char **ret,
                                struct err *err);
/* nginx, in PATH or where packages put it. */
MUST_CHECK enum rc find_nginx(struct arena *a, const char **ret, struct err *err);
/* The web page: share/freshet/www beside an installed bin/, or www/ of a build tree. */
MUST_CHECK enum rc find_www(struct arena *a, const char **ret, struct err *err);
/* Can 127.0.0.1:port be listened on? */
bool find_port_free(int port);
/* Does a living process hold this lock of the instance ("run/up.lock")? */
bool find_lock_held(struct cli *c, const char *name);

#endif
