/* ready: one GET of /readyz.
 *
 * Invariants
 *   1. It ends within ANSWER_MS, whatever the other side does.
 * Called by cmd_up.c and cmd_doctor.c. */
#include "cli/ready.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/rc.h"
#include "core/str.h"

#define ANSWER_MS 1000
#define ANSWER_MAX 4096 /* bytes that are looked at */

static int connect_to(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static size_t read_answer(int fd, char *text, size_t room)
{
    int64_t until = clock_mono() + ANSWER_MS;
    size_t n = 0;
    while (n < room) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left = until - clock_mono();
        if (left <= 0 || poll(&p, 1, (int)left) <= 0)
            break;
        ssize_t got = read(fd, text + n, room - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    return n;
}

bool ready_ask(int port, char *why, size_t n)
{
    char text[ANSWER_MAX + 1];
    CLEANUP(fd_close) int fd = connect_to(port);
    if (fd < 0) {
        snprintf(why, n, "nothing listens on port %d", port);
        return false;
    }
    int asked =
        snprintf(text, sizeof text,
                 "GET /readyz HTTP/1.0\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n", port);
    if (send(fd, text, (size_t)asked, MSG_NOSIGNAL) != asked)
        return snprintf(why, n, "port %d does not listen to HTTP", port) < 0;
    size_t got = read_answer(fd, text, ANSWER_MAX);
    text[got] = '\0';
    const char *body = strstr(text, "\r\n\r\n");
    snprintf(why, n, "/readyz says %.*s%s%.*s", (int)strcspn(text, "\r\n"), text, body ? ": " : "",
             body ? (int)strcspn(body + 4, "\r\n") : 0, body ? body + 4 : "");
    return str_starts((struct str){text, got}, STR("HTTP/1.1 200 "));
}
