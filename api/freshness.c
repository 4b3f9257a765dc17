/* freshness: /freshness and /freshness/{source}.
 *
 * Invariants (those of freshness.h, and)
 *   1. The rules are asked in the order of judge(); the first that fits decides and is named in the
 *      explanation.
 * Called by the route table and by badge. */
#include "api/freshness.h"

#include "api/conditional.h"
#include "api/put.h"
#include "core/clock.h"

#define LIST_LIMIT_DEFAULT 100
#define LIST_LIMIT_MAX 1000
#define BATCH 256 /* rows read at once while a filter looks for matches */

static const struct {
    const char *name, *colour, *shape, *meaning;
} states[FRESH_COUNT] = {
#define X(name, colour, shape, meaning) {#name, colour, shape, meaning},
#include "api/states.def"
#undef X
};

const char *fresh_state_name(enum fresh_state s)
{
    return states[s].name;
}

const char *fresh_state_colour(enum fresh_state s)
{
    return states[s].colour;
}

const char *fresh_state_shape(enum fresh_state s)
{
    return states[s].shape;
}

static bool is_restricted(const struct public_fresh *f)
{
    return strcmp(f->level, "restricted") == 0;
}

/* ---- verdict --------------------------------------------------------------------------------- */

static int64_t day_of(int64_t at)
{
    return at / DAY_MS;
}

/* From this moment on the data is too old; -1: it never is. */
static int64_t expires_at(const struct public_fresh *f)
{
    if (f->updated_at < 0 || f->freshness_days <= 0 || f->freshness_days > INT64_MAX / DAY_MS / 2)
        return -1;
    return f->updated_at + f->freshness_days * DAY_MS;
}

/* The order is the rank: what makes a claim impossible comes before what would allow it. */
static void judge(const struct public_fresh *f, int64_t now, struct verdict *v)
{
    int64_t expiry = expires_at(f);
    if (f->retired) {
        v->state = FRESH_retired;
        v->rule = "retired";
    } else if (is_restricted(f)) {
        v->state = FRESH_restricted;
        v->rule = "restricted";
    } else if (f->held) {
        v->state = FRESH_held;
        v->rule = "held_for_review";
    } else if (f->updated_at < 0) {
        v->state = FRESH_unknown;
        v->rule = "never_promoted";
    } else if (f->removed_at >= 0) {
        v->state = FRESH_past_window;
        v->rule = "removed_upstream";
    } else if (expiry >= 0 && now > expiry) {
        v->state = FRESH_past_window;
        v->rule = "older_than_allowed";
    } else if (f->failures > 0) {
        v->state = FRESH_unknown;
        v->rule = "checks_fail";
    } else if (f->freshness_days == 0) {
        v->state = FRESH_current;
        v->rule = "historical";
    } else {
        v->state = FRESH_current;
        v->rule = "within_window";
    }
}

static bool is_removed(const struct verdict *v)
{
    return strcmp(v->rule, "removed_upstream") == 0;
}

static void set_label(const struct public_fresh *f, struct verdict *v)
{
    char day[TIME_MAX] = "";
    size_t room = sizeof v->label;
    if (f->updated_at >= 0)
        time_date(f->updated_at, day);
    if (is_removed(v)) {
        time_date(f->removed_at, day);
        snprintf(v->label, room, "Removed upstream on %s", day);
    } else if (v->state == FRESH_past_window)
        snprintf(v->label, room, "Past freshness window");
    else if (v->state == FRESH_held)
        snprintf(v->label, room, "%s awaiting review", day[0] ? "Update" : "First version");
    else if (v->state == FRESH_retired && day[0])
        snprintf(v->label, room, "Retired, last updated on %s", day);
    else if (v->state == FRESH_retired)
        snprintf(v->label, room, "Retired");
    else if (!day[0])
        snprintf(v->label, room, "No verified update yet");
    else if (strcmp(v->rule, "checks_fail") == 0)
        snprintf(v->label, room, "Checks failing, last updated on %s", day);
    else if (strcmp(v->rule, "historical") == 0)
        snprintf(v->label, room, "Historical, updated on %s", day);
    else
        snprintf(v->label, room, "Updated on %s", day);
}

