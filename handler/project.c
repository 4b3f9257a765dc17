/* project: the public description of a source and its freshness facts, made from the enduring rows
 * and redacted by the table of redact.def.
 *
 * Invariants
 *   1. (I8) Whatever goes to publish_* went through redact or redact_time/redact_shows.
 *   2. A sovereign source has no public row at all, of any kind. */
#include "handler/project.h"

#include "core/clock.h"
#include "handler/redact.h"
#include "handler/stac.h"
#include "handler/uri.h"
#include "ledger/trigger.h"

#define PROJECT_MEMORY_MAX (128u << 20) /* one source, or the documents of one change */

/* What everybody is told, as no rule vouches for the content. */
static const char qa_note[] = "Automatic checks of size, type, structure and digest; "
                              "they do not vouch for the content.";

/* All that is known of a source, before redaction. */
struct picture {
    const struct source *s;
    struct check_state state;
    struct head head;
    struct public_facts facts;
    int64_t freshness_days;
    char identity[SHA256_HEX];
    const char *parent; /* id of the source that names this one; NULL: none, or withheld */
};

/* A parent may be stricter than its child; one that nobody may know of is not named. */
static enum rc look_up(struct ledger *l, struct arena *a, const struct source *s, const char **ret,
                       struct err *err)
{
    struct source parent;
    if (!s->parent_no || redact_action(REDACT_SOURCE, s->level, "parent") != REDACT_KEEP)
        return RC_OK;
    TRY(source_by_no(l, a, s->parent_no, &parent, err));
    *ret = parent.level == LEVEL_SOVEREIGN ? NULL : parent.id;
    return RC_OK;
}

static int64_t freshness_days(const struct instance *inst, const struct source *s)
{
    return s->freshness_days >= 0 ? s->freshness_days : inst->conf.freshness_days;
}

static enum rc look(struct ledger *l, struct arena *a, const struct instance *inst,
                    const struct source *s, enum publish_how how, struct picture *p,
                    struct err *err)
{
    *p = (struct picture){.s = s, .facts.qa_status = ""};
    if (how == PUBLISH_ADDED) {
        check_state_fresh(s, &p->state);
    } else {
        TRY(check_state_get(l, s->no, &p->state, err));
        TRY(head_get(l, a, s->no, &p->head, err));
        TRY(publish_facts(l, a, s->no, &p->facts, err));
    }
    TRY(look_up(l, a, s, &p->parent, err));
    p->freshness_days = freshness_days(inst, s);
    sha256_hex(&p->head.sha, p->identity);
    return RC_OK;
}

/* ---- the description ------------------------------------------------------------------------- */

/* Canonical, as the stored spec has them: a declaration just read may have another order. */
static enum rc add_triggers(yyjson_mut_doc *d, yyjson_mut_val *o, const struct source *s,
                            struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    buf_init(&text, JSON_MAX);
    if (s->declared_triggers)
        TRY(json_canon(&text, s->declared_triggers, err));
    json_add_raw(d, o, "triggers", s->declared_triggers ? buf_view(&text) : STR("[]"));
    return RC_OK;
}

static void add_identity(yyjson_mut_doc *d, yyjson_mut_val *o, const struct picture *p)
{
    if (p->head.version == 0) {
        yyjson_mut_obj_add_null(d, o, "object_identity");
        return;
    }
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(d, o, "object_identity");
    json_add_str(d, v, "sha256", p->identity);
    yyjson_mut_obj_add_int(d, v, "version", p->head.version - p->head.deleted);
}

static void add_links(yyjson_mut_doc *d, yyjson_mut_val *o, const struct picture *p)
{
    const struct {
        const char *rel, *path, *id;
    } links[] = {
        {"self", "/sources/", p->s->id},
        {"freshness", "/freshness/", p->s->id},
        {"changes", "/changes?source=", p->s->id},
        {"up", "/sources/", p->parent},
    };
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, o, "links");
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        if (!links[i].id)
            continue;
        yyjson_mut_val *l = yyjson_mut_arr_add_obj(d, list);
        json_add_str(d, l, "rel", links[i].rel);
        yyjson_mut_obj_add_val(d, l, "href",
                               json_fmt(d, JSON_BASE "%s%s", links[i].path, links[i].id));
        json_add_str(d, l, "type", "application/json");
    }
}

static void add_declared(yyjson_mut_doc *d, yyjson_mut_val *o, const struct source *s)
{
    json_add_str(d, o, "id", s->id);
    json_add_str(d, o, "title", s->title);
    json_add_str(d, o, "collection", s->collection);
    json_add_str(d, o, "detector", s->detector);
    json_add_str(d, o, "boundary_type", *s->boundary_type ? s->boundary_type : NULL);
    json_add_str(d, o, "license", *s->license ? s->license : NULL);
    json_add_str(d, o, "sensitivity", level_name(s->level));
    json_add_str(d, o, "media_type", *s->media_type ? s->media_type : NULL);
}

