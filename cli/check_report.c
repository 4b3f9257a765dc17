/* check_report: collecting, then three ways to tell it: JSON, rows, and the sum for a person. */
#include "cli/check_report.h"

#include "cli/human.h"
#include "core/fetch.h"

#define ROWS_ALL 40                        /* up to so many, a person sees every row */
#define ROWS_MAX 200                       /* and never more than these */
#define NAMES_SHOWN 5                      /* sources named in a line of the sum */
#define REASONS_MAX 16                     /* window.h knows fewer */
#define LINE_JSON_MAX (16 * LINE_TEXT_MAX) /* escaped, twice, and what is around it */

static const char *name_of(int outcome)
{
    return outcome == REPORT_DUE ? "due" : outcome_name((enum outcome)outcome);
}

/* Nothing new, and nothing wrong. */
static bool is_quiet(const struct report_line *l)
{
    return l->outcome != REPORT_DUE && !l->deleted &&
           !outcome_candidate((enum outcome)l->outcome) &&
           !outcome_failure((enum outcome)l->outcome);
}

/* ---- collecting ------------------------------------------------------------------------------ */

/* "page 12: HTML where JSON was expected", without the page: it is the same trouble on
 * any other. */
static struct str without_place(struct str detail)
{
    struct str rest = detail, place;
    bool placed = str_starts(detail, STR("page ")) || str_starts(detail, STR("probe:"));
    return placed && str_next(&rest, ':', &place) && rest.n > 0 ? str_trim(rest) : detail;
}

/* What kind of failure this is: how the transfer ended, the status, or what was wrong with the
 * answer. Never a host or a number of one source, which would make a kind of each. What a policy
 * forbids is named by its rule. */
static void kind_of(const struct check_result *c, char *out, size_t n)
{
    struct str what = without_place(str_of(c->detail));
    bool answered = c->http > 0 && c->http != 200 && c->http != 304;
    if (str_starts(what, STR("here:"))) {
        snprintf(out, n, "trouble here");
    } else if (c->spared) {
        snprintf(out, n, "not sent, the host is left alone");
    } else if (c->outcome != OUTCOME_blocked && c->end == CHECK_UNSENT) {
        snprintf(out, n, "not sent");
    } else if (answered && (c->end == FETCH_OK || c->end == FETCH_STOPPED)) {
        snprintf(out, n, "HTTP %d", c->http);
    } else if (c->outcome != OUTCOME_blocked && c->end != FETCH_OK && c->end != FETCH_STOPPED) {
        snprintf(out, n, "%s", fetch_end_name((enum fetch_end)c->end));
        for (char *p = out; *p; p++)
            *p = (char)(*p == '_' ? ' ' : *p | 0x20);
    } else {
        size_t used = 0;
        for (size_t k = 0; k < what.n && used + 1 < n && !strchr(":;,(", what.p[k]); k++) {
            bool digit = what.p[k] >= '0' && what.p[k] <= '9';
            if (!digit || used == 0 || out[used - 1] != 'N')
                out[used++] = digit ? 'N' : what.p[k];
        }
        out[used] = '\0';
    }
}

static void count_kind(struct check_report *r, int outcome, const char *name, const char *id)
{
    for (size_t i = 0; i < r->n_kinds; i++)
        if (r->kinds[i].outcome == outcome && strcmp(r->kinds[i].name, name) == 0) {
            r->kinds[i].n++;
            return;
        }
    if (r->n_kinds == REPORT_KINDS_MAX)
        return;
    struct report_kind *k = &r->kinds[r->n_kinds++];
    *k = (struct report_kind){.outcome = outcome, .n = 1};
    snprintf(k->name, sizeof k->name, "%s", name);
    snprintf(k->example, sizeof k->example, "%s", id);
}

