/* instance: the folder of a running Freshet: where things lie, and its settings. Made by
 * `freshet init`, found by -C DIR, FRESHET_DIR or the current folder.
 */
#ifndef FRESHET_CORE_INSTANCE_H
#define FRESHET_CORE_INSTANCE_H

#include "core/conf.h"

#define INSTANCE_PORT_VARIABLE "FRESHET_PORT" /* stands above the setting `port` */

struct instance {
    const char *dir; /* absolute */
    struct conf conf;
    /* Folder of the programs that run beside; NULL: that of the running one. */
    const char *programs;
};

#define SECRET_NAME_MAX 64 /* bytes of the name of a secret */

/* Loads dir/freshet.json. RC_NOT_FOUND, with the command that makes one, when dir is none. */
MUST_CHECK enum rc instance_load(struct arena *a, const char *dir, struct instance *ret,
                                 struct err *err);
/* dir/relative, arena memory, NULL when memory ran out. */
char *instance_path(struct arena *a, const struct instance *i, const char *relative);
/* What stands in front of links: the setting public_base_url, else where `freshet up` listens.
 * Without a slash at its end; arena memory. */
struct str instance_base(struct arena *a, const struct instance *i);
/* Value of the file secrets/<name>, without a newline at its end, or of the environment variable
 * FRESHET_SECRET_<NAME>. RC_NOT_FOUND names the secret, never its value. */
MUST_CHECK enum rc instance_secret(struct arena *a, const struct instance *i, const char *name,
                                   const char **ret, struct err *err);

#endif
