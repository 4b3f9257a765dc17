/* fd: the loops around read, pread and write (invariants in fd.h). Called by every room. */
#include "core/fd.h"

#include <errno.h>
#include <unistd.h>

void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool fd_write_all(int fd, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0) /* takes nothing and says no reason: asking again would never end */
            errno = EIO;
        if (n <= 0)
            return false;
        bytes = (struct str){bytes.p + n, bytes.n - (size_t)n};
    }
    return true;
}

/* From where the descriptor stands when `at` is below 0. */
static ssize_t fill(int fd, char *p, size_t n, int64_t at)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = at < 0 ? read(fd, p + done, n - done)
                             : pread(fd, p + done, n - done, at + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

ssize_t fd_read_all(int fd, void *p, size_t n)
{
    return fill(fd, p, n, -1);
}

ssize_t fd_read_all_at(int fd, void *p, size_t n, int64_t at)
{
    if (at < 0) {
        errno = EINVAL;
        return -1;
    }
    return fill(fd, p, n, at);
}
