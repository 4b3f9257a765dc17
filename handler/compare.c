/* compare: pairs of features, kept while the files pass by, measured and told. */
#include "handler/compare.h"

#include <math.h>
#include <stdlib.h>
#include "core/clock.h"
#include "handler/compare_attributes.h"
#include "handler/compare_geom.h"
#include "handler/diff.h"

#define MEMORY_MAX ((size_t)4 << 30) /* the sandbox allows less */
#define OUTLINE_STEPS 300.0          /* a picture of a shape needs no more */
#define LEGAL_MAX 40
/* Features without a key that are kept to find out whether they moved at all. */
#define LOOSE_MAX 10000

/* A feature that a row of the diff is about. */
struct kept {
    char digest[SHA256_HEX];
    bool seen, has_shape;
    bool paired; /* with one of the other side that says the same */
    struct geom shape;
    struct str attributes;
};
struct side {
    struct arena *arena;
    struct kept *all; /* sorted by digest, each once */
    size_t n, vertices;
};
struct totals {
    int64_t gained, lost, slivers, unmeasured, measured, polygons, same;
    double gained_km2, lost_km2, slivers_km2, moved_m;
    char first[16], last[16]; /* legal dates, ISO; "" for none */
};
struct compare {
    struct arena arena, scratch; /* scratch: of one pair */
    const struct inspect_options *options;
    struct diff diff;
    struct side old, now;
    struct valid *valid;
    struct totals totals;
    yyjson_mut_doc *doc;
    size_t shapes_left;          /* vertices */
    size_t layers;               /* of the side that has more */
    enum inspect_problem unread; /* why one of both could not be read; PROBLEM_COUNT: both were */
};

static const char *digest_of(yyjson_val *feature)
{
    const char *s = json_member_text(feature, "digest");
    return strlen(s) == SHA256_HEX - 1 ? s : "";
}

/* ---- keeping --------------------------------------------------------------------------------- */

static int by_digest(const void *x, const void *y)
{
    return strcmp(((const struct kept *)x)->digest, ((const struct kept *)y)->digest);
}

static struct kept *find(const struct side *s, const char *digest)
{
    struct kept key;
    snprintf(key.digest, sizeof key.digest, "%s", digest);
    return s->n > 0 ? bsearch(&key, s->all, s->n, sizeof key, by_digest) : NULL;
}

static void want(struct side *s, yyjson_val *feature)
{
    if (feature)
        snprintf(s->all[s->n++].digest, SHA256_HEX, "%s", digest_of(feature));
}

/* Sorted, each once. */
static void settle(struct side *s)
{
    size_t n = 0;
    if (s->n > 0)
        qsort(s->all, s->n, sizeof *s->all, by_digest);
    for (size_t i = 0; i < s->n; i++)
        if (n == 0 || by_digest(&s->all[n - 1], &s->all[i]) != 0)
            s->all[n++] = s->all[i];
    s->n = n;
}

/* What has no key, and moved ever so little, is a feature removed and another added. */
static bool may_be_same(const struct diff *d)
{
    return d->modified.total == 0 && d->added.total == d->removed.total &&
           d->added.total <= LOOSE_MAX;
}

/* All pairs, since totals are exact; of the others those that are listed, or may be the same. */
static bool want_all(struct compare *c)
{
    const struct diff *d = &c->diff;
    size_t most = may_be_same(d) ? LOOSE_MAX : DIFF_LISTED_MAX, room = d->modified.n + 2 * most;
    c->old = (struct side){.arena = &c->arena,
                           .all = arena_zalloc(&c->arena, room * sizeof *c->old.all)};
    c->now = (struct side){.arena = &c->arena,
                           .all = arena_zalloc(&c->arena, room * sizeof *c->now.all)};
    if (!c->old.all || !c->now.all)
        return false;
    for (size_t i = 0; i < d->modified.n; i++) {
        want(&c->old, d->modified.rows[i].old);
        want(&c->now, d->modified.rows[i].now);
    }
    for (size_t i = 0; i < d->removed.n && i < most; i++)
        want(&c->old, d->removed.rows[i].old);
    for (size_t i = 0; i < d->added.n && i < most; i++)
        want(&c->now, d->added.rows[i].now);
    settle(&c->old);
    settle(&c->now);
    return true;
}

