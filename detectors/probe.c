/* probe: the document first, then the data by the rules of etag.h; the flow is in the header.
 * Pure. */
#include "detectors/probe.h"
#include "detectors/etag.h"
#include "detectors/shape.h"

/* Between the asks of a check. */
struct memo {
    char value[CHECK_CURSOR_MAX]; /* "" when the probe told none */
    char note[140];               /* what the probe said, for people */
};

/* ---- values ---------------------------------------------------------------------------------- */

static bool digest_text(yyjson_val *v, char out[CHECK_CURSOR_MAX])
{
    struct buf canon;
    struct err ignored;
    struct sha256 sha;
    char hex[SHA256_HEX];
    buf_init(&canon, JSON_MAX);
    bool ok = json_canon(&canon, v, &ignored) == RC_OK;
    digest_sha256(buf_view(&canon).p, canon.len, &sha);
    buf_release(&canon);
    sha256_hex(&sha, hex);
    if (ok)
        snprintf(out, CHECK_CURSOR_MAX, "sha256:%s", hex);
    return ok;
}

static bool plain_text(struct str s, char out[CHECK_CURSOR_MAX])
{
    bool fits = s.n < CHECK_CURSOR_MAX && str_is_clean(s);
    if (fits)
        snprintf(out, CHECK_CURSOR_MAX, "%.*s", STR_FMT(s));
    return fits;
}

bool probe_text(yyjson_val *v, char out[CHECK_CURSOR_MAX])
{
    struct str s = {yyjson_get_str(v), yyjson_get_len(v)};
    char number[32];
    if (!v || yyjson_is_null(v) || (yyjson_is_str(v) && s.n == 0))
        return false;
    if (json_scalar(v, number))
        return plain_text(str_of(number), out);
    return (yyjson_is_str(v) && plain_text(s, out)) || digest_text(v, out);
}

/* ---- the probe ------------------------------------------------------------------------------- */

static struct ask plan(const struct source *s, const struct check_state *st,
                       const struct conf *conf, int64_t now)
{
    return (struct ask){.why = etag_audit_due(st, conf, now) ? ASK_AUDIT : ASK_ABOUT,
                        .url = s->probe_url[0] ? s->probe_url : NULL,
                        .collect = PROBE_BYTES_MAX};
}

/* Is the document about what the source means? */
static bool expected(const struct source *s, yyjson_val *doc, struct verdict *ret)
{
    char found[CHECK_CURSOR_MAX];
    if (!s->probe_expect[0])
        return true;
    bool told = probe_text(yyjson_ptr_get(doc, s->probe_expect), found);
    if (told && strcmp(found, s->probe_equals) == 0)
        return true;
    *ret = verdict_of(OUTCOME_wrong_shape, "the probe has %.*s at %.*s, not %.*s",
                      STR_CUT(told ? found : "nothing", 60), STR_CUT(s->probe_expect, 60),
                      STR_CUT(s->probe_equals, 60));
    return false;
}

static struct verdict ask_data(struct ask next, const char *pointer, const char *value,
                               struct memo *m)
{
    if (value[0] != '\0')
        snprintf(m->note, sizeof m->note, "%.*s is %.*s", STR_CUT(pointer, 60), STR_CUT(value, 60));
    else
        snprintf(m->note, sizeof m->note, "no value at %.*s of the probe", STR_CUT(pointer, 60));
    return verdict_again(next);
}

/* The document is whole and no error. */
static struct verdict judge_document(struct check_state *st, const struct answer *a,
                                     yyjson_val *doc, struct memo *m, int64_t now)
{
    const char *pointer = a->source->probe_pointer;
    struct verdict v;
    if (!expected(a->source, doc, &v))
        return v;
    if (!probe_text(yyjson_ptr_get(doc, pointer), m->value))
        m->value[0] = '\0';
    if (a->ask.why == ASK_AUDIT)
        return ask_data((struct ask){.why = ASK_AUDIT}, pointer, m->value, m);
    if (m->value[0] == '\0')
        return ask_data(etag_ask(st, now), pointer, m->value, m);
    if (!st->has_seen)
        return ask_data((struct ask){.why = ASK_FIRST}, pointer, m->value, m);
    if (strcmp(m->value, st->cursor) != 0)
        return ask_data((struct ask){.why = ASK_TOLD}, pointer, m->value, m);
    st->since_audit++;
    return verdict_of(OUTCOME_not_modified, "%.*s is still %.*s", STR_CUT(pointer, 60),
                      STR_CUT(m->value, 60));
}

static struct verdict judge_probe(struct check_state *st, const struct answer *a, struct memo *m,
                                  int64_t now)
{
    struct err err;
    yyjson_val *doc;
    if (a->res->end == FETCH_OK && (a->res->http == 404 || a->res->http == 410)) {
        snprintf(m->note, sizeof m->note, "the probe is gone, HTTP %d", a->res->http);
        return verdict_again(a->ask.why == ASK_AUDIT ? (struct ask){.why = ASK_AUDIT}
                                                     : etag_ask(st, now));
    }
    if (a->res->end != FETCH_OK || a->res->http != 200 || !a->text.p) {
        struct verdict v = verdict_failure(a->res), named = v;
        snprintf(named.detail, sizeof named.detail, "probe: %.180s", v.detail);
        return named;
    }
    const char *wrong = shape_wrong_text(SHAPE_json, a->text);
    if (wrong)
        return verdict_of(OUTCOME_wrong_shape, "probe: %s", wrong);
    enum rc rc = json_parse(a->arena, a->text, 0, "probe", &doc, &err);
    if (rc != RC_OK)
        return verdict_of(rc == RC_NOMEM ? OUTCOME_unavailable : OUTCOME_wrong_shape, "%s",
                          err.msg);
    if (shape_says_error(doc))
        return verdict_of(OUTCOME_wrong_shape, "probe: an error document with status 200");
    return judge_document(st, a, doc, m, now);
}

/* ---- the data -------------------------------------------------------------------------------- */

static struct verdict judge_data(struct check_state *st, const struct answer *a,
                                 const struct memo *m, int64_t now)
{
    struct verdict v = etag_judge(st, a, now);
    if (v.again)
        return v;
    struct verdict noted = v;
    snprintf(noted.detail, sizeof noted.detail, "%.40s; %s", v.detail, m->note);
    if (!outcome_failure(v.outcome) && m->value[0] != '\0')
        memcpy(st->cursor, m->value, sizeof st->cursor);
    return noted;
}

static struct verdict judge(struct check_state *st, const struct answer *a, int64_t now)
{
    if (*a->memo)
        return judge_data(st, a, *a->memo, now);
    struct memo *m = ARENA_NEW(a->arena, struct memo);
    if (!m)
        return verdict_of(OUTCOME_unavailable, "here: no memory for the probe");
    *a->memo = m;
    return judge_probe(st, a, m, now);
}

const struct detector probe_detector = {.name = "probe",
                                        .asks_max = 1 + ETAG_ASKS_MAX,
                                        .memory_max = PROBE_MEMORY_MAX,
                                        .plan = plan,
                                        .judge = judge};
