/* diff: two sorted sides, merged group by group; a group is the features of one layer and key. */
#include "handler/diff.h"

#include <math.h>
#include <stdlib.h>
#include "core/digest.h"

struct feature {
    const char *layer, *key, *digest, *geometry; /* key NULL: none */
    yyjson_val *value;
    bool matched;
};
struct side {
    struct feature *all;
    size_t n;
};
/* The merge under way. */
struct merge {
    struct arena *arena;
    struct diff *d;
    size_t listed_max;
    bool shifted; /* one of them by more than redrawing explains */
    bool no_memory;
};

static double area_of(yyjson_val *feature)
{
    return yyjson_get_num(yyjson_obj_get(feature, "area_km2"));
}

/* ---- sides ----------------------------------------------------------------------------------- */

static int compare_group(const struct feature *x, const struct feature *y)
{
    int d = strcmp(x->layer, y->layer);
    if (d == 0 && x->key && y->key)
        return strcmp(x->key, y->key);
    return d ? d : (x->key != NULL) - (y->key != NULL);
}

static int by_group_and_digest(const void *x, const void *y)
{
    const struct feature *a = x, *b = y;
    int d = compare_group(a, b);
    return d ? d : strcmp(a->digest, b->digest);
}

/* Names of single layers do not count, as they do not in content digests. */
static struct feature read_feature(yyjson_val *layers, yyjson_val *v)
{
    yyjson_val *layer = yyjson_obj_get(v, "layer");
    const char *name =
        layer ? json_member_text(yyjson_arr_get(layers, (size_t)yyjson_get_uint(layer)), "name")
              : "";
    return (struct feature){.layer = name,
                            .key = yyjson_get_str(yyjson_obj_get(v, "key")),
                            .digest = json_member_text(v, "digest"),
                            .geometry = json_member_text(v, "geometry_digest"),
                            .value = v};
}

static enum rc read_side(struct arena *a, yyjson_val *report, struct side *ret, struct err *err)
{
    yyjson_val *list = yyjson_obj_get(report, "features"), *v;
    yyjson_val *layers = yyjson_obj_get(report, "layers");
    size_t i, n, room = yyjson_arr_size(list);
    struct side s = {arena_alloc(a, (room + 1) * sizeof *s.all), room};
    if (!s.all)
        return err_set(err, RC_NOMEM, "", "no memory to compare features");
    yyjson_arr_foreach(list, i, n, v) s.all[i] = read_feature(layers, v);
    qsort(s.all, s.n, sizeof *s.all, by_group_and_digest);
    *ret = s;
    return RC_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void add_row(struct merge *m, struct diff_list *list, yyjson_val *old, yyjson_val *now)
{
    list->total++;
    if (list->n == m->listed_max)
        return;
    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        struct diff_row *rows =
            arena_resize(m->arena, list->rows, list->room * sizeof *rows, room * sizeof *rows);
        m->no_memory = m->no_memory || !rows;
        if (!rows)
            return;
        list->rows = rows;
        list->room = room;
    }
    list->rows[list->n++] = (struct diff_row){old, now};
}

static void add_area(struct diff *d, double change)
{
    *(change > 0 ? &d->gained : &d->lost) += fabs(change);
}

bool diff_moved(const struct diff_row *row)
{
    return strcmp(json_member_text(row->old, "geometry_digest"),
                  json_member_text(row->now, "geometry_digest")) != 0;
}

/* More than a hundredth of its area, or of the extent of its box. */
static bool shifted(yyjson_val *old, yyjson_val *now)
{
    yyjson_val *a = yyjson_obj_get(old, "bbox"), *b = yyjson_obj_get(now, "bbox");
    double area = area_of(old);
    if (fabs(area_of(now) - area) > DIFF_SHIFT * area)
        return true;
    if (yyjson_arr_size(a) != 4 || yyjson_arr_size(b) != 4)
        return true;
    for (size_t i = 0; i < 4; i++) {
        double extent =
            yyjson_get_num(yyjson_arr_get(a, 2 + i % 2)) - yyjson_get_num(yyjson_arr_get(a, i % 2));
        double moved = yyjson_get_num(yyjson_arr_get(b, i)) - yyjson_get_num(yyjson_arr_get(a, i));
        if (fabs(moved) > DIFF_SHIFT * extent)
            return true;
    }
    return false;
}

