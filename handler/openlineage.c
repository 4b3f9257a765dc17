/* openlineage: two events per run, to where the setting says. */
#include "handler/openlineage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fd.h"
#include "core/json.h"
#include "core/version.h"
#include "handler/uri.h"

#define PRODUCER "urn:freshet:handler"
#define SCHEMA "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
#define ANSWER_MAX 65536 /* what a receiver says is not read further */
#define ANSWER_MS 10000

/* One run, as an event tells it. */
struct told {
    enum level level;
    const char *source_id, *uri, *at; /* when it ended */
    const char *reason;               /* of a failure; NULL: it did not fail */
};

static yyjson_mut_val *add_facet(yyjson_mut_doc *d, yyjson_mut_val *facets, const char *name,
                                 const char *schema)
{
    yyjson_mut_val *f = yyjson_mut_obj_add_obj(d, facets, name);
    json_add_str(d, f, "_producer", PRODUCER);
    json_add_str(d, f, "_schemaURL", schema);
    return f;
}

static void add_run(yyjson_mut_doc *d, yyjson_mut_val *root, const char *run_id,
                    const struct told *t, bool end)
{
    yyjson_mut_val *run = yyjson_mut_obj_add_obj(d, root, "run"), *facets, *f;
    json_add_str(d, run, "runId", run_id);
    facets = yyjson_mut_obj_add_obj(d, run, "facets");
    f = add_facet(d, facets, "processing_engine",
                  "https://openlineage.io/spec/facets/1-1-1/ProcessingEngineRunFacet.json"
                  "#/$defs/ProcessingEngineRunFacet");
    json_add_str(d, f, "name", "freshet");
    json_add_str(d, f, "version", freshet_version);
    if (!end || !t->reason || t->level >= LEVEL_RESTRICTED)
        return;
    f = add_facet(d, facets, "errorMessage",
                  "https://openlineage.io/spec/facets/1-0-1/ErrorMessageRunFacet.json"
                  "#/$defs/ErrorMessageRunFacet");
    json_add_str(d, f, "message", t->reason);
    json_add_str(d, f, "programmingLanguage", "C");
}

/* The upstream is a dataset of its host; what we keep of it one of ours. */
static void add_datasets(yyjson_mut_doc *d, yyjson_mut_val *root, const struct told *t, bool end)
{
    yyjson_mut_val *o;
    const char *rest = strstr(t->uri, "://");
    size_t host = rest ? (size_t)(rest - t->uri) + 3 + strcspn(rest + 3, "/?#") : 0;
    if (t->level == LEVEL_PUBLIC && host) {
        o = yyjson_mut_arr_add_obj(d, yyjson_mut_obj_add_arr(d, root, "inputs"));
        yyjson_mut_obj_add_strncpy(d, o, "namespace", t->uri, host);
        json_add_str(d, o, "name", t->uri[host] ? t->uri + host : "/");
    }
    if (!end || t->reason || t->level >= LEVEL_RESTRICTED)
        return;
    o = yyjson_mut_arr_add_obj(d, yyjson_mut_obj_add_arr(d, root, "outputs"));
    json_add_str(d, o, "namespace", "freshet");
    json_add_str(d, o, "name", t->source_id);
}

static enum rc render(struct arena *a, const struct told *t, const char *run_id, bool end,
                      struct str *ret, struct err *err)
{
    char at[TIME_MAX];
    int64_t ms = uuid7_time(run_id);
    if (end && time_parse(str_of(t->at), &ms) != RC_OK)
        return err_set(err, RC_CORRUPT, "", "a run has no time");
    if (t->level >= LEVEL_RESTRICTED)
        ms -= ms % DAY_MS;
    time_format(ms, at);
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_mut_obj(d), *job;
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "eventTime", at);
    json_add_str(d, o, "producer", PRODUCER);
    json_add_str(d, o, "schemaURL", SCHEMA);
    json_add_str(d, o, "eventType", !end ? "START" : t->reason ? "FAIL" : "COMPLETE");
    add_run(d, o, run_id, t, end);
    job = yyjson_mut_obj_add_obj(d, o, "job");
    json_add_str(d, job, "namespace", "freshet");
    json_add_str(d, job, "name", t->level >= LEVEL_RESTRICTED ? "restricted" : t->source_id);
    add_datasets(d, o, t, end);
    TRY(json_doc_rc(d));
    return json_write(a, d, 0, ret, err);
}

