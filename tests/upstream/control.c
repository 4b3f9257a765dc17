/* control: commands of the tests, under /control/. Behind server.h.
 *
 *   GET  log[?path=P][&since=SEQ]  requests received        GET  state  resources and counters
 *   POST advance?path=P[&every=N]  next version             POST set    {path, version, fields}
 *   POST reset                     all to the beginning     POST load   another scenario
 *   POST tick                      next change of the demo
 *
 * Invariants
 *   1. A refused command changes nothing; its error names the field.
 *   2. Replies are JSON; {"ok":true,...} or {"error":{"field":...,"message":...}}.
 */
#include "tests/upstream/server.h"

#define REPLY_ARENA (512u << 20) /* the log as JSON: WIRE_MAX bytes grow by values around them */
#define PATH_MAX_ 2048

struct call {
    struct server *s;
    const struct request *q;
    struct arena arena;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
};
typedef enum rc control_fn(struct call *c, struct err *err);

/* ---- GET ----------------------------------------------------------------------------------- */

static enum rc get_log(struct call *c, struct err *err)
{
    char path[PATH_MAX_], since[32] = "0";
    int64_t seq = 0;
    bool one = http_param(c->q->query, "path", path, sizeof path);
    if (http_param(c->q->query, "since", since, sizeof since) &&
        (str_to_i64(str_of(since), &seq) != RC_OK || seq < 0))
        return err_set(err, RC_INVALID, "since", "must be a sequence number");
    c->root = yyjson_mut_arr(c->doc);
    if (!wire_list(&c->s->wire, (uint64_t)seq, one ? path : NULL, c->doc, c->root))
        return err_set(err, RC_NOMEM, "", "the log is too large; reset it, or use since");
    return RC_OK;
}

static void add_resources(struct call *c, yyjson_mut_val *arr)
{
    for (struct resource *r = c->s->world.first; r; r = r->next) {
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(c->doc, arr);
        json_add_str(c->doc, o, "path", r->path);
        json_add_str(c->doc, o, "scenario", r->scenario);
        yyjson_mut_obj_add_uint(c->doc, o, "version", r->version + 1);
        yyjson_mut_obj_add_uint(c->doc, o, "versions", r->n_versions ? r->n_versions : 1);
        yyjson_mut_obj_add_uint(c->doc, o, "reply", r->n_replies ? r->step + 1 : 0);
        yyjson_mut_obj_add_uint(c->doc, o, "replies", r->n_replies);
        yyjson_mut_obj_add_bool(c->doc, o, "overridden", r->over.any.set != 0);
        yyjson_mut_obj_add_uint(c->doc, o, "hits", r->hits);
    }
}

static void add_bulks(struct call *c, yyjson_mut_val *arr)
{
    for (size_t i = 0; i < c->s->world.n_bulks; i++) {
        const struct bulk *b = &c->s->world.bulks[i];
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(c->doc, arr);
        json_add_str(c->doc, o, "path", b->path);
        yyjson_mut_obj_add_uint(c->doc, o, "count", b->count);
        yyjson_mut_obj_add_uint(c->doc, o, "hits", b->hits);
    }
}

static void add_stats(struct call *c)
{
    const struct server_stats *t = &c->s->stats;
    yyjson_mut_doc *d = c->doc;
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(d, c->root, "stats");
    yyjson_mut_obj_add_uint(d, o, "requests", t->requests);
    yyjson_mut_obj_add_uint(d, o, "forgotten", c->s->wire.forgotten);
    yyjson_mut_obj_add_uint(d, o, "connections", t->connections);
    yyjson_mut_obj_add_uint(d, o, "open", t->open);
    yyjson_mut_obj_add_uint(d, o, "open_max", t->open_max);
    yyjson_mut_obj_add_uint(d, o, "busy", t->busy);
    yyjson_mut_obj_add_uint(d, o, "busy_max", t->busy_max);
    if (c->s->tls) {
        yyjson_mut_obj_add_uint(d, o, "tls_handshakes", tls_stats(c->s->tls)->handshakes);
        yyjson_mut_obj_add_uint(d, o, "tls_resumed", tls_stats(c->s->tls)->resumed);
    }
}

