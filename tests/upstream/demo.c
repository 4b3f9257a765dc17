/* demo: see demo.h. Two tables say it all: the datasets, and the script of changes. */
#include "tests/upstream/demo.h"

#include "core/clock.h"
#include "tests/upstream/generate.h"
#include "tests/upstream/geo.h"
#include "tests/upstream/listing.h"

#define DATASET_BYTES (4u << 20)
#define FIRST_AGE_MS (36 * 3600 * 1000LL) /* datasets look a few days old at the start */
#define SCRIPT_SEED 1854

enum form { FORM_GEOJSON, FORM_SHAPEFILE, FORM_CSV };

enum set {
#define DATASET(id, ...) id,
#include "tests/upstream/demo.def"
#undef DATASET
    N_SETS,
    N_LISTED = SITES, /* the public ones are in the listings */
};

static const struct dataset {
    const char *name; /* of the file below /data/ */
    enum form form;
    enum etag_mode etag;
    struct geo_layer layer;
    uint64_t hidden;   /* features that are not there at the beginning */
    const char *dated; /* Last-Modified of what never changes */
} datasets[N_SETS] = {
#define DATASET(id, end, form, etag, name, kind, prefix, shape, cols, rows, n, seed, hide, dated,  \
                remark)                                                                            \
    {name end,    FORM_##form,                                                                     \
     ETAG_##etag, {name, kind, prefix, GEO_##shape, cols, rows, n, seed, remark},                  \
     hide,        dated},
#include "tests/upstream/demo.def"
#undef DATASET
};

/* The one that fails: an error, another, a page instead of data, silence; and again. */
static const char failing[] =
    "{\"resources\":[{\"path\":\"/data/well-permits.json\",\"cycle\":true,\"replies\":["
    "{\"status\":500},{\"status\":503,\"retry_after\":\"7\"},"
    "{\"generate\":{\"kind\":\"html\"},\"type\":\"text/html\",\"etag\":\"none\","
    "\"last_modified\":\"none\"},{\"status\":504,\"delay_ms\":30000}]}]}";

enum op { MOVE, RENUMBER, ADD, REMOVE, RETURN };
static const char *const op_text[] = {"a boundary corner moved", "numbers changed",
                                      "a feature was added", "a feature was removed",
                                      "returned to its earlier bytes"};
static const struct {
    enum set set;
    enum op op;
} script[] = {
    {COUNTIES, MOVE},   {GAUGES, RENUMBER},   {VOTING, ADD},       {SCHOOLS, RENUMBER},
    {GAUGES, RENUMBER}, {PLACES, ADD},        {WATERSHEDS, MOVE},  {GAUGES, RENUMBER},
    {SITES, ADD},       {COUNTIES, RENUMBER}, {GAUGES, RETURN},    {VOTING, MOVE},
    {SCHOOLS, MOVE},    {GAUGES, RENUMBER},   {NATION, MOVE},      {VOTING, RETURN},
    {PLACES, RENUMBER}, {GAUGES, RENUMBER},   {COUNTIES, MOVE},    {WATERSHEDS, RENUMBER},
    {VOTING, REMOVE},   {GAUGES, RENUMBER},   {SITES, RENUMBER},   {COUNTIES, RETURN},
    {PLACES, MOVE},     {GAUGES, REMOVE},     {SCHOOLS, RENUMBER}, {GAUGES, ADD},
};

struct document {
    struct resource *resource;
    struct blob *blob;
    int64_t modified_ms;
    char modified[TIME_MAX];
};

/* Documents that follow from the datasets. */
enum { MANIFEST, INDEX, BUCKET, ARCGIS, N_DERIVED };
static const char *const derived_paths[N_DERIVED] = {
    "/data/manifest.json", "/data/", "/data/bucket",
    "/data/arcgis/rest/services/School_Districts/FeatureServer/0"};

struct demo {
    struct world *world;
    struct document sets[N_SETS], derived[N_DERIVED];
    struct geo_state now[N_SETS], before[N_SETS];
    uint64_t ticks;
    struct buf text;
    char last[128];
};

/* ---- documents ----------------------------------------------------------------------------- */

static enum rc document_open(struct demo *d, struct document *doc, const char *path,
                             struct err *err)
{
    enum rc rc = world_add(d->world, path, "demo", &doc->resource, err);
    if (rc == RC_OK)
        doc->resource->base.any.set |= 1ull << SPEC_BIT_body | 1ull << SPEC_BIT_last_modified;
    return rc;
}

/* Serves what d->text holds from now on; a document whose bytes stay keeps its date. */
static void document_put(struct demo *d, struct document *doc, int64_t modified_ms)
{
    struct blob *fresh = blob_of_buf(&d->text);
    if (!fresh || (doc->blob && strcmp(fresh->tag, doc->blob->tag) == 0)) {
        blob_drop(&fresh);
        return;
    }
    blob_drop(&doc->blob);
    doc->blob = fresh;
    doc->modified_ms = modified_ms;
    time_http(modified_ms, doc->modified);
    doc->resource->base.any.body = fresh;
    doc->resource->base.any.last_modified = str_of(doc->modified);
}

static void write_set(struct demo *d, enum set i, int64_t modified_ms)
{
    const struct dataset *s = &datasets[i];
    buf_clear(&d->text);
    switch (s->form) {
    case FORM_GEOJSON: geo_write_geojson(&d->text, &s->layer, &d->now[i]); break;
    case FORM_CSV: geo_write_csv(&d->text, &s->layer, &d->now[i]); break;
    case FORM_SHAPEFILE: geo_write_shapefile(&d->text, &s->layer, &d->now[i], s->layer.name); break;
    }
    document_put(d, &d->sets[i], modified_ms);
}

