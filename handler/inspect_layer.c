/* inspect_layer: one feature at a time: digest, validity, box, area; and what they sum up to. */
#include "handler/inspect_layer.h"

#include <math.h>

const struct crs crs_wgs84 = {.known = true, .code = "EPSG:4326", .kind = "geographic"};

void crs_release(struct crs *c)
{
    if (c->release)
        c->release(c->ctx);
    c->release = NULL;
    c->ctx = NULL;
}

/* ---- types ----------------------------------------------------------------------------------- */

const char *field_type_name(unsigned types)
{
    unsigned t = types & ~(unsigned)FIELD_null ? types & ~(unsigned)FIELD_null : types;
    if (t == (FIELD_integer | FIELD_number))
        return "number";
#define X(name, bit)                                                                               \
    if (t == FIELD_##name)                                                                         \
        return #name;
#include "handler/inspect_types.def"
#undef X
    return "mixed";
}

const char *field_type_plain(unsigned types)
{
    return field_type_name(types & FIELD_integer ? (types & ~(unsigned)FIELD_integer) | FIELD_number
                                                 : types);
}

/* ---- layers ---------------------------------------------------------------------------------- */

enum rc layer_init(struct layer *l, struct arena *a, const char *name, const struct crs *crs,
                   double precision_m)
{
    *l = (struct layer){.name = arena_strdup(a, name), .crs = *crs};
    l->fields = arena_alloc(a, LAYER_FIELDS_MAX * sizeof *l->fields);
    l->snap = geom_snap_of(precision_m, crs->unit_m);
    return l->name && l->fields ? RC_OK : RC_NOMEM;
}

void layer_release(struct layer *l)
{
    free(l->records);
    l->records = NULL;
    crs_release(&l->crs);
}

static struct field *find_field(struct layer *l, struct str name)
{
    for (size_t i = 0; i < l->n_fields; i++) {
        size_t at = l->hint + i < l->n_fields ? l->hint + i : l->hint + i - l->n_fields;
        if (str_eq(l->fields[at].name, name)) {
            l->hint = at + 1 < l->n_fields ? at + 1 : 0;
            return &l->fields[at];
        }
    }
    return NULL;
}

enum rc layer_field(struct layer *l, struct arena *a, struct str name, unsigned type, bool filled)
{
    struct field *f = find_field(l, name);
    if (!f) {
        if (l->n_fields == LAYER_FIELDS_MAX)
            return RC_TOO_LARGE;
        char *copy = arena_str(a, name);
        if (!copy)
            return RC_NOMEM;
        f = &l->fields[l->n_fields++];
        *f = (struct field){{copy, name.n}, 0, 0};
    }
    f->types |= type;
    f->filled += filled;
    return RC_OK;
}

/* ---- features -------------------------------------------------------------------------------- */

static void widen(double box[4], bool *has, const double more[4])
{
    for (int i = 0; i < 4; i++)
        if (!*has || (i < 2 ? more[i] < box[i] : more[i] > box[i]))
            box[i] = more[i];
    *has = true;
}

static void note_fault(struct layer *l, const struct valid_fault *f, const char *key)
{
    size_t i = 0;
    l->invalid++;
    while (i < l->n_reasons && strcmp(l->reasons[i].reason, f->reason) != 0)
        i++;
    if (i == l->n_reasons && i < LAYER_REASONS_MAX)
        memcpy(l->reasons[l->n_reasons++].reason, f->reason, sizeof f->reason);
    if (i < LAYER_REASONS_MAX)
        l->reasons[i].n++;
    if (l->n_examples < LAYER_EXAMPLES_MAX)
        l->examples[l->n_examples++] = (struct fault_example){key, (int64_t)l->n, *f};
}

/* Nine decimals of a degree: a tenth of a millimetre, and none of the noise of a
 * library's version. */
static double rounded(double v)
{
    return rint(v * 1e9) / 1e9;
}

/* Longitudes may go once more around; ulps beyond a pole are noise of a projection. */
static bool is_place(const struct crs *c, struct geom *g, double ret[4])
{
    return (!c->to_lonlat || c->to_lonlat(c->ctx, g->x, g->y, g->n)) && geom_bounds(g, ret) &&
           ret[0] >= -360 && ret[2] <= 360 && ret[1] >= -90.001 && ret[3] <= 90.001;
}

static void measure(struct layer *l, struct geom *g, struct feature_record *r)
{
    double box[4];
    if (!geom_bounds(g, box)) /* it has no points */
        return;
    widen(l->native, &l->has_native, box);
    if (!l->crs.known)
        return;
    if (!is_place(&l->crs, g, box)) {
        l->nowhere++;
        return;
    }
    for (int i = 0; i < 4; i++)
        r->bbox[i] = rounded(box[i]);
    r->has_bbox = true;
    r->area_km2 = geom_area_km2(g);
    l->area_km2 += r->area_km2;
    widen(l->bbox, &l->has_bbox, r->bbox);
}

static enum rc judge(struct layer *l, struct layer_tools *t, struct geom *g,
                     struct feature_record *r)
{
    struct valid_fault fault;
    if (g->n_parts == 0 && g->bad == GEOM_FINE)
        l->empty++;
    for (size_t i = 0; i < g->n_parts; i++)
        l->kinds |= 1u << g->parts[i].kind;
    bool digested = geom_digest(g, l->snap, &t->scratch, &r->geometry);
    if (g->bad == GEOM_NO_MEMORY)
        return RC_NOMEM;
    if (g->bad == GEOM_TOO_LARGE)
        return RC_TOO_LARGE;
    l->not_finite += g->bad == GEOM_NOT_FINITE;
    l->checked++;
    if (!t->check(t->valid, g, &fault))
        note_fault(l, &fault, r->key);
    if (digested)
        measure(l, g, r);
    return RC_OK;
}

static struct feature_record *new_record(struct layer *l)
{
    if (l->n == l->room) {
        size_t room = l->room ? l->room * 2 : 256;
        struct feature_record *more = realloc(l->records, room * sizeof *more);
        if (!more)
            return NULL;
        l->records = more;
        l->room = room;
    }
    struct feature_record *r = &l->records[l->n];
    memset(r, 0, sizeof *r);
    return r;
}

enum rc layer_add(struct layer *l, struct arena *a, struct layer_tools *t, struct geom *geom,
                  struct str attributes, const char *key)
{
    struct feature_record *r = new_record(l);
    if (r && key)
        r->key = arena_strdup(a, key);
    if (!r || (key && !r->key))
        return RC_NOMEM;
    if (geom)
        TRY(judge(l, t, geom, r));
    else
        l->empty++;
    l->without_key += key == NULL;
    digest_add(t->scratch.sha, r->geometry.b, sizeof r->geometry.b);
    digest_add(t->scratch.sha, attributes.p, attributes.n);
    digest_take(t->scratch.sha, &r->digest);
    l->n++;
    return t->seen ? t->seen(t->seen_ctx, r, geom, attributes) : RC_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int by_digest(const void *x, const void *y)
{
    const struct feature_record *a = x, *b = y;
    return memcmp(a->digest.b, b->digest.b, sizeof a->digest.b);
}

static int by_key(const void *x, const void *y)
{
    const struct feature_record *a = x, *b = y;
    int d = a->key && b->key ? strcmp(a->key, b->key) : (a->key != NULL) - (b->key != NULL);
    return d ? d : by_digest(x, y);
}

enum rc layer_finish(struct layer *l, struct sha256 *ret)
{
    CLEANUP(digest_free) struct digest *sha = digest_new();
    if (!sha)
        return RC_NOMEM;
    if (l->n > 0)
        qsort(l->records, l->n, sizeof *l->records, by_digest);
    for (size_t i = 0; i < l->n; i++)
        digest_add(sha, l->records[i].digest.b, sizeof l->records[i].digest.b);
    digest_take(sha, ret);
    if (l->n > 0)
        qsort(l->records, l->n, sizeof *l->records, by_key);
    return RC_OK;
}

int64_t layer_collisions(const struct layer *l)
{
    int64_t n = 0;
    for (size_t i = 1; i < l->n; i++) {
        const char *a = l->records[i - 1].key, *b = l->records[i].key;
        n += a && b && strcmp(a, b) == 0;
    }
    return n;
}
