/* children: deriving declarations, following listings, opening vintages. */
#include "handler/children.h"

#include <ctype.h>
#include "core/clock.h"
#include "core/fetch.h"
#include "handler/entries.h"
#include "handler/project.h"
#include "ledger/calendar.h"
#include "ledger/enqueue.h"

#define TAG_MAX 9       /* eight hex digits, that tell ids apart */
#define ID_TRIES_MAX 20 /* for one that is free, where it is random */
#define HINT_MAX (LISTING_TEXT_MAX + 32)

/* ---- deriving -------------------------------------------------------------------------------- */

/* What a child has of its own. */
struct own {
    const char *id, *url, *entry;
    enum level level;
    bool vintage;
};

static char *title_of(struct arena *a, const struct source *parent, const struct own *c)
{
    char *whole = c->vintage                 ? arena_printf(a, "%s (%s)", parent->title, c->entry)
                  : c->level == LEVEL_PUBLIC ? arena_printf(a, "%s: %s", parent->title, c->entry)
                                             : arena_strdup(a, parent->title);
    return whole ? arena_str(a, str_cut(str_of(whole), SOURCE_TITLE_MAX)) : NULL;
}

static char *fill_year(struct arena *a, const char *text, const char *year)
{
    char *out = arena_strdup(a, "");
    for (const char *p; out && (p = strstr(text, SOURCE_YEAR)) != NULL;
         text = p + strlen(SOURCE_YEAR))
        out = arena_printf(a, "%s%.*s%s", out, (int)(p - text), text, year);
    return out ? arena_printf(a, "%s%s", out, text) : NULL;
}

static void put(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, const char *value)
{
    yyjson_mut_obj_put(o, yyjson_mut_strcpy(d, key), yyjson_mut_strcpy(d, value));
}

/* An entry is looked at when its listing says so, and its type is not the listing's. */
static void make_entry(yyjson_mut_doc *d, yyjson_mut_val *o)
{
    static const char *const parents_own[] = {"media_type",      "manifest",        "probe",
                                              "adapter",         "adapter_options", "secrets",
                                              "poll_interval_s", "max_interval_s"};
    for (size_t i = 0; i < ARRAY_LEN(parents_own); i++)
        yyjson_mut_obj_remove_key(o, parents_own[i]);
    put(d, o, "detector", "etag");
    yyjson_mut_val *triggers = yyjson_mut_arr(d);
    put(d, yyjson_mut_arr_add_obj(d, triggers), "type", "manual");
    yyjson_mut_obj_put(o, yyjson_mut_str(d, "triggers"), triggers);
}

static enum rc make_vintage(struct arena *a, yyjson_mut_doc *d, yyjson_mut_val *o, const char *year,
                            struct err *err)
{
    static const char *const with_url[] = {"probe", "sse"};
    for (size_t i = 0; i < ARRAY_LEN(with_url); i++) {
        yyjson_mut_val *options = yyjson_mut_obj_get(o, with_url[i]);
        const char *url = yyjson_mut_get_str(yyjson_mut_obj_get(options, "url"));
        char *filled = url ? fill_year(a, url, year) : NULL;
        if (url && !filled)
            return err_set(err, RC_NOMEM, "", "no memory for a vintage");
        if (url)
            put(d, options, "url", filled);
    }
    return RC_OK;
}

static enum rc derive(struct arena *a, const struct source *parent, const struct own *c,
                      struct source *ret, struct err *err)
{
    yyjson_val *spec;
    struct str text;
    char *title = title_of(a, parent, c);
    if (!title)
        return err_set(err, RC_NOMEM, "", "no memory for a child");
    TRY(json_parse(a, parent->spec, 0, "the declaration", &spec, err));
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_val_mut_copy(d, spec);
    yyjson_mut_doc_set_root(d, o);
    if (c->vintage)
        TRY(make_vintage(a, d, o, c->entry, err));
    else
        make_entry(d, o);
    if (!fetch_url_same_origin(parent->url, c->url)) {
        yyjson_mut_obj_remove_key(o, "headers");
        yyjson_mut_obj_remove_key(o, "pin_sha256");
    }
    put(d, o, "id", c->id);
    put(d, o, "title", title);
    put(d, o, "url", c->url);
    put(d, o, "sensitivity", level_name(c->level));
    TRY(json_write(a, d, 0, &text, err));
    TRY(json_parse(a, text, 0, "a child", &spec, err));
    TRY(source_derive(a, spec, ret, err));
    ret->parent_no = parent->no;
    ret->entry = c->entry;
    ret->unlisted_at = c->vintage ? -1 : 0;
    return RC_OK;
}

/* ---- following a listing --------------------------------------------------------------------- */

struct follow {
    struct ledger *l;
    const struct instance *inst;
    const struct source *parent;
    const struct candidate *cand;
    int64_t at;
    struct arena a; /* of one entry */
};