static enum rc get_state(struct call *c, struct err *err)
{
    (void)err;
    yyjson_mut_obj_add_int(c->doc, c->root, "http", c->s->port);
    yyjson_mut_obj_add_int(c->doc, c->root, "https", c->s->tls_port);
    json_add_str(c->doc, c->root, "pin_sha256", c->s->tls ? tls_pin(c->s->tls) : NULL);
    yyjson_mut_obj_add_sint(c->doc, c->root, "latency_ms", c->s->world.latency_ms);
    add_stats(c);
    add_resources(c, yyjson_mut_obj_add_arr(c->doc, c->root, "resources"));
    add_bulks(c, yyjson_mut_obj_add_arr(c->doc, c->root, "bulk"));
    return RC_OK;
}

/* ---- POST ---------------------------------------------------------------------------------- */

static enum rc post_reset(struct call *c, struct err *err)
{
    (void)err;
    struct server_stats *t = &c->s->stats;
    world_reset(&c->s->world);
    wire_clear(&c->s->wire);
    t->requests = t->connections = 0;
    t->open_max = t->open;
    t->busy_max = t->busy;
    if (c->s->tls)
        *tls_stats(c->s->tls) = (struct tls_stats){0};
    if (c->s->reset)
        c->s->reset(c->s->ctx);
    return RC_OK;
}

static enum rc post_tick(struct call *c, struct err *err)
{
    if (!c->s->tick)
        return err_set(err, RC_CONFLICT, "", "there is no demo; start with --demo");
    c->s->tick(c->s->ctx);
    return RC_OK;
}

static struct bulk *bulk_of(struct world *w, const char *path)
{
    for (size_t i = 0; i < w->n_bulks; i++) {
        if (strcmp(w->bulks[i].path, path) == 0)
            return &w->bulks[i];
    }
    return NULL;
}

/* Every n-th item of a bulk, for benchmarks in which some things change. */
static void advance_every(struct bulk *b, uint32_t n)
{
    for (uint32_t i = 0; i < b->count; i += n) {
        if (b->versions[i] < UINT16_MAX - 1)
            b->versions[i]++;
    }
}

static enum rc post_advance(struct call *c, struct err *err)
{
    char path[PATH_MAX_], text[16] = "1";
    int64_t every = 1;
    if (!http_param(c->q->query, "path", path, sizeof path))
        return err_set(err, RC_INVALID, "path", "say which: /control/advance?path=/x");
    bool many = http_param(c->q->query, "every", text, sizeof text);
    struct bulk *b = bulk_of(&c->s->world, path);
    if (str_to_i64(str_of(text), &every) != RC_OK || every < 1 || every > WORLD_BULK_MAX ||
        (many && !b))
        return err_set(err, RC_INVALID, "every", "must be a number of 1 and more, for a bulk");
    if (b) {
        advance_every(b, (uint32_t)every);
        return RC_OK;
    }
    struct hit h = world_find(&c->s->world, str_of(path));
    if (!h.resource && !h.bulk)
        return err_set(err, RC_INVALID, "path", "no such resource: %s", path);
    enum rc rc = world_advance(&h, err);
    if (rc == RC_OK)
        yyjson_mut_obj_add_uint(c->doc, c->root, "version", world_version(&h) + 1);
    return rc;
}

/* Lays the fields over what an earlier set has said; "clear": true forgets those first. */
static enum rc set_fields(struct call *c, yyjson_val *body, struct layer *over, struct err *err)
{
    static const char *const others[] = {"path", "version", "reply", "clear", NULL};
    struct layer l;
    bool clear = false;
    enum rc rc = layer_parse(&c->s->world.home, body, others, 0, &l, err);
    if (rc == RC_OK)
        rc = json_get_bool(body, "clear", &clear, err);
    if (rc != RC_OK)
        return rc;
    if (clear)
        *over = (struct layer){0};
    spec_merge(&over->any, &l.any);
    for (int m = 0; m < METHOD_OTHER; m++) {
        if (l.only[m])
            over->only[m] = l.only[m];
    }
    return RC_OK;
}

/* "version" and "reply": which version is served and which scripted reply comes next, from 1. */
static enum rc set_hit(struct call *c, yyjson_val *body, const char *path, struct err *err)
{
    struct hit h = world_find(&c->s->world, str_of(path));
    int64_t version = 0, reply = 0, replies = h.resource ? (int64_t)h.resource->n_replies : 0;
    enum rc rc;
    if (!h.resource && !h.bulk)
        return err_set(err, RC_INVALID, "path", "no such resource: %s", path);
    if ((rc = json_get_i64(body, "version", 1, (int64_t)world_versions(&h), &version, err)) !=
            RC_OK ||
        (rc = json_get_i64(body, "reply", 1, replies, &reply, err)) != RC_OK)
        return rc;
    if (h.bulk && yyjson_obj_size(body) != (version ? 2 : 1))
        return err_set(err, RC_INVALID, "path", "of one item only `version` can be set; use %s",
                       h.bulk->path);
    if (h.resource && (rc = set_fields(c, body, &h.resource->over, err)) != RC_OK)
        return rc;
    if (reply)
        h.resource->step = (size_t)reply - 1;
    return version ? world_set_version(&h, version - 1, err) : RC_OK;
}

