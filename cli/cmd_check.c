/* check: looks at upstreams now, in this process (detectors/detect.h).
 *
 * Invariants
 *   1. What is printed is durable: results arrive here after their commit.
 *   2. A check that failed is never counted as "no change": with --exit-code it is exit 1. So is,
 *      with --wait, a change that the handler could not take in, or not yet.
 *   3. --dry-run asks nobody and writes nothing.
 *   4. While the inbox is full no check is begun; those that were not are told, with exit 1.
 *   5. Ctrl-C loses no finished check: they are committed, and the rest is told as not looked at.
 * Called by main_freshet.c. */
#include <poll.h>
#include <signal.h>

#include "cli/check_report.h"
#include "cli/explain.h"
#include "cli/find.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/source_put.h"
#include "core/clock.h"
#include "detectors/detect.h"
#include "detectors/window.h"
#include "handler/work.h"
#include "ledger/ahead.h"
#include "ledger/inbox.h"
#include "ledger/trigger.h"

#define DUE_MAX 10000000 /* sources in one go; more than any instance has */
#define DRIVE_MS 100     /* between two looks at the progress line and at Ctrl-C */
#define WAIT_MS 50       /* between two looks at what another handler is working on */

struct check {
    struct cli *c;
    struct detect *detect;
    int64_t *todo;
    size_t n_todo, todo_room;
    const char *because; /* NULL: as the schedule says */
    int trigger;         /* enum trigger_type, -1: any */
    int64_t month;       /* 0: any */
    bool full;           /* the inbox; the rest is not looked at */
    struct check_report report;
    struct progress progress;
    struct explain explain;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* ---- what is meant --------------------------------------------------------------------------- */

static const struct word {
    const char *name, *needs; /* needs: the second word, NULL when there is none */
    int trigger;
} words[] = {
    {"due", NULL, -1},
    {"all", NULL, -1},
    {"source", "the ID of a source", -1},
    {"url", "a URL", -1},
    {"redistricting", NULL, TRIGGER_REDISTRICTING},
    {"annual", NULL, TRIGGER_ANNUAL},
    {"census", NULL, TRIGGER_CENSUS},
};

static enum rc want(struct check *k, int64_t src_no)
{
    if (k->n_todo == k->todo_room) {
        size_t room = k->todo_room ? k->todo_room * 2 : 256;
        int64_t *todo = reallocarray(k->todo, room, sizeof *todo);
        if (!todo)
            return err_set(&k->c->err, RC_NOMEM, "", "no memory for so many sources");
        k->todo = todo;
        k->todo_room = room;
    }
    k->todo[k->n_todo++] = src_no;
    return RC_OK;
}

static enum rc want_due(void *ctx, int64_t src_no, int64_t due_at, struct err *err)
{
    (void)due_at;
    (void)err;
    return want(ctx, src_no);
}

/* Of those that were collected, the ones with the trigger that was asked for. */
static enum rc keep_triggered(struct check *k)
{
    struct cli *c = k->c;
    CLEANUP(arena_release) struct arena a = {0};
    size_t kept = 0;
    arena_init(&a, SOURCE_MEMORY_MAX);
    for (size_t i = 0; i < k->n_todo; i++) {
        bool wanted;
        TRY(trigger_wanted(c->ledger, &a, k->todo[i], (enum trigger_type)k->trigger, (int)k->month,
                           &wanted, &c->err));
        if (wanted)
            k->todo[kept++] = k->todo[i];
    }
    k->n_todo = kept;
    return RC_OK;
}

static bool is_watched(const struct source *s)
{
    return s->retired_at < 0 && !source_is_unlisted(s);
}

static enum rc want_source(struct check *k, const struct source *s)
{
    struct cli *c = k->c;
    if (s->retired_at >= 0)
        return err_set(&c->err, RC_CONFLICT, "", "%s is retired, so it is not looked at any more",
                       s->id);
    if (source_is_unlisted(s))
        return err_set(
            &c->err, RC_CONFLICT, "",
            "its listing no longer names %s: check that instead, and it is back when the "
            "listing names it",
            s->id);
    return want(k, s->no);
}

struct same_url {
    struct check *k;
    int64_t first_no;
};

static enum rc want_watched(void *ctx, const struct source *s, struct err *err)
{
    struct same_url *w = ctx;
    (void)err;
    if (!w->first_no)
        w->first_no = s->no;
    return is_watched(s) ? want(w->k, s->no) : RC_OK;
}

/* All that have the address; why not, when none of them is looked at. */
static enum rc want_url(struct check *k, const char *url)
{
    struct cli *c = k->c;
    struct same_url w = {.k = k};
    struct source s;
    enum rc rc = source_each_by_url(c->ledger, url, want_watched, &w, &c->err);
    if (rc == RC_NOT_FOUND)
        return err_set(
            &c->err, rc, "",
            "no source has this address. Watch it with: freshet source add --id ID --url URL");
    TRY(rc);
    if (k->n_todo > 0)
        return RC_OK;
    TRY(source_by_no(c->ledger, &c->arena, w.first_no, &s, &c->err));
    return want_source(k, &s);
}

static enum rc want_id(struct check *k, const char *id)
{
    struct source s;
    TRY(source_find(k->c, id, &s));
    return want_source(k, &s);
}

/* Whoever only asks what would be looked at changes nothing. */
static enum rc mend_clock(struct check *k)
{
    struct cli *c = k->c;
    int64_t known = 0, n;
    if (cli_has(c, "dry-run"))
        return RC_OK;
    TRY(ahead_mend(c->ledger, clock_now(), false, &known, &n, &c->err));
    if (n > 0)
        cli_note(c, "%lld sources were looked at in the future, by a wrong clock: due again\n",
                 (long long)n);
    return RC_OK;
}

static enum rc collect(struct check *k)
{
    struct cli *c = k->c;
    const char *what = c->args[0];
    k->because = "requested";
    if (strcmp(what, "source") == 0)
        return want_id(k, c->args[1]);
    if (strcmp(what, "url") == 0)
        return want_url(k, c->args[1]);
    if (strcmp(what, "due") != 0) {
        TRY(check_active(c->ledger, want_due, k, &c->err));
        return k->trigger >= 0 ? keep_triggered(k) : RC_OK;
    }
    k->because = NULL;
    TRY(mend_clock(k));
    return check_due(c->ledger, clock_now(), DUE_MAX, want_due, k, &c->err);
}

static const struct word *find_word(const struct cli *c)
{
    const char *names[ARRAY_LEN(words)], *near;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        names[i] = words[i].name;
        if (strcmp(words[i].name, c->args[0]) == 0)
            return &words[i];
    }
    near = str_nearest(str_of(c->args[0]), names, ARRAY_LEN(names));
    if (near)
        cli_usage(c, "what is '%s'? Did you mean '%s'?", c->args[0], near);
    else
        cli_usage(c, "what is '%s'? Say %s", c->args[0], c->command->usage);
    return NULL;
}