static void write_derived(struct demo *d, int64_t modified_ms)
{
    struct listing_entry list[N_LISTED];
    for (int i = 0; i < N_LISTED; i++)
        list[i] = (struct listing_entry){datasets[i].name, d->sets[i].blob->tag, d->sets[i].blob->n,
                                         d->sets[i].modified_ms};
    buf_clear(&d->text);
    listing_json(&d->text, list, N_LISTED);
    document_put(d, &d->derived[MANIFEST], modified_ms);
    buf_clear(&d->text);
    listing_html(&d->text, "/data", list, N_LISTED);
    document_put(d, &d->derived[INDEX], modified_ms);
    buf_clear(&d->text);
    listing_s3(&d->text, "invented-kansas", list, N_LISTED);
    document_put(d, &d->derived[BUCKET], modified_ms);
    buf_clear(&d->text);
    listing_arcgis(&d->text, "School_Districts", d->sets[SCHOOLS].modified_ms,
                   (size_t)datasets[SCHOOLS].layer.count);
    document_put(d, &d->derived[ARCGIS], modified_ms);
}

/* ---- changes ------------------------------------------------------------------------------- */

static bool toggle_feature(const struct dataset *s, struct geo_state *now, bool add, uint64_t dice)
{
    int count = s->layer.count, start = (int)(dice % (uint64_t)count);
    for (int k = 0; k < count; k++) {
        int i = (start + k) % count;
        if ((now->hidden >> i & 1) == add) {
            now->hidden ^= 1ull << i;
            return true;
        }
    }
    return false;
}

static void change(struct demo *d, enum set i, enum op op, uint64_t dice)
{
    const struct geo_layer *l = &datasets[i].layer;
    struct geo_state was = d->now[i];
    uint64_t corners = (uint64_t)(l->cols + 1) * (uint64_t)(l->rows + 1);
    switch (op) {
    case MOVE:
        d->now[i].moved[dice % (l->shape == GEO_CELL ? corners : (uint64_t)l->count)]++;
        break;
    case RETURN: d->now[i] = d->before[i]; break;
    case ADD:
    case REMOVE:
        if (toggle_feature(&datasets[i], &d->now[i], op == ADD, dice))
            break;
        /* fall through */
    case RENUMBER: d->now[i].renewed[dice % (uint64_t)l->count]++; break;
    }
    d->before[i] = was;
}

void demo_tick(void *demo)
{
    struct demo *d = demo;
    size_t step = d->ticks % ARRAY_LEN(script);
    enum set i = script[step].set;
    int64_t now = clock_now();
    change(d, i, script[step].op, generate_mix(SCRIPT_SEED, d->ticks, i));
    write_set(d, i, now);
    write_derived(d, now);
    snprintf(d->last, sizeof d->last, "%s: %s", datasets[i].layer.name, op_text[script[step].op]);
    d->ticks++;
}

void demo_reset(void *demo)
{
    struct demo *d = demo;
    int64_t now = clock_now(), at = now - FIRST_AGE_MS;
    d->ticks = 0;
    for (int i = 0; i < N_SETS; i++) {
        int64_t dated = at - i * 3600 * 1000LL;
        if (datasets[i].dated && time_parse_http(str_of(datasets[i].dated), &dated) != RC_OK)
            dated = at;
        d->now[i] = (struct geo_state){.hidden = datasets[i].hidden};
        d->before[i] = d->now[i];
        write_set(d, (enum set)i, dated);
    }
    write_derived(d, at);
    snprintf(d->last, sizeof d->last, "all datasets are at their beginning");
}

const char *demo_last(const struct demo *d)
{
    return d->last;
}

/* ---- beginning and end --------------------------------------------------------------------- */

static enum rc open_all(struct demo *d, struct err *err)
{
    enum rc rc = RC_OK;
    for (int i = 0; rc == RC_OK && i < N_SETS; i++) {
        char path[128];
        snprintf(path, sizeof path, "/data/%s", datasets[i].name);
        rc = document_open(d, &d->sets[i], path, err);
        if (rc == RC_OK && datasets[i].etag != ETAG_STRONG) {
            d->sets[i].resource->base.any.etag = datasets[i].etag;
            d->sets[i].resource->base.any.set |= 1ull << SPEC_BIT_etag;
        }
    }
    for (int i = 0; rc == RC_OK && i < N_DERIVED; i++)
        rc = document_open(d, &d->derived[i], derived_paths[i], err);
    if (rc == RC_OK)
        rc = world_load_text(d->world, str_of(failing), "demo", err);
    return rc;
}

static void set_type(struct document *doc, const char *type)
{
    doc->resource->base.any.type = str_of(type);
    doc->resource->base.any.set |= 1ull << SPEC_BIT_type;
}

enum rc demo_new(struct world *w, struct demo **ret, struct err *err)
{
    struct demo *d = calloc(1, sizeof *d);
    if (!d)
        return err_set(err, RC_NOMEM, "demo", "no memory");
    d->world = w;
    buf_init(&d->text, DATASET_BYTES);
    enum rc rc = open_all(d, err);
    if (rc != RC_OK) {
        demo_free(&d);
        return rc;
    }
    set_type(&d->derived[BUCKET], "application/xml");
    set_type(&d->derived[ARCGIS], "application/json");
    demo_reset(d);
    *ret = d;
    return RC_OK;
}

void demo_free(struct demo **d)
{
    if (!*d)
        return;
    for (int i = 0; i < N_SETS; i++)
        blob_drop(&(*d)->sets[i].blob);
    for (int i = 0; i < N_DERIVED; i++)
        blob_drop(&(*d)->derived[i].blob);
    buf_release(&(*d)->text);
    free(*d);
    *d = NULL;
}