void freshness_judge(const struct public_fresh *f, int64_t now, struct verdict *ret)
{
    struct verdict v = {.data_age_days = -1};
    if (f->updated_at >= 0)
        v.data_age_days = day_of(now) - day_of(f->updated_at);
    if (f->updated_at >= 0 && v.data_age_days < 0)
        v.data_age_days = 0;
    judge(f, now, &v);
    set_label(f, &v);
    *ret = v;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_day_or_time(struct buf *b, const struct public_fresh *f, const char *key,
                            int64_t at)
{
    char day[TIME_MAX] = "";
    if (!is_restricted(f)) {
        put_time(b, key, at);
        return;
    }
    if (at >= 0)
        time_date(at, day);
    put_text(b, key, day);
}

/* A link to evidence; null where there is none or it is withheld. */
static void put_ref(struct buf *b, const char *key, struct str base, const char *path,
                    const char *id)
{
    put_key(b, key);
    if (!id[0]) {
        buf_puts(b, "null");
        return;
    }
    buf_byte(b, '"');
    buf_str(b, base);
    buf_printf(b, "%s%s\"", path, id);
}

void freshness_reason(const struct public_fresh *f, const struct verdict *v,
                      char text[FRESH_REASON_MAX])
{
    long long age = (long long)v->data_age_days, allowed = (long long)f->freshness_days;
    size_t room = FRESH_REASON_MAX;
    if (is_removed(v))
        snprintf(text, room,
                 "The upstream no longer has it; what is here is the last version there was.");
    else if (v->state == FRESH_past_window)
        snprintf(text, room, "The data is %lld day%s old; %lld %s allowed.", age,
                 age == 1 ? "" : "s", allowed, allowed == 1 ? "is" : "are");
    else if (strcmp(v->rule, "checks_fail") == 0)
        snprintf(text, room,
                 "The last %lld check%s failed, so nobody knows whether there is something newer.",
                 (long long)f->failures, f->failures == 1 ? "" : "s");
    else if (strcmp(v->rule, "never_promoted") == 0)
        snprintf(text, room, "No version has passed all checks yet.");
    else if (v->state == FRESH_held && f->updated_at < 0)
        snprintf(text, room, "A first version waits for a reviewer.");
    else if (strcmp(v->rule, "historical") == 0)
        snprintf(text, room,
                 "Declared historical: it is not expected to change, so no age is too old.");
    else if (strcmp(v->rule, "within_window") == 0)
        snprintf(text, room,
                 "The data is %lld day%s old, %lld %s allowed, and the last check worked.", age,
                 age == 1 ? "" : "s", allowed, allowed == 1 ? "is" : "are");
    else
        snprintf(text, room, "%s", states[v->state].meaning);
}

static void put_reason(struct buf *b, const struct public_fresh *f, const struct verdict *v)
{
    char text[FRESH_REASON_MAX];
    freshness_reason(f, v, text);
    put_text(b, "text", text);
}

static void put_explanation(struct buf *b, const struct public_fresh *f, const struct verdict *v)
{
    bool open = !is_restricted(f);
    put_key(b, "explanation");
    buf_byte(b, '{');
    put_text(b, "rule", v->rule);
    put_reason(b, f, v);
    put_key(b, "data_age_days");
    if (v->data_age_days >= 0)
        buf_printf(b, "%lld", (long long)v->data_age_days);
    else
        buf_puts(b, "null");
    put_key(b, "allowed_age_days");
    if (open && f->freshness_days > 0)
        buf_printf(b, "%lld", (long long)f->freshness_days);
    else
        buf_puts(b, "null");
    put_time(b, "last_check", open ? f->checked_at : -1);
    put_time(b, "last_answer", open ? f->reached_at : -1);
    put_key(b, "failed_checks");
    if (open)
        buf_printf(b, "%lld", (long long)f->failures);
    else
        buf_puts(b, "null");
    buf_byte(b, '}');
}

static void put_evidence(struct buf *b, const struct public_fresh *f, struct str base)
{
    bool open = !is_restricted(f);
    put_text(b, "run_id", open ? f->run_id : "");
    put_key(b, "object_identity");
    if (open && f->identity[0])
        buf_printf(b, "{\"sha256\":\"%s\"}", f->identity);
    else
        buf_puts(b, "null");
    put_ref(b, "delta_manifest_ref", base, "/deltas/", open ? f->delta_id : "");
    put_ref(b, "prov_ref", base, "/prov/", open ? f->run_id : "");
    put_text(b, "qa_status", f->qa_status);
    put_text(b, "qa_disclaimer", f->qa_note);
}

static void put_badges(struct buf *b, const struct public_fresh *f, struct str base)
{
    put_key(b, "links");
    buf_puts(b, "[{\"rel\":\"self\",\"href\":\"");
    buf_str(b, base);
    buf_printf(b, "/freshness/%s\",\"type\":\"application/json\"},{\"rel\":\"icon\",\"href\":\"",
               f->source_id);
    buf_str(b, base);
    buf_printf(b, "/badges/%s.svg\",\"type\":\"image/svg+xml\"},{\"rel\":\"about\",\"href\":\"",
               f->source_id);
    buf_str(b, base);
    buf_printf(b, "/sources/%s\",\"type\":\"application/json\"}]", f->source_id);
}

void freshness_put(struct buf *out, const struct public_fresh *f, const struct verdict *v,
                   struct str base)
{
    bool open = !is_restricted(f);
    buf_byte(out, '{');
    put_text(out, "source_id", f->source_id);
    put_text(out, "title", f->title);
    put_text(out, "collection", f->collection);
    put_text(out, "state", fresh_state_name(v->state));
    put_text(out, "label", v->label);
    put_day_or_time(out, f, "updated_at", f->updated_at);
    put_time(out, "checked_at", open ? f->checked_at : -1);
    put_time(out, "next_check_at", open ? f->next_check_at : -1);
    put_text(out, "window", open ? f->window : "");
    put_evidence(out, f, base);
    put_explanation(out, f, v);
    put_badges(out, f, base);
    buf_byte(out, '}');
}

/* ---- routes ---------------------------------------------------------------------------------- */

static void mix(struct etag *e, const struct public_fresh *f, const struct verdict *v)
{
    etag_int(e, f->gen);
    etag_int(e, v->state);
    etag_str(e, str_of(v->rule));
    etag_int(e, v->data_age_days);
}

int64_t freshness_shown_at(const struct public_fresh *f, const struct verdict *v)
{
    int64_t at = f->updated_at;
    if (is_restricted(f))
        return at < 0 ? -1 : at - at % DAY_MS;
    at = f->checked_at > at ? f->checked_at : at;
    bool aged = v->state == FRESH_past_window && !is_removed(v);
    return aged && expires_at(f) > at ? expires_at(f) : at;
}

static void set_validators(struct resp *w, const struct req *r, const struct public_meta *m,
                           const struct public_fresh *f, const struct verdict *v)
{
    struct etag e = etag_start(m->policy_version, r->base);
    mix(&e, f, v);
    etag_set(&e, w);
    w->last_modified = freshness_shown_at(f, v);
    w->etag_only = true; /* a title or a hold moves no date */
}

enum rc freshness_find(struct req *r, struct public_fresh *ret, struct verdict *ret_v,
                       struct err *err)
{
    if (!str_is_slug(r->path_vars[0], REQ_ID_MAX))
        return route_not_found(err);
    TRY(route_lookup(public_fresh_get(r->ledger, r->arena, r->path_vars[0], ret, err), err));
    freshness_judge(ret, r->now, ret_v);
    return RC_OK;
}

enum rc freshness_one(struct req *r, struct resp *w, struct err *err)
{
    struct public_meta m = {0};
    struct public_fresh f = {0};
    struct verdict v = {0};
    TRY(freshness_find(r, &f, &v, err));
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    freshness_put(&w->body, &f, &v, r->base);
    set_validators(w, r, &m, &f, &v);
    return RC_OK;
}

struct listing {
    struct req *r;
    struct resp *w;
    struct str state, collection; /* filters, .p NULL: all */
    int64_t limit, n, seen;
    bool more;
    char last[REQ_ID_MAX + 1]; /* id of the row read last */
    char cut[REQ_ID_MAX + 1];  /* id of the row shown last */
    int64_t newest;
    struct etag etag;
};

static enum rc list_row(void *ctx, const struct public_fresh *f, struct err *err)
{
    struct listing *x = ctx;
    struct verdict v;
    (void)err;
    x->seen++;
    snprintf(x->last, sizeof x->last, "%s", f->source_id);
    freshness_judge(f, x->r->now, &v);
    if (x->state.p && !str_is(x->state, fresh_state_name(v.state)))
        return RC_OK;
    if (x->collection.p && !str_is(x->collection, f->collection))
        return RC_OK;
    if (x->n == x->limit) {
        x->more = true;
        return RC_OK;
    }
    if (x->n++ > 0)
        buf_byte(&x->w->body, ',');
    freshness_put(&x->w->body, f, &v, x->r->base);
    snprintf(x->cut, sizeof x->cut, "%s", f->source_id);
    mix(&x->etag, f, &v);
    x->newest = freshness_shown_at(f, &v) > x->newest ? freshness_shown_at(f, &v) : x->newest;
    return RC_OK;
}

static enum rc list_rows(struct listing *x, struct err *err)
{
    struct str after = req_param(x->r, "after");
    if (!after.p)
        after = STR("");
    do {
        x->seen = 0;
        TRY(public_fresh_each(x->r->ledger, after, BATCH, list_row, x, err));
        char *at = arena_strdup(x->r->arena, x->last);
        if (!at)
            return err_set(err, RC_NOMEM, "", "no memory for the list");
        after = str_of(at);
    } while (x->seen == BATCH && !x->more);
    return RC_OK;
}

/* A page of this very list: same filters, from another place. */
static void put_page(const struct listing *x, const char *rel, struct str after)
{
    struct buf *b = &x->w->body;
    buf_printf(b, "{\"rel\":\"%s\",\"href\":\"", rel);
    buf_str(b, x->r->base);
    buf_printf(b, "/freshness?limit=%lld", (long long)x->limit);
    if (after.n)
        buf_printf(b, "&after=%.*s", STR_FMT(after));
    if (x->state.p)
        buf_printf(b, "&state=%.*s", STR_FMT(x->state));
    if (x->collection.p)
        buf_printf(b, "&collection=%.*s", STR_FMT(x->collection));
    buf_puts(b, "\",\"type\":\"application/json\"}");
}

static void list_end(struct listing *x)
{
    struct buf *b = &x->w->body;
    buf_puts(b, "],\"links\":[");
    put_page(x, "self", req_param(x->r, "after"));
    if (x->more) {
        buf_byte(b, ',');
        put_page(x, "next", str_of(x->cut));
    }
    buf_puts(b, "]}");
}

static enum rc check_filters(const struct listing *x, struct err *err)
{
    struct str after = req_param(x->r, "after");
    bool known = !x->state.p;
    for (size_t i = 0; i < FRESH_COUNT; i++)
        known = known || str_is(x->state, states[i].name);
    if (!known)
        return err_set(err, RC_INVALID, "state",
                       "must be one of current, past_window, unknown, held, restricted, retired");
    if (x->collection.p && !str_is_slug(x->collection, REQ_ID_MAX))
        return err_set(err, RC_INVALID, "collection", "ids are made of a-z, 0-9, _ and -");
    if (after.p && !str_is_slug(after, REQ_ID_MAX))
        return err_set(err, RC_INVALID, "after", "is not a place in this list");
    return RC_OK;
}

enum rc freshness_list(struct req *r, struct resp *w, struct err *err)
{
    struct public_meta m = {0};
    struct listing x = {.r = r, .w = w, .newest = -1};
    x.state = req_param(r, "state");
    x.collection = req_param(r, "collection");
    TRY(param_limit(req_param(r, "limit"), LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, &x.limit, err));
    TRY(check_filters(&x, err));
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    x.etag = etag_start(m.policy_version, r->base);
    buf_puts(&w->body, "{\"results\":[");
    TRY(list_rows(&x, err));
    list_end(&x);
    etag_int(&x.etag, x.more);
    etag_set(&x.etag, w);
    w->last_modified = x.newest;
    w->etag_only = true;
    return RC_OK;
}
