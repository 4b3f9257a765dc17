/* nginx_conf: fills the template of nginx.
 *
 * Invariants
 *   1. No @NAME@ is left: an unknown one is an error.
 *   2. A value inside quotes holds no quote, backslash, dollar sign, brace or control character: a
 *      folder's name cannot become configuration.
 * Called by cmd_up.c. */
#include "cli/nginx_conf.h"

#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/embedded.h"
#include "core/file.h"

#define CONF_MAX (1u << 20)
#define WORKERS_MAX 8        /* more do not serve one machine's loopback any faster */
#define CONNECTIONS_MIN 1024 /* of one worker, beside clients of the stream */
#define BURST_S 10           /* a burst of deliveries is as much as comes in so many seconds */
#define INTAKE_HOLDS 64      /* KEPT_MAX of api/fcgi.c */

static const char *find_template(const char *name)
{
    for (const struct embedded *e = templates_files; e->name; e++)
        if (strcmp(e->name, name) == 0)
            return e->text;
    return NULL;
}

static enum rc put_value(const struct nginx_value *v, struct buf *out, struct err *err)
{
    for (const char *p = v->value; *p && !v->literal; p++)
        if (strchr("\"\\$'{};", *p) || (unsigned char)*p < 0x20)
            return err_set(err, RC_INVALID, "",
                           "nginx cannot take the path %s: it holds a quote, backslash, dollar "
                           "sign, brace or semicolon. Use a folder without them",
                           v->value);
    buf_puts(out, v->value);
    return RC_OK;
}

/* name is what stands between two @, when it is one of ours in form. */
static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if ((name.p[i] < 'A' || name.p[i] > 'Z') && name.p[i] != '_')
            return false;
    return name.n > 0;
}

static enum rc put_name(struct str name, const struct nginx_value *values, size_t n,
                        struct buf *out, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, values[i].name))
            return put_value(&values[i], out, err);
    return err_set(err, RC_INVALID, "", "the template asks for an unknown @%.*s@", STR_FMT(name));
}

static enum rc fill_line(struct str line, const struct nginx_value *values, size_t n,
                         struct buf *out, struct err *err)
{
    struct str before, name;
    while (str_next(&line, '@', &before)) {
        struct str rest = line;
        buf_str(out, before);
        if (before.p + before.n == line.p) /* the line is at its end, there was no @ */
            break;
        if (str_next(&rest, '@', &name) && rest.p > name.p + name.n && is_name(name)) {
            TRY(put_name(name, values, n, out, err));
            line = rest;
        } else {
            buf_byte(out, '@'); /* only an @ */
        }
    }
    buf_byte(out, '\n');
    return RC_OK;
}

enum rc nginx_conf_fill(const char *template_text, const struct nginx_value *values, size_t n,
                        struct buf *out, struct err *err)
{
    struct str rest = str_of(template_text), line;
    bool preface = true; /* the comment on top explains the names and stays behind */
    while (str_next(&rest, '\n', &line)) {
        preface = preface && line.n > 0 && line.p[0] == '#';
        if (!preface)
            TRY(fill_line(line, values, n, out, err));
    }
    return buf_rc(out) == RC_OK ? RC_OK : err_set(err, buf_rc(out), "", "the file is too large");
}

/* Root's nginx gives its rights away to whoever owns the instance. */
static enum rc user_line(struct cli *c, const char **ret)
{
    struct stat st;
    *ret = "";
    if (geteuid() != 0)
        return RC_OK;
    if (stat(c->inst.dir, &st) != 0)
        return err_set(&c->err, RC_IO, "", "cannot look at %s", c->inst.dir);
    const struct passwd *who = getpwuid(st.st_uid);
    if (!who)
        return err_set(&c->err, RC_INVALID, "",
                       "the owner of %s (uid %lu) is no known user. Give the folder to one: chown",
                       c->inst.dir, (unsigned long)st.st_uid);
    const char *line = arena_printf(&c->arena, "user %s;", who->pw_name);
    if (!line)
        return err_set(&c->err, RC_NOMEM, "", "no memory");
    *ret = line;
    return RC_OK;
}

static const char *number(struct cli *c, int64_t n)
{
    const char *s = arena_printf(&c->arena, "%lld", (long long)n);
    return s ? s : "";
}

/* A client of the stream is two connections, and one worker may get all of them; as far as
 * files go. */
static int64_t connections(const struct conf *conf)
{
    int64_t wanted = CONNECTIONS_MIN + 2 * conf->stream_clients;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_max >= (rlim_t)wanted)
        return wanted;
    return (int64_t)files.rlim_max;
}

static int64_t intake_keepalive(const struct conf *conf, int64_t workers)
{
    int64_t n = conf->intake_processes * INTAKE_HOLDS / 2 / workers;
    return n < 1 ? 1 : n;
}

static enum rc render(struct cli *c, const struct nginx_conf *n, struct buf *out)
{
    const struct conf *conf = &c->inst.conf;
    const char *text = find_template("nginx.conf.in"), *user = "";
    int64_t workers = sysconf(_SC_NPROCESSORS_ONLN);
    workers = workers < 1 ? 1 : workers > WORKERS_MAX ? WORKERS_MAX : workers;
    workers = workers > conf->api_processes ? conf->api_processes : workers;
    if (!text)
        return err_set(&c->err, RC_INTERNAL, "", "the template nginx.conf.in was not built in");
    TRY(user_line(c, &user));
    const struct nginx_value values[] = {
        {"DIR", c->inst.dir, false},
        {"WWW", n->www, false},
        {"PORT", number(c, n->port), false},
        {"WORKERS", number(c, workers), false},
        {"KEEPALIVE", number(c, conf->api_processes / workers), false},
        {"CONNECTIONS", number(c, connections(conf)), false},
        {"BODY_MAX", number(c, conf->admin_max_body), false},
        {"HOOK_BODY_MAX", number(c, conf->hook_max_body), false},
        {"HOOK_RATE", number(c, conf->hook_rate), false},
        {"HOOK_BURST", number(c, conf->hook_rate * BURST_S), false},
        {"HOOK_FROM_RATE", number(c, conf->hook_address_rate), false},
        {"HOOK_FROM_BURST", number(c, conf->hook_address_rate * BURST_S), false},
        {"INTAKE_KEEPALIVE", number(c, intake_keepalive(conf, workers)), false},
        {"CACHE", conf->cache_s ? "freshet" : "off", false},
        {"CACHE_S", number(c, conf->cache_s ? conf->cache_s : 1), false},
        {"USER_LINE", user, true},
    };
    return nginx_conf_fill(text, values, ARRAY_LEN(values), out, &c->err);
}

enum rc nginx_conf_write(struct cli *c, const struct nginx_conf *n, const char **ret_path)
{
    struct buf out;
    const char *path = instance_path(&c->arena, &c->inst, "run/nginx.conf");
    if (!path)
        return err_set(&c->err, RC_NOMEM, "", "no memory for a path");
    buf_init(&out, CONF_MAX);
    enum rc rc = render(c, n, &out);
    if (rc == RC_OK)
        rc = file_replace(path, buf_view(&out), 0640, &c->err);
    buf_release(&out);
    if (rc == RC_OK)
        *ret_path = path;
    return rc;
}
