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
        cmocka_unit_test_setup_teardown(tampering_is_noticed, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
