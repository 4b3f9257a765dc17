/* log: one line of JSON per event.
 *
 * Invariants
 *   1. A line goes out by one write(2) to a descriptor in append mode, so that lines of several
 *      processes do not mix.
 *   2. A line is always valid JSON: values are cut between characters, and an event too large for
 *      LINE_MAX_BYTES keeps its code and says "cut".
 *   3. Logging never fails the work: what cannot be written is lost.
 *   4. A line is made in memory of its own, so that two threads do not write into each other's. */
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/json.h"

#define VALUE_MAX 400 /* enough for a message or a URL, too little to flood a disk with */
#define LINE_MAX_BYTES (16u << 10)

static const char *const level_names[] = {"debug", "info", "warn", "error"};

static struct {
    char proc[32];
    int fd;
    enum log_level min;
} state = {.proc = "freshet", .fd = STDERR_FILENO, .min = LOG_INFO};

enum rc log_open(const char *proc, const char *path, struct err *err)
{
    int fd = STDERR_FILENO;
    if (path)
        fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (fd < 0)
        return err_set(err, RC_IO, "", "cannot open the log %s: %s", path, strerror(errno));
    if (state.fd != STDERR_FILENO)
        close(state.fd);
    state.fd = fd;
    snprintf(state.proc, sizeof state.proc, "%s", proc);
    return RC_OK;
}

bool log_level_parse(const char *name, enum log_level *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++)
        if (strcmp(level_names[i], name) == 0) {
            *ret = (enum log_level)i;
            return true;
        }
    return false;
}

void log_level_min(enum log_level level)
{
    state.min = level;
}

static void put_key(struct buf *b, const char *key)
{
    buf_byte(b, ',');
    json_put_str(b, str_of(key));
    buf_byte(b, ':');
}

static void put_text(struct buf *b, const char *key, const char *value)
{
    put_key(b, key);
    json_put_str(b, str_cut(str_of(value), VALUE_MAX));
}

static void begin(struct buf *b, enum log_level level, const char *code)
{
    char at[TIME_MAX];
    time_format(clock_now(), at);
    buf_clear(b);
    buf_printf(b, "{\"at\":\"%s\",\"level\":\"%s\"", at, level_names[level]);
    put_text(b, "code", code);
    put_text(b, "proc", state.proc);
    buf_printf(b, ",\"pid\":%ld", (long)getpid());
}

static void end(struct buf *b)
{
    ssize_t n;
    buf_puts(b, "}\n");
    if (buf_rc(b) != RC_OK)
        return;
    do
        n = write(state.fd, b->data, b->len);
    while (n < 0 && errno == EINTR);
}

void log_fields(enum log_level level, const char *code, const struct log_field *fields)
{
    struct buf line, *b = &line;
    if (level < state.min)
        return;
    buf_init(b, LINE_MAX_BYTES);
    begin(b, level, code);
    for (const struct log_field *f = fields; f->key; f++) {
        if (f->s) {
            put_text(b, f->key, f->s);
        } else {
            put_key(b, f->key);
            buf_printf(b, "%lld", (long long)f->i);
        }
    }
    if (b->max - b->len < 2 || buf_rc(b) == RC_TOO_LARGE) {
        begin(b, level, code);
        buf_puts(b, ",\"cut\":true");
    }
    end(b);
    buf_release(b);
}

void log_err(enum log_level level, const char *code, const struct err *err)
{
    log_event(level, code, LOG_S("rc", rc_name(err->rc)), LOG_S("field", err->field),
              LOG_S("msg", err->msg));
}
