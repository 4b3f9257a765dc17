/* check: looks at upstreams now, in this process (detectors/detect.h).
 *
 * Invariants
 *   1. What is printed is durable: results arrive here after their commit.
 *   2. A check that failed is never counted as "no change": with --exit-code it is exit 1.
 *   3. --dry-run asks nobody and writes nothing.
 * Called by main_freshet.c. */
#include <poll.h>
#include <unistd.h>

#include "cli/source_put.h"
#include "core/clock.h"
#include "detectors/detect.h"
#include "detectors/window.h"
#include "handler/work.h"

#define DUE_MAX 10000000 /* sources in one go; more than any instance has */
#define DRIVE_MS 100     /* between two looks at the progress line */
#define WAIT_MS 50       /* between two looks at what another handler is working on */

struct line {
    const char *source_id, *url, *outcome, *detail, *due_because, *event_id;
    int attempts;
};

struct check {
    struct cli *c;
    struct detect *detect;
    int64_t *todo;
    size_t n_todo, todo_room;
    const char *because; /* NULL: as the schedule says */
    struct line *lines;
    size_t n, room;
    int64_t counts[OUTCOME_COUNT], due, bytes_in, bytes_saved, found, failures;
    bool out_of_memory;
};

/* ---- what is meant --------------------------------------------------------------------------- */