void report_add(struct check_report *r, const struct source *s, const struct check_result *c)
{
    bool vintage = source_is_template(s) && check_found(c);
    lines_add(&r->lines, &(struct report_line){.source_id = s->id,
                                               .url = s->url,
                                               .detail = c->detail,
                                               .due_because = c->due_because,
                                               .event_id = c->event_id,
                                               .outcome = (int)c->outcome,
                                               .attempts = c->attempts,
                                               .http = c->http,
                                               .deleted = c->deleted,
                                               .unexpected = c->unexpected,
                                               .vintage = vintage});
    r->counts[c->outcome]++;
    r->bytes_in += c->bytes_in;
    r->bytes_saved += c->bytes_saved;
    r->requests += c->attempts;
    r->http_200 += c->http == 200;
    r->http_304 += c->http == 304;
    r->deleted += c->deleted;
    r->vintages += vintage;
    r->found += check_found(c) && !vintage;
    r->failures += outcome_failure(c->outcome);
    if (outcome_failure(c->outcome)) {
        char name[sizeof r->kinds->name];
        kind_of(c, name, sizeof name);
        count_kind(r, (int)c->outcome, name, s->id);
    }
}

static void count_fate(struct check_report *r, const char *id, const struct inbox_fate *fate)
{
    char name[sizeof r->kinds->name];
    bool waits = strcmp(fate->name, "ready") == 0;
    r->refused += waits || strcmp(fate->name, "failed") == 0 || strcmp(fate->name, "dead") == 0;
    snprintf(name, sizeof name, "%s%s%.40s", waits ? "to retry" : fate->name,
             *fate->reason ? " " : "", fate->reason);
    count_kind(r, REPORT_FATE, name, id);
}

void report_fate(struct check_report *r, const struct report_line *l, const struct inbox_fate *fate)
{
    lines_put_fate(&r->lines, fate);
    count_fate(r, l->source_id, fate);
}

void report_entry(struct check_report *r, const struct inbox_entry *e)
{
    bool deleted = strcmp(e->outcome, outcome_name(OUTCOME_gone)) == 0;
    lines_add(&r->entries, &(struct report_line){.source_id = e->source_id,
                                                 .url = "",
                                                 .detail = e->outcome,
                                                 .event_id = e->event_id,
                                                 .deleted = deleted,
                                                 .fate = e->fate});
    r->entries_deleted += deleted;
    count_fate(r, e->source_id, &e->fate);
}

void report_add_due(struct check_report *r, const struct source *s, const char *because,
                    const char *detail)
{
    lines_add(&r->lines, &(struct report_line){.source_id = s->id,
                                               .url = s->url,
                                               .detail = detail,
                                               .due_because = because,
                                               .event_id = "",
                                               .outcome = REPORT_DUE});
    r->counts[REPORT_DUE]++;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* What is known after a look only, behind what every result has. */
static void add_more(yyjson_mut_doc *d, yyjson_mut_val *o, const struct report_line *l)
{
    yyjson_mut_obj_add_int(d, o, "http", l->http);
    yyjson_mut_obj_add_bool(d, o, "deleted", l->deleted);
    yyjson_mut_obj_add_bool(d, o, "unexpected", l->unexpected);
    json_add_str(d, o, "event_id", *l->event_id ? l->event_id : NULL);
    if (!*l->fate.name)
        return;
    json_add_str(d, o, "result", l->fate.name);
    json_add_str(d, o, "reason", *l->fate.reason ? l->fate.reason : NULL);
}

static void entry_json(yyjson_mut_doc *d, const struct report_line *l)
{
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "source_id", l->source_id);
    json_add_str(d, o, "outcome", l->detail);
    yyjson_mut_obj_add_bool(d, o, "deleted", l->deleted);
    json_add_str(d, o, "event_id", l->event_id);
    json_add_str(d, o, "result", l->fate.name);
    json_add_str(d, o, "reason", *l->fate.reason ? l->fate.reason : NULL);
}

static void line_json(yyjson_mut_doc *d, const struct report_line *l)
{
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "source_id", l->source_id);
    json_add_str(d, o, "url", l->url);
    json_add_str(d, o, "outcome", name_of(l->outcome));
    json_add_str(d, o, "detail", l->detail);
    yyjson_mut_obj_add_int(d, o, "attempts", l->attempts);
    json_add_str(d, o, "due_because", l->due_because);
    if (l->outcome != REPORT_DUE)
        add_more(d, o, l);
}

