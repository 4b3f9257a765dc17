/* redact: a walk over a document, asking the table at every member. */
#include "handler/redact.h"

#include <math.h>
#include "core/clock.h"
#include "handler/delta.h"
#include "handler/stac.h"
#include "handler/uri.h"

#define PATH_BYTES 256 /* deeper or longer names have no row, so they are withheld */
#define NAMES_MAX 64

static const struct {
    enum redact_doc doc;
    const char *path;
    enum redact_action actions[LEVEL_COUNT]; /* sovereign: REDACT_DROP, the zero */
} rows[] = {
#define X(doc, path, pub, gen, res)                                                                \
    {REDACT_##doc, path, {REDACT_##pub, REDACT_##gen, REDACT_##res}},
#include "handler/redact.def"
#undef X
};

enum redact_action redact_action(enum redact_doc doc, enum level level, const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].doc == doc && rows[i].path[0] == path[0] && strcmp(rows[i].path, path) == 0)
            return rows[i].actions[level];
    return REDACT_DROP;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Multiples of the grid as decimals: 3 * 0.1 must come out as 0.3. */
static double grid_line(double n, double grid)
{
    return round(n * grid * 1e9) / 1e9;
}

/* The next grid line strictly beyond the edge, towards -1 or +1, but not beyond the limit. */
static double snap_edge(double edge, double grid, int way, double limit)
{
    double n = way < 0 ? floor(edge / grid) : ceil(edge / grid);
    while (way < 0 ? grid_line(n, grid) >= edge : grid_line(n, grid) <= edge)
        n += way;
    double line = grid_line(n, grid);
    return fabs(line) > limit ? way * limit : line;
}

bool redact_snap(const double b[4], double grid, double ret[4])
{
    double s[4];
    if (!(grid >= 1e-6)) /* finer is no protection, and not a number is none either */
        return false;
    s[0] = snap_edge(b[0], grid, -1, 180);
    s[1] = snap_edge(b[1], grid, -1, 90);
    s[2] = snap_edge(b[2], grid, +1, 180);
    s[3] = snap_edge(b[3], grid, +1, 90);
    if (s[0] == b[0] && s[1] == b[1] && s[2] == b[2] && s[3] == b[3])
        return false;
    memcpy(ret, s, sizeof s);
    return true;
}

static bool read_box(yyjson_val *v, double ret[4])
{
    for (size_t i = 0; i < 4; i++) {
        yyjson_val *n = yyjson_arr_get(v, i);
        if (!yyjson_is_num(n))
            return false;
        ret[i] = yyjson_get_num(n);
    }
    return yyjson_arr_size(v) == 4;
}

/* ---- the walk -------------------------------------------------------------------------------- */

struct walk {
    struct arena *a;
    yyjson_mut_doc *d;
    enum redact_doc doc;
    enum level level;
    double grid;
    yyjson_val *root;
    const char *names[NAMES_MAX]; /* withheld, in order of meeting */
    size_t n_names;
    bool has_list, sealed;
    enum rc rc; /* of naming what is withheld */
};

static void withhold(struct walk *w, const char *path)
{
    char *copy = arena_strdup(w->a, path);
    if (!copy)
        w->rc = RC_NOMEM;
    else if (w->n_names == NAMES_MAX)
        w->rc = RC_INTERNAL;
    else
        w->names[w->n_names++] = copy;
}

static yyjson_mut_val *snapped(struct walk *w, yyjson_val *box)
{
    double b[4], s[4];
    if (!read_box(box, b) || !redact_snap(b, w->grid, s))
        return NULL;
    yyjson_mut_val *v = yyjson_mut_arr(w->d);
    for (int i = 0; i < 4; i++)
        yyjson_mut_arr_add_real(w->d, v, s[i]);
    return v;
}

static yyjson_mut_val *covering(struct walk *w)
{
    double b[4], s[4];
    if (!read_box(yyjson_obj_get(w->root, "bbox"), b) || !redact_snap(b, w->grid, s))
        return yyjson_mut_null(w->d);
    return stac_box_geometry(w->d, s);
}

static yyjson_mut_val *host_of(struct walk *w, yyjson_val *v)
{
    char *host = yyjson_is_str(v) ? uri_host_only(w->a, yyjson_get_str(v)) : NULL;
    return host ? yyjson_mut_strcpy(w->d, host) : yyjson_mut_null(w->d);
}