static enum rc want(struct check *k, int64_t src_no)
{
    if (k->n_todo == k->todo_room) {
        size_t room = k->todo_room ? k->todo_room * 2 : 256;
        int64_t *todo =
            arena_resize(&k->c->arena, k->todo, k->todo_room * sizeof *todo, room * sizeof *todo);
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

static enum rc want_one(struct check *k, bool by_url)
{
    struct cli *c = k->c;
    struct source s;
    enum rc rc = by_url ? source_by_url(c->ledger, &c->arena, c->args[1], &s, &c->err)
                        : source_find(c, c->args[1], &s);
    if (rc == RC_NOT_FOUND && by_url)
        return err_set(
            &c->err, rc, "",
            "no source has this address. Watch it with: freshet source add --id ID --url URL");
    TRY(rc);
    if (s.retired_at >= 0)
        return err_set(&c->err, RC_CONFLICT, "", "%s is retired, so it is not looked at any more",
                       s.id);
    return want(k, s.no);
}

static enum rc collect(struct check *k)
{
    struct cli *c = k->c;
    const char *what = c->args[0];
    k->because = "requested";
    if (strcmp(what, "all") == 0)
        return check_active(c->ledger, want_due, k, &c->err);
    if (strcmp(what, "due") == 0) {
        k->because = NULL;
        return check_due(c->ledger, clock_now(), DUE_MAX, want_due, k, &c->err);
    }
    return want_one(k, strcmp(what, "url") == 0);
}

/* Usage that the table cannot express. CLI_DONE when it is right. */
static int look_at_words(const struct cli *c)
{
    static const char *const words[] = {"source", "url", "all", "due"};
    const char *what = c->args[0];
    bool needs = strcmp(what, "source") == 0 || strcmp(what, "url") == 0;
    bool known = needs || strcmp(what, "all") == 0 || strcmp(what, "due") == 0;
    const char *near = cli_nearest(what, words, ARRAY_LEN(words));
    if (!known && near)
        return cli_usage(c, "what is '%s'? Did you mean '%s'?", what, near);
    if (!known)
        return cli_usage(c, "what is '%s'? Say %s", what, c->command->usage);
    if (needs && c->n_args < 2)
        return cli_usage(c, "'%s' needs %s", what, *what == 's' ? "the ID of a source" : "a URL");
    if (!needs && c->n_args > 1)
        return cli_usage(c, "one argument too many: %s", c->args[1]);
    return CLI_DONE;
}

/* ---- results --------------------------------------------------------------------------------- */

static void add_line(struct check *k, const struct line *from)
{
    struct arena *a = &k->c->arena;
    if (k->n == k->room) {
        size_t room = k->room ? k->room * 2 : 256;
        struct line *lines =
            arena_resize(a, k->lines, k->room * sizeof *lines, room * sizeof *lines);
        if (!lines) {
            k->out_of_memory = true;
            return;
        }
        k->lines = lines;
        k->room = room;
    }
    struct line *l = &k->lines[k->n];
    *l = *from;
    l->source_id = arena_strdup(a, from->source_id);
    l->url = arena_strdup(a, from->url);
    l->detail = arena_strdup(a, from->detail);
    l->event_id = arena_strdup(a, from->event_id);
    if (!l->source_id || !l->url || !l->detail || !l->event_id)
        k->out_of_memory = true;
    else
        k->n++;
}

static void progress(const struct check *k)
{
    if (!isatty(STDERR_FILENO) || !k->c->tty || k->n_todo < 20)
        return;
    size_t width = 30, full = k->n * width / k->n_todo;
    fprintf(stderr, "\r[%.*s%*s] %zu/%zu, %lld found ", (int)full, "##############################",
            (int)(width - full), "", k->n, k->n_todo, (long long)k->found);
    if (k->n == k->n_todo)
        fprintf(stderr, "\r%60s\r", "");
}

static void take_result(void *ctx, const struct source *s, const struct check_result *r)
{
    struct check *k = ctx;
    struct line l = {s->id,       s->url,     outcome_name(r->outcome), r->detail, r->due_because,
                     r->event_id, r->attempts};
    add_line(k, &l);
    k->counts[r->outcome]++;
    k->bytes_in += r->bytes_in;
    k->bytes_saved += r->bytes_saved;
    k->found += outcome_candidate(r->outcome);
    k->failures += outcome_failure(r->outcome);
}

static enum rc list_due(struct check *k, const struct source *s)
{
    struct cli *c = k->c;
    struct check_state st;
    struct line l = {s->id, s->url, "due", "", k->because, "", 0};
    TRY(check_state_get(c->ledger, s->no, &st, &c->err));
    if (!k->because)
        l.due_because = window_next(s, &st, &c->inst.conf, clock_now()).because;
    add_line(k, &l);
    k->due++;
    return RC_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static enum rc list_all(struct check *k)
{
    struct cli *c = k->c;
    struct arena a;
    enum rc rc = RC_OK;
    arena_init(&a, 1u << 20);
    for (size_t i = 0; i < k->n_todo && rc == RC_OK; i++) {
        struct source s;
        arena_reset(&a);
        rc = source_by_no(c->ledger, &a, k->todo[i], &s, &c->err);
        if (rc == RC_OK)
            rc = list_due(k, &s);
    }
    arena_release(&a);
    return rc;
}

static enum rc add_all(struct check *k)
{
    struct cli *c = k->c;
    size_t n, ignored;
    for (size_t i = 0; i < k->n_todo; i += n) {
        TRY(detect_add_some(k->detect, k->todo + i, k->n_todo - i, k->because, 0, &n, &c->err));
        TRY(detect_drive(k->detect, DRIVE_MS, &ignored, &c->err));
        progress(k);
    }
    return RC_OK;
}

static enum rc run(struct check *k)
{
    struct cli *c = k->c;
    size_t open = 1;
    if (cli_has(c, "dry-run"))
        return list_all(k);
    if (k->n_todo == 0)
        return RC_OK;
    TRY(detect_new(c->ledger, &c->inst, take_result, k, &k->detect, &c->err));
    enum rc rc = add_all(k);
    while (rc == RC_OK && open > 0) {
        rc = detect_drive(k->detect, DRIVE_MS, &open, &c->err);
        progress(k);
    }
    detect_free(&k->detect);
    return rc;
}

/* ---- --wait ---------------------------------------------------------------------------------- */

struct waiting {
    const struct check *k;
    bool busy;
};

/* Is one of the candidates of this check in the hands of another handler? */
static enum rc see_leased(void *ctx, const struct candidate *cand, struct err *err)
{
    struct waiting *w = ctx;
    (void)err;
    for (size_t i = 0; i < w->k->n; i++)
        if (strcmp(w->k->lines[i].event_id, cand->event_id) == 0)
            w->busy = true;
    return RC_OK;
}

/* Works off what is ready, also what others left, and waits for what others have begun. */
static enum rc wait_for_work(struct check *k)
{
    struct cli *c = k->c;
    CLEANUP(worker_free) struct worker *worker = NULL;
    TRY(worker_new(c->ledger, &c->inst, &worker, &c->err));
    for (;;) {
        struct work_counts ignored;
        struct waiting w = {.k = k};
        TRY(work_drain(worker, &ignored, &c->err));
        TRY(inbox_each(c->ledger, "leased", DUE_MAX, see_leased, &w, &c->err));
        if (!w.busy)
            return RC_OK;
        poll(NULL, 0, WAIT_MS);
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

static int print_json(const struct check *k)
{
    struct cli *c = k->c;
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *root = yyjson_mut_obj(d), *outcomes, *results;
    yyjson_mut_doc_set_root(d, root);
    yyjson_mut_obj_add_int(d, root, "checked", (int64_t)k->n);
    outcomes = yyjson_mut_obj_add_obj(d, root, "outcomes");
    for (int o = 0; o < OUTCOME_COUNT; o++)
        if (k->counts[o])
            yyjson_mut_obj_add_int(d, outcomes, outcome_name((enum outcome)o), k->counts[o]);
    if (k->due)
        yyjson_mut_obj_add_int(d, outcomes, "due", k->due);
    yyjson_mut_obj_add_int(d, root, "bytes_in", k->bytes_in);
    yyjson_mut_obj_add_int(d, root, "bytes_saved", k->bytes_saved);
    results = yyjson_mut_obj_add_arr(d, root, "results");
    for (size_t i = 0; i < k->n; i++) {
        const struct line *l = &k->lines[i];
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(d, results);
        json_add_str(d, o, "source_id", l->source_id);
        json_add_str(d, o, "url", l->url);
        json_add_str(d, o, "outcome", l->outcome);
        json_add_str(d, o, "detail", l->detail);
        yyjson_mut_obj_add_int(d, o, "attempts", l->attempts);
        json_add_str(d, o, "due_because", l->due_because);
    }
    return cli_print_json(c, d);
}

static void print_sum(const struct check *k)
{
    const struct cli *c = k->c;
    bool first = true;
    if (k->n == 0) {
        cli_hint(c,
                 strcmp(c->args[0], "due") == 0 ? "Nothing is due.\n" : "No sources to check.\n");
        return;
    }
    cli_hint(c, "\n%zu %s: ", k->n, k->due ? "would be checked" : "checked");
    for (int o = 0; o < OUTCOME_COUNT; o++)
        if (k->counts[o]) {
            cli_hint(c, "%s%lld %s", first ? "" : ", ", (long long)k->counts[o],
                     outcome_name((enum outcome)o));
            first = false;
        }
    cli_hint(c, "%s%lld bytes read, %lld saved.\n", first ? "" : ". ", (long long)k->bytes_in,
             (long long)k->bytes_saved);
    if (k->found && !cli_has(c, "wait"))
        cli_hint(c, "What was found waits in the inbox. Promote it with: freshet work\n");
}

static int print_text(const struct check *k)
{
    struct table t;
    table_begin(&t, k->c, "source|outcome|because|detail");
    for (size_t i = 0; i < k->n; i++) {
        table_cell(&t, k->lines[i].source_id);
        table_cell(&t, k->lines[i].outcome);
        table_cell(&t, k->lines[i].due_because);
        table_cell(&t, k->lines[i].detail);
    }
    if (!table_end(&t))
        return cli_error(k->c, "check", "no memory");
    print_sum(k);
    return CLI_DONE;
}

static int exit_code(const struct check *k)
{
    if (!cli_has(k->c, "exit-code"))
        return CLI_DONE;
    return k->found ? CLI_CHANGED : k->failures ? CLI_FAILED : CLI_DONE;
}

int cmd_check(struct cli *c)
{
    struct check k = {.c = c};
    int code = look_at_words(c);
    if (code != CLI_DONE)
        return code;
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (collect(&k) != RC_OK || run(&k) != RC_OK)
        return cli_fail(c, "check");
    if (k.out_of_memory)
        return cli_error(c, "check", "the checks are recorded, but too many to print");
    if (cli_has(c, "wait") && !cli_has(c, "dry-run") && wait_for_work(&k) != RC_OK)
        return cli_fail(c, "check");
    code = c->json ? print_json(&k) : print_text(&k);
    return code == CLI_DONE ? exit_code(&k) : code;
}