/* Usage that the table cannot express. CLI_DONE when it is right. */
static int look_at_words(struct check *k)
{
    struct cli *c = k->c;
    const struct word *w = find_word(c);
    if (!w)
        return CLI_USAGE;
    if (w->needs && c->n_args < 2)
        return cli_usage(c, "'%s' needs %s", w->name, w->needs);
    if (!w->needs && c->n_args > 1)
        return cli_usage(c, "one argument too many: %s", c->args[1]);
    if (cli_has(c, "month") && w->trigger != TRIGGER_ANNUAL)
        return cli_usage(c, "--month goes with 'annual' only");
    if (cli_has(c, "explain") && (!w->needs || cli_has(c, "dry-run")))
        return cli_usage(c, "--explain tells of one check that is made: check source ID --explain");
    if (cli_has(c, "accept") && !w->needs)
        return cli_usage(c, "--accept is a word about one source: check source ID --accept");
    if (!cli_opt_i64(c, "month", 1, 12, &k->month))
        return CLI_USAGE;
    k->trigger = w->trigger;
    return CLI_DONE;
}

/* ---- running --------------------------------------------------------------------------------- */

static void take_result(void *ctx, const struct source *s, const struct check_result *r)
{
    struct check *k = ctx;
    report_add(&k->report, s, r);
    if (k->explain.root)
        explain_end(&k->explain, r);
}