static enum rc keep(void *ctx, const struct feature_record *r, const struct geom *g,
                    struct str attributes)
{
    struct side *s = ctx;
    char hex[SHA256_HEX];
    sha256_hex(&r->digest, hex);
    struct kept *k = find(s, hex);
    if (!k || k->seen)
        return RC_OK;
    const char *text = arena_str(s->arena, attributes);
    if (!text)
        return RC_NOMEM;
    k->seen = true;
    k->attributes = (struct str){text, attributes.n};
    if (!g || !r->has_bbox || g->n > COMPARE_KEPT_MAX - s->vertices)
        return RC_OK;
    s->vertices += g->n;
    k->has_shape = true;
    return compare_copy(s->arena, g, &k->shape) ? RC_OK : RC_NOMEM;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static double rounded(double v, double steps)
{
    return rint(v * steps) / steps;
}

static yyjson_mut_val *position(yyjson_mut_doc *d, const struct geom *g, size_t i)
{
    yyjson_mut_val *at = yyjson_mut_arr(d);
    yyjson_mut_arr_add_real(d, at, rounded(g->x[i], 1e7));
    yyjson_mut_arr_add_real(d, at, rounded(g->y[i], 1e7));
    return at;
}

static yyjson_mut_val *ring_json(yyjson_mut_doc *d, const struct geom *g, struct geom_ring r)
{
    yyjson_mut_val *list = yyjson_mut_arr(d);
    for (size_t i = r.at; i < r.at + r.n; i++)
        yyjson_mut_arr_append(list, position(d, g, i));
    return list;
}

static yyjson_mut_val *part_json(yyjson_mut_doc *d, const struct geom *g, const struct geom_part *p)
{
    if (p->kind == GEOM_POINT)
        return position(d, g, g->rings[p->at].at);
    if (p->kind == GEOM_LINE)
        return ring_json(d, g, g->rings[p->at]);
    yyjson_mut_val *list = yyjson_mut_arr(d);
    for (size_t i = p->at; i < p->at + p->n; i++)
        yyjson_mut_arr_append(list, ring_json(d, g, g->rings[i]));
    return list;
}

/* A GeoJSON geometry; null when it is mixed, empty, or there is no room for it. */
static yyjson_mut_val *shape_json(struct compare *c, const struct geom *g)
{
    static const char *const types[] = {"MultiPoint", "MultiLineString", "MultiPolygon"};
    yyjson_mut_doc *d = c->doc;
    bool mixed = g->n_parts == 0;
    for (size_t i = 0; i < g->n_parts; i++)
        mixed = mixed || g->parts[i].kind != g->parts[0].kind || g->parts[i].n == 0 ||
                g->rings[g->parts[i].at].n == 0;
    if (mixed || g->n > c->shapes_left)
        return yyjson_mut_null(d);
    c->shapes_left -= g->n;
    yyjson_mut_val *o = yyjson_mut_obj(d);
    json_add_str(d, o, "type", types[g->parts[0].kind]);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, o, "coordinates");
    for (size_t i = 0; i < g->n_parts; i++)
        yyjson_mut_arr_append(list, part_json(d, g, &g->parts[i]));
    return o;
}

static void add_outline(struct compare *c, yyjson_mut_val *o, const char *key, const struct kept *k)
{
    if (!k || !k->has_shape) {
        yyjson_mut_obj_add_null(c->doc, o, key);
        return;
    }
    struct geom simple = compare_simpler(c->valid, &c->scratch, &k->shape, OUTLINE_STEPS);
    yyjson_mut_obj_add_val(c->doc, o, key, shape_json(c, &simple));
}

