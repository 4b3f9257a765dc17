/* gate: asks every policy, applies waivers and approvals, writes the decision. A new policy is a
 * row in policies.def and a function here. */
#include "handler/gate.h"

const char *gate_verdict_name(enum gate_verdict v)
{
    static const char *const names[] = {"allow", "hold", "deny"};
    return names[v];
}

/* ---- policies -------------------------------------------------------------------------------- */

static const struct policy_level *rule_of(const struct gate_view *v)
{
    return &v->policy->levels[v->source->level];
}

static const char *policy_level(const struct gate_view *v)
{
    return rule_of(v)->named ? NULL : "levels of the policy does not name the level of the source";
}

static const char *policy_provenance(const struct gate_view *v)
{
    const struct candidate *c = v->cand;
    if (!c)
        return NULL;
    bool asked = *v->source->url && *c->event_id && *c->detector && c->detected_at > 0;
    bool done = v->tags && *v->tags->tool_version && *v->tags->rules_version;
    return asked && done ? NULL : "not all of event, detector, time, program and rules is known";
}

static const char *policy_checksum_present(const struct gate_view *v)
{
    return !v->cand || v->sha ? NULL : "the bytes have no digest";
}

static const char *policy_checksum_matches(const struct gate_view *v)
{
    bool same = !v->expected || (v->sha && sha256_eq(v->sha, v->expected));
    return same ? NULL : "the bytes are not those that were held";
}

static const char *policy_license_allowed(const struct gate_view *v)
{
    const struct policy_level *x = rule_of(v);
    if (x->licenses != LICENSES_LISTED)
        return NULL;
    for (size_t i = 0; i < x->listed.n; i++)
        if (str_ieq(str_of(x->listed.items[i]), str_of(v->source->license)))
            return NULL;
    return *v->source->license ? "the licence is not in the list of the level"
                               : "no licence is declared, and the level has a list";
}

static const char *policy_approval(const struct gate_view *v)
{
    static const char *const words[] = {NULL, "a second person must approve it",
                                        "a steward must approve it"};
    return words[rule_of(v)->approval];
}

static const char *policy_metadata(const struct gate_view *v)
{
    static const char *const missing[FIELD_COUNT] = {
#define X(name) [FIELD_##name] = #name " is not declared",
        POLICY_FIELDS(X)
#undef X
    };
    const struct source *s = v->source;
    const char *const values[FIELD_COUNT] = {
#define X(name) [FIELD_##name] = s->name,
        POLICY_FIELDS(X)
#undef X
    };
    for (int f = 0; f < FIELD_COUNT; f++)
        if (rule_of(v)->require & 1u << f && !*values[f])
            return missing[f];
    return NULL;
}

static const char *policy_license_known(const struct gate_view *v)
{
    if (rule_of(v)->licenses != LICENSES_SPDX || policy_spdx(v->source->license))
        return NULL;
    return *v->source->license ? "the licence is no known SPDX identifier"
                               : "no licence is declared";
}

static const char *policy_access(const struct gate_view *v)
{
    if (!rule_of(v)->open_access)
        return NULL;
    for (size_t i = 0; i < v->source->n_headers; i++)
        if (source_header_secret(&v->source->headers[i]))
            return "its upstream wants a secret";
    return NULL;
}

