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

static struct str render(struct change_story *x)
{
    struct err err;
    struct str doc;
    assert_rc(stac_item(&x->arena, &x->facts, &doc, &err), RC_OK);
    assert_stac(doc);
    return doc;
}

static void item(void **state)
{
    struct change_story *x = *state;
    change_golden("item.json", render(x));
}

/* A file whose place is not known has geometry null and no bbox. */
static void item_without_place(void **state)
{
    struct change_story *x = *state;
    x->facts.qa.has_bbox = false;
    x->facts.prev_item_id = NULL;
    x->source.license = "Public domain, mostly";
    struct str doc = render(x);
    assert_non_null(strstr(doc.p, "\"license\":\"other\""));
    assert_non_null(strstr(doc.p, "\"geometry\":null"));
    assert_null(strstr(doc.p, "\"bbox\""));
    assert_null(strstr(doc.p, "predecessor-version"));
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
    struct change_story *x = *state;
    x->source.id = "ks";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        x->source.license = cases[i].declared;
        const char *doc = render(x).p;
        assert_int_equal(strstr(doc, "\"license\":") != NULL, cases[i].id != NULL);
        assert_true(!cases[i].id || strstr(doc, cases[i].id));
        assert_int_equal(strstr(doc, "\"rel\":\"license\"") != NULL, cases[i].link != NULL);
        assert_true(!cases[i].link || strstr(doc, cases[i].link));
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
    struct change_story *x = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena_reset(&x->arena);
        memcpy(x->facts.qa.bbox, cases[i].bbox, sizeof x->facts.qa.bbox);
        assert_non_null(strstr(render(x).p, cases[i].type));
    }
}

static void collection(void **state)
{
    struct change_story *x = *state;
    struct err err;
    struct str doc;
    assert_rc(stac_collection(&x->arena, "boundaries", &doc, &err), RC_OK);
    /* Whole only as served, with extent and links: 50-e2e/stac.sh. */
    change_golden("collection.json", doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CHANGE_TEST(item), CHANGE_TEST(item_without_place),
                                       CHANGE_TEST(licences), CHANGE_TEST(flat_boxes),
                                       CHANGE_TEST(collection)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