static enum rc describe(struct arena *a, const struct picture *p, struct str *ret, struct err *err)
{
    const struct source *s = p->s;
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    char *url = uri_shown(a, s->url);
    if (!url)
        return err_set(err, RC_NOMEM, "", "no memory to describe a source");
    yyjson_mut_doc_set_root(d, o);
    add_declared(d, o, s);
    json_add_str(d, o, "url", url);
    TRY(add_triggers(d, o, s, err));
    yyjson_mut_obj_add_int(d, o, "freshness_days", p->freshness_days);
    yyjson_mut_obj_add_bool(d, o, "retired", s->retired_at >= 0);
    json_add_time(d, o, "updated_at", p->head.version ? p->head.promoted_at : -1);
    json_add_time(d, o, "removed_at", p->head.deleted ? p->head.promoted_at : -1);
    add_identity(d, o, p);
    json_add_str(d, o, "parent", p->parent);
    yyjson_mut_obj_add_arr(d, o, "redacted");
    add_links(d, o, p);
    yyjson_val *whole = json_fixed(a, d);
    if (!whole)
        return err_set(err, RC_NOMEM, "", "no memory to describe a source");
    return redact_value(a, REDACT_SOURCE, s->level, s->grid_deg, whole, ret, err);
}

/* ---- freshness facts ------------------------------------------------------------------------- */

/* A text of the freshness row, where the level shows it. */
static const char *shown(const struct source *s, const char *field, const char *text)
{
    return redact_shows(s->level, field) && text && *text ? text : NULL;
}

static int64_t shown_number(const struct source *s, const char *field, int64_t n)
{
    return redact_shows(s->level, field) ? n : 0;
}

static enum rc fill_row(struct arena *a, const struct picture *p, struct public_source *row,
                        struct err *err)
{
    const struct source *s = p->s;
    bool has_head = p->head.version > 0, removed = p->head.deleted;
    const char *window, *delta = has_head ? arena_printf(a, "dlt_%s", p->head.run_id) : NULL;
    if (has_head && !delta)
        return err_set(err, RC_NOMEM, "", "no memory to describe a source");
    TRY(trigger_words(a, s, &window, err));
    *row = (struct public_source){
        .src_no = s->no,
        .source_id = s->id,
        .title = s->title,
        .collection = s->collection,
        .level = level_name(s->level),
        .held = shown_number(s, "held", p->facts.held) != 0,
        .retired = s->retired_at >= 0,
        .freshness_days = shown_number(s, "freshness_days", p->freshness_days),
        .updated_at = redact_time(s->level, "updated_at", has_head ? p->head.promoted_at : -1),
        .removed_at = redact_time(s->level, "removed_at", removed ? p->head.promoted_at : -1),
        .shows_checks = redact_shows(s->level, "checked_at"),
        .checked_at = redact_time(s->level, "checked_at", p->state.checked_at),
        .reached_at = redact_time(s->level, "reached_at", p->state.reached_at),
        .verified_at = redact_time(s->level, "verified_at", p->state.verified_at),
        .failures = shown_number(s, "failures", p->state.failures),
        .next_check_at = redact_time(s->level, "next_check_at", p->state.next_check_at),
        .last_outcome = shown(s, "last_outcome", p->state.last_outcome),
        .window = shown(s, "window", window),
        .run_id = shown(s, "run_id", has_head ? p->head.run_id : NULL),
        .identity = shown(s, "identity", has_head ? p->identity : NULL),
        .delta_id = shown(s, "delta_id", delta),
        .qa_status = shown(s, "qa_status", p->facts.qa_status),
        .qa_note = shown(s, "qa_note", has_head ? qa_note : NULL)};
    return RC_OK;
}

/* When the description last moved, as far as the enduring rows can tell. */
static int64_t last_moved(const struct picture *p)
{
    const struct source *s = p->s;
    int64_t at = s->retired_at > s->updated_at ? s->retired_at : s->updated_at;
    return p->head.version && p->head.promoted_at > at ? p->head.promoted_at : at;
}

static enum rc project(struct ledger *l, struct arena *a, const struct instance *inst,
                       const struct source *s, struct str doc, enum publish_how how, int64_t now,
                       struct err *err)
{
    struct picture p;
    struct public_source row;
    struct str collection;
    /* Not even the generation of the public tables moves: ETags would tell. */
    if (s->level == LEVEL_SOVEREIGN)
        return RC_OK;
    TRY(look(l, a, inst, s, how, &p, err));
    now = how == PUBLISH_MEND ? last_moved(&p) : now;
    if (doc.n == 0)
        TRY(describe(a, &p, &doc, err));
    TRY(fill_row(a, &p, &row, err));
    row.doc = doc;
    row.how = how;
    now = redact_time(s->level, "updated_at", now); /* Last-Modified of lists tells it */
    TRY(publish_source(l, &row, now, err));
    bool described; /* its document is made of its name alone */
    TRY(publish_has_collection(l, s->collection, &described, err));
    if (described && how != PUBLISH_MEND)
        return RC_OK;
    TRY(stac_collection(a, s->collection, &collection, err));
    return publish_collection(l, s->collection, collection, (struct str){0}, now, err);
}

