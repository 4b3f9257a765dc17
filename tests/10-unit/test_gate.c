/* gate: policy.json as it is read, beside its published schema, and each policy kept, broken,
 * waived and approved. Invariants of ledger/policy.h and handler/gate.h. */
#include "handler/gate.h"
#include "core/digest.h"
#include "change.h"

static struct arena a;
static struct err err;

static int begin(void **state)
{
    (void)state;
    arena_init(&a, 16u << 20);
    return 0;
}
static int end(void **state)
{
    (void)state;
    arena_release(&a);
    return 0;
}

static enum rc parse(const char *text, struct policy *ret)
{
    return policy_parse(&a, str_of(text), digest_sha256, ret, &err);
}

/* ---- the document ---------------------------------------------------------------------------- */

static const char *const good[] = {
    "{\"version\":\"2026-07.a_b\",\"levels\":{}}",
    "{\"version\":\"1\",\"levels\":{\"public\":{\"require\":[],\"licenses\":\"spdx\",\"access\":\"open\","
    "\"approval\":\"steward\"}},\"stewards\":{}}",
    "{\"version\":\"1\",\"levels\":{\"public\":{\"licenses\":[\"CC0-1.0\"]},\"restricted\":{\"approval\":"
    "\"reviewer\"},\"sovereign\":{\"approval\":\"steward\"}}}",
    "{\"version\":\"1\",\"levels\":{},\"stewards\":{\"sources\":{\"a-b\":[\"A. B\"]},\"collections\":{\"c\":[\"D\",\"E\"]}}}",
};
static const struct {
    const char *text, *field;
} bad[] = {
    {"[]", ""},
    {"{}", "version"},
    {"{\"version\":1}", "version"},
    {"{\"version\":\"\"}", "version"},
    {"{\"version\":\"a b\"}", "version"},
    {"{\"version\":\"closed\"}", "version"},
    {"{\"version\":\"1\",\"rules\":{}}", "rules"},
    {"{\"version\":\"1\"}", "levels"},
    {"{\"version\":\"1\",\"stewards\":{}}", "levels"},
    {"{\"version\":\"1\",\"levels\":[]}", "levels"},
    {"{\"version\":\"1\",\"levels\":{\"open\":{}}}", "levels.open"},
    {"{\"version\":\"1\",\"levels\":{\"public\":null}}", "levels.public"},
    {"{\"version\":\"1\",\"levels\":{\"public\":{\"requires\":[]}}}", "levels.public.requires"},
    {"{\"version\":\"1\",\"levels\":{\"public\":{\"require\":\"title\"}}}",
     "levels.public.require"},
    {"{\"version\":\"1\",\"levels\":{\"public\":{\"require\":[\"url\"]}}}",
     "levels.public.require"},
    {"{\"version\":\"1\",\"levels\":{\"public\":{\"licenses\":[]}}}", "levels.public.licenses"},
    {"{\"version\":\"1\",\"levels\":{\"public\":{\"licenses\":\"all\"}}}",
     "levels.public.licenses"},
    {"{\"version\":\"1\",\"levels\":{\"public\":{\"licenses\":[1]}}}", "levels.public.licenses"},
    {"{\"version\":\"1\",\"levels\":{\"public\":{\"licenses\":[\" \"]}}}",
     "levels.public.licenses"},
    {"{\"version\":\"1\",\"levels\":{\"public\":{\"access\":true}}}", "levels.public.access"},
    {"{\"version\":\"1\",\"levels\":{\"public\":{\"approval\":\"yes\"}}}",
     "levels.public.approval"},
    {"{\"version\":\"1\",\"levels\":{\"restricted\":{\"approval\":\"none\"}}}",
     "levels.restricted.approval"},
    {"{\"version\":\"1\",\"levels\":{\"sovereign\":{\"approval\":\"reviewer\"}}}",
     "levels.sovereign.approval"},
    {"{\"version\":\"1\",\"levels\":{},\"stewards\":{\"people\":{}}}", "stewards.people"},
    {"{\"version\":\"1\",\"levels\":{},\"stewards\":{\"sources\":[]}}", "stewards.sources"},
    {"{\"version\":\"1\",\"levels\":{},\"stewards\":{\"sources\":{\"A B\":[\"x\"]}}}",
     "stewards.sources.A B"},
    {"{\"version\":\"1\",\"levels\":{},\"stewards\":{\"sources\":{\"a\":[]}}}",
     "stewards.sources.a"},
    {"{\"version\":\"1\",\"levels\":{},\"stewards\":{\"sources\":{\"a\":\"x\"}}}",
     "stewards.sources.a"},
};