enum { ALWAYS, BYTES };
static const struct {
    const char *name, *reason, *help;
    int applies;
    enum gate_verdict verdict;
    bool waivable;
    const char *(*broken)(const struct gate_view *v);
} policies[] = {
#define X(name, applies, verdict, reason, waivable, help)                                          \
    {#name, #reason, help, applies, GATE_##verdict, waivable, policy_##name},
#include "handler/policies.def"
#undef X
};
_Static_assert(ARRAY_LEN(policies) + VALIDATE_REASONS_MAX <= GATE_FINDINGS_MAX,
               "every policy and rule may be broken at once");

void gate_each_policy(gate_row_fn *fn)
{
    for (size_t i = 0; i < ARRAY_LEN(policies); i++)
        fn(policies[i].name, policies[i].verdict, policies[i].reason, policies[i].waivable,
           policies[i].help);
}

bool gate_waivable(const char *code)
{
    static const struct {
        const char *reason;
        bool holds;
    } rules[] = {
#define PASS 0
#define HOLD 1
#define FAIL 0
#define X(name, applies, verdict, reason, help) {#reason, verdict},
#include "handler/rules.def"
#undef X
#undef PASS
#undef HOLD
#undef FAIL
    };
    for (size_t i = 0; i < ARRAY_LEN(policies); i++)
        if (strcmp(policies[i].reason, code) == 0)
            return policies[i].waivable;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (rules[i].holds && strcmp(rules[i].reason, code) == 0)
            return true;
    return false;
}

/* ---- waivers --------------------------------------------------------------------------------- */

static enum rc take_waiver(void *ctx, const struct waiver *w, struct err *err)
{
    struct gate_waivers *x = ctx;
    (void)err;
    if (x->n == GATE_WAIVERS_MAX)
        return RC_OK;
    x->list[x->n].no = w->no;
    snprintf(x->list[x->n++].rule, sizeof x->list[0].rule, "%s", w->rule);
    return RC_OK;
}

enum rc gate_waivers(struct ledger *l, int64_t src_no, int64_t now, struct gate_waivers *ret,
                     struct err *err)
{
    ret->n = 0;
    return waiver_each(l, src_no, now, take_waiver, ret, err);
}

static int64_t waiver_of(const struct gate_view *v, const char *code)
{
    for (size_t i = 0; v->waivers && i < v->waivers->n; i++)
        if (strcmp(v->waivers->list[i].rule, code) == 0)
            return gate_waivable(code) ? v->waivers->list[i].no : 0;
    return 0;
}

/* ---- the decision ---------------------------------------------------------------------------- */

static bool approved(const struct gate_view *v, const char *reason)
{
    yyjson_val *f;
    size_t i, n;
    if (!v->reviewer || !v->rightful)
        return false;
    yyjson_arr_foreach(v->seen, i, n, f)
    {
        if (yyjson_equals_str(yyjson_obj_get(f, "reason"), reason) &&
            yyjson_equals_str(yyjson_obj_get(f, "verdict"), gate_verdict_name(GATE_HOLD)))
            return true;
    }
    return false;
}

static void add_finding(const struct gate_view *v, struct gate *g, const char *policy,
                        enum gate_verdict verdict, const char *reason, const char *detail)
{
    struct gate_finding f = {policy, reason, detail, verdict, waiver_of(v, reason), false};
    f.approved = !f.waiver && verdict == GATE_HOLD && approved(v, reason);
    g->findings[g->n++] = f;
    if (f.waiver || f.approved || verdict <= g->verdict)
        return;
    g->verdict = verdict;
    g->reason = reason;
}

static enum rc write_doc(struct arena *a, const struct gate_view *v, struct gate *g,
                         struct err *err)
{
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "policy_version", v->policy->tag);
    json_add_str(d, o, "level", level_name(v->source->level));
    json_add_str(d, o, "verdict", gate_verdict_name(g->verdict));
    json_add_str(d, o, "reason", *g->reason ? g->reason : NULL);
    json_add_str(d, o, "reviewer", v->reviewer);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, o, "findings");
    for (size_t i = 0; i < g->n; i++) {
        const struct gate_finding *f = &g->findings[i];
        yyjson_mut_val *x = yyjson_mut_arr_add_obj(d, list);
        json_add_str(d, x, "policy", f->policy);
        json_add_str(d, x, "verdict", gate_verdict_name(f->verdict));
        json_add_str(d, x, "reason", f->reason);
        json_add_str(d, x, "detail", f->detail);
        json_add_str(d, x, "passed_by", f->waiver ? "waiver" : f->approved ? "approval" : NULL);
        if (f->waiver)
            yyjson_mut_obj_add_int(d, x, "waiver", f->waiver);
    }
    return json_write(a, d, 0, &g->doc, err);
}

enum rc gate_decide(struct arena *a, const struct gate_view *v, struct gate *ret, struct err *err)
{
    struct gate g = {.verdict = GATE_ALLOW, .reason = ""};
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        if (policies[i].applies == BYTES && v->deletes)
            continue;
        const char *why = policies[i].broken(v);
        if (why)
            add_finding(v, &g, policies[i].name, policies[i].verdict, policies[i].reason, why);
    }
    bool held = v->qa && v->qa->outcome == VERDICT_HOLD;
    for (size_t i = 0; held && i < v->qa->n_reasons; i++)
        add_finding(v, &g, "quality", GATE_HOLD, v->qa->reasons[i],
                    "a rule about the bytes wants a person to look");
    TRY(write_doc(a, v, &g, err));
    *ret = g;
    return RC_OK;
}

static bool is_waived(const struct gate_waivers *w, const char *reason)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->list[i].rule, reason) == 0)
            return true;
    return false;
}

enum rc gate_freed(struct arena *a, struct str doc, const struct gate_waivers *waivers,
                   const char *rule, bool *ret, struct err *err)
{
    yyjson_val *root, *list, *x;
    size_t i, n;
    bool all = true, this_one = false;
    TRY(json_parse(a, doc, 0, "a decision", &root, err));
    list = yyjson_obj_get(root, "findings");
    yyjson_arr_foreach(list, i, n, x)
    {
        const char *reason = json_member_text(x, "reason");
        if (*json_member_text(x, "passed_by"))
            continue;
        all = all && is_waived(waivers, reason);
        this_one = this_one || strcmp(reason, rule) == 0;
    }
    *ret = all && this_one;
    return RC_OK;
}
