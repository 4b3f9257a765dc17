/* job_inspect: what the inspector tells about the bytes of a run, beside what it told about the
 * head's. */
#include "handler/job_internal.h"

#include <errno.h>
#include <fcntl.h>
#include "core/fd.h"

static void options_of(const struct job *j, struct inspect_options *o)
{
    inspect_options_default(o);
    o->feature_key = j->source.feature_key;
    o->precision_m = j->source.precision_m;
    o->legal_date_field = j->source.legal_date_field;
}

static enum rc ask(struct job *j, int fd, yyjson_val **ret, struct err *err)
{
    const struct job_env *e = j->env;
    struct inspect_options o;
    struct inspection found;
    options_of(j, &o);
    if (!*e->inspector)
        TRY(inspector_new(&e->inst->conf, e->inst->programs, e->inspector, err));
    TRY(inspector_run(*e->inspector, fd, &o, &j->reports, &found, err));
    *ret = found.root;
    return e->tick ? e->tick(e->tick_ctx, err) : RC_OK;
}

enum rc job_open_head(const struct job *j, int *ret_fd, struct err *err)
{
    enum tier tier = job_tier(j), other = tier == TIER_PUBLIC ? TIER_RESTRICTED : TIER_PUBLIC;
    enum rc rc = store_read(j->env->store, tier, &j->head.sha, ret_fd, err);
    if (rc == RC_NOT_FOUND) /* its level was another then */
        rc = store_read(j->env->store, other, &j->head.sha, ret_fd, err);
    return rc;
}

static enum rc inspect_head(struct job *j, struct err *err)
{
    CLEANUP(fd_close) int fd = -1;
    TRY(job_open_head(j, &fd, err));
    return ask(j, fd, &j->then, err);
}

/* From the run that made it head; what an older inspector told is asked for again. A deleted head
 * has nothing to compare with. */
static enum rc look_before(struct job *j, struct err *err)
{
    const struct head *h = &j->head;
    struct str qa;
    if (h->version == 0 || h->deleted)
        return RC_OK;
    TRY(change_qa(j->env->ledger, &j->reports, j->source.no, &h->sha, &qa, err));
    enum rc rc = summary_read(&j->reports, qa, j->source.precision_m, &j->before, err);
    if (rc != RC_NOT_FOUND)
        return rc;
    TRY(inspect_head(j, err));
    return summary_of(j->then, &j->before, err);
}

enum rc job_inspect(struct job *j, int fd, struct summary *ret, struct err *err)
{
    TRY(ask(j, fd, &j->now, err));
    TRY(summary_of(j->now, ret, err));
    summary_expect(j->now, &j->source, ret);
    return ret->geodata ? look_before(j, err) : RC_OK;
}

bool job_same_content(const struct job *j)
{
    const char *now = j->facts.qa.now.content_digest;
    return *now && strcmp(now, j->before.content_digest) == 0;
}

/* The new bytes, kept or not yet. */
static enum rc open_bytes(const struct job *j, int *ret_fd, struct err *err)
{
    if (!j->put)
        return store_read(j->env->store, job_tier(j), &j->bytes.sha, ret_fd, err);
    *ret_fd = fcntl(store_put_fd(j->put), F_DUPFD_CLOEXEC, 0);
    return *ret_fd >= 0 ? RC_OK
                        : err_set(err, RC_IO, "", "cannot open a file: %s", strerror(errno));
}

/* fd: of the new bytes, -1: they are to be opened. The delta tells digests alone, and says so, when
 * the sandbox could not measure. */
static enum rc measure(struct job *j, int fd, struct err *err)
{
    const struct job_env *e = j->env;
    CLEANUP(fd_close) int old = -1;
    CLEANUP(fd_close) int now = -1;
    struct inspect_options o;
    struct inspection found;
    options_of(j, &o);
    TRY(job_open_head(j, &old, err));
    if (fd < 0)
        TRY(open_bytes(j, &now, err));
    TRY(inspector_compare(*e->inspector, old, fd < 0 ? now : fd, &o, &j->reports, &found, err));
    j->compared = found.root;
    diff_measure(&j->diff, found.root);
    return e->tick ? e->tick(e->tick_ctx, err) : RC_OK;
}

static enum rc differ(struct job *j, int fd, struct err *err)
{
    const struct diff *d = &j->diff;
    if (j->differed)
        return RC_OK;
    if (j->before.geodata && !j->then)
        TRY(inspect_head(j, err));
    TRY(diff_of(&j->reports, j->then, j->now, DIFF_LISTED_MAX, &j->diff, err));
    j->differed = true;
    bool any = d->added.total + d->removed.total + d->modified.total > 0;
    return d->verdict && any ? measure(j, fd, err) : RC_OK;
}

enum rc job_diff(struct job *j, struct err *err)
{
    if (j->facts.qa.now.features < 0)
        return RC_OK;
    TRY(differ(j, -1, err));
    j->facts.diff = &j->diff;
    j->facts.compared = j->compared;
    return RC_OK;
}

/* What the content digest tells beside features: fields, CRS, pictures, what is unread. */
static bool same_frame(const struct job *j)
{
    yyjson_val *x = yyjson_obj_get(j->then, "layers"), *y = yyjson_obj_get(j->now, "layers");
    size_t n = yyjson_arr_size(x);
    bool same =
        n == yyjson_arr_size(y) &&
        strcmp(j->before.schema_digest, j->facts.qa.now.schema_digest) == 0 &&
        yyjson_equals(yyjson_obj_get(j->then, "raster"), yyjson_obj_get(j->now, "raster")) &&
        yyjson_equals(yyjson_obj_get(j->then, "unread_digest"),
                      yyjson_obj_get(j->now, "unread_digest"));
    for (size_t i = 0; same && i < n; i++)
        same = yyjson_equals(yyjson_obj_get(yyjson_arr_get(x, i), "crs"),
                             yyjson_obj_get(yyjson_arr_get(y, i), "crs"));
    return same;
}

/* Only where as many features are, so that most changes are not measured before the
 * policy speaks. */
enum rc job_within_precision(struct job *j, int fd, bool *ret, struct err *err)
{
    *ret = false;
    if (!*j->before.content_digest || !*j->facts.qa.now.content_digest || j->before.features < 0 ||
        j->before.features != j->facts.qa.now.features)
        return RC_OK;
    TRY(differ(j, fd, err));
    *ret = j->diff.same && same_frame(j);
    return RC_OK;
}
