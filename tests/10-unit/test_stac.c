/* stac: items and collections, byte for byte, and valid STAC 1.1.0. */
#include "handler/stac.h"
#include "change.h"

#define VALIDATOR "../shared/data/schemas/validate_stac.py"

static void assert_stac(struct str doc)
{
    char file[64];
    if (!change_can_validate(VALIDATOR))
        return;
    change_served(doc, file);
    int status = change_run((const char *[]){"/usr/bin/python3", VALIDATOR, file, NULL});
    if (status != 0)
        print_error("%s is no valid STAC\n", file);
    assert_int_equal(status, 0);
    unlink(file);
}

static struct str render(struct arena *a, const struct facts *f)
{
    struct err err;
    struct str doc;
    assert_rc(stac_item(a, f, &doc, &err), RC_OK);
    assert_stac(doc);
    return doc;
}

static void item(void **state)
{
    struct arena a;
    struct source s = change_source(LEVEL_PUBLIC);
    struct candidate c = change_candidate();
    struct facts f = change_facts(&s, &c);
    (void)state;
    arena_init(&a, 1 << 20);
    change_golden("item.json", render(&a, &f));
    arena_release(&a);
}

/* A file whose place is not known has geometry null and no bbox. */
static void item_without_place(void **state)
{
    struct arena a;
    struct source s = change_source(LEVEL_PUBLIC);
    struct candidate c = change_candidate();
    struct facts f = change_facts(&s, &c);
    (void)state;
    arena_init(&a, 1 << 20);
    f.qa.has_bbox = false;
    f.prev_item_id = NULL;
    s.license = "Public domain, mostly";
    struct str doc = render(&a, &f);
    assert_non_null(strstr(doc.p, "\"license\":\"other\""));
    assert_non_null(strstr(doc.p, "\"geometry\":null"));
    assert_null(strstr(doc.p, "\"bbox\""));
    assert_null(strstr(doc.p, "predecessor-version"));
    arena_release(&a);
}

/* What is no SPDX identifier is "other", and a link leads to it. */
static void licences(void **state)
{
    static const struct {
        const char *declared, *id, *link;
    } cases[] = {
        {"CC0-1.0", "\"license\":\"CC0-1.0\"", NULL},
        {"cc0-1.0", "\"license\":\"CC0-1.0\"", NULL},
        {"LicenseRef-KS", "\"license\":\"other\"", "/sources/ks\""},
        {"Public domain, mostly", "\"license\":\"other\"", "\"title\":\"Public domain, mostly\""},
        {"https://ks.example/terms", "\"license\":\"other\"",
         "{\"rel\":\"license\",\"href\":\"https://ks.example/terms\"}"},
        {"", NULL, NULL}};
    struct arena a;
    struct source s = change_source(LEVEL_PUBLIC);
    struct candidate c = change_candidate();
    struct facts f = change_facts(&s, &c);
    (void)state;
    s.id = "ks";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena_init(&a, 1 << 20);
        s.license = cases[i].declared;
        const char *doc = render(&a, &f).p;
        assert_int_equal(strstr(doc, "\"license\":") != NULL, cases[i].id != NULL);
        assert_true(!cases[i].id || strstr(doc, cases[i].id));
        assert_int_equal(strstr(doc, "\"rel\":\"license\"") != NULL, cases[i].link != NULL);
        assert_true(!cases[i].link || strstr(doc, cases[i].link));
        arena_release(&a);
    }
}

static void flat_boxes(void **state)
{
    static const struct {
        double bbox[4];
        const char *type;
    } cases[] = {{{-97, 38, -97, 38}, "\"type\":\"Point\""},
                 {{-97, 38, -96, 38}, "\"type\":\"LineString\""},
                 {{-97, 38, -97, 39}, "\"type\":\"LineString\""},
                 {{-97, 38, -96, 39}, "\"type\":\"Polygon\""}};
    struct arena a;
    struct source s = change_source(LEVEL_PUBLIC);
    struct candidate c = change_candidate();
    struct facts f = change_facts(&s, &c);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena_init(&a, 1 << 20);
        memcpy(f.qa.bbox, cases[i].bbox, sizeof f.qa.bbox);
        assert_non_null(strstr(render(&a, &f).p, cases[i].type));
        arena_release(&a);
    }
}

static void collection(void **state)
{
    struct arena a;
    struct err err;
    struct str doc;
    (void)state;
    arena_init(&a, 1 << 20);
    assert_rc(stac_collection(&a, "boundaries", &doc, &err), RC_OK);
    change_golden("collection.json",
                  doc); /* whole only as served, with extent and links: 50-e2e/stac.sh */
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(item), cmocka_unit_test(item_without_place),
                                       cmocka_unit_test(licences), cmocka_unit_test(flat_boxes),
                                       cmocka_unit_test(collection)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