static void show_progress(struct check *k)
{
    const struct check_report *r = &k->report;
    int64_t n = (int64_t)r->lines.n;
    const struct progress_note notes[] = {
        {n - r->found - r->vintages - (r->failures - r->deleted), "unchanged", CLI_PLAIN},
        {r->found, "changed", CLI_GOOD},
        {r->failures - r->deleted, "failed", CLI_BAD},
    };
    progress_show(&k->progress, n, notes, ARRAY_LEN(notes));
}

/* "due since 2026-07-01T00:00:00Z; window open until 2026-10-31" */
static void say_due(struct cli *c, const struct source *s, int64_t at, char *out, size_t n)
{
    int64_t now = clock_now();
    char window[CALENDAR_TEXT_MAX];
    calendar_text(calendar_window(s, now), now, window);
    snprintf(out, n, "%s%s%s%s",
             at < 0      ? "never due by itself"
             : at <= now ? "due since "
                         : "due ",
             at < 0 ? "" : cli_time(c, at), *window ? "; window " : "", window);
}

static enum rc list_due(struct check *k, const struct source *s)
{
    struct cli *c = k->c;
    struct check_state st;
    char detail[160];
    const char *because = k->because;
    TRY(check_state_get(c->ledger, s->no, &st, &c->err));
    if (!because)
        because = window_because(s, &st, &c->inst.conf, clock_now());
    say_due(c, s, st.next_check_at, detail, sizeof detail);
    report_add_due(&k->report, s, because, detail);
    return RC_OK;
}

/* One source was asked for, so one is explained. */
static enum rc begin_explaining(struct check *k)
{
    struct cli *c = k->c;
    if (k->n_todo > 1)
        return err_set(&c->err, RC_INVALID, "",
                       "%zu sources have this address, and --explain tells of one: say which, "
                       "with check source ID",
                       k->n_todo);
    struct source *s = ARENA_NEW(&c->arena, struct source);
    struct check_state st;
    if (!s)
        return err_set(&c->err, RC_NOMEM, "", "no memory");
    TRY(source_by_no(c->ledger, &c->arena, k->todo[0], s, &c->err));
    TRY(check_state_get(c->ledger, s->no, &st, &c->err));
    explain_begin(&k->explain, c, json_doc(&c->arena), s, &st);
    detect_trace(k->detect, explain_step, &k->explain);
    return RC_OK;
}

static enum rc list_all(struct check *k)
{
    struct cli *c = k->c;
    struct arena a;
    enum rc rc = RC_OK;
    arena_init(&a, 1u << 20);
    for (size_t i = 0; i < k->n_todo && rc == RC_OK && !interrupted; i++) {
        struct source s;
        arena_reset(&a);
        rc = source_by_no(c->ledger, &a, k->todo[i], &s, &c->err);
        if (rc == RC_OK)
            rc = list_due(k, &s);
    }
    arena_release(&a);
    return rc;
}

static bool stops(const struct check *k)
{
    return interrupted || k->full;
}

static enum rc look_for_room(struct check *k)
{
    struct cli *c = k->c;
    enum rc rc = inbox_room(c->ledger, c->inst.conf.inbox_max, &c->err);
    k->full = rc == RC_FULL;
    return k->full ? RC_OK : rc;
}

