/* stream_clients: many event streams at once, all idle, until one entry comes.
 *
 *   stream_clients SOCKET|PORT COUNT
 *
 * SOCKET is a unix socket, PORT one on 127.0.0.1. Says "connected" when all COUNT have got their
 * greeting; then waits for an entry and says, as JSON, how long after its commit (finalized_at) the
 * first and the last client had it, and how long it took from the first to the last. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "core/clock.h"

#define EVENTS 1024
#define TIME_OUT_MS 120000
static const char request[] =
    "GET /changes/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n";

enum phase { ASKED, GREETED, SERVED };

struct client {
    int fd;
    enum phase phase;
};

static struct {
    int watch;
    size_t n, greeted, served, lost;
    int64_t begun, committed, first, last; /* committed is wall time, the others clock_mono */
    int64_t first_wall, last_wall;
} b;

static int dial(const char *where)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in inet = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                               .sin_port = htons((uint16_t)strtol(where, NULL, 10))};
    bool is_path = where[0] == '/';
    int fd = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(local.sun_path, sizeof local.sun_path, "%s", where);
    const struct sockaddr *at = is_path ? (void *)&local : (void *)&inet;
    if (fd < 0 || connect(fd, at, is_path ? sizeof local : sizeof inet) != 0 ||
        send(fd, request, sizeof request - 1, MSG_NOSIGNAL) != sizeof request - 1)
        return -1;
    return fd;
}

static void take(struct client *c)
{
    static char text[65536];
    ssize_t n = recv(c->fd, text, sizeof text - 1, MSG_DONTWAIT);
    if (n <= 0 && (n == 0 || errno != EAGAIN)) {
        b.lost++;
        epoll_ctl(b.watch, EPOLL_CTL_DEL, c->fd, NULL);
        return;
    }
    text[n > 0 ? n : 0] = 0;
    if (c->phase == ASKED && strstr(text, "retry: ")) {
        c->phase = GREETED;
        b.greeted++;
    }
    const char *at = strstr(text, "\"finalized_at\":\"");
    if (c->phase != GREETED || !at)
        return;
    c->phase = SERVED;
    b.last = clock_mono();
    b.last_wall = clock_now();
    if (b.served++ > 0)
        return;
    b.first = b.last;
    b.first_wall = b.last_wall;
    if (time_parse((struct str){at + 16, strcspn(at + 16, "\"")}, &b.committed) != RC_OK)
        b.committed = b.first_wall;
}

static bool run_until(const size_t *reached)
{
    static struct epoll_event e[EVENTS];
    int64_t end = clock_mono() + TIME_OUT_MS;
    while (*reached + b.lost < b.n && clock_mono() < end) {
        int n = epoll_wait(b.watch, e, EVENTS, 1000);
        for (int i = 0; i < n; i++)
            take(e[i].data.ptr);
    }
    return *reached == b.n;
}

/* Some at a time, so that no queue of anybody overflows. */
static bool connect_all(struct client *all, const char *where)
{
    static struct epoll_event e[EVENTS];
    for (size_t i = 0; i < b.n; i++) {
        struct epoll_event one = {.events = EPOLLIN, .data.ptr = &all[i]};
        all[i].fd = dial(where);
        if (all[i].fd < 0 || epoll_ctl(b.watch, EPOLL_CTL_ADD, all[i].fd, &one) != 0) {
            fprintf(stderr, "stream_clients: client %zu cannot connect: %s\n", i, strerror(errno));
            return false;
        }
        while (i + 1 - b.greeted > 200) {
            int n = epoll_wait(b.watch, e, EVENTS, 1000);
            for (int k = 0; k < n; k++)
                take(e[k].data.ptr);
            if (b.lost)
                return false;
        }
    }
    return run_until(&b.greeted);
}

static int await_entry(void)
{
    printf("connected %lld\n", (long long)(clock_mono() - b.begun));
    fflush(stdout);
    bool good = run_until(&b.served);
    printf(
        "{\"clients\":%zu,\"served\":%zu,\"lost\":%zu,\"first_ms\":%lld,\"last_ms\":%lld,\"spread_ms\":%lld}\n",
        b.n, b.served, b.lost, (long long)(b.first_wall - b.committed),
        (long long)(b.last_wall - b.committed), (long long)(b.last - b.first));
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct rlimit files;
    if (argc != 3 || clock_init(&err) != RC_OK || getrlimit(RLIMIT_NOFILE, &files) != 0)
        return 2;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    b.n = strtoul(argv[2], NULL, 10);
    b.begun = clock_mono();
    b.watch = epoll_create1(EPOLL_CLOEXEC);
    struct client *all = calloc(b.n, sizeof *all);
    int code = all && connect_all(all, argv[1]) ? await_entry() : 1;
    if (b.greeted < b.n)
        fprintf(stderr, "stream_clients: %zu of %zu were greeted, %zu lost\n", b.greeted, b.n,
                b.lost);
    free(all);
    return code;
}