yyjson_mut_val *report_json(const struct check_report *r, yyjson_mut_doc *d)
{
    yyjson_mut_val *root = yyjson_mut_obj(d), *outcomes;
    yyjson_mut_doc_set_root(d, root);
    yyjson_mut_obj_add_int(d, root, "checked", (int64_t)r->lines.n);
    outcomes = yyjson_mut_obj_add_obj(d, root, "outcomes");
    for (int o = 0; o <= REPORT_DUE; o++)
        if (r->counts[o])
            yyjson_mut_obj_add_int(d, outcomes, name_of(o), r->counts[o]);
    yyjson_mut_obj_add_int(d, root, "bytes_in", r->bytes_in);
    yyjson_mut_obj_add_int(d, root, "bytes_saved", r->bytes_saved);
    yyjson_mut_obj_add_arr(d, root, "results");
    if (r->waited)
        yyjson_mut_obj_add_arr(d, root, "entries");
    return root;
}

/* One result, set in by as much as an element of a member is. */
static void put_indented(struct str text)
{
    struct str line;
    while (str_next(&text, '\n', &line))
        if (line.n > 0)
            printf("\n    %.*s", (int)line.n, line.p);
}

typedef void line_writer(yyjson_mut_doc *d, const struct report_line *l);

static enum rc put_lines(struct check_lines *lines, line_writer *write, unsigned flags,
                         struct err *err)
{
    struct report_line l;
    struct arena a;
    struct str text;
    enum rc rc = RC_OK;
    bool some = false;
    arena_init(&a, LINE_JSON_MAX);
    lines_rewind(lines);
    for (; rc == RC_OK && lines_next(lines, &l); some = true) {
        arena_reset(&a);
        yyjson_mut_doc *d = json_doc(&a);
        write(d, &l);
        rc = json_write(&a, d, flags, &text, err);
        if (rc != RC_OK)
            break;
        if (some)
            putchar(',');
        if (flags & JSON_PRETTY)
            put_indented(text);
        else
            fwrite(text.p, 1, text.n, stdout);
    }
    if (some && flags & JSON_PRETTY)
        fputs("\n  ", stdout);
    arena_release(&a);
    return rc;
}

/* Writes the document to behind the bracket that opens the list of this name. */
static enum rc put_up_to(struct str *text, const char *name, struct err *err)
{
    const char *member = memmem(text->p, text->n, name, strlen(name));
    const char *open = member ? memchr(member, '[', (size_t)(text->p + text->n - member)) : NULL;
    if (!open)
        return err_set(err, RC_INTERNAL, "", "the document has no place for %s", name);
    size_t before = (size_t)(open + 1 - text->p);
    fwrite(text->p, 1, before, stdout);
    *text = (struct str){text->p + before, text->n - before};
    return RC_OK;
}

/* The document is written with its empty lists, and their elements between the brackets
 * of those. */