static yyjson_mut_val *day_of(struct walk *w, yyjson_val *v)
{
    bool is_time = yyjson_is_str(v) && yyjson_get_len(v) >= 10;
    return is_time ? yyjson_mut_strncpy(w->d, yyjson_get_str(v), 10) : yyjson_mut_null(w->d);
}

/* evt_20260702T095900Z_a1b2c3: the day ends at 12, the time at 20. */
static yyjson_mut_val *day_id(struct walk *w, yyjson_val *v)
{
    enum { DAY_END = 12, TIME_END = 20, TAIL = 6 };
    struct str id = {yyjson_get_str(v), yyjson_get_len(v)};
    const char *run = yyjson_get_str(yyjson_obj_get(w->root, "delta_manifest_ref"));
    size_t n = run ? strlen(run) : 0;
    if (id.n <= TIME_END || n < TAIL)
        return yyjson_mut_null(w->d);
    if (memcmp(id.p + DAY_END, "T000000Z", TIME_END - DAY_END) == 0)
        return yyjson_val_mut_copy(w->d, v);
    return json_fmt(w->d, "%.*sT000000Z%.*s%s", DAY_END, id.p, (int)(id.n - TIME_END),
                    id.p + TIME_END, run + n - TAIL);
}

static yyjson_mut_val *enter(struct walk *w, const char *path, yyjson_val *v);

/* The value as this action leaves it; NULL leaves the member out. */
static yyjson_mut_val *apply(struct walk *w, enum redact_action action, const char *path,
                             yyjson_val *v)
{
    switch (action) {
    case REDACT_KEEP: return yyjson_val_mut_copy(w->d, v);
    case REDACT_ENTER: return enter(w, path, v);
    case REDACT_LIST: w->has_list = true; return yyjson_mut_arr(w->d);
    case REDACT_SEAL: w->sealed = true; return NULL;
    case REDACT_LEVEL: return yyjson_mut_str(w->d, level_name(w->level));
    case REDACT_ID: return day_id(w, v);
    case REDACT_DROP: withhold(w, path); return NULL;
    case REDACT_HOST: withhold(w, path); return host_of(w, v);
    case REDACT_DAY: withhold(w, path); return day_of(w, v);
    case REDACT_BOX: withhold(w, path); return covering(w);
    case REDACT_SNAP:
        withhold(w, path);
        return yyjson_is_null(v) ? yyjson_mut_null(w->d) : snapped(w, v);
    }
    return NULL;
}

/* By what name the table knows an element: rel of a link, prov:type of a node. */
static const char *element_name(yyjson_val *v)
{
    const char *rel = yyjson_get_str(yyjson_obj_get(v, "rel"));
    const char *type = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(v, "prov:type"), "$"));
    return rel ? rel : type;
}

static enum redact_action ask(struct walk *w, const char *path, const char *name,
                              char out[PATH_BYTES])
{
    size_t before = strlen(path), dot = before > 0, n = strlen(name);
    if (before + dot + n >= PATH_BYTES)
        return REDACT_DROP;
    char *p = mempcpy(out, path, before);
    if (dot)
        *p++ = '.';
    memcpy(p, name, n + 1);
    return redact_action(w->doc, w->level, out);
}

static yyjson_mut_val *enter_object(struct walk *w, const char *path, yyjson_val *v)
{
    char inner[PATH_BYTES];
    size_t i, n;
    yyjson_val *key, *item;
    yyjson_mut_val *o = yyjson_mut_obj(w->d);
    yyjson_obj_foreach(v, i, n, key, item)
    {
        const char *name = yyjson_is_obj(item) ? element_name(item) : NULL;
        enum redact_action action = ask(w, path, name ? name : yyjson_get_str(key), inner);
        yyjson_mut_val *shown = apply(w, action, inner, item);
        if (shown)
            yyjson_mut_obj_add(o, yyjson_val_mut_copy(w->d, key), shown);
    }
    return o;
}

static yyjson_mut_val *enter_array(struct walk *w, const char *path, yyjson_val *v)
{
    char inner[PATH_BYTES];
    size_t i, n;
    yyjson_val *item;
    yyjson_mut_val *list = yyjson_mut_arr(w->d);
    yyjson_arr_foreach(v, i, n, item)
    {
        const char *name = element_name(item);
        enum redact_action action = ask(w, path, name ? name : "*", inner);
        yyjson_mut_val *shown = apply(w, action, inner, item);
        if (shown)
            yyjson_mut_arr_append(list, shown);
    }
    return list;
}

