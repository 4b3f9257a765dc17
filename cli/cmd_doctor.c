/* doctor: looks for what would keep an instance from working. Each finding is one line: ok, warn or
 * fail, what was looked at, and how to fix it.
 *
 * Invariants
 *   1. It changes nothing (a ledger of an older version is opened, and so brought forward, by every
 *      writing command).
 *   2. One failing look does not hide the others.
 * Called by main_freshet.c. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/find.h"
#include "cli/ready.h"
#include "cli/source_put.h"
#include "core/clock.h"
#include "core/fetch.h"
#include "core/version.h"
#include "ledger/inbox.h"
#include "handler/message.h"
#include "ledger/outbox.h"
#include "ledger/policy.h"
#include "ledger/push.h"
#include "ledger/unhealthy.h"

enum verdict { OK, WARN, FAIL };

struct doctor {
    struct cli *c;
    struct table table;
    yyjson_mut_doc *doc;
    yyjson_mut_val *rows;
    int64_t counts[3];
};

static void say(struct doctor *d, enum verdict v, const char *what, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
static void say(struct doctor *d, enum verdict v, const char *what, const char *fmt, ...)
{
    static const char *const words[] = {"ok", "warn", "fail"};
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    d->counts[v]++;
    if (d->c->json) {
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(d->doc, d->rows);
        json_add_str(d->doc, o, "verdict", words[v]);
        json_add_str(d->doc, o, "what", what);
        json_add_str(d->doc, o, "says", text);
        return;
    }
    table_cell(&d->table, words[v]);
    table_cell(&d->table, what);
    table_cell(&d->table, text);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static void look_at_mode(struct doctor *d, const char *name, mode_t forbidden, const char *fix)
{
    struct cli *c = d->c;
    const char *path = *name ? instance_path(&c->arena, &c->inst, name) : c->inst.dir;
    const char *what = *name ? name : "folder";
    struct stat st;
    if (!path || stat(path, &st) != 0)
        say(d, FAIL, what, "%s is missing. Make it: mkdir -m %s %s", path ? path : name, fix,
            path ? path : name);
    else if (!S_ISDIR(st.st_mode))
        say(d, FAIL, what, "%s is no folder", path);
    else if (access(path, W_OK | X_OK) != 0)
        say(d, FAIL, what, "%s cannot be written by this user. Give it away: chown", path);
    else if (st.st_mode & forbidden)
        say(d, WARN, what, "%s is open to others (mode %03o). Close it: chmod %s %s", path,
            (unsigned)(st.st_mode & 0777), fix, path);
    else
        say(d, OK, what, "%s, mode %03o", path, (unsigned)(st.st_mode & 0777));
}

static void look_at_folders(struct doctor *d)
{
    look_at_mode(d, "", 0007, "750");
    look_at_mode(d, "secrets", 0077, "700");
    look_at_mode(d, "store", 0007, "750");
    look_at_mode(d, "store/restricted", 0077, "700");
    look_at_mode(d, "run", 0007, "750");
    look_at_mode(d, "log", 0007, "750");
    look_at_mode(d, "spool", 0007, "700");
}

static void look_at_socket_path(struct doctor *d)
{
    size_t room = sizeof((struct sockaddr_un *)0)->sun_path - sizeof "/run/intake.sock";
    if (strlen(d->c->inst.dir) > room)
        say(d, FAIL, "path", "%s is too long for a socket: use at most %zu characters",
            d->c->inst.dir, room);
}

static void look_at_space(struct doctor *d)
{
    struct statvfs v;
    const struct cli *c = d->c;
    if (statvfs(c->inst.dir, &v) != 0) {
        say(d, WARN, "disk", "cannot ask: %s", strerror(errno));
        return;
    }
    int64_t free_mb = (int64_t)v.f_bavail * (int64_t)v.f_frsize / 1000000;
    int64_t floor_mb = c->inst.conf.free_bytes_min / 1000000;
    if (free_mb < floor_mb)
        say(d, FAIL, "disk",
            "%lld MB free, below free_bytes_min (%lld MB): nothing new is taken in. Make room",
            (long long)free_mb, (long long)floor_mb);
    else
        say(d, free_mb < 4 * floor_mb ? WARN : OK, "disk", "%lld MB free, floor %lld MB",
            (long long)free_mb, (long long)floor_mb);
}

/* ---- settings and ledger --------------------------------------------------------------------- */