static enum rc told_change(struct arena *a, const struct outbox_run *r, struct told *ret,
                           struct err *err)
{
    yyjson_val *entry;
    TRY(json_parse(a, r->entry, 0, "an entry", &entry, err));
    *ret = (struct told){.level = r->level,
                         .source_id = r->source_id,
                         .uri = json_member_text(entry, "source_uri"),
                         .at = json_member_text(entry, "finalized_at")};
    return RC_OK;
}

static enum rc told_failure(struct ledger *l, struct arena *a, const char *run_id, struct told *ret,
                            struct err *err)
{
    struct outbox_failed_run r;
    TRY(outbox_failed_run(l, a, run_id, &r, err));
    *ret = (struct told){.level = r.level,
                         .source_id = r.source_id,
                         .uri = *r.url ? uri_shown(a, r.url) : "",
                         .at = r.at,
                         .reason = r.reason};
    return ret->uri ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for an address");
}

/* How the run ended is what the ledger says now. */
static enum rc find(const struct outbox_env *env, const char *run_id, struct told *ret,
                    struct err *err)
{
    struct outbox_run r;
    enum rc rc = outbox_run(env->ledger, env->arena, run_id, &r, err);
    if (rc == RC_NOT_FOUND)
        return told_failure(env->ledger, env->arena, run_id, ret, err);
    TRY(rc);
    return told_change(env->arena, &r, ret, err);
}

/* ---- to a file ------------------------------------------------------------------------------- */

static enum rc add_lines(const struct outbox_env *env, const char *path, struct str lines,
                         struct err *err)
{
    const char *full = *path == '/' ? path : instance_path(env->arena, env->inst, path);
    int fd = full ? open(full, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640) : -1;
    if (fd < 0)
        return err_set(err, RC_IO, "openlineage", "cannot open %.200s: %s", path, strerror(errno));
    bool good = flock(fd, LOCK_EX) == 0 && fd_write_all(fd, lines) && fsync(fd) == 0;
    int why = errno;
    close(fd);
    return good
               ? RC_OK
               : err_set(err, RC_IO, "openlineage", "cannot write %.200s: %s", path, strerror(why));
}

/* ---- over HTTP ------------------------------------------------------------------------------- */

struct post {
    bool done;
    struct fetch_res res;
};

static enum rc on_body(void *ctx, const void *p, size_t n)
{
    (void)ctx, (void)p, (void)n;
    return RC_OK;
}

static void on_done(void *ctx, const struct fetch_res *res)
{
    struct post *p = ctx;
    p->done = true;
    p->res = *res;
}

static enum rc post(const struct outbox_env *env, const char *url, struct str event,
                    struct err *err)
{
    struct post p = {0};
    const struct fetch_header type = {.name = "Content-Type", .value = "application/json"};
    const struct fetch_req req = {.method = "POST",
                                  .url = url,
                                  .headers = &type,
                                  .n_headers = 1,
                                  .body = event,
                                  .max_body = ANSWER_MAX,
                                  .timeout_ms = ANSWER_MS,
                                  .on_body = on_body,
                                  .on_done = on_done,
                                  .ctx = &p};
    if (!*env->engine)
        TRY(fetch_new(&env->inst->conf, env->engine, err));
    TRY(fetch_start(*env->engine, &req, err));
    while (!p.done)
        (void)fetch_run(*env->engine, 250);
    if (p.res.end == FETCH_OK && p.res.http >= 200 && p.res.http < 300)
        return RC_OK;
    return err_set(err, RC_UPSTREAM, "openlineage", "the receiver answered %d (%s)", p.res.http,
                   fetch_end_name(p.res.end));
}

enum rc openlineage_tell(const struct outbox_env *env, const char *run_id, struct err *err)
{
    const char *to = env->inst->conf.openlineage;
    bool http = strncmp(to, "http://", 7) == 0 || strncmp(to, "https://", 8) == 0;
    struct told t;
    struct str start, end;
    TRY(find(env, run_id, &t, err));
    if (!*to || t.level >= LEVEL_SOVEREIGN) /* raised meanwhile */
        return RC_OK;
    TRY(render(env->arena, &t, run_id, false, &start, err));
    TRY(render(env->arena, &t, run_id, true, &end, err));
    if (http) {
        TRY(post(env, to, start, err));
        return post(env, to, end, err);
    }
    char *lines = arena_printf(env->arena, "%.*s\n%.*s\n", STR_FMT(start), STR_FMT(end));
    return lines ? add_lines(env, to, str_of(lines), err)
                 : err_set(err, RC_NOMEM, "", "no memory for an event");
}