/* Goes through the list once; those whose host has its share are left at its front. */
static enum rc add_round(struct check *k, size_t *left)
{
    struct cli *c = k->c;
    size_t n, full, ignored, kept = 0;
    for (size_t i = 0; i < *left && !stops(k); i += n) {
        TRY(detect_add_some(k->detect, k->todo + i, *left - i, k->because, 0, &n, &full, &c->err));
        memmove(k->todo + kept, k->todo + i, full * sizeof *k->todo);
        kept += full;
        TRY(detect_drive(k->detect, DRIVE_MS, &ignored, &c->err));
        show_progress(k);
        TRY(look_for_room(k));
    }
    *left = kept;
    return RC_OK;
}

static enum rc add_all(struct check *k)
{
    if (cli_has(k->c, "explain"))
        TRY(begin_explaining(k));
    if (cli_has(k->c, "accept"))
        detect_accept(k->detect);
    TRY(look_for_room(k));
    for (size_t left = k->n_todo; left > 0 && !stops(k);)
        TRY(add_round(k, &left));
    return RC_OK;
}

/* The second Ctrl-C ends at once: whoever asks twice means it. */
static void on_interrupt(void (*handler)(int))
{
    struct sigaction sa = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
}

static enum rc drive(struct check *k)
{
    struct cli *c = k->c;
    size_t open = 1;
    enum rc rc = add_all(k);
    detect_rush(k->detect, true);
    while (rc == RC_OK && open > 0 && !interrupted) {
        rc = detect_drive(k->detect, DRIVE_MS, &open, &c->err);
        show_progress(k);
    }
    return rc == RC_OK && interrupted ? detect_flush(k->detect, &c->err) : rc;
}

static enum rc run(struct check *k)
{
    struct cli *c = k->c;
    int64_t started = clock_mono();
    if (cli_has(c, "dry-run"))
        return list_all(k);
    if (k->n_todo == 0)
        return RC_OK;
    TRY(detect_new(c->ledger, &c->inst, take_result, k, &k->detect, &c->err));
    on_interrupt(interrupt);
    progress_begin(&k->progress, c, "checking", (int64_t)k->n_todo);
    enum rc rc = drive(k);
    on_interrupt(SIG_DFL);
    progress_end(&k->progress);
    detect_free(&k->detect);
    k->report.elapsed_ms = clock_mono() - started;
    k->report.not_reached = (int64_t)(k->n_todo - k->report.lines.n);
    return rc;
}

/* ---- --wait ---------------------------------------------------------------------------------- */

static enum rc see_open(void *ctx, const struct inbox_entry *e, struct err *err)
{
    (void)err;
    *(bool *)ctx |= e->fate.open;
    return RC_OK;
}

/* Is one of the candidates of this check, or of the entries that its listings gave some, in the
 * hands of another handler? */
static enum rc is_busy(struct check *k, bool *ret)
{
    struct cli *c = k->c;
    struct inbox_fate fate;
    struct report_line l;
    *ret = false;
    lines_rewind(&k->report.lines);
    while (!*ret && lines_next(&k->report.lines, &l)) {
        if (!*l.event_id)
            continue;
        TRY(inbox_fate(c->ledger, l.event_id, clock_now(), &fate, &c->err));
        *ret = fate.open;
        if (!*ret)
            TRY(inbox_entries(c->ledger, l.event_id, clock_now(), see_open, ret, &c->err));
    }
    return RC_OK;
}

static enum rc take_entry(void *ctx, const struct inbox_entry *e, struct err *err)
{
    (void)err;
    report_entry(ctx, e);
    return RC_OK;
}

static enum rc take_fates(struct check *k)
{
    struct cli *c = k->c;
    struct inbox_fate fate;
    struct report_line l;
    lines_rewind(&k->report.lines);
    while (lines_next(&k->report.lines, &l)) {
        if (!*l.event_id)
            continue;
        TRY(inbox_fate(c->ledger, l.event_id, clock_now(), &fate, &c->err));
        report_fate(&k->report, &l, &fate);
        TRY(inbox_entries(c->ledger, l.event_id, clock_now(), take_entry, &k->report, &c->err));
    }
    k->report.waited = true;
    return RC_OK;
}