static yyjson_mut_val *enter(struct walk *w, const char *path, yyjson_val *v)
{
    if (yyjson_is_arr(v))
        return enter_array(w, path, v);
    return yyjson_is_obj(v) ? enter_object(w, path, v) : yyjson_mut_null(w->d);
}

static void put_names(struct walk *w, yyjson_mut_val *root)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(root, "redacted");
    for (size_t i = 0; i < w->n_names; i++)
        yyjson_mut_arr_add_strcpy(w->d, list, w->names[i]);
}

enum rc redact_value(struct arena *a, enum redact_doc doc, enum level level, double grid_deg,
                     yyjson_val *whole, struct str *ret, struct err *err)
{
    struct walk w = {
        .a = a, .d = json_doc(a), .doc = doc, .level = level, .grid = grid_deg, .root = whole};
    *ret = (struct str){0};
    if (level == LEVEL_SOVEREIGN)
        return RC_OK;
    yyjson_mut_val *root = enter(&w, "", w.root);
    yyjson_mut_doc_set_root(w.d, root);
    if (w.rc != RC_OK)
        return err_set(err, w.rc, "", "the withheld fields cannot all be named");
    if (yyjson_mut_obj_size(root) == 0 && json_doc_rc(w.d) == RC_OK)
        return RC_OK;
    if (w.has_list)
        put_names(&w, root);
    if (w.sealed)
        TRY(delta_seal(w.d, root, err));
    return json_write(a, w.d, 0, ret, err);
}

enum rc redact(struct arena *a, enum redact_doc doc, enum level level, double grid_deg,
               struct str whole, struct str *ret, struct err *err)
{
    yyjson_val *root;
    if (level == LEVEL_SOVEREIGN || whole.n == 0) {
        *ret = (struct str){0};
        return RC_OK;
    }
    TRY(json_parse(a, whole, 0, "a stored document", &root, err));
    return redact_value(a, doc, level, grid_deg, root, ret, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static enum rc read_item_box(struct arena *a, struct public_rows *r, struct err *err)
{
    yyjson_val *root;
    if (r->item.n == 0)
        return RC_OK;
    TRY(json_parse(a, r->item, 0, "a STAC item", &root, err));
    r->has_bbox = read_box(yyjson_obj_get(root, "bbox"), r->bbox);
    return RC_OK;
}

enum rc redact_rows(struct arena *a, const struct source *s, const struct redact_change *whole,
                    struct public_rows *ret, struct err *err)
{
    /* Bytes come with an item; a deletion has neither. */
    struct public_rows r = {.asset = s->level == LEVEL_PUBLIC && whole->item.n > 0,
                            .sorted =
                                redact_action(REDACT_ENTRY, s->level, "change_type") == REDACT_KEEP,
                            .shown_at = redact_time(s->level, "updated_at", whole->finalized_at)};
    TRY(redact(a, REDACT_ENTRY, s->level, s->grid_deg, whole->entry, &r.entry, err));
    TRY(redact(a, REDACT_PROV, s->level, s->grid_deg, whole->prov, &r.prov, err));
    TRY(redact(a, REDACT_DELTA, s->level, s->grid_deg, whole->delta, &r.delta, err));
    TRY(redact(a, REDACT_ITEM, s->level, s->grid_deg, whole->item, &r.item, err));
    for (size_t i = 0; i < MARKED_MAX; i++)
        TRY(redact(a, REDACT_ITEM, s->level, s->grid_deg, whole->marked[i], &r.marked[i], err));
    TRY(read_item_box(a, &r, err));
    *ret = r;
    return RC_OK;
}

bool redact_shows(enum level level, const char *field)
{
    return redact_action(REDACT_FRESHNESS, level, field) == REDACT_KEEP;
}

int64_t redact_time(enum level level, const char *field, int64_t at)
{
    enum redact_action action = redact_action(REDACT_FRESHNESS, level, field);
    if (at < 0 || action == REDACT_DROP)
        return -1;
    return action == REDACT_DAY ? at - at % DAY_MS : at;
}