static enum rc post_set(struct call *c, struct err *err)
{
    yyjson_val *body = NULL;
    const char *path = NULL;
    enum rc rc = json_parse(&c->arena, c->q->body, JSON_RELAXED, "body", &body, err);
    if (rc == RC_OK && !yyjson_is_obj(body))
        rc = err_set(err, RC_INVALID, "body", "must be an object {path, ...}");
    if (rc == RC_OK)
        rc = json_get_str(body, "path", &path, err);
    if (rc == RC_OK && !path && yyjson_obj_get(body, "latency_ms"))
        return json_get_i64(body, "latency_ms", 0, 60000, &c->s->world.latency_ms, err);
    if (rc == RC_OK && !path)
        rc = err_set(err, RC_INVALID, "path", "say which resource");
    if (rc != RC_OK)
        return rc;
    struct bulk *b = bulk_of(&c->s->world, path);
    return b ? set_fields(c, body, &b->over, err) : set_hit(c, body, path, err);
}

static enum rc post_load(struct call *c, struct err *err)
{
    struct server *s = c->s;
    struct world fresh;
    world_init(&fresh, s->world.home.dir, s->port, s->tls_port);
    enum rc rc = world_load_text(&fresh, c->q->body, "body", err);
    if (rc != RC_OK) {
        world_release(&fresh);
        return rc;
    }
    s->tick = NULL; /* the demo, if any, is over: its resources are gone */
    s->reset = NULL;
    world_release(&s->world);
    s->world = fresh;
    wire_clear(&s->wire);
    yyjson_mut_obj_add_uint(c->doc, c->root, "resources", s->world.n);
    return RC_OK;
}

/* ---- the table ----------------------------------------------------------------------------- */

static const struct {
    enum method method;
    const char *path;
    control_fn *fn;
} commands[] = {
    {METHOD_GET, "/control/log", get_log},       {METHOD_GET, "/control/state", get_state},
    {METHOD_POST, "/control/reset", post_reset}, {METHOD_POST, "/control/advance", post_advance},
    {METHOD_POST, "/control/set", post_set},     {METHOD_POST, "/control/load", post_load},
    {METHOD_POST, "/control/tick", post_tick},
};

static enum rc dispatch(struct call *c, struct err *err)
{
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (!str_is(c->q->path, commands[i].path))
            continue;
        known = true;
        if (c->q->method == commands[i].method)
            return commands[i].fn(c, err);
    }
    if (known)
        return err_set(err, RC_METHOD, "method", "the other of GET and POST");
    return err_set(err, RC_NOT_FOUND, "path", "no such command");
}

static void add_error(struct call *c, const struct err *err)
{
    c->root = yyjson_mut_obj(c->doc);
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(c->doc, c->root, "error");
    json_add_str(c->doc, o, "field", err->field);
    json_add_str(c->doc, o, "message", err->msg);
}

void control_answer(struct server *s, const struct request *q, struct buf *head, struct reply *ret)
{
    struct call c = {.s = s, .q = q};
    struct err err = {0};
    struct str text = STR("{\"error\":{\"field\":\"\",\"message\":\"out of memory\"}}");
    arena_init(&c.arena, REPLY_ARENA);
    c.doc = json_doc(&c.arena);
    c.root = yyjson_mut_obj(c.doc);
    yyjson_mut_obj_add_bool(c.doc, c.root, "ok", true);
    enum rc rc = dispatch(&c, &err);
    if (rc != RC_OK)
        add_error(&c, &err);
    yyjson_mut_doc_set_root(c.doc, c.root);
    if (json_write(&c.arena, c.doc, JSON_PRETTY, &text, &err) != RC_OK && rc == RC_OK)
        rc = RC_NOMEM;
    respond_with(&s->responder, q, rc_http(rc), "application/json", blob_plain(text), head, ret);
    arena_release(&c.arena);
}