/* Works off what is ready, also what others left, and waits for what others have begun. */
static enum rc wait_for_work(struct check *k)
{
    struct cli *c = k->c;
    CLEANUP(worker_free) struct worker *worker = NULL;
    TRY(worker_new(c->ledger, &c->inst, &worker, &c->err));
    for (;;) {
        struct work_counts ignored; /* others' as well; the fates below are ours */
        bool busy;
        TRY(work_drain(worker, &ignored, &c->err));
        TRY(is_busy(k, &busy));
        if (!busy)
            return take_fates(k);
        poll(NULL, 0, WAIT_MS);
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

static int print_json(struct check *k)
{
    /* One document for both: the account of --explain was begun before the result was known. */
    yyjson_mut_doc *d = k->explain.doc ? k->explain.doc : json_doc(&k->c->arena);
    yyjson_mut_val *root = report_json(&k->report, d);
    if (k->explain.root)
        yyjson_mut_obj_add_val(d, root, "explain", k->explain.root);
    return report_put_json(&k->report, d, &k->c->err) == RC_OK ? CLI_DONE : cli_fail(k->c);
}

/* `up`, or a handler of its own, which takes the first slot (handler/work.h). */
static bool handler_runs(struct cli *c)
{
    return find_lock_held(c, "run/up.lock") || find_lock_held(c, "run/worker-0.lock");
}

static int print_text(struct check *k)
{
    struct cli *c = k->c;
    struct check_report *r = &k->report;
    if (k->explain.root)
        explain_print(&k->explain);
    else if (!report_print(r))
        return cli_error(c, "check", "the checks are recorded, but cannot be printed");
    if (k->n_todo == 0)
        cli_note(c,
                 strcmp(c->args[0], "due") == 0 ? "Nothing is due.\n" : "No sources to check.\n");
    if (r->found + r->vintages > 0 && !cli_has(c, "wait") && !handler_runs(c))
        cli_note(c, "What was found waits in the inbox. Promote it with: freshet work\n");
    return CLI_DONE;
}

static int exit_code(const struct check *k)
{
    const struct check_report *r = &k->report;
    char a[HUMAN_MAX];
    if (interrupted) {
        cli_error(k->c, "check",
                  "interrupted: %s of the sources were not looked at, what was "
                  "finished is recorded",
                  human_count(r->not_reached, a));
        return CLI_INTERRUPTED;
    }
    if (k->full && r->not_reached) {
        cli_error(
            k->c, "check",
            "the inbox is full (inbox_max %lld): %s of the sources were not looked at. Take in what "
            "waits, then check again: freshet work",
            (long long)k->c->inst.conf.inbox_max, human_count(r->not_reached, a));
        return CLI_FAILED;
    }
    if (r->refused)
        cli_error(k->c, "check",
                  "%s of what was found could not be taken in, or not yet. See: freshet queue list",
                  human_count(r->refused, a));
    if (!cli_has(k->c, "exit-code"))
        return CLI_DONE;
    if (r->refused)
        return CLI_FAILED;
    return r->found ? CLI_CHANGED : r->failures ? CLI_FAILED : CLI_DONE;
}

static int check(struct check *k)
{
    struct cli *c = k->c;
    int code = look_at_words(k);
    if (code != CLI_DONE)
        return code;
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (collect(k) != RC_OK || run(k) != RC_OK)
        return cli_fail(c);
    bool work = cli_has(c, "wait") && !cli_has(c, "dry-run") && !interrupted;
    if (work && wait_for_work(k) != RC_OK)
        return cli_fail(c);
    if (k->report.lines.broken || k->report.entries.broken)
        return cli_error(
            c, "check",
            "the checks are recorded, but there is no room for a file to print them from");
    code = c->json ? print_json(k) : print_text(k);
    return code == CLI_DONE ? exit_code(k) : code;
}

int cmd_check(struct cli *c)
{
    struct check k = {.c = c, .report = {.c = c}};
    int code = check(&k);
    lines_close(&k.report.lines);
    lines_close(&k.report.entries);
    free(k.todo);
    return code;
}
