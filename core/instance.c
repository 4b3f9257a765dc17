/* instance: where the files of an instance lie, its settings and its secrets.
 *
 * Invariants
 *   1. dir is absolute and has no links in it, so a later chdir or a moved link changes nothing.
 *   2. (I12) A secret's value goes to the caller's arena and nowhere else: no error, no log
 *      holds it.
 *   3. A secret's name is a slug: it cannot leave secrets/.
 * Called by every program at its start, and by whoever sends a header that is a secret. */
#include "core/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"

#define SECRET_MAX 65536 /* bytes; a private key with its chain is far smaller */

char *instance_path(struct arena *a, const struct instance *i, const char *relative)
{
    return arena_printf(a, "%s/%s", i->dir, relative);
}

struct str instance_base(struct arena *a, const struct instance *i)
{
    if (*i->conf.public_base_url) /* conf refuses one that ends with a slash */
        return str_of(i->conf.public_base_url);
    return str_of(arena_printf(a, "http://127.0.0.1:%lld", (long long)i->conf.port));
}

/* `freshet up` tells its programs the port that it serves, whatever the settings say. */
static enum rc take_served_port(struct conf *c, struct err *err)
{
    const char *text = env_get(INSTANCE_PORT_VARIABLE);
    int64_t port = 0;
    if (!text)
        return RC_OK;
    if (str_to_i64(str_of(text), &port) != RC_OK || port < 1 || port > 65535)
        return err_set(err, RC_INVALID, INSTANCE_PORT_VARIABLE, "must be a port: 1 to 65535");
    c->port = port;
    return RC_OK;
}

enum rc instance_load(struct arena *a, const char *dir, struct instance *ret, struct err *err)
{
    struct instance i = {0};
    char real[PATH_MAX];
    if (!realpath(dir, real)) {
        if (errno == ENOENT)
            return err_set(err, RC_NOT_FOUND, "",
                           "no folder %s: make an instance with: freshet init %s", dir, dir);
        return err_set(err, RC_IO, "", "cannot enter %s: %s", dir, strerror(errno));
    }
    i.dir = arena_strdup(a, real);
    char *settings = i.dir ? instance_path(a, &i, "freshet.json") : NULL;
    if (!settings)
        return err_set(err, RC_NOMEM, "", "no memory for the settings of %s", dir);
    if (access(settings, F_OK) != 0 && errno != ENOENT)
        return err_set(err, RC_IO, "", "cannot read %s: %s", settings, strerror(errno));
    if (access(settings, F_OK) != 0)
        return err_set(err, RC_NOT_FOUND, "",
                       "%s holds no freshet.json, so it is no instance: make one with: "
                       "freshet init %s",
                       real, dir);
    TRY(conf_load(a, settings, &i.conf, err));
    TRY(take_served_port(&i.conf, err));
    *ret = i;
    return RC_OK;
}

/* ---- secrets --------------------------------------------------------------------------------- */

/* FRESHET_SECRET_<NAME>, with '-' written as '_': how an environment can name it. */
static const char *secret_of_environment(const char *name)
{
    char variable[sizeof "FRESHET_SECRET_" + SECRET_NAME_MAX];
    int n = snprintf(variable, sizeof variable, "FRESHET_SECRET_%s", name);
    for (int i = 0; i < n; i++) {
        char c = variable[i];
        variable[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c == '-' ? '_' : c);
    }
    return env_get(variable);
}

/* The value is in text[0, *ret_n), without the newline at its end. */
static enum rc take_secret(int fd, const char *name, char text[SECRET_MAX + 1], size_t *ret_n,
                           struct err *err)
{
    ssize_t n = fd_read_all(fd, text, SECRET_MAX + 1);
    if (n < 0)
        return err_set(err, RC_IO, name, "reading secrets/%s failed", name);
    if (n > SECRET_MAX)
        return err_set(err, RC_TOO_LARGE, name, "secrets/%s is larger than %d bytes", name,
                       SECRET_MAX);
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    if (n == 0)
        return err_set(err, RC_INVALID, name, "secrets/%s is empty: put the value into it", name);
    if (memchr(text, '\0', (size_t)n))
        return err_set(err, RC_INVALID, name, "secrets/%s holds a NUL byte", name);
    *ret_n = (size_t)n;
    return RC_OK;
}

static enum rc read_secret(struct arena *a, const char *path, const char *name, const char **ret,
                           struct err *err)
{
    char text[SECRET_MAX + 1], *copy = NULL;
    size_t n = 0;
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, RC_NOT_FOUND, name,
                       "no such secret: put its value into the file secrets/%s", name);
    if (fd < 0)
        return err_set(err, RC_IO, name, "cannot read secrets/%s: whoever runs this must own it",
                       name);
    enum rc rc = take_secret(fd, name, text, &n, err);
    if (rc == RC_OK && !(copy = arena_str(a, (struct str){text, n})))
        rc = err_set(err, RC_NOMEM, name, "no memory for the secret");
    explicit_bzero(text, sizeof text);
    if (rc == RC_OK)
        *ret = copy;
    return rc;
}

enum rc instance_secret(struct arena *a, const struct instance *i, const char *name,
                        const char **ret, struct err *err)
{
    if (!str_is_slug(str_of(name), SECRET_NAME_MAX))
        return err_set(err, RC_INVALID, "secret",
                       "a secret's name has 1 to %d characters of a-z, 0-9, '_' and '-'",
                       SECRET_NAME_MAX);
    const char *set = secret_of_environment(name);
    if (set) {
        char *copy = arena_strdup(a, set);
        if (!copy)
            return err_set(err, RC_NOMEM, name, "no memory for the secret");
        *ret = copy;
        return RC_OK;
    }
    char *path = arena_printf(a, "%s/secrets/%s", i->dir, name);
    if (!path)
        return err_set(err, RC_NOMEM, name, "no memory for the secret");
    return read_secret(a, path, name, ret, err);
}
