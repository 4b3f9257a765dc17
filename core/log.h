/* log: one JSON line per event, with a stable code, on standard error or the file of log_open.
 *
 *   log_event(LOG_INFO, "run.promoted", LOG_S("run", id), LOG_I("bytes", n));
 *   {"at":"…","level":"info","code":"run.promoted","proc":"handler","pid":47,"run":"…","bytes":12}
 *
 * Whoever returns an error does not log it as well: the caller does, once. So programs log, and of
 * the rooms only code that has nobody to tell: what goes on after a failure, what answers a
 * stranger who may not be told, what watches (streams, children, workers), and what ends the
 * process at once.
 *
 * Invariants
 *   1. A line is one write(2), so that lines of several processes do not mix.
 *   2. Nothing withheld is logged (I8): sources are named through source_log_name()
 *      (ledger/source.h), which gives a number instead of an id where the level asks for it.
 *   3. Values are cut at 400 bytes and made valid UTF-8.
 *   4. Any thread may log, as the committer's does from inside the ledger; log_open and
 *      log_level_min are for the start, before there is a second one.
 */
#ifndef FRESHET_CORE_LOG_H
#define FRESHET_CORE_LOG_H

#include <stdint.h>
#include "core/rc.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_field {
    const char *key; /* NULL ends the list */
    const char *s;   /* a string, or */
    int64_t i;       /* a number when s is NULL */
};
/* A function, as compilers object to asking an array or a literal whether it is NULL. */
static inline struct log_field log_text(const char *key, const char *value)
{
    return (struct log_field){key, value ? value : "", 0};
}
#define LOG_S(k, v) log_text((k), (v))
#define LOG_I(k, v) ((struct log_field){(k), 0, (v)})
#define log_event(level, code, ...)                                                                \
    log_fields((level), (code), (const struct log_field[]){__VA_ARGS__, {0, 0, 0}})

/* proc is the short program name ("handler"); path NULL keeps standard error. */
MUST_CHECK enum rc log_open(const char *proc, const char *path, struct err *err);
/* "debug", "info", "warn" or "error"; false for anything else. */
MUST_CHECK bool log_level_parse(const char *name, enum log_level *ret);
void log_level_min(enum log_level level);
void log_fields(enum log_level level, const char *code, const struct log_field *fields);
/* An err as an event: code, rc name, field and message. */
void log_err(enum log_level level, const char *code, const struct err *err);

#endif
