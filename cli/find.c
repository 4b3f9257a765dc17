/* find: programs, nginx, the web page, a free port.
 *
 * Invariants
 *   1. Programs are taken from the folder of this executable only: versions never mix.
 * Called by cmd_up.c, cmd_doctor.c and cmd_check.c. */
#include "cli/find.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"

#define UPWARD_MAX 4 /* build/clang/san is three folders below the tree */

enum rc find_own_folder(struct arena *a, const char **ret, struct err *err)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return err_set(err, RC_IO, "", "cannot read /proc/self/exe: is /proc mounted?");
    path[n] = '\0';
    char *copy = arena_strdup(a, dirname(path));
    if (!copy)
        return err_set(err, RC_NOMEM, "", "no memory for a path");
    *ret = copy;
    return RC_OK;
}

enum rc find_program(struct arena *a, const char *name, const char **ret, struct err *err)
{
    const char *folder = NULL;
    TRY(find_own_folder(a, &folder, err));
    char *path = arena_printf(a, "%s/%s", folder, name);
    if (!path)
        return err_set(err, RC_NOMEM, "", "no memory for a path");
    if (access(path, X_OK) != 0)
        return err_set(
            err, RC_NOT_FOUND, "",
            "%s is not in %s. Build or install all programs together (make, make install)", name,
            folder);
    *ret = path;
    return RC_OK;
}

enum rc find_nginx(struct arena *a, const char **ret, struct err *err)
{
    const char *path = env_get("PATH");
    struct str rest =
        str_of(arena_printf(a, "%s:/usr/sbin:/usr/local/sbin:/sbin", path ? path : ""));
    struct str folder;
    while (str_next(&rest, ':', &folder)) {
        char *file = arena_printf(a, "%.*s/nginx", STR_FMT(folder));
        if (!file || folder.n == 0 || access(file, X_OK) != 0)
            continue;
        *ret = file;
        return RC_OK;
    }
    return err_set(err, RC_NOT_FOUND, "",
                   "nginx is not installed. On Debian: apt-get install nginx-light");
}

static bool has_page(struct arena *a, const char *www)
{
    char *index = www ? arena_printf(a, "%s/index.html", www) : NULL;
    return index && access(index, R_OK) == 0;
}

enum rc find_www(struct arena *a, const char **ret, struct err *err)
{
    const char *folder = NULL;
    char real[PATH_MAX];
    TRY(find_own_folder(a, &folder, err));
    char *www = arena_printf(a, "%s/../share/freshet/www", folder);
    char *up = arena_printf(a, "%s", folder);
    for (int i = 0; i < UPWARD_MAX && up && !has_page(a, www); i++) {
        up = arena_printf(a, "%s/..", up);
        www = up ? arena_printf(a, "%s/www", up) : NULL;
    }
    if (!www || !has_page(a, www) || !realpath(www, real))
        return err_set(err, RC_NOT_FOUND, "",
                       "no web page near %s: run from the build tree, or make install", folder);
    if (!(www = arena_strdup(a, real)))
        return err_set(err, RC_NOMEM, "", "no memory for a path");
    *ret = www;
    return RC_OK;
}

bool find_port_free(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        return false;
    /* As nginx will: connections of an earlier run that linger do not count. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool ok = bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0;
    close(fd);
    return ok;
}

bool find_lock_held(struct cli *c, const char *name)
{
    const char *path = instance_path(&c->arena, &c->inst, name);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}
