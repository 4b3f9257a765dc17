/* delta: manifests, byte for byte, and their checksums. */
#include "handler/delta.h"
#include "change.h"

struct fixture {
    struct arena a;
    struct err err;
    struct source s;
    struct candidate c;
    struct facts f;
};

static int setup(void **state)
{
    static struct fixture x;
    x = (struct fixture){.s = change_source(LEVEL_PUBLIC), .c = change_candidate()};
    x.f = change_facts(&x.s, &x.c);
    arena_init(&x.a, 1 << 20);
    *state = &x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;
    arena_release(&x->a);
    return 0;
}

static void modified(void **state)
{
    struct fixture *x = *state;
    struct str doc;
    assert_rc(delta_render(&x->a, &x->f, &doc, &x->err), RC_OK);
    change_golden("delta.json", doc);
    assert_rc(delta_check(doc, &x->err), RC_OK);
    change_assert_valid("schemas/delta-manifest.schema.json", doc);
}

static void first_version_is_reverted_by_removal(void **state)
{
    struct fixture *x = *state;
    struct str doc;
    x->f.from = (struct identity){0};
    x->f.change_type = x->f.change_class = "new";
    assert_rc(delta_render(&x->a, &x->f, &doc, &x->err), RC_OK);
    assert_non_null(strstr(doc.p, "\"from\":null"));
    assert_non_null(strstr(doc.p, "\"revert\":[{\"op\":\"remove\"}]"));
    assert_rc(delta_check(doc, &x->err), RC_OK);
    change_assert_valid("schemas/delta-manifest.schema.json", doc);
}

static void deletion_is_reverted_by_the_last_bytes(void **state)
{
    struct fixture *x = *state;
    struct str doc;
    x->f.to = (struct identity){0};
    x->f.deletes = true;
    x->f.item_id = NULL;
    x->f.change_type = x->f.change_class = "deleted";
    assert_rc(delta_render(&x->a, &x->f, &doc, &x->err), RC_OK);
    change_golden("delta-deleted.json", doc);
    assert_non_null(strstr(doc.p, "\"to\":null,\"apply\":[{\"op\":\"remove\"}]"));
    assert_rc(delta_check(doc, &x->err), RC_OK);
    change_assert_valid("schemas/delta-manifest.schema.json", doc);
}

#define D(digit) "0000000000000000000000000000000000000000000000000000000000000" #digit
#define FEATURE(key, digest, geometry, north, area)                                                \
    "{\"area_km2\":" #area ",\"bbox\":[0,0,1," #north                                              \
    "],\"digest\":\"" D(digest) "\",\"geometry_digest\":\"" D(geometry) "\",\"key\":" key "}"
#define REPORT(digest, n, area, features)                                                          \
    "{\"content_digest\":\"" D(digest) "\",\"layers\":[{\"name\":\"a\"}],\"features\":[" features  \
                                       "],\"totals\":{\"features\":" #n ",\"area_km2\":" #area     \
                                       "}}"

static yyjson_val *report(struct fixture *x, const char *text)
{
    yyjson_val *root;
    assert_rc(json_parse(&x->a, str_of(text), 0, "report", &root, &x->err), RC_OK);
    return root;
}

/* Equal, modified, removed, added; and without a key the same shape with another digest. */
static void feature_by_feature(void **state)
{
    struct fixture *x = *state;
    struct str doc;
    struct diff d;
    yyjson_val *then = report(
        x,
        REPORT(100, 4, 40,
               FEATURE("null", 110, 210, 1, 10) "," FEATURE("\"a\"", 111, 211, 1, 10) "," FEATURE(
                   "\"b\"", 112, 212, 1, 10) "," FEATURE("\"c\"", 113, 213, 1, 10)));
    yyjson_val *now = report(
        x,
        REPORT(101, 4, 45.5,
               FEATURE("null", 120, 210, 1, 10) "," FEATURE("\"a\"", 111, 211, 1, 10) "," FEATURE(
                   "\"b\"", 122, 222, 2, 20.5) "," FEATURE("\"d\"", 114, 214, 1, 5)));
    assert_rc(diff_of(&x->a, then, now, DIFF_LISTED_MAX, &d, &x->err), RC_OK);
    x->f.diff = &d;
    assert_rc(delta_render(&x->a, &x->f, &doc, &x->err), RC_OK);
    change_golden("delta-features.json", doc);
    assert_rc(delta_check(doc, &x->err), RC_OK);
    change_assert_valid("schemas/delta-manifest.schema.json", doc);
}

/* Two features of one key: what is equal stays, the rest is paired, nothing is lost or
 * counted twice. */
static void colliding_keys(void **state)
{
    struct fixture *x = *state;
    struct diff d;
    yyjson_val *then =
        report(x, REPORT(100, 2, 2,
                         FEATURE("\"a\"", 111, 211, 1, 1) "," FEATURE("\"a\"", 112, 212, 1, 1)));
    yyjson_val *now =
        report(x, REPORT(101, 3, 3,
                         FEATURE("\"a\"", 112, 212, 1, 1) "," FEATURE(
                             "\"a\"", 113, 213, 1, 1) "," FEATURE("\"a\"", 114, 214, 1, 1)));
    assert_rc(diff_of(&x->a, then, now, DIFF_LISTED_MAX, &d, &x->err), RC_OK);
    assert_int_equal(d.added.total, 1);
    assert_int_equal(d.removed.total, 0);
    assert_int_equal(d.modified.total, 1);
}

/* More features than a report lists: counts and areas of the whole, and nothing made up. */
static void unlisted_features_are_unknown(void **state)
{
    static const char text[] = "{\"layers\":[{}],\"features\":null,\"totals\":{\"features\":300000,"
                               "\"area_km2\":7}}";
    struct fixture *x = *state;
    struct str doc;
    struct diff d;
    yyjson_val *then = report(x, REPORT(100, 1, 14, FEATURE("\"a\"", 111, 211, 1, 14)));
    assert_rc(diff_of(&x->a, then, report(x, text), DIFF_LISTED_MAX, &d, &x->err), RC_OK);
    x->f.diff = &d;
    assert_rc(delta_render(&x->a, &x->f, &doc, &x->err), RC_OK);
    assert_non_null(strstr(doc.p, "\"verdict\":null"));
    assert_non_null(strstr(doc.p, "\"before\":1,\"after\":300000,\"added\":null"));
    assert_non_null(strstr(doc.p, "\"area_change_pct\":-50.0"));
    change_assert_valid("schemas/delta-manifest.schema.json", doc);
}

/* Any byte that means something, changed, is noticed. */
static void tampering_is_noticed(void **state)
{
    struct fixture *x = *state;
    struct str doc;
    int noticed = 0;
    assert_rc(delta_render(&x->a, &x->f, &doc, &x->err), RC_OK);
    char *copy = arena_str(&x->a, doc);
    for (size_t i = 0; i < doc.n; i++) {
        if (copy[i] < '0' || copy[i] > '9')
            continue;
        copy[i] = copy[i] == '9' ? '8' : (char)(copy[i] + 1);
        assert_rc(delta_check((struct str){copy, doc.n}, &x->err), RC_CORRUPT);
        copy[i] = doc.p[i];
        noticed++;
    }
    assert_true(noticed > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(modified, setup, teardown),
        cmocka_unit_test_setup_teardown(first_version_is_reverted_by_removal, setup, teardown),
        cmocka_unit_test_setup_teardown(deletion_is_reverted_by_the_last_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(feature_by_feature, setup, teardown),
        cmocka_unit_test_setup_teardown(colliding_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(unlisted_features_are_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(tampering_is_noticed, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