enum rc project_source(struct ledger *l, const struct instance *inst, const struct source *s,
                       int64_t now, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    arena_init(&a, PROJECT_MEMORY_MAX);
    return project(l, &a, inst, s, (struct str){0}, PUBLISH_OVER, now, err);
}

enum rc project_added(struct ledger *l, struct arena *a, const struct instance *inst,
                      const struct source *s, struct str doc, int64_t now, struct err *err)
{
    return project(l, a, inst, s, doc, PUBLISH_ADDED, now, err);
}

enum rc project_describe(struct arena *a, const struct instance *inst, const struct source *s,
                         struct str *ret, struct err *err)
{
    struct picture p = {.s = s, .freshness_days = freshness_days(inst, s)};
    return describe(a, &p, ret, err);
}

enum rc project_mend_source(struct ledger *l, const struct instance *inst, const struct source *s,
                            struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    arena_init(&a, PROJECT_MEMORY_MAX);
    return project(l, &a, inst, s, (struct str){0}, PUBLISH_MEND, 0, err);
}

/* ---- changes anew ---------------------------------------------------------------------------- */

struct again {
    struct ledger *l;
    const struct source *s;
    int64_t now;
    struct arena *a;
    bool mend;
};

/* Bytes and detector of a change are in its whole documents. */
static enum rc read_publication(struct again *g, const struct change *c, struct publication *p,
                                struct sha256 *sha, struct err *err)
{
    yyjson_val *entry, *delta;
    const char *hex = "", *media_type = "", *detector = "";
    if (c->entry.n == 0 || c->delta.n == 0 || c->prov.n == 0)
        return err_set(
            err, RC_CORRUPT, "",
            "run %s has lost its delta, its provenance or its entry: bring them back from a "
            "backup",
            c->run_id);
    TRY(json_parse(g->a, c->entry, 0, "a stored entry", &entry, err));
    TRY(json_parse(g->a, c->delta, 0, "a stored delta", &delta, err));
    TRY(json_get_str(entry, "detector", &detector, err));
    p->detector = detector;
    yyjson_val *to = yyjson_obj_get(delta, "to");
    if (yyjson_is_null(to)) /* a deletion: no bytes, no item */
        return RC_OK;
    TRY(json_get_str(to, "sha256", &hex, err));
    TRY(json_get_str(to, "media_type", &media_type, err));
    TRY(json_get_i64(to, "size", 0, INT64_MAX, &p->size, err));
    if (hex_decode(str_of(hex), sha->b, sizeof sha->b) != RC_OK)
        return err_set(err, RC_CORRUPT, "", "a stored delta has no digest");
    p->sha = sha;
    p->media_type = media_type;
    p->item_id = arena_printf(g->a, "%s-v%lld", g->s->id, (long long)c->version);
    return p->item_id ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for an item's id");
}

static enum rc publish_again(void *ctx, const struct change *c, struct err *err)
{
    struct again *g = ctx;
    struct sha256 sha;
    struct public_rows rows;
    const struct redact_change whole = {c->entry, c->prov,         c->delta,
                                        c->item,  c->finalized_at, {{0}}};
    struct publication p = {.seq = c->public_seq,
                            .run_id = c->run_id,
                            .event_id = c->event_id,
                            .delta_id = c->delta_id,
                            .change_type = c->change_type,
                            .change_class = c->change_class,
                            .source = g->s,
                            .rows = &rows};
    /* What was never given a place in the feed gets none now: places are given at promotion. */
    if (c->public_seq == 0)
        return RC_OK;
    arena_reset(g->a);
    TRY(read_publication(g, c, &p, &sha, err));
    TRY(redact_rows(g->a, g->s, &whole, &rows, err));
    if (g->mend)
        TRY(publish_withheld(g->l, &p, err));
    return publish_rows(g->l, &p, err);
}

enum rc project_mend_change(struct ledger *l, struct arena *a, const struct source *s,
                            const struct change *c, int64_t now, struct err *err)
{
    struct again g = {.l = l, .s = s, .now = now, .a = a, .mend = true};
    return publish_again(&g, c, err);
}

enum rc project_all_of_source(struct ledger *l, const struct instance *inst, const struct source *s,
                              int64_t now, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct again g = {.l = l, .s = s, .now = now, .a = &a};
    arena_init(&a, PROJECT_MEMORY_MAX);
    TRY(publish_nothing(l, s->no, now, err));
    if (s->level == LEVEL_SOVEREIGN)
        return RC_OK;
    TRY(project_source(l, inst, s, now, err));
    return change_each_of(l, s->no, publish_again, &g, err);
}