static void good_files_are_read(void **state)
{
    struct policy p;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_rc(parse(good[i], &p), RC_OK);
        change_assert_valid("schemas/policy.schema.json", str_of(good[i]));
    }
}

static void bad_files_name_field_and_fix(void **state)
{
    struct policy p;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err = (struct err){0};
        if (parse(bad[i].text, &p) != RC_INVALID || strcmp(err.field, bad[i].field) != 0)
            fail_msg("%s: %s %s", bad[i].text, err.field, err.msg);
        assert_true(strlen(err.msg) > 0);
    }
}

/* What the checker refuses the schema refuses too. */
static void schema_agrees_on_bad_files(void **state)
{
    char file[64];
    (void)state;
    if (!change_can_validate("schemas/policy.schema.json"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        unit_temp(file);
        unit_write(file, bad[i].text);
        int status = change_run((const char *[]){"/usr/bin/python3", "-c", CHANGE_VALIDATE,
                                                 "schemas/policy.schema.json", file, NULL});
        if (status == 0)
            fail_msg("the schema takes %s", bad[i].text);
        unlink(file);
    }
}

static void absent_members_of_a_level_are_the_sample(void **state)
{
    struct policy sample, bare;
    (void)state;
    assert_rc(parse(policy_sample, &sample), RC_OK);
    assert_rc(
        parse(
            "{\"version\":\"1\",\"levels\":{\"public\":{},\"generalized\":{},\"restricted\":{},\"sovereign\":{}}}",
            &bare),
        RC_OK);
    assert_memory_equal(sample.levels, bare.levels, sizeof bare.levels);
    assert_string_not_equal(sample.tag, bare.tag);
}

static void tag_follows_the_meaning(void **state)
{
    struct policy x, y, z;
    (void)state;
    assert_rc(parse("{\"version\":\"1\", /* a */ \"levels\":{},\"stewards\":{}}", &x), RC_OK);
    assert_rc(parse("{\"stewards\":{},\"levels\":{},\"version\":\"1\"}", &y), RC_OK);
    assert_rc(parse("{\"version\":\"1\",\"levels\":{\"public\":{}},\"stewards\":{}}", &z), RC_OK);
    assert_string_equal(x.tag, y.tag);
    assert_string_not_equal(x.tag, z.tag);
}

/* ---- decisions ------------------------------------------------------------------------------- */

static struct source source_of(enum level level)
{
    return (struct source){.id = "a",
                           .title = "A",
                           .url = "https://example.org/a",
                           .collection = "c",
                           .license = "CC0-1.0",
                           .media_type = "",
                           .boundary_type = "",
                           .level = level};
}

struct scene {
    struct policy policy;
    struct source source;
    struct candidate cand;
    struct run_tags tags;
    struct sha256 sha;
    struct gate_waivers waivers;
    struct gate_view view;
};

static void set(struct scene *x, const char *policy, enum level level)
{
    *x = (struct scene){.source = source_of(level),
                        .cand = {.event_id = "evt_1", .detector = "etag", .detected_at = 1},
                        .tags = {"1", "c", "2", "1"},
                        .sha = {{1}}};
    assert_rc(parse(policy, &x->policy), RC_OK);
    x->view = (struct gate_view){.policy = &x->policy,
                                 .source = &x->source,
                                 .cand = &x->cand,
                                 .tags = &x->tags,
                                 .sha = &x->sha,
                                 .waivers = &x->waivers};
}

static void waive(struct scene *x, const char *code)
{
    x->waivers.list[x->waivers.n].no = 7;
    snprintf(x->waivers.list[x->waivers.n++].rule, 64, "%s", code);
}

/* Somebody approved a hold that was for this. */
static void approve(struct scene *x, const char *code)
{
    char *text = arena_printf(&a, "[{\"verdict\":\"hold\",\"reason\":\"%s\"}]", code);
    assert_rc(json_parse(&a, str_of(text), 0, "findings", &x->view.seen, &err), RC_OK);
    x->view.reviewer = "somebody";
    x->view.rightful = true;
}

static void expect(struct scene *x, enum gate_verdict verdict, const char *reason)
{
    struct gate g, again;
    assert_rc(gate_decide(&a, &x->view, &g, &err), RC_OK);
    assert_rc(gate_decide(&a, &x->view, &again, &err), RC_OK);
    assert_string_equal(gate_verdict_name(g.verdict), gate_verdict_name(verdict));
    assert_string_equal(g.reason, reason);
    assert_true(str_eq(g.doc, again.doc));
}

static void plain_changes_are_allowed(void **state)
{
    struct scene x;
    (void)state;
    set(&x, policy_sample, LEVEL_PUBLIC);
    expect(&x, GATE_ALLOW, "");
    set(&x, policy_sample, LEVEL_GENERALIZED);
    expect(&x, GATE_ALLOW, "");
}

static void unnamed_level_is_denied(void **state)
{
    struct scene x;
    (void)state;
    set(&x, "{\"version\":\"1\",\"levels\":{\"public\":{}}}", LEVEL_GENERALIZED);
    waive(&x, "LEVEL_NOT_ALLOWED");
    approve(&x, "LEVEL_NOT_ALLOWED");
    expect(&x, GATE_DENY, "LEVEL_NOT_ALLOWED");
}

static void approval_is_needed_and_never_waived(void **state)
{
    struct scene x;
    (void)state;
    for (enum level l = LEVEL_RESTRICTED; l <= LEVEL_SOVEREIGN; l++) {
        set(&x, policy_sample, l);
        waive(&x, "APPROVAL_REQUIRED");
        expect(&x, GATE_HOLD, "APPROVAL_REQUIRED");
        x.view.deletes = true;
        expect(&x, GATE_HOLD, "APPROVAL_REQUIRED");
        approve(&x, "APPROVAL_REQUIRED");
        expect(&x, GATE_ALLOW, "");
        x.view.rightful = false;
        expect(&x, GATE_HOLD, "APPROVAL_REQUIRED");
    }
}

static void approval_is_for_what_was_seen(void **state)
{
    struct scene x;
    (void)state;
    set(&x, "{\"version\":\"1\",\"levels\":{\"restricted\":{\"require\":[\"media_type\"]}}}",
        LEVEL_RESTRICTED);
    approve(&x, "APPROVAL_REQUIRED");
    expect(&x, GATE_HOLD, "METADATA_MISSING");
    approve(&x, "METADATA_MISSING");
    expect(&x, GATE_HOLD, "APPROVAL_REQUIRED");
    waive(&x, "METADATA_MISSING");
    approve(&x, "APPROVAL_REQUIRED");
    expect(&x, GATE_ALLOW, "");
    x.view.seen = NULL; /* nobody knows what it was for */
    expect(&x, GATE_HOLD, "APPROVAL_REQUIRED");
}

static void metadata(void **state)
{
    struct scene x;
    (void)state;
    set(&x, "{\"version\":\"1\",\"levels\":{\"public\":{\"require\":[\"title\",\"media_type\"]}}}",
        LEVEL_PUBLIC);
    expect(&x, GATE_HOLD, "METADATA_MISSING");
    x.source.media_type = "text/csv";
    expect(&x, GATE_ALLOW, "");
    x.source.title = "";
    expect(&x, GATE_HOLD, "METADATA_MISSING");
    waive(&x, "METADATA_MISSING");
    expect(&x, GATE_ALLOW, "");
}

static void licences(void **state)
{
    struct scene x;
    (void)state;
    set(&x, "{\"version\":\"1\",\"levels\":{\"public\":{\"licenses\":[\"ODbL-1.0\",\"cc0-1.0\"]}}}",
        LEVEL_PUBLIC);
    expect(&x, GATE_ALLOW, "");
    x.source.license = "proprietary";
    expect(&x, GATE_DENY, "LICENSE_NOT_ALLOWED");
    approve(&x, "LICENSE_NOT_ALLOWED"); /* a denial is nobody's to approve */
    expect(&x, GATE_DENY, "LICENSE_NOT_ALLOWED");
    waive(&x, "LICENSE_NOT_ALLOWED");
    expect(&x, GATE_ALLOW, "");
    set(&x, "{\"version\":\"1\",\"levels\":{\"public\":{\"licenses\":\"spdx\"}}}", LEVEL_PUBLIC);
    expect(&x, GATE_ALLOW, "");
    x.source.license = "";
    expect(&x, GATE_HOLD, "LICENSE_UNKNOWN");
    waive(&x, "LICENSE_UNKNOWN");
    expect(&x, GATE_ALLOW, "");
}

static void access_by_secret(void **state)
{
    struct scene x;
    (void)state;
    set(&x, "{\"version\":\"1\",\"levels\":{\"public\":{\"access\":\"open\"}}}", LEVEL_PUBLIC);
    x.source.headers[0] = (struct source_header){"X-Lang", "en"};
    x.source.n_headers = 1;
    expect(&x, GATE_ALLOW, "");
    x.source.headers[0] = (struct source_header){"X-Api-Key", "secret:key"};
    expect(&x, GATE_HOLD, "ACCESS_CONSTRAINED");
    waive(&x, "ACCESS_CONSTRAINED");
    expect(&x, GATE_ALLOW, "");
}

static void checksums(void **state)
{
    struct scene x;
    const struct sha256 other = {{2}};
    (void)state;
    set(&x, policy_sample, LEVEL_PUBLIC);
    waive(&x, "CHECKSUM_MISSING");
    waive(&x, "CHECKSUM_MISMATCH");
    x.view.expected = &x.sha;
    expect(&x, GATE_ALLOW, "");
    x.view.expected = &other;
    expect(&x, GATE_DENY, "CHECKSUM_MISMATCH");
    x.view.sha = x.view.expected = NULL;
    expect(&x, GATE_DENY, "CHECKSUM_MISSING");
    x.view.deletes = true;
    expect(&x, GATE_ALLOW, "");
}

static void provenance(void **state)
{
    struct scene x;
    (void)state;
    set(&x, policy_sample, LEVEL_PUBLIC);
    x.cand.detected_at = 0;
    expect(&x, GATE_DENY, "PROVENANCE_INCOMPLETE");
    set(&x, policy_sample, LEVEL_PUBLIC);
    x.view.tags = NULL;
    waive(&x, "PROVENANCE_INCOMPLETE");
    expect(&x, GATE_DENY, "PROVENANCE_INCOMPLETE");
}

static void rules_that_hold_can_be_waived_one_by_one(void **state)
{
    struct scene x;
    const struct validation qa = {.outcome = VERDICT_HOLD,
                                  .reasons = {"DISTRIBUTION_SHIFT_HIGH", "CRS_MISSING_OR_INVALID"},
                                  .n_reasons = 2};
    (void)state;
    set(&x, policy_sample, LEVEL_PUBLIC);
    x.view.qa = &qa;
    expect(&x, GATE_HOLD, "DISTRIBUTION_SHIFT_HIGH");
    waive(&x, "DISTRIBUTION_SHIFT_HIGH");
    expect(&x, GATE_HOLD, "CRS_MISSING_OR_INVALID");
    waive(&x, "CRS_MISSING_OR_INVALID");
    expect(&x, GATE_ALLOW, "");
    assert_false(gate_waivable("WRONG_SHAPE"));
    assert_false(gate_waivable("nonsense"));
}

static void stewards_by_source_and_collection(void **state)
{
    struct scene x;
    (void)state;
    set(&x,
        "{\"version\":\"1\",\"levels\":{},\"stewards\":{\"sources\":{\"a\":[\"Ann\"],\"b\":[\"Bob\"]},"
        "\"collections\":{\"c\":[\"Cy\"],\"a\":[\"Dee\"]}}}",
        LEVEL_SOVEREIGN);
    assert_true(policy_is_steward(&x.policy, &x.source, " ann "));
    assert_true(policy_is_steward(&x.policy, &x.source, "Cy"));
    assert_false(policy_is_steward(&x.policy, &x.source, "Bob"));
    assert_false(policy_is_steward(&x.policy, &x.source, "Dee"));
    assert_false(policy_is_steward(&x.policy, &x.source, ""));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(good_files_are_read),
        TEST(bad_files_name_field_and_fix),
        TEST(schema_agrees_on_bad_files),
        TEST(absent_members_of_a_level_are_the_sample),
        TEST(tag_follows_the_meaning),
        TEST(plain_changes_are_allowed),
        TEST(unnamed_level_is_denied),
        TEST(approval_is_needed_and_never_waived),
        TEST(approval_is_for_what_was_seen),
        TEST(metadata),
        TEST(licences),
        TEST(access_by_secret),
        TEST(checksums),
        TEST(provenance),
        TEST(rules_that_hold_can_be_waived_one_by_one),
        TEST(stewards_by_source_and_collection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
