/* stream_stat: each number has a place of fixed width, so a line is written over the one before. */
#include "api/stream_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define WIDTH 20
#define FIELDS 5
#define LINE (FIELDS * (WIDTH + 1))

void stream_stat_write(int fd, const struct stream_stat *s)
{
    char line[LINE + 1];
    snprintf(line, sizeof line, "%*lld %*lld %*lld %*lld %*lld\n", WIDTH, (long long)s->streams,
             WIDTH, (long long)s->polls, WIDTH, (long long)s->sent, WIDTH, (long long)s->dropped,
             WIDTH, (long long)s->at);
    if (pwrite(fd, line, LINE, 0) != LINE)
        return;
}

static enum rc parse(struct str line, struct stream_stat *ret)
{
    int64_t *const fields[FIELDS] = {&ret->streams, &ret->polls, &ret->sent, &ret->dropped,
                                     &ret->at};
    for (size_t i = 0; i < FIELDS; i++)
        TRY(str_to_i64(str_trim((struct str){line.p + i * (WIDTH + 1), WIDTH}), fields[i]));
    return RC_OK;
}

enum rc stream_stat_read(const char *dir, struct stream_stat *ret, struct err *err)
{
    char path[4096], line[LINE];
    snprintf(path, sizeof path, "%s/" STREAM_STAT_FILE, dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? RC_NOT_FOUND : RC_IO, "", "%s: %s", path,
                       strerror(errno));
    ssize_t n = pread(fd, line, LINE, 0);
    close(fd);
    if (n != LINE || parse((struct str){line, LINE}, ret) != RC_OK)
        return err_set(err, RC_NOT_FOUND, "", "%s holds no numbers", path);
    return RC_OK;
}
