/* stream: the loop.
 *
 *   wait → a hint, or LOOK_MS passed: look whether the feed has grown → tell who waits → serve
 *
 * Called by main_stream. */
#include "api/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "api/listen.h"
#include "core/clock.h"
#include "core/daemon.h"
#include "core/fd.h"
#include "core/log.h"

#define SOCKET "run/stream.sock"
#define HINTS "run/wake.sock"
#define BACKLOG 4096     /* all clients come back at once when nginx or the stream was restarted */
#define LOOK_MS 500      /* between two looks when no hint comes: one row is read */
#define STOP_MAX_MS 3000 /* to send what was begun */
#define FILES_SPARE 512  /* ledger, log, connections that are told to come back */

struct stream {
    const struct instance *inst;
    struct arena arena;
    struct stream_feed feed;
    struct stream_http *http;
    const char *socket, *hints_path, *stat_path;
    int listen_fd, hints, signals, stat;
    int64_t look_at, stat_at, stop_at;
    bool stopping;
};

/* ---- start ----------------------------------------------------------------------------------- */

/* As many clients as are wanted, or as there are file descriptors for. */
static size_t room_for(int64_t wanted)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return (size_t)wanted;
    rlim_t need = (rlim_t)wanted + FILES_SPARE;
    files.rlim_cur = files.rlim_max < need ? files.rlim_max : need;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= need)
        return (size_t)wanted;
    int64_t room = (int64_t)files.rlim_cur - FILES_SPARE;
    room = room < 1 ? 1 : room;
    log_event(LOG_WARN, "stream.few_files", LOG_I("wanted", wanted), LOG_I("clients", room));
    return (size_t)room;
}

static enum rc open_paths(struct stream *s, struct err *err)
{
    s->stat_path = instance_path(&s->arena, s->inst, STREAM_STAT_FILE);
    s->socket = instance_path(&s->arena, s->inst, SOCKET);
    s->hints_path = instance_path(&s->arena, s->inst, HINTS);
    if (!s->socket || !s->hints_path || !s->stat_path)
        return err_set(err, RC_NOMEM, "", "no memory for a path");
    TRY(listen_stream(s->socket, BACKLOG, &s->listen_fd, err));
    TRY(listen_hints(s->hints_path, &s->hints, err));
    s->stat = open(s->stat_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
    return s->stat >= 0 ? RC_OK : err_set(err, RC_IO, "", "%s: %s", s->stat_path, strerror(errno));
}

static enum rc start(struct stream *s, struct err *err)
{
    const struct conf *conf = &s->inst->conf;
    struct stream_http_options o = {.feed = &s->feed,
                                    .clients_max = room_for(conf->stream_clients),
                                    .beat_ms = conf->stream_heartbeat_s * 1000,
                                    .stall_s = (unsigned)conf->stream_stall_s};
    TRY(daemon_signals(&s->signals, err));
    TRY(open_paths(s, err));
    o.listen_fd = s->listen_fd;
    TRY(stream_http_new(&o, &s->http, err));
    (void)stream_feed_look(&s->feed); /* without a ledger it answers 503, and tries again */
    s->feed.moved = false;
    log_event(LOG_INFO, "stream.started", LOG_I("clients", (int64_t)o.clients_max));
    return RC_OK;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void take_signals(struct stream *s)
{
    if (!daemon_told_to_stop(s->signals) || s->stopping)
        return;
    s->stopping = true;
    s->stop_at = clock_mono() + STOP_MAX_MS;
    unlink(s->socket);
    unlink(s->hints_path);
    unlink(s->stat_path); /* who stopped is not missed */
    stream_http_stop(s->http);
}

static bool take_hints(const struct stream *s)
{
    char text[8];
    bool any = false;
    while (recv(s->hints, text, sizeof text, MSG_DONTWAIT) >= 0)
        any = true;
    return any;
}

static void wait_for_something(const struct stream *s)
{
    struct pollfd fds[] = {{.fd = s->signals, .events = POLLIN},
                           {.fd = s->hints, .events = POLLIN},
                           {.fd = stream_http_fd(s->http), .events = POLLIN}};
    int64_t look = s->look_at - clock_mono();
    int64_t ms = stream_http_wait(s->http, look < 0 ? 0 : look);
    (void)poll(fds, ARRAY_LEN(fds), s->feed.moved ? 0 : (int)ms);
}

static void note_numbers(struct stream *s)
{
    struct stream_stat stat;
    if (clock_mono() < s->stat_at)
        return;
    s->stat_at = clock_mono() + 1000;
    stream_http_count(s->http, &stat);
    stream_stat_write(s->stat, &stat);
}

static void turn(struct stream *s)
{
    wait_for_something(s);
    take_signals(s);
    s->feed.fresh = false;
    if (take_hints(s) || clock_mono() >= s->look_at) {
        (void)stream_feed_look(&s->feed);
        s->look_at = clock_mono() + LOOK_MS;
    }
    if (s->feed.moved && !s->stopping)
        stream_http_tell(s->http);
    stream_http_turn(s->http);
    note_numbers(s);
}

static bool is_over(const struct stream *s)
{
    return s->stopping && (!stream_http_is_busy(s->http) || clock_mono() >= s->stop_at);
}

static void finish(struct stream *s)
{
    stream_http_free(&s->http);
    int fds[] = {s->listen_fd, s->hints, s->signals, s->stat};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fd_close(&fds[i]);
    stream_feed_release(&s->feed);
    arena_release(&s->arena);
}

enum rc stream_run(const struct instance *inst, struct err *err)
{
    struct stream s = {.inst = inst, .listen_fd = -1, .hints = -1, .signals = -1, .stat = -1};
    arena_init(&s.arena, 1u << 16);
    stream_feed_init(&s.feed, inst);
    enum rc rc = start(&s, err);
    while (rc == RC_OK && !is_over(&s))
        turn(&s);
    if (rc == RC_OK)
        log_event(LOG_INFO, "stream.stopped", LOG_I("sent", s.feed.sent));
    finish(&s);
    return rc;
}
