/* listen: see the header. */
#include "api/listen.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "core/fd.h"

static enum rc fill_address(const char *path, struct sockaddr_un *ret, struct err *err)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof ret->sun_path)
        return err_set(err, RC_INVALID, "",
                       "the path of the socket %s is longer than %zu bytes: use a "
                       "folder nearer to the root",
                       path, sizeof ret->sun_path - 1);
    memcpy(ret->sun_path, path, strlen(path));
    return RC_OK;
}

/* A socket file whose owner is gone is taken away; a living one is respected. */
static enum rc remove_stale(const char *path, const struct sockaddr_un *addr, struct err *err)
{
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool alive = probe >= 0 && (connect(probe, (const struct sockaddr *)addr, sizeof *addr) == 0 ||
                                errno == EAGAIN);
    fd_close(&probe);
    if (alive)
        return err_set(err, RC_CONFLICT, "", "somebody serves %s already: stop it first", path);
    if (unlink(path) != 0 && errno != ENOENT)
        return err_set(err, RC_IO, "", "cannot remove the old socket %s: %s", path,
                       strerror(errno));
    return RC_OK;
}

static enum rc bind_at(const char *path, const struct sockaddr_un *addr, int type, int *ret,
                       struct err *err)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(err, RC_IO, "", "cannot make a socket: %s", strerror(errno));
    mode_t mask = umask(0117); /* 0660 without a moment in which it is more */
    int bound = bind(fd, (const struct sockaddr *)addr, sizeof *addr);
    umask(mask);
    if (bound != 0) {
        err_set(err, RC_IO, "", "cannot make the socket %s: %s", path, strerror(errno));
        close(fd);
        return RC_IO;
    }
    *ret = fd;
    return RC_OK;
}

enum rc listen_stream(const char *path, int backlog, int *ret, struct err *err)
{
    struct sockaddr_un addr;
    int fd = -1;
    TRY(fill_address(path, &addr, err));
    TRY(remove_stale(path, &addr, err));
    TRY(bind_at(path, &addr, SOCK_STREAM, &fd, err));
    if (listen(fd, backlog) != 0) {
        err_set(err, RC_IO, "", "cannot listen on %s: %s", path, strerror(errno));
        close(fd);
        return RC_IO;
    }
    *ret = fd;
    return RC_OK;
}

enum rc listen_hints(const char *path, int *ret, struct err *err)
{
    struct sockaddr_un addr;
    TRY(fill_address(path, &addr, err));
    if (unlink(path) != 0 && errno != ENOENT)
        return err_set(err, RC_IO, "", "cannot remove the old socket %s: %s", path,
                       strerror(errno));
    return bind_at(path, &addr, SOCK_DGRAM, ret, err);
}
