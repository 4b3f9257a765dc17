/* raw_put DIR COUNT SIZE: what the machine can do at most for one change after the other, in one
 * process and without us: an object of SIZE bytes (write, fsync, rename, fsync of the folder), then
 * one row in a WAL database with synchronous=FULL; SIZE 0: the row alone. Prints the seconds. DIR
 * must be there and be empty. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void need(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void put(int dir, long n, const char *bytes, size_t size)
{
    char name[32];
    snprintf(name, sizeof name, "object-%ld", n);
    int fd = openat(dir, "temp", O_WRONLY | O_CREAT | O_TRUNC, 0640);
    need(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "write");
    need(fsync(fd) == 0, "fsync");
    close(fd);
    need(renameat(dir, "temp", dir, name) == 0, "rename");
    need(fsync(dir) == 0, "fsync of the folder");
}

static void sql(sqlite3 *db, const char *text)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK)
        return;
    fprintf(stderr, "raw_put: %s\n", sqlite3_errmsg(db));
    exit(1);
}

int main(int argc, char **argv)
{
    need(argc == 4, "usage: raw_put DIR COUNT SIZE");
    long count = strtol(argv[2], NULL, 10);
    size_t size = strtoul(argv[3], NULL, 10);
    char *bytes = malloc(size + 1), row[64];
    sqlite3 *db;
    need(chdir(argv[1]) == 0 && bytes, argv[1]);
    int dir = open(".", O_RDONLY | O_DIRECTORY);
    need(sqlite3_open("raw.db", &db) == SQLITE_OK, "raw.db");
    sql(db,
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (n INTEGER PRIMARY KEY)");
    double from = now();
    for (long i = 0; i < count; i++) {
        memset(bytes, (int)i, size);
        if (size > 0)
            put(dir, i, bytes, size);
        snprintf(row, sizeof row, "INSERT INTO t VALUES (%ld)", i);
        sql(db, row);
    }
    printf("%.3f\n", now() - from);
    sqlite3_close(db);
    free(bytes);
}