static void add_patches(struct compare *c, yyjson_mut_val *o, const char *key,
                        const struct patches *p)
{
    yyjson_mut_doc *d = c->doc;
    yyjson_mut_val *x = yyjson_mut_obj_add_obj(d, o, key);
    yyjson_mut_obj_add_real(d, x, "area_km2", rounded(p->area_km2, 1e6));
    yyjson_mut_obj_add_int(d, x, "patches", p->total);
    yyjson_mut_obj_add_int(d, x, "slivers", p->slivers);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, x, "listed");
    for (size_t i = 0; i < p->n; i++) {
        yyjson_mut_val *one = yyjson_mut_arr_add_obj(d, list), *box;
        yyjson_mut_obj_add_real(d, one, "area_km2", rounded(p->list[i].area_km2, 1e6));
        yyjson_mut_obj_add_real(d, one, "width_m", rounded(p->list[i].width_m, 10));
        box = yyjson_mut_obj_add_arr(d, one, "bbox");
        for (int k = 0; k < 4; k++)
            yyjson_mut_arr_add_real(d, box, rounded(p->list[i].bbox[k], 1e9));
        struct geom simple =
            compare_simpler(c->valid, &c->scratch, &p->list[i].shape, OUTLINE_STEPS);
        yyjson_mut_obj_add_val(d, one, "shape", shape_json(c, &simple));
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

static yyjson_val *parse_attributes(struct compare *c, const struct kept *k)
{
    struct err why;
    yyjson_val *v = NULL;
    if (!k || !k->seen ||
        json_parse(&c->scratch, k->attributes, 0, "attributes", &v, &why) != RC_OK)
        return NULL;
    return v;
}

/* "2026-07-01", of 2026-07-01, 2026-07-01T…, 2026/07/01, 20260701; "" when it is no such date. */
static void iso_date(const char *text, char out[16])
{
    char s[16] = "";
    int64_t at;
    size_t n = strspn(text, "0123456789/-");
    if (n == 8 && strspn(text, "0123456789") == 8)
        snprintf(s, sizeof s, "%.4s-%.2s-%.2s", text, text + 4, text + 6);
    else if (n == 10)
        snprintf(s, sizeof s, "%.4s-%.2s-%.2s", text, text + 5, text + 8);
    bool ends = text[n] == '\0' || text[n] == 'T' || text[n] == ' ';
    bool as_written =
        n == 8 || (n == 10 && text[4] == text[7] && (text[4] == '-' || text[4] == '/'));
    char whole[32];
    snprintf(whole, sizeof whole, "%sT00:00:00Z", s);
    if (!ends || !as_written || time_parse(str_of(whole), &at) != RC_OK)
        *s = '\0';
    memcpy(out, s, sizeof s);
}

static void note_date(struct totals *t, const char *text)
{
    char iso[16];
    iso_date(text, iso);
    if (!*iso)
        return;
    if (!*t->first || strcmp(iso, t->first) < 0)
        memcpy(t->first, iso, sizeof iso);
    if (strcmp(iso, t->last) > 0)
        memcpy(t->last, iso, sizeof iso);
}

/* What the publisher says since when it is so; beside the day on which we saw it. */
static void add_legal_date(struct compare *c, yyjson_mut_val *o, yyjson_val *attributes)
{
    const char *field = c->options->legal_date_field;
    char text[LEGAL_MAX] = "";
    if (!field || !*field)
        return;
    yyjson_val *v = yyjson_obj_get(attributes, field);
    if (yyjson_is_str(v))
        snprintf(text, sizeof text, "%.20s", yyjson_get_str(v));
    else if (yyjson_is_int(v))
        snprintf(text, sizeof text, "%lld", (long long)yyjson_get_sint(v));
    note_date(&c->totals, text);
    iso_date(text, text);
    if (o)
        json_add_str(c->doc, o, "legal_date", *text ? text : NULL);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void count(struct totals *t, const struct movement *m)
{
    t->measured++;
    t->polygons += m->has_area;
    t->moved_m = fmax(t->moved_m, m->moved_m);
    t->gained += m->gained.total;
    t->lost += m->lost.total;
    t->gained_km2 += m->gained.area_km2;
    t->lost_km2 += m->lost.area_km2;
    t->slivers += m->gained.slivers + m->lost.slivers;
    t->slivers_km2 += m->gained.slivers_km2 + m->lost.slivers_km2;
}

static void add_movement(struct compare *c, yyjson_mut_val *o, const struct movement *m)
{
    if (m->moved_m >= 0)
        yyjson_mut_obj_add_real(c->doc, o, "moved_m", rounded(m->moved_m, 100));
    else
        yyjson_mut_obj_add_null(c->doc, o, "moved_m");
    if (!m->has_area)
        return;
    add_patches(c, o, "gained", &m->gained);
    add_patches(c, o, "lost", &m->lost);
}

static bool says_same(struct compare *c, const struct kept *x, const struct kept *y)
{
    return x && y && x->seen && y->seen && x->has_shape && y->has_shape &&
           str_eq(x->attributes, y->attributes) &&
           compare_same(&c->scratch, &x->shape, &y->shape, c->options->precision_m);
}

/* o NULL: beyond the list, counted only. */
static void compare_pair(struct compare *c, const struct diff_row *row, yyjson_mut_val *o)
{
    const struct kept *x = find(&c->old, digest_of(row->old)),
                      *y = find(&c->now, digest_of(row->now));
    struct movement m;
    c->totals.same += diff_moved(row) && says_same(c, x, y);
    if (diff_moved(row)) {
        bool both = x && y && x->has_shape && y->has_shape;
        if (both && compare_shapes(c->valid, &c->scratch, &x->shape, &y->shape, &m)) {
            count(&c->totals, &m);
            if (o)
                add_movement(c, o, &m);
        } else {
            c->totals.unmeasured++;
        }
        if (o) {
            add_outline(c, o, "old_shape", x);
            add_outline(c, o, "new_shape", y);
        }
    }
    yyjson_val *after = parse_attributes(c, y);
    if (o)
        compare_attributes(c->doc, o, parse_attributes(c, x), after);
    add_legal_date(c, o, after);
}

static yyjson_mut_val *new_row(struct compare *c, yyjson_mut_val *list, const struct diff_row *row)
{
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(c->doc, list);
    if (row->old)
        json_add_str(c->doc, o, "old_digest", digest_of(row->old));
    if (row->now)
        json_add_str(c->doc, o, "new_digest", digest_of(row->now));
    return o;
}

static void add_modified(struct compare *c, yyjson_mut_val *root)
{
    const struct diff_list *from = &c->diff.modified;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(c->doc, root, "modified");
    for (size_t i = 0; i < from->n; i++) {
        bool listed = i < DIFF_LISTED_MAX;
        compare_pair(c, &from->rows[i], listed ? new_row(c, list, &from->rows[i]) : NULL);
        arena_reset(&c->scratch);
    }
}

static void add_single(struct compare *c, yyjson_mut_val *root, const char *key,
                       const struct diff_list *from, const struct side *side)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(c->doc, root, key);
    for (size_t i = 0; i < from->n && i < DIFF_LISTED_MAX; i++) {
        const struct diff_row *row = &from->rows[i];
        yyjson_mut_val *o = new_row(c, list, row);
        const struct kept *k = find(side, digest_of(row->now ? row->now : row->old));
        add_outline(c, o, "shape", k);
        if (row->now)
            add_legal_date(c, o, parse_attributes(c, k));
        arena_reset(&c->scratch);
    }
}

static int by_attributes(const void *x, const void *y)
{
    const struct kept *a = *(struct kept *const *)x, *b = *(struct kept *const *)y;
    size_t n = a->attributes.n < b->attributes.n ? a->attributes.n : b->attributes.n;
    int d = n > 0 ? memcmp(a->attributes.p, b->attributes.p, n) : 0;
    if (d == 0)
        d = (a->attributes.n > b->attributes.n) - (a->attributes.n < b->attributes.n);
    return d ? d : (a->shape.n > b->shape.n) - (a->shape.n < b->shape.n);
}

/* Of a side that has single features alone: all of them, in the order of what they say. */
static struct kept **in_order(struct compare *c, const struct side *s)
{
    struct kept **list = arena_alloc(&c->arena, (s->n + 1) * sizeof *list);
    for (size_t i = 0; list && i < s->n; i++)
        list[i] = &s->all[i];
    if (list && s->n > 0)
        qsort(list, s->n, sizeof *list, by_attributes);
    return list;
}

#define LOOSE_STEPS_MAX 2000000 /* pairs that are tried */

/* Each of what was removed has one of what was added that says the same. Several of the same digest
 * are kept once: then nobody knows. */
static bool all_same_unkeyed(struct compare *c)
{
    const struct diff *d = &c->diff;
    struct kept **x = in_order(c, &c->old), **y = in_order(c, &c->now);
    size_t first = 0, steps = 0, n = c->old.n;
    if (!x || !y || !may_be_same(d) || n != c->now.n || (int64_t)n != d->removed.total)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        while (first < n && by_attributes(&y[first], &x[i]) < 0)
            first++;
        for (size_t k = first;
             k < n && !found && steps++ < LOOSE_STEPS_MAX && by_attributes(&y[k], &x[i]) == 0;
             k++) {
            found = !y[k]->paired && says_same(c, x[i], y[k]);
            y[k]->paired = y[k]->paired || found;
            arena_reset(&c->scratch);
        }
        if (!found)
            return false;
    }
    return true;
}