static bool look_at_settings(struct doctor *d)
{
    struct cli *c = d->c;
    if (instance_load(&c->arena, c->dir, &c->inst, &c->err) != RC_OK) {
        say(d, FAIL, "settings", "%s%s%s", c->err.field, *c->err.field ? ": " : "", c->err.msg);
        return false;
    }
    if (*c->inst.conf.operator_name)
        say(d, OK, "settings", "freshet.json is valid; operator: %s", c->inst.conf.operator_name);
    else
        say(d, WARN, "settings",
            "operator_name is empty, so upstreams cannot tell who asks. Set it: "
            "freshet config set operator_name NAME");
    return true;
}

static void look_at_policy(struct doctor *d)
{
    struct cli *c = d->c;
    struct policy p;
    if (policy_load(&c->arena, c->inst.dir, digest_sha256, &p, &c->err) == RC_OK)
        say(d, OK, "policy", POLICY_FILE " is valid, version %s", p.version);
    else
        say(d, FAIL, "policy", "%s%s%s. Nothing is promoted until it is right", c->err.field,
            *c->err.field ? ": " : "", c->err.msg);
}

static void look_at_inbox(struct doctor *d)
{
    struct cli *c = d->c;
    struct inbox_stats n;
    if (inbox_stats(c->ledger, &n, &c->err) != RC_OK)
        say(d, FAIL, "inbox", "%s", c->err.msg);
    else if (n.dead)
        say(d, WARN, "inbox", "%lld dead. See: freshet queue list --state dead", (long long)n.dead);
    else
        say(d, OK, "inbox", "%lld ready, %lld held", (long long)n.ready, (long long)n.held);
}

static enum rc sum_outbox(void *ctx, const struct outbox_stats *s, struct err *err)
{
    struct outbox_stats *sum = ctx;
    (void)err;
    sum->open += s->open;
    sum->dead += s->dead;
    return RC_OK;
}

static void look_at_outbox(struct doctor *d)
{
    struct cli *c = d->c;
    struct outbox_stats n = {0};
    if (outbox_each(c->ledger, sum_outbox, &n, &c->err) != RC_OK)
        say(d, FAIL, "outbox", "%s", c->err.msg);
    else if (n.dead)
        say(d, WARN, "outbox",
            "%lld given up. See: freshet outbox list, then: freshet outbox retry",
            (long long)n.dead);
    else
        say(d, OK, "outbox", "%lld to be told", (long long)n.open);
}

static enum rc sum_notify(void *ctx, const struct delivery_stats *s, struct err *err)
{
    struct delivery_stats *sum = ctx;
    (void)err;
    sum->waiting += s->waiting;
    sum->dead += s->dead;
    return RC_OK;
}

/* Sources that a filter names and nobody declared: it will hear of nothing. */
static int64_t look_at_filter(struct doctor *d, const struct subscriber *s)
{
    struct cli *c = d->c;
    struct source none;
    int64_t found = 0;
    for (size_t i = 0; i < s->sources.n; i++) {
        if (source_by_id(c->ledger, &c->arena, s->sources.items[i], &none, &c->err) != RC_NOT_FOUND)
            continue;
        say(d, WARN, "notify", "%s.sources: there is no source %s", s->name, s->sources.items[i]);
        found++;
    }
    return found;
}

/* Those that cannot be told, whatever happens. */
static int64_t look_at_subscribers(struct doctor *d, const struct subscribers *all)
{
    struct cli *c = d->c;
    int64_t found = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct subscriber *s = &all->list[i];
        found += look_at_filter(d, s);
        if (message_check(&c->inst, s, &c->err) == RC_OK)
            continue;
        say(d, FAIL, "notify", "%s.%s: %s", s->name, c->err.field, c->err.msg);
        found++;
    }
    return found;
}

static void look_at_notify(struct doctor *d)
{
    struct cli *c = d->c;
    struct delivery_stats n = {0};
    struct subscribers *all = ARENA_NEW(&c->arena, struct subscribers);
    if (!all || subscribers_load(&c->arena, &c->inst, all, &c->err) != RC_OK)
        say(d, FAIL, "notify", NOTIFY_FILE ": %s%s%s. Nobody is told until it is right",
            c->err.field, *c->err.field ? ": " : "", c->err.msg);
    else if (delivery_each(c->ledger, sum_notify, &n, &c->err) != RC_OK)
        say(d, FAIL, "notify", "%s", c->err.msg);
    else if (n.dead)
        say(d, WARN, "notify", "%lld given up. See: freshet notify dlq, then: freshet notify retry",
            (long long)n.dead);
    else if (look_at_subscribers(d, all) == 0)
        say(d, OK, "notify", "%zu subscribers, %lld to be told", all->n, (long long)n.waiting);
}

