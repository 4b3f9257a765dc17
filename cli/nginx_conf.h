/* nginx_conf: the configuration of nginx for one instance, from the
 * template nginx/nginx.conf.in. */
#ifndef FRESHET_CLI_NGINX_CONF_H
#define FRESHET_CLI_NGINX_CONF_H

#include "cli/cli.h"

struct nginx_conf {
    const char *www;
    int port;
};
/* Writes DIR/run/nginx.conf; *ret_path is arena memory. The instance must be loaded. */
MUST_CHECK enum rc nginx_conf_write(struct cli *c, const struct nginx_conf *n,
                                    const char **ret_path);
/* Fills every @NAME@ of the template. Pure, tested on its own: RC_INVALID for an unknown name or a
 * value that would break out of its quotes. */
struct nginx_value {
    const char *name, *value;
    bool literal; /* a line of its own, not inside quotes */
};
MUST_CHECK enum rc nginx_conf_fill(const char *template_text, const struct nginx_value *values,
                                   size_t n, struct buf *out, struct err *err);

#endif