/* Does every difference vanish within the precision? Layers have to be one, as a feature of another
 * is another. */
static bool all_same(struct compare *c)
{
    const struct diff *d = &c->diff;
    if (d->added.total + d->removed.total == 0)
        return c->totals.same == d->modified.total;
    return c->layers == 1 && all_same_unkeyed(c);
}

static void add_totals(struct compare *c, yyjson_mut_val *root)
{
    yyjson_mut_doc *d = c->doc;
    const struct totals *t = &c->totals;
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(d, root, "totals");
    yyjson_mut_obj_add_real(d, o, "moved_m", rounded(t->moved_m, 100));
    yyjson_mut_obj_add_real(d, o, "gained_km2", rounded(t->gained_km2, 1e6));
    yyjson_mut_obj_add_real(d, o, "lost_km2", rounded(t->lost_km2, 1e6));
    yyjson_mut_obj_add_int(d, o, "gained_patches", t->gained);
    yyjson_mut_obj_add_int(d, o, "lost_patches", t->lost);
    yyjson_mut_obj_add_int(d, o, "slivers", t->slivers);
    yyjson_mut_obj_add_real(d, o, "slivers_km2", rounded(t->slivers_km2, 1e6));
    yyjson_mut_obj_add_int(d, o, "unmeasured", t->unmeasured);
    yyjson_mut_obj_add_bool(d, o, "all_polygons", t->measured > 0 && t->measured == t->polygons);
    yyjson_mut_obj_add_bool(d, o, "within_precision", all_same(c));
    json_add_str(d, o, "legal_date_first", *t->first ? t->first : NULL);
    json_add_str(d, o, "legal_date_last", *t->last ? t->last : NULL);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Why a report has no content to compare; PROBLEM_COUNT when it has. What could not be read has no
 * features, and would look like a file that lost them all. */
static enum inspect_problem unread(yyjson_val *report)
{
    const char *code = yyjson_get_str(yyjson_ptr_get(report, "/problems/0/code"));
    if (yyjson_is_str(yyjson_obj_get(report, "content_digest")))
        return PROBLEM_COUNT;
    for (int p = 0; code && p < PROBLEM_COUNT; p++)
        if (strcmp(inspect_problem_name((enum inspect_problem)p), code) == 0)
            return (enum inspect_problem)p;
    return PROBLEM_PARSE_ERROR;
}

static enum rc find_pairs(struct compare *c, struct str old, struct str now, inspect_reader *reader,
                          struct err *err)
{
    CLEANUP(buf_release) struct buf x = {0}, y = {0};
    yyjson_val *then, *after;
    buf_init(&x, INSPECT_REPORT_MAX);
    buf_init(&y, INSPECT_REPORT_MAX);
    TRY(inspect_bytes(old, c->options, reader, &x, err));
    TRY(inspect_bytes(now, c->options, reader, &y, err));
    TRY(json_parse(&c->arena, buf_view(&x), 0, "a report", &then, err));
    TRY(json_parse(&c->arena, buf_view(&y), 0, "a report", &after, err));
    c->unread = unread(then) != PROBLEM_COUNT ? unread(then) : unread(after);
    if (c->unread != PROBLEM_COUNT)
        return RC_OK;
    size_t before = yyjson_arr_size(yyjson_obj_get(then, "layers")),
           now_has = yyjson_arr_size(yyjson_obj_get(after, "layers"));
    c->layers = before > now_has ? before : now_has;
    return diff_of(&c->arena, then, after, INSPECT_LISTED_MAX, &c->diff, err);
}

static enum rc keep_features(struct side *s, struct str bytes, const struct inspect_options *o,
                             inspect_reader *reader, struct err *err)
{
    CLEANUP(buf_release) struct buf unused = {0};
    buf_init(&unused, INSPECT_REPORT_MAX);
    return inspect_features(bytes, o, reader, keep, s, &unused, err);
}

static enum rc render(struct compare *c, struct buf *out, struct err *err)
{
    yyjson_mut_val *o = yyjson_mut_obj(c->doc);
    json_add_str(c->doc, o, "compare_version", COMPARE_VERSION);
    yyjson_mut_obj_add_null(c->doc, o, "reason");
    add_modified(c, o);
    add_single(c, o, "removed", &c->diff.removed, &c->old);
    add_single(c, o, "added", &c->diff.added, &c->now);
    add_totals(c, o);
    if (json_doc_rc(c->doc) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for the comparison");
    return json_canon_mut(out, o, err);
}

static enum rc run(struct compare *c, struct str old, struct str now, inspect_reader *reader,
                   struct buf *out, struct err *err)
{
    TRY(find_pairs(c, old, now, reader, err));
    if (c->unread != PROBLEM_COUNT || !c->diff.verdict) {
        compare_unread(c->unread != PROBLEM_COUNT ? c->unread : PROBLEM_TOO_LARGE, out);
        return buf_rc(out);
    }
    if (!c->doc || !c->valid || !want_all(c))
        return err_set(err, RC_NOMEM, "", "no memory to compare");
    TRY(keep_features(&c->old, old, c->options, reader, err));
    TRY(keep_features(&c->now, now, c->options, reader, err));
    return render(c, out, err);
}

enum rc compare_bytes(struct str old, struct str now, const struct inspect_options *o,
                      inspect_reader *reader, struct buf *out, struct err *err)
{
    struct compare c = {.options = o, .shapes_left = COMPARE_SHAPES_MAX, .valid = valid_new()};
    arena_init(&c.arena, MEMORY_MAX);
    arena_init(&c.scratch, MEMORY_MAX);
    c.doc = json_doc(&c.arena);
    enum rc rc = run(&c, old, now, reader, out, err);
    valid_free(&c.valid);
    arena_release(&c.scratch);
    arena_release(&c.arena);
    return rc;
}
