/* lock: open and flock. Called by the programs that may run once, and by gc and backup. */
#include "core/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include "core/fd.h"

enum rc lock_take(const char *path, unsigned mode, int *ret_fd, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode);
    if (fd < 0)
        return err_set(err, RC_IO, "", "cannot open %s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        enum rc rc = errno == EWOULDBLOCK
                         ? err_set(err, RC_BUSY, "", "another process holds %s", path)
                         : err_set(err, RC_IO, "", "cannot lock %s: %s", path, strerror(errno));
        fd_close(&fd);
        return rc;
    }
    *ret_fd = fd;
    return RC_OK;
}