static void add_modified(struct merge *m, yyjson_val *old, yyjson_val *now)
{
    const struct diff_row row = {old, now};
    add_row(m, &m->d->modified, old, now);
    add_area(m->d, area_of(now) - area_of(old));
    if (!diff_moved(&row))
        return;
    m->d->geometries_moved++;
    m->shifted = m->shifted || shifted(old, now);
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Both sorted by digest: equal ones are the same feature. */
static void match_equal(struct side *old, struct side *now)
{
    size_t i = 0, k = 0;
    while (i < old->n && k < now->n) {
        int d = strcmp(old->all[i].digest, now->all[k].digest);
        if (d == 0)
            old->all[i].matched = now->all[k].matched = true;
        i += d <= 0;
        k += d >= 0;
    }
}

static void keep_unmatched(struct side *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!s->all[i].matched)
            s->all[n++] = s->all[i];
    s->n = n;
}

static int by_geometry(const void *x, const void *y)
{
    const struct feature *a = x, *b = y;
    int d = strcmp(a->geometry, b->geometry);
    return d ? d : strcmp(a->digest, b->digest);
}

/* Without a key: the same shape with other attributes. 64 zeros are no shape. */
static void match_geometry(struct merge *m, struct side *old, struct side *now)
{
    size_t i = 0, k = 0;
    qsort(old->all, old->n, sizeof *old->all, by_geometry);
    qsort(now->all, now->n, sizeof *now->all, by_geometry);
    while (i < old->n && k < now->n) {
        struct feature *x = &old->all[i], *y = &now->all[k];
        int d = strcmp(x->geometry, y->geometry);
        if (d == 0 && strspn(x->geometry, "0") != SHA256_HEX - 1) {
            x->matched = y->matched = true;
            add_modified(m, x->value, y->value);
        }
        i += d <= 0;
        k += d >= 0;
    }
}

static void match_in_order(struct merge *m, struct side *old, struct side *now)
{
    for (size_t i = 0; i < old->n && i < now->n; i++) {
        old->all[i].matched = now->all[i].matched = true;
        add_modified(m, old->all[i].value, now->all[i].value);
    }
}

/* The features of one layer and key, or of none, on both sides. */
static void merge_group(struct merge *m, struct side old, struct side now, bool keyed)
{
    match_equal(&old, &now);
    keep_unmatched(&old);
    keep_unmatched(&now);
    if (keyed)
        match_in_order(m, &old, &now);
    else
        match_geometry(m, &old, &now);
    for (size_t i = 0; i < old.n; i++)
        if (!old.all[i].matched) {
            add_row(m, &m->d->removed, old.all[i].value, NULL);
            add_area(m->d, -area_of(old.all[i].value));
            m->d->removed_km2 += area_of(old.all[i].value);
        }
    for (size_t i = 0; i < now.n; i++)
        if (!now.all[i].matched) {
            add_row(m, &m->d->added, NULL, now.all[i].value);
            add_area(m->d, area_of(now.all[i].value));
            m->d->added_km2 += area_of(now.all[i].value);
        }
}

/* The group that f belongs to, cut off the front of s; empty when s begins with another. */
static struct side take_group(struct side *s, const struct feature *f)
{
    struct side group = {s->all, 0};
    while (group.n < s->n && compare_group(&s->all[group.n], f) == 0)
        group.n++;
    s->all += group.n;
    s->n -= group.n;
    return group;
}

