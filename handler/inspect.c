/* inspect: options, problems, and reports of what nobody read. */
#include "handler/inspect.h"

#include <math.h>
#include "core/digest.h"
#include "handler/compare.h"
#include "handler/inspect_report.h"

static const char *const problem_names[] = {
#define X(code, detail) #code,
#include "handler/inspect_problems.def"
#undef X
};

const char *inspect_problem_name(enum inspect_problem p)
{
    return problem_names[p];
}

void inspect_options_default(struct inspect_options *ret)
{
    *ret = (struct inspect_options){.feature_key = "", .precision_m = INSPECT_PRECISION_M};
}

enum rc inspect_options_check(const struct inspect_options *o, struct err *err)
{
    if (strlen(o->feature_key) > INSPECT_KEY_MAX)
        return err_set(err, RC_INVALID, "feature_key", "must have at most %d bytes",
                       INSPECT_KEY_MAX);
    if (!str_is_utf8(str_of(o->feature_key)))
        return err_set(err, RC_INVALID, "feature_key", "must be UTF-8");
    if (o->legal_date_field && (strlen(o->legal_date_field) > INSPECT_KEY_MAX ||
                                !str_is_utf8(str_of(o->legal_date_field))))
        return err_set(err, RC_INVALID, "legal_date_field", "must be UTF-8 of at most %d bytes",
                       INSPECT_KEY_MAX);
    if (!(o->precision_m >= INSPECT_PRECISION_MIN && o->precision_m <= INSPECT_PRECISION_MAX))
        return err_set(err, RC_INVALID, "precision_m", "must be between %g and %g metres",
                       INSPECT_PRECISION_MIN, INSPECT_PRECISION_MAX);
    return RC_OK;
}

void inspect_problem(struct inspect *in, enum inspect_problem p)
{
    in->problems[p]++;
}

void inspect_has_unread(struct inspect *in)
{
    in->has_unread = true;
    digest_sha256(in->bytes.p, in->bytes.n, &in->unread);
}

struct layer *inspect_layer(struct inspect *in, const char *name, const struct crs *crs)
{
    struct layer *l = in->n_layers < INSPECT_LAYERS_MAX ? arena_alloc(in->arena, sizeof *l) : NULL;
    if (!l || layer_init(l, in->arena, name, crs, in->options->precision_m) != RC_OK) {
        struct crs unused = *crs;
        crs_release(&unused);
        inspect_problem(in, PROBLEM_TOO_LARGE);
        return NULL;
    }
    in->layers[in->n_layers++] = l;
    return l;
}

enum rc inspect_unread(enum inspect_format f, int64_t size, const struct inspect_options *o,
                       enum inspect_problem p, struct buf *out, struct err *err)
{
    struct arena arena;
    struct inspect in = {.arena = &arena, .options = o, .format = f};
    arena_init(&arena, 1u << 20);
    in.doc = json_doc(&arena);
    if (p < PROBLEM_COUNT)
        in.problems[p] = 1;
    enum rc rc = inspect_render(&in, size, out, err);
    arena_release(&arena);
    return rc;
}

void compare_unread(enum inspect_problem p, struct buf *out)
{
    buf_printf(out, "{\"compare_version\":\"" COMPARE_VERSION "\",\"reason\":\"%s\"}",
               inspect_problem_name(p));
}