static enum rc count_unhealthy(void *ctx, const struct source *s, const struct check_state *st,
                               const struct health *h, struct err *err)
{
    (void)s;
    (void)st;
    (void)err;
    ((int64_t *)ctx)[h->state]++;
    return RC_OK;
}

/* Absence is loud: what nobody looks at is a finding, like what fails. */
static void look_at_sources(struct doctor *d)
{
    struct cli *c = d->c;
    int64_t n[HEALTH_COUNT] = {0};
    char text[200] = "";
    if (unhealthy_each(c->ledger, clock_now(), count_unhealthy, n, &c->err) != RC_OK) {
        say(d, FAIL, "sources", "%s", c->err.msg);
        return;
    }
    if (n[HEALTH_ahead])
        say(d, WARN, "clock",
            "%lld sources were looked at in the future: the clock was ahead, or is behind now. When "
            "it is right, freshet-scheduler or `freshet check due` looks at them again",
            (long long)n[HEALTH_ahead]);
    for (int h = 0; h < HEALTH_COUNT; h++)
        if (n[h])
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld %s",
                     *text ? ", " : "", (long long)n[h], health_name((enum health_state)h));
    if (*text)
        say(d, WARN, "sources", "%s. See: freshet source list --unhealthy", text);
    else
        say(d, OK, "sources", "every source is in order");
}

struct push_look {
    struct doctor *d;
    int64_t sources, bad;
};

/* Each secret that deliveries to a source are signed with: there, and long enough? */
static enum rc look_at_secrets(void *ctx, const struct source *s, struct err *err)
{
    struct push_look *l = ctx;
    struct cli *c = l->d->c;
    size_t i, n;
    yyjson_val *v;
    (void)err;
    l->sources++;
    if (source_check_adapter(s, &c->err) != RC_OK) {
        l->bad++;
        say(l->d, WARN, "push", "%s: %s: %s", s->id, c->err.field, c->err.msg);
    }
    yyjson_arr_foreach(s->secrets, i, n, v) if (source_secret_usable(c, yyjson_get_str(v)) != RC_OK)
    {
        l->bad++;
        say(l->d, WARN, "push", "%s: secrets: %s: %s", s->id, yyjson_get_str(v), c->err.msg);
    }
    return RC_OK;
}

static void look_at_push(struct doctor *d)
{
    struct cli *c = d->c;
    struct push_look l = {.d = d};
    int64_t conflicts = 0;
    if (push_sources(c->ledger, look_at_secrets, &l, &c->err) != RC_OK ||
        push_conflict_count(c->ledger, &conflicts, &c->err) != RC_OK) {
        say(d, FAIL, "push", "%s", c->err.msg);
        return;
    }
    if (conflicts)
        say(d, WARN, "push",
            "%lld event ids came twice, with two bodies. See: freshet queue conflicts",
            (long long)conflicts);
    else if (l.sources && !l.bad)
        say(d, OK, "push", "%lld sources take deliveries, their secrets are there",
            (long long)l.sources);
}

