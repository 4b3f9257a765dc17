/* hook_load: deliveries to /hooks by CLIENTS connections at once, each the next as soon as the last
 * was answered, signed as GitHub does; or badly signed, at a fixed rate. Each names a commit of its
 * own, so that none is absorbed by one that waits: every one is a candidate.
 *
 *   hook_load PORT CLIENTS SECONDS SOURCES FROM good|bad [RATE]
 *
 * Sources are hook-0, hook-1, ...; their secret is 32 letters `k`. FROM is the address that
 * the connections come from, or three numbers of it and a dot: then each has one of its own. RATE a
 * second, all connections together; 0: as fast as they are answered. With a RATE an answer's time
 * counts from when its delivery was due, so a wait counts for all that fell into it; without, only
 * for those that were under way.
 * Prints: answers, those of the status that is wanted (202, or 401 and 429), a second, p50 and p99
 * in milliseconds, CPU microseconds of this program for each. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 1024
#define SAMPLES_MAX 4000000

struct client {
    int fd;
    int waiting;
    double sent;
    char in[4096];
    size_t n;
};

static struct client clients[CLIENTS_MAX];
static float samples[SAMPLES_MAX];
static long n_samples, n_good, n_sent;
static int good, n_sources;
static char run[32];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void need(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

static void connect_one(struct client *c, int port, const char *from, int ep)
{
    int one = 1;
    char own[64];
    if (*from && from[strlen(from) - 1] == '.') {
        snprintf(own, sizeof own, "%s%d", from, (int)(c - clients) % 254 + 1);
        from = own;
    }
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}, b = a;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    b.sin_port = 0;
    need(inet_pton(AF_INET, from, &b.sin_addr) == 1, from);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    need(bind(c->fd, (struct sockaddr *)&b, sizeof b) == 0, "bind");
    need(connect(c->fd, (struct sockaddr *)&a, sizeof a) == 0, "connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    need(epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &e) == 0, "epoll_ctl");
}

static void send_one(struct client *c, double due)
{
    static const char key[33] = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk";
    char body[256], hex[65] = "", req[1024];
    unsigned char mac[32] = {0};
    unsigned len = sizeof mac;
    int n = snprintf(body, sizeof body, "{\"ref\":\"refs/heads/main\",\"after\":\"%s-%ld\"}", run,
                     n_sent);
    if (good)
        HMAC(EVP_sha256(), key, 32, (unsigned char *)body, (size_t)n, mac, &len);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", mac[i]);
    int r = snprintf(
        req, sizeof req,
        "POST /hooks/hook-%ld HTTP/1.1\r\nHost: x.example\r\nContent-Type: application/json\r\n"
        "X-GitHub-Event: push\r\nX-GitHub-Delivery: %s-%ld\r\nX-Hub-Signature-256: sha256=%s\r\n"
        "Content-Length: %d\r\n\r\n%s",
        n_sent % n_sources, run, n_sent, hex, n, body);
    n_sent++;
    c->sent = due;
    c->waiting = 1;
    c->n = 0;
    need(write(c->fd, req, (size_t)r) == r, "write");
}

/* 1: the answer is whole. */
static int read_one(struct client *c)
{
    ssize_t got = read(c->fd, c->in + c->n, sizeof c->in - 1 - c->n);
    need(got > 0 || errno == EAGAIN, "read");
    if (got <= 0)
        return 0;
    c->n += (size_t)got;
    c->in[c->n] = 0;
    const char *end = strstr(c->in, "\r\n\r\n"), *len = strcasestr(c->in, "content-length:");
    if (!end || !len || c->n < (size_t)(end + 4 - c->in) + strtoul(len + 15, NULL, 10))
        return 0;
    int status = atoi(c->in + 9);
    n_good += good ? status == 202 : status == 401 || status == 429;
    if (n_samples < SAMPLES_MAX)
        samples[n_samples++] = (float)(now() - c->sent);
    c->waiting = 0;
    return 1;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    need(argc >= 7, "usage: hook_load PORT CLIENTS SECONDS SOURCES FROM good|bad [RATE]");
    int port = atoi(argv[1]), n = atoi(argv[2]), ep = epoll_create1(0);
    double seconds = atof(argv[3]), rate = argc > 7 ? atof(argv[7]) : 0;
    n_sources = atoi(argv[4]);
    good = strcmp(argv[6], "good") == 0;
    need(n > 0 && n <= CLIENTS_MAX && n_sources > 0, "clients, sources");
    snprintf(run, sizeof run, "%d_%ld", (int)getpid(), (long)time(NULL));
    for (int i = 0; i < n; i++)
        connect_one(&clients[i], port, argv[5], ep);
    double from = now(), until = from + seconds;
    for (int next = 0; now() < until;) {
        struct epoll_event e[64];
        /* What is due by now, on whoever is free; behind the rate when nobody is. */
        for (int tries = 0; tries < n; tries++, next = (next + 1) % n) {
            if (rate > 0 && (double)n_sent >= (now() - from) * rate)
                break;
            if (!clients[next].waiting)
                send_one(&clients[next], rate > 0 ? from + (double)n_sent / rate : now());
        }
        int got = epoll_wait(ep, e, 64, rate > 0 ? 1 : 100);
        for (int i = 0; i < got; i++)
            if (read_one(e[i].data.ptr) && rate == 0)
                send_one(e[i].data.ptr, now());
    }
    double took = now() - from;
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    double cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                 (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
    qsort(samples, (size_t)n_samples, sizeof *samples, by_size);
    printf("%ld %ld %.0f %.2f %.2f %.1f\n", n_samples, n_good, (double)n_good / took,
           n_samples ? samples[n_samples / 2] * 1e3 : 0,
           n_samples ? samples[n_samples * 99 / 100] * 1e3 : 0,
           n_samples ? cpu / (double)n_samples * 1e6 : 0);
    return 0;
}