static void merge_sides(struct merge *m, struct side old, struct side now)
{
    while (old.n > 0 || now.n > 0) {
        bool from_old = now.n == 0 || (old.n > 0 && compare_group(old.all, now.all) <= 0);
        const struct feature first = from_old ? old.all[0] : now.all[0];
        struct side x = take_group(&old, &first), y = take_group(&now, &first);
        merge_group(m, x, y, first.key != NULL);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static const char *verdict_of(const struct merge *m, bool same_content)
{
    const struct diff *d = m->d;
    int64_t larger = d->before > d->after ? d->before : d->after;
    bool same_set = d->added.total + d->removed.total == 0;
    if (same_set && d->modified.total == 0)
        return same_content ? "none" : "reformatted";
    if (same_set && m->d->geometries_moved == 0)
        return "attributes_only";
    if ((d->before - d->removed.total) * 2 < larger)
        return "replaced";
    if (same_set && m->d->geometries_moved * 2 >= larger && !m->shifted)
        return "redigitised";
    return "local";
}

static int64_t count_of(yyjson_val *report)
{
    return yyjson_get_sint(yyjson_ptr_get(report, "/totals/features"));
}

static void forget_lists(struct diff *d)
{
    d->added.total = d->removed.total = d->modified.total = -1;
    d->gained = d->lost = -1;
}

static bool lists(yyjson_val *report)
{
    return yyjson_is_arr(yyjson_obj_get(report, "features"));
}

/* A first version adds everything; a list of it would repeat the file. */
static void all_added(struct diff *d)
{
    d->added.total = d->after;
    d->gained = d->area_after;
}

enum rc diff_of(struct arena *a, yyjson_val *then, yyjson_val *now, size_t listed_max,
                struct diff *ret, struct err *err)
{
    struct diff d = {.after = count_of(now),
                     .area_after = yyjson_get_num(yyjson_ptr_get(now, "/totals/area_km2"))};
    struct merge m = {.arena = a, .d = &d, .listed_max = listed_max};
    struct side old, new;
    d.has_before = yyjson_arr_size(yyjson_obj_get(then, "layers")) > 0;
    if (d.has_before) {
        d.before = count_of(then);
        d.area_before = yyjson_get_num(yyjson_ptr_get(then, "/totals/area_km2"));
    }
    if (!d.has_before)
        all_added(&d);
    else if (!lists(then) || !lists(now))
        forget_lists(&d);
    else {
        TRY(read_side(a, then, &old, err));
        TRY(read_side(a, now, &new, err));
        merge_sides(&m, old, new);
        d.verdict = verdict_of(&m, strcmp(json_member_text(then, "content_digest"),
                                          json_member_text(now, "content_digest")) == 0);
    }
    if (m.no_memory)
        return err_set(err, RC_NOMEM, "", "no memory to compare features");
    *ret = d;
    return RC_OK;
}

static int64_t wide_patches(yyjson_val *totals)
{
    return yyjson_get_sint(yyjson_obj_get(totals, "gained_patches")) +
           yyjson_get_sint(yyjson_obj_get(totals, "lost_patches"));
}

/* More than half of the larger side is gained, and as much lost: it lies elsewhere. */
static bool nothing_stayed(const struct diff *d)
{
    double half = fmax(d->area_before, d->area_after) / 2;
    return half > 0 && d->gained > half && d->lost > half;
}

void diff_measure(struct diff *d, yyjson_val *compared)
{
    yyjson_val *t = yyjson_obj_get(compared, "totals");
    if (!t || !d->verdict || yyjson_get_sint(yyjson_obj_get(t, "unmeasured")) > 0)
        return;
    d->measured = true;
    d->same = yyjson_get_bool(yyjson_obj_get(t, "within_precision"));
    d->gained = d->added_km2 + yyjson_get_num(yyjson_obj_get(t, "gained_km2"));
    d->lost = d->removed_km2 + yyjson_get_num(yyjson_obj_get(t, "lost_km2"));
    bool same_set = d->added.total + d->removed.total == 0;
    if (same_set && d->same)
        d->verdict = "reformatted";
    else if (nothing_stayed(d))
        d->verdict = "replaced";
    else if (same_set && d->geometries_moved > 0 &&
             yyjson_get_bool(yyjson_obj_get(t, "all_polygons")))
        d->verdict = wide_patches(t) > 0 ? "local" : "redigitised";
}

bool diff_area_pct(const struct diff *d, double *ret)
{
    if (!d->has_before || d->area_before <= 0)
        return false;
    *ret = rint((d->area_after - d->area_before) / d->area_before * 1e6) / 1e4 +
           0.0; /* no negative zero */
    return true;
}