static void look_at_ledger(struct doctor *d)
{
    struct cli *c = d->c;
    if (ledger_open(c->inst.dir, LEDGER_WRITE, digest_sha256, &c->ledger, &c->err) != RC_OK) {
        say(d, FAIL, "ledger", "%s", c->err.msg);
        return;
    }
    say(d, OK, "ledger", "opens; %s", ledger_engine());
    look_at_inbox(d);
    look_at_outbox(d);
    look_at_notify(d);
    look_at_sources(d);
    look_at_push(d);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* First line that `program -v` writes to standard error. */
static bool ask_version(const char *program, char *out, size_t room)
{
    int fds[2], status = 0;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        execl(program, program, "-v", (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    ssize_t n = pid > 0 ? read(fds[0], out, room - 1) : -1;
    close(fds[0]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return n > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void look_at_nginx(struct doctor *d)
{
    struct cli *c = d->c;
    const char *nginx = NULL;
    char version[120];
    if (find_nginx(&c->arena, &nginx, &c->err) != RC_OK)
        say(d, FAIL, "nginx", "%s", c->err.msg);
    else if (!ask_version(nginx, version, sizeof version))
        say(d, FAIL, "nginx", "%s does not run. Install it again: apt-get install nginx-light",
            nginx);
    else
        say(d, OK, "nginx", "%s, %s", nginx, version);
}

static void look_at_programs(struct doctor *d)
{
    static const char *const names[] = {
#define STARTED(child, program) program,
#define SEVERAL(child, program, setting) program,
#define CALLED(program) program,
#include "cli/programs.def"
#undef STARTED
#undef SEVERAL
#undef CALLED
    };
    struct cli *c = d->c;
    const char *path = NULL;
    bool all = true;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (find_program(&c->arena, names[i], &path, &c->err) != RC_OK) {
            say(d, FAIL, "programs", "%s", c->err.msg);
            all = false;
        }
    if (all)
        say(d, OK, "programs", "freshet %s (%s); %s", freshet_version, freshet_commit,
            fetch_library());
    if (find_www(&c->arena, &path, &c->err) == RC_OK)
        say(d, OK, "web page", "%s", path);
    else
        say(d, FAIL, "web page", "%s", c->err.msg);
}

/* ---- what runs ------------------------------------------------------------------------------- */

static void look_at_port(struct doctor *d)
{
    struct cli *c = d->c;
    int port = (int)c->inst.conf.port;
    char why[200];
    bool up = find_lock_held(c, "run/up.lock"), is_free = find_port_free(port);
    if (!up && is_free)
        say(d, OK, "port", "%d is free; this instance does not run", port);
    else if (!up)
        say(d, FAIL, "port",
            "%d is taken by another program. Choose another one: freshet config set port N", port);
    else if (is_free)
        say(d, OK, "port", "this instance runs, on another port than the setting (%d)", port);
    else if (ready_ask(port, why, sizeof why))
        say(d, OK, "port", "this instance runs and is ready on port %d", port);
    else
        say(d, WARN, "port", "this instance runs but is not ready: %s", why);
}

static void look_at_clock(struct doctor *d)
{
    char now[TIME_MAX];
    int year = 0, month = 0, day = 0;
    time_format(clock_now(), now);
    time_to_civil(clock_now(), &year, &month, &day);
    if (env_get("FRESHET_NOW"))
        say(d, WARN, "clock", "frozen at %s by FRESHET_NOW. Unset it for real work", now);
    else if (year < 2025 || year > 2100)
        say(d, FAIL, "clock", "says %s. Set it, or start an NTP service", now);
    else
        say(d, OK, "clock", "%s", now);
}

/* ---- the report ------------------------------------------------------------------------------ */

static int report(struct doctor *d)
{
    struct cli *c = d->c;
    if (c->json) {
        yyjson_mut_val *root = yyjson_mut_obj(d->doc);
        yyjson_mut_doc_set_root(d->doc, root);
        yyjson_mut_obj_add_bool(d->doc, root, "ok", d->counts[FAIL] == 0);
        yyjson_mut_obj_add_val(d->doc, root, "findings", d->rows);
        if (cli_print_json(c, d->doc) != CLI_DONE)
            return CLI_FAILED;
    } else if (!table_end(&d->table)) {
        return cli_error(c, "doctor", "no memory");
    }
    cli_hint(c, "\n%lld ok, %lld to look at, %lld to fix\n", (long long)d->counts[OK],
             (long long)d->counts[WARN], (long long)d->counts[FAIL]);
    return d->counts[FAIL] ? CLI_FAILED : CLI_DONE;
}

int cmd_doctor(struct cli *c)
{
    struct doctor d = {.c = c, .doc = json_doc(&c->arena)};
    d.rows = yyjson_mut_arr(d.doc);
    table_begin(&d.table, c, "verdict|what|finding");
    look_at_programs(&d);
    look_at_nginx(&d);
    look_at_clock(&d);
    if (look_at_settings(&d)) {
        look_at_folders(&d);
        look_at_policy(&d);
        look_at_socket_path(&d);
        look_at_space(&d);
        look_at_ledger(&d);
        look_at_port(&d);
    }
    return report(&d);
}