enum rc report_put_json(struct check_report *r, const yyjson_mut_doc *d, struct err *err)
{
    unsigned flags = r->c->tty ? JSON_PRETTY : 0;
    struct str text;
    TRY(json_write(&r->c->arena, d, flags, &text, err));
    TRY(put_up_to(&text, "\"results\"", err));
    TRY(put_lines(&r->lines, line_json, flags, err));
    if (r->waited) {
        TRY(put_up_to(&text, "\"entries\"", err));
        TRY(put_lines(&r->entries, entry_json, flags, err));
    }
    fwrite(text.p, 1, text.n, stdout);
    if (text.p[text.n - 1] != '\n')
        putchar('\n');
    return RC_OK;
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* One line of the sum: "  12 unavailable", and the first names of those meant. */
static void put_count(const struct cli *c, enum cli_style style, int64_t n, const char *what)
{
    char text[HUMAN_MAX];
    cli_note(c, "  %s%8s %s%s", cli_err_on(c, style), human_count(n, text), what,
             style == CLI_PLAIN ? "" : cli_err_off(c));
}

typedef bool line_test(const struct report_line *l);

static bool is_deleted(const struct report_line *l)
{
    return l->deleted;
}

static bool is_found(const struct report_line *l)
{
    return l->outcome != REPORT_DUE && outcome_candidate((enum outcome)l->outcome) && !l->vintage;
}

static bool is_vintage(const struct report_line *l)
{
    return l->vintage;
}

/* An entry that is not gone is new or has moved. */
static bool is_left(const struct report_line *l)
{
    return !l->deleted;
}

static int64_t put_some(struct check_report *r, struct check_lines *lines, line_test *test,
                        int64_t shown)
{
    struct report_line l;
    lines_rewind(lines);
    while (shown < NAMES_SHOWN && lines_next(lines, &l))
        if (test(&l))
            cli_note(r->c, "%s%s", shown++ ? ", " : ": ", l.source_id);
    return shown;
}

/* Of sources and of entries, n in all. NULL: none of these. */
static void put_names(struct check_report *r, line_test *of_lines, line_test *of_entries, int64_t n)
{
    char text[HUMAN_MAX];
    int64_t shown = of_lines ? put_some(r, &r->lines, of_lines, 0) : 0;
    if (of_entries)
        shown = put_some(r, &r->entries, of_entries, shown);
    if (n > shown)
        cli_note(r->c, " and %s more", human_count(n - shown, text));
    cli_note(r->c, "\n");
}

static void put_found(struct check_report *r)
{
    int64_t deleted = r->deleted + r->entries_deleted, changed = r->found - r->deleted;
    int64_t entries = (int64_t)r->entries.n - r->entries_deleted;
    if (deleted) {
        put_count(r->c, CLI_BAD, deleted, "deleted upstream");
        put_names(r, is_deleted, is_deleted, deleted);
    }
    if (changed) {
        put_count(r->c, CLI_GOOD, changed, "found");
        put_names(r, is_found, NULL, changed);
    }
    if (entries) {
        put_count(r->c, CLI_GOOD, entries,
                  entries > 1 ? "entries new or changed" : "entry new or changed");
        put_names(r, NULL, is_left, entries);
    }
    if (r->vintages) {
        put_count(r->c, CLI_GOOD, r->vintages, r->vintages > 1 ? "new vintages" : "new vintage");
        put_names(r, is_vintage, NULL, r->vintages);
    }
    for (int o = 0; o < OUTCOME_COUNT; o++) {
        int64_t n = r->counts[o] - (o == OUTCOME_new ? r->vintages : 0);
        if (n > 0 && outcome_candidate((enum outcome)o)) {
            put_count(r->c, CLI_PLAIN, n, name_of(o));
            cli_note(r->c, ": %s\n", outcome_help((enum outcome)o));
        }
    }
}

static void put_quiet(const struct check_report *r)
{
    for (int o = 0; o < OUTCOME_COUNT; o++)
        if (r->counts[o] && !outcome_candidate((enum outcome)o) &&
            !outcome_failure((enum outcome)o)) {
            put_count(r->c, CLI_PLAIN, r->counts[o], name_of(o));
            cli_note(r->c, ": %s\n", outcome_help((enum outcome)o));
        }
}

/* "7 timeout (such as ks-roads), 5 HTTP 500 (such as ks-rivers)"; how many that were. */
static int64_t put_kinds(const struct check_report *r, int outcome, const char *before)
{
    char text[HUMAN_MAX];
    int64_t told = 0;
    for (size_t i = 0; i < r->n_kinds; i++) {
        const struct report_kind *k = &r->kinds[i];
        if (k->outcome != outcome)
            continue;
        cli_note(r->c, "%s%s %s (%s%s)", told ? ", " : before, human_count(k->n, text), k->name,
                 k->n > 1 ? "such as " : "", k->example);
        told += k->n;
    }
    return told;
}

/* "     12 unavailable: " and the kinds */
static void put_failures(const struct check_report *r)
{
    char text[HUMAN_MAX];
    for (int o = 0; o < OUTCOME_COUNT; o++) {
        if (!r->counts[o] || !outcome_failure((enum outcome)o))
            continue;
        put_count(r->c, CLI_WARN, r->counts[o], name_of(o));
        int64_t told = put_kinds(r, o, ": ");
        if (r->counts[o] > told)
            cli_note(r->c, ", %s other", human_count(r->counts[o] - told, text));
        cli_note(r->c, "\n");
    }
}

static void put_cost(const struct check_report *r)
{
    char a[HUMAN_MAX], b[HUMAN_MAX], d[HUMAN_MAX];
    int64_t answers = r->http_304 + r->http_200;
    cli_note(r->c, "  %s read, %s saved (%s of reading everything).", human_bytes(r->bytes_in, a),
             human_bytes(r->bytes_saved, b),
             human_share(r->bytes_saved, r->bytes_saved + r->bytes_in, d));
    if (answers)
        cli_note(r->c, " 304:200 is %s:%s.", human_count(r->http_304, a),
                 human_count(r->http_200, b));
    cli_note(r->c, "\n");
}

static void put_sum(struct check_report *r)
{
    const struct cli *c = r->c;
    char a[HUMAN_MAX], b[HUMAN_MAX], rate[HUMAN_MAX];
    int64_t ms = r->elapsed_ms > 0 ? r->elapsed_ms : 1;
    cli_note(c, "\n%s%s checked%s in %s", cli_err_on(c, CLI_BOLD),
             human_count((int64_t)r->lines.n, a), cli_err_off(c), human_duration(r->elapsed_ms, b));
    if (r->lines.n > 1)
        cli_note(c, " (%s/s)", human_count((int64_t)r->lines.n * 1000 / ms, rate));
    cli_note(c, ".\n");
    put_found(r);
    put_quiet(r);
    put_failures(r);
    if (put_kinds(r, REPORT_FATE, "  Taken in: ") > 0)
        cli_note(r->c, ".\n");
    put_cost(r);
}

struct reason {
    const char *why;
    int64_t n;
};

/* Why the sources of a dry run are due. */
static void put_reasons(struct check_report *r)
{
    struct reason reasons[REASONS_MAX] = {0};
    size_t n = 0;
    char a[HUMAN_MAX];
    struct report_line l;
    lines_rewind(&r->lines);
    while (lines_next(&r->lines, &l)) {
        size_t k = 0;
        while (k < n && strcmp(reasons[k].why, l.due_because) != 0)
            k++;
        if (k == n && n < REASONS_MAX)
            reasons[n++].why = l.due_because;
        if (k < n)
            reasons[k].n++;
    }
    cli_note(r->c, "\n%s would be checked", human_count((int64_t)r->lines.n, a));
    for (size_t k = 0; k < n; k++)
        cli_note(r->c, "%s%s %s", k ? ", " : ": ", human_count(reasons[k].n, a), reasons[k].why);
    cli_note(r->c, ". Nobody was asked.\n");
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* For a program: all of them, as they are read. */
static void print_all(struct check_report *r)
{
    struct report_line l;
    lines_rewind(&r->lines);
    while (lines_next(&r->lines, &l)) {
        const char *cells[] = {l.source_id, name_of(l.outcome), l.due_because, l.detail};
        table_row(cells, ARRAY_LEN(cells));
    }
}

/* For a person: all when they are few, else what is worth a look. */
static bool print_some(struct check_report *r)
{
    struct report_line l;
    struct table t;
    size_t shown = 0, worth = 0;
    char a[HUMAN_MAX];
    bool all = r->lines.n <= ROWS_ALL;
    table_begin(&t, r->c, "source|outcome|because|detail");
    lines_rewind(&r->lines);
    while (lines_next(&r->lines, &l)) {
        worth += !is_quiet(&l);
        if (!all && (shown == ROWS_MAX || is_quiet(&l)))
            continue;
        shown++;
        table_cell(&t, l.source_id);
        table_cell(&t, name_of(l.outcome));
        table_cell(&t, l.due_because);
        table_cell(&t, l.detail);
    }
    if (!table_end(&t))
        return false;
    if (shown == ROWS_MAX && worth > shown)
        cli_note(r->c, "and %s more; piped, all are printed\n",
                 human_count((int64_t)(worth - shown), a));
    return true;
}

bool report_print(struct check_report *r)
{
    if (!r->c->tty)
        print_all(r);
    else if (!print_some(r))
        return false;
    if (r->counts[REPORT_DUE])
        put_reasons(r);
    else if (r->lines.n > 0)
        put_sum(r);
    return !r->lines.broken && !r->entries.broken;
}