/* Listings hold addresses as they were found; a declaration wants these characters encoded. Braces
 * among them: an entry is never a template. */
static char *encoded(struct arena *a, const char *url)
{
    char *out = arena_alloc(a, 3 * strlen(url) + 1), *p = out;
    for (; out && *url; url++)
        if (strchr(" \"<>\\{}", *url)) {
            *p = '%';
            hex_encode(url, 1, p + 1);
            p += 3;
        } else {
            *p++ = *url;
        }
    if (out)
        *p = '\0';
    return out;
}

/* "County Lines/2026.zip" → "county-lines-2026-zip", at most SOURCE_ID_MAX characters. */
static void slug_of(const char *key, char out[SOURCE_ID_MAX + 1])
{
    size_t n = 0;
    for (; *key && n < SOURCE_ID_MAX; key++) {
        int c = tolower((unsigned char)*key);
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        if (plain)
            out[n++] = (char)c;
        else if (n > 0 && out[n - 1] != '-')
            out[n++] = '-';
    }
    while (n > 0 && out[n - 1] == '-')
        n--;
    out[n] = '\0';
}

static enum rc is_free(struct ledger *l, struct arena *a, const char *id, bool *ret,
                       struct err *err)
{
    struct source other;
    enum rc rc = source_by_id(l, a, id, &other, err);
    *ret = rc == RC_NOT_FOUND;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* A part that tells the ids of two keys apart. A digest of the key would let anybody try names, so
 * where keys are withheld it is random. */
static void make_tag(const struct source *parent, const char *key, char out[TAG_MAX])
{
    struct sha256 sha;
    if (parent->level == LEVEL_PUBLIC)
        digest_sha256(key, strlen(key), &sha);
    else
        rand_bytes(sha.b, sizeof sha.b);
    hex_encode(sha.b, TAG_MAX / 2, out);
}

/* The parent's id and what may be told of the key; cut and tagged where that is too long,
 * or taken. */
static enum rc choose_id(struct ledger *l, struct arena *a, const struct source *parent,
                         const char *slug, const char *key, const char **ret, struct err *err)
{
    char tag[TAG_MAX];
    bool good = false;
    char *whole = arena_printf(a, "%s%s%s", parent->id, *slug ? "-" : "", slug), *id = whole;
    if (id && *slug && strlen(id) <= SOURCE_ID_MAX)
        TRY(is_free(l, a, id, &good, err));
    for (int tries = 0; id && !good && tries < ID_TRIES_MAX; tries++) {
        make_tag(parent, key, tag);
        id = arena_printf(a, "%.*s-%s", SOURCE_ID_MAX - TAG_MAX, whole, tag);
        if (id)
            TRY(is_free(l, a, id, &good, err));
    }
    if (!id)
        return err_set(err, RC_NOMEM, "", "no memory for the id of a child");
    if (!good)
        return err_set(err, RC_INVALID, "id", "no id is free for %s",
                       parent->level == LEVEL_PUBLIC ? key : "a child");
    *ret = id;
    return RC_OK;
}

/* An entry that cannot be a source (an address with credentials, or none of ours) does not keep the
 * others from being sources; that it was left out is on record. */
static enum rc leave_out(struct follow *f, const struct err *why, struct err *err)
{
    char body[128];
    int n = snprintf(body, sizeof body, "{\"field\":\"%.40s\"}", why->field);
    return replay_append(f->l, f->at, "entry.refused", f->parent->no, f->cand->event_id,
                         (struct str){body, (size_t)n}, err);
}

static enum rc add_child(struct follow *f, const struct listing_entry *e, const char *url,
                         struct source *ret, struct err *err)
{
    struct own own = {.url = url, .entry = e->key, .level = f->parent->level};
    char slug[SOURCE_ID_MAX + 1];
    slug_of(f->parent->level == LEVEL_PUBLIC ? e->key : "", slug);
    TRY(choose_id(f->l, &f->a, f->parent, slug, e->key, &own.id, err));
    TRY(derive(&f->a, f->parent, &own, ret, err));
    TRY(source_add(f->l, ret, f->at, err));
    return project_source(f->l, f->inst, ret, f->at, err);
}

/* Stored in place of what it was, and shown so. */
static enum rc replace(struct ledger *l, const struct instance *inst, const struct source *was,
                       struct source *s, int64_t at, struct err *err)
{
    s->no = was->no;
    s->created_at = was->created_at;
    s->retired_at = was->retired_at;
    s->unlisted_at = was->unlisted_at;
    s->updated_at = at;
    TRY(source_put(l, s, at, err));
    return project_all_of_source(l, inst, s, at, err);
}

static enum rc move_child(struct follow *f, const struct source *child, const char *url,
                          struct err *err)
{
    struct source moved;
    struct own own = {.id = child->id, .url = url, .entry = child->entry, .level = child->level};
    if (strcmp(child->url, url) == 0)
        return RC_OK;
    TRY(derive(&f->a, f->parent, &own, &moved, err));
    return replace(f->l, f->inst, child, &moved, f->at, err);
}

/* What tells this version of an entry: the strongest thing that its listing says. */
static void hint_of(const struct listing_entry *e, char out[HINT_MAX])
{
    if (e->sha256)
        snprintf(out, HINT_MAX, "sha256:%s", e->sha256);
    else if (e->version || e->etag)
        snprintf(out, HINT_MAX, "%s", e->version ? e->version : e->etag);
    else
        snprintf(out, HINT_MAX, "%lld bytes, %s", (long long)e->size,
                 e->last_modified ? e->last_modified : "no date");
}

static enum rc announce(struct follow *f, const struct source *child, enum outcome o,
                        const char *hint, struct err *err)
{
    char event[48];
    const struct news n = {.src_no = child->no,
                           .level = child->level,
                           .detector = f->cand->detector,
                           .outcome = o,
                           .hint = hint,
                           .detected_at = f->cand->detected_at,
                           .unexpected = f->cand->unexpected && o != OUTCOME_new};
    return enqueue(f->l, &n, f->at, event, err);
}

static enum rc follow_removed(struct follow *f, const char *key, struct err *err)
{
    struct source child;
    enum rc rc = source_child(f->l, &f->a, f->parent->no, key, &child, err);
    if (rc != RC_OK || child.retired_at >= 0)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    TRY(check_forget(f->l, child.no, -1, err)); /* its return is news */
    TRY(source_set_listed(f->l, &child, false, f->at, err));
    return announce(f, &child, OUTCOME_gone, HINT_DELETED, err);
}

static enum rc find_or_add(struct follow *f, const struct listing_entry *e, struct source *ret,
                           struct err *err)
{
    char *url = encoded(&f->a, e->url);
    if (!url)
        return err_set(err, RC_NOMEM, "", "no memory for an address");
    enum rc rc = source_child(f->l, &f->a, f->parent->no, e->key, ret, err);
    if (rc == RC_NOT_FOUND)
        return add_child(f, e, url, ret, err);
    TRY(rc);
    if (source_is_unlisted(ret))
        TRY(source_set_listed(f->l, ret, true, f->at, err));
    return ret->retired_at >= 0 ? RC_OK : move_child(f, ret, url, err);
}

static enum rc follow_one(void *ctx, enum listing_change c, const struct listing_entry *old,
                          const struct listing_entry *now, struct err *err)
{
    struct follow *f = ctx;
    struct source child;
    char hint[HINT_MAX];
    arena_reset(&f->a);
    if (c == LISTING_REMOVED)
        return follow_removed(f, old->key, err);
    enum rc rc = find_or_add(f, now, &child, err);
    if (rc == RC_INVALID) {
        const struct err why = *err;
        return leave_out(f, &why, err);
    }
    TRY(rc);
    if (child.retired_at >= 0)
        return RC_OK;
    hint_of(now, hint);
    return announce(f, &child, c == LISTING_ADDED ? OUTCOME_new : OUTCOME_changed, hint, err);
}

enum rc children_follow(struct ledger *l, const struct instance *inst, const struct source *parent,
                        const struct candidate *cand, struct entries *old, struct entries *now,
                        int64_t at, struct err *err)
{
    struct entry_counts ignored;
    struct follow f = {.l = l, .inst = inst, .parent = parent, .cand = cand, .at = at};
    arena_init(&f.a, SOURCE_CHANGE_MEMORY_MAX);
    enum rc rc = entries_diff(old, now, follow_one, &f, &ignored, err);
    arena_release(&f.a);
    return rc;
}

/* ---- vintages -------------------------------------------------------------------------------- */

static enum rc see_year(void *ctx, const struct source *s, struct err *err)
{
    int64_t year;
    (void)err;
    if (str_to_i64(str_of(s->entry), &year) == RC_OK && year > *(int64_t *)ctx)
        *(int64_t *)ctx = year;
    return RC_OK;
}

enum rc children_missing(struct ledger *l, const struct source *parent, int year, int *ret_from,
                         struct err *err)
{
    int64_t newest = 0;
    TRY(source_each_child(l, parent->no, see_year, &newest, err));
    if (newest && year - newest > CHILDREN_VINTAGES_MAX)
        return err_set(err, RC_INVALID, "", "too many vintages are missing");
    *ret_from = newest ? (int)newest + 1 : year;
    return RC_OK;
}

/* A vintage that somebody declared by hand, under the id it would have and with its address, stays
 * what it is. Another source of that id is no vintage: this one gets an id beside it. */
static enum rc open_one(struct ledger *l, struct arena *a, const struct instance *inst,
                        const struct source *parent, int year, int64_t at, struct err *err)
{
    struct source s;
    char text[16];
    snprintf(text, sizeof text, "%d", year);
    const char *id = arena_printf(a, "%s-%s", parent->id, text);
    const char *url = fill_year(a, parent->url, text);
    if (!id || !url)
        return err_set(err, RC_NOMEM, "", "no memory for a vintage");
    enum rc rc = source_by_id(l, a, id, &s, err);
    if (rc == RC_OK && strcmp(s.url, url) == 0)
        return RC_OK;
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    TRY(choose_id(l, a, parent, text, text, &id, err));
    const struct own own = {id, url, text, parent->level, true};
    TRY(derive(a, parent, &own, &s, err));
    TRY(source_add(l, &s, at, err));
    return project_source(l, inst, &s, at, err);
}

enum rc children_open(struct ledger *l, const struct instance *inst, const struct source *parent,
                      int from, int year, int64_t at, struct err *err)
{
    struct arena a;
    enum rc rc = RC_OK;
    arena_init(&a, SOURCE_CHANGE_MEMORY_MAX);
    for (; rc == RC_OK && from <= year; from++) {
        if (!calendar_has_vintage(parent, from))
            continue;
        arena_reset(&a);
        rc = open_one(l, &a, inst, parent, from, at, err);
    }
    arena_release(&a);
    return rc;
}

/* ---- the parent's declaration ---------------------------------------------------------------- */

struct family {
    struct ledger *l;
    const struct instance *inst;
    const struct source *parent;
    enum level before;
    int64_t at;
};

/* There is one: ctx is the field that may not change. */
static enum rc refuse(void *ctx, const struct source *child, struct err *err)
{
    (void)child;
    return err_set(err, RC_INVALID, ctx,
                   "cannot become this, as it has sources under it: retire it and add another");
}

enum rc children_allow(struct ledger *l, struct arena *a, const struct source *before,
                       const struct source *s, struct err *err)
{
    struct source parent;
    char url[] = "url", detector[] = "detector";
    if (source_is_template(before) != source_is_template(s))
        TRY(source_each_child(l, before->no, refuse, url, err));
    if (source_is_listing(before) != source_is_listing(s))
        TRY(source_each_child(l, before->no, refuse, detector, err));
    if (!before->parent_no)
        return RC_OK;
    TRY(source_by_no(l, a, before->parent_no, &parent, err));
    if (s->level < parent.level)
        return err_set(err, RC_INVALID, "sensitivity",
                       "must not be below its parent's level: %s has %s", parent.id,
                       level_name(parent.level));
    return RC_OK;
}

/* A child that had its parent's level goes with it, also down; another one only up. */
static enum level level_of(const struct family *f, const struct source *child)
{
    enum level parent = f->parent->level;
    return child->level == f->before || child->level < parent ? parent : child->level;
}

static enum rc set_child(struct family *f, struct arena *a, const struct source *child,
                         struct err *err)
{
    struct source s;
    struct own own = {.id = child->id,
                      .url = child->url,
                      .entry = child->entry,
                      .level = level_of(f, child),
                      .vintage = source_is_template(f->parent)};
    if (own.vintage)
        own.url = fill_year(a, f->parent->url, child->entry);
    if (!own.url)
        return err_set(err, RC_NOMEM, "", "no memory for a child");
    TRY(derive(a, f->parent, &own, &s, err));
    if (str_eq(s.spec, child->spec))
        return RC_OK;
    TRY(replace(f->l, f->inst, child, &s, f->at, err));
    return children_set(f->l, f->inst, &s, child->level, f->at, err);
}

static enum rc set_each(void *ctx, const struct source *child, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    arena_init(&a, SOURCE_CHANGE_MEMORY_MAX);
    return set_child(ctx, &a, child, err);
}

enum rc children_set(struct ledger *l, const struct instance *inst, const struct source *parent,
                     enum level before, int64_t at, struct err *err)
{
    struct family f = {l, inst, parent, before, at};
    return source_each_child(l, parent->no, set_each, &f, err);
}

static enum rc retire_each(void *ctx, const struct source *child, struct err *err)
{
    const struct family *f = ctx;
    struct source s = *child;
    if (child->retired_at >= 0)
        return RC_OK;
    TRY(source_retire(f->l, s.no, f->at, err));
    s.retired_at = f->at;
    TRY(project_source(f->l, f->inst, &s, f->at, err));
    return children_retire(f->l, f->inst, s.no, f->at, err);
}

enum rc children_retire(struct ledger *l, const struct instance *inst, int64_t parent_no,
                        int64_t at, struct err *err)
{
    struct family f = {.l = l, .inst = inst, .at = at};
    return source_each_child(l, parent_no, retire_each, &f, err);
}
