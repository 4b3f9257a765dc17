/* entry: the feed entry, byte for byte. */
#include "handler/entry.h"
#include "change.h"

static void every_field_in_order(void **state)
{
    struct change_story *x = *state;
    struct err err;
    struct str doc;
    assert_rc(entry_render(&x->arena, &x->facts, &doc, &err), RC_OK);
    change_golden("entry.json", doc);
}

static void first_version_has_no_previous(void **state)
{
    struct change_story *x = *state;
    struct facts *f = &x->facts;
    struct err err;
    struct str doc;
    yyjson_val *root;
    f->from = (struct identity){0};
    f->prev_item_id = NULL;
    f->change_type = f->change_class = "new";
    f->qa = (struct validation){.outcome = VERDICT_PASS, .features = -1};
    f->reviewer = NULL;
    assert_rc(entry_render(&x->arena, f, &doc, &err), RC_OK);
    assert_rc(json_parse(&x->arena, doc, 0, "entry", &root, &err), RC_OK);
    assert_true(yyjson_is_null(yyjson_obj_get(root, "previous_identity")));
    assert_true(yyjson_is_null(yyjson_obj_get(root, "bbox")));
    yyjson_val *qa = yyjson_obj_get(root, "qa_summary");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(qa, "status")), "pass");
    assert_true(yyjson_is_null(yyjson_obj_get(yyjson_obj_get(qa, "features"), "total")));
}

/* Every allocation fails once: an error each time, never half a document. */
static void memory_runs_out(void **state)
{
    struct arena a;
    struct err err;
    struct source s = change_source(LEVEL_PUBLIC);
    struct candidate c = change_candidate();
    struct facts f = change_facts(&s, &c);
    struct str doc = {0};
    enum rc rc = RC_NOMEM;
    (void)state;
    for (long n = 0; rc != RC_OK; n++) {
        arena_init(&a, 1 << 20);
        arena_fail_after = n;
        rc = entry_render(&a, &f, &doc, &err);
        arena_fail_after = -1;
        assert_true(rc == RC_OK || (rc == RC_NOMEM && doc.n == 0));
        if (rc == RC_OK)
            change_golden("entry.json", doc);
        arena_release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {CHANGE_TEST(every_field_in_order),
                                       CHANGE_TEST(first_version_has_no_previous),
                                       cmocka_unit_test(memory_runs_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
