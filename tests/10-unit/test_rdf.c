/* rdf: hostile texts and addresses in both writers, doubles, order; a PROV-JSON document
 * as PROV-O. */
#include "tests/10-unit/unit.h"

#include "api/prov.h"

static struct arena memory;
static struct buf out;
static struct rdf g;
static struct err err;

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, 1u << 20);
    buf_init(&out, 1u << 20);
    rdf_init(&g, &memory, STR("http://h"));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&memory);
    buf_release(&out);
    return 0;
}

static const char *turtle(void)
{
    buf_clear(&out);
    rdf_write_turtle(&g, &out);
    assert_rc(buf_rc(&out), RC_OK);
    const char *body = strstr(out.data, "\n\n");
    return body ? body + 2 : "";
}

static yyjson_val *jsonld(void)
{
    yyjson_val *root;
    buf_clear(&out);
    rdf_write_jsonld(&g, &out);
    assert_rc(json_parse(&memory, buf_view(&out), 0, "json-ld", &root, &err), RC_OK);
    return root;
}

static void hostile_texts_are_escaped(void **state)
{
    (void)state;
    rdf_english(&g, JSON_BASE "/d", "dcterms:title", "a\"b\\c\nd\re\x01");
    assert_string_equal(turtle(),
                        "<http://h/d>\n    dcterms:title \"a\\\"b\\\\c\\nd\\re\\u0001\"@en .\n");
    yyjson_val *node = yyjson_arr_get_first(yyjson_obj_get(jsonld(), "@graph"));
    yyjson_val *title = yyjson_arr_get_first(yyjson_obj_get(node, "dcterms:title"));
    assert_string_equal(yyjson_get_str(yyjson_obj_get(title, "@value")), "a\"b\\c\nd\re\x01");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(title, "@language")), "en");
}

static void hostile_addresses_cannot_end_an_iri(void **state)
{
    (void)state;
    rdf_link(&g, "http://x/> <http://evil", "dcat:accessURL", "http://y/{a}|\"\\^` \n");
    assert_string_equal(turtle(), "<http://x/%3E%20%3Chttp://evil>\n    dcat:accessURL "
                                  "<http://y/%7Ba%7D%7C%22%5C%5E%60%20%0A> .\n");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(
                            yyjson_arr_get_first(yyjson_obj_get(jsonld(), "@graph")), "@id")),
                        "http://x/%3E%20%3Chttp://evil");
}

static void doubles_are_dropped_and_order_does_not_matter(void **state)
{
    char first[4096];
    (void)state;
    rdf_class(&g, "http://h/b", "dcat:Dataset");
    rdf_text(&g, "http://h/a", "foaf:name", "x");
    rdf_class(&g, "http://h/b", "dcat:Dataset");
    snprintf(first, sizeof first, "%s", turtle());
    assert_int_equal(g.n, 2);
    rdf_init(&g, &memory, STR("http://h"));
    rdf_text(&g, "http://h/a", "foaf:name", "x");
    rdf_class(&g, "http://h/b", "dcat:Dataset");
    assert_string_equal(turtle(), first);
}

static void what_is_absent_adds_nothing(void **state)
{
    (void)state;
    rdf_link(&g, "http://h/a", "dcat:accessURL", "");
    rdf_text(&g, NULL, "foaf:name", "x");
    rdf_text(&g, "http://h/a", "foaf:name", NULL);
    assert_int_equal(g.n, 0);
    assert_string_equal(turtle(), "");
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(jsonld(), "@graph")), 0);
    assert_rc(rdf_rc(&g, &err), RC_OK);
}

static void an_unknown_prefix_is_a_mistake(void **state)
{
    (void)state;
    rdf_text(&g, "http://h/a", "nobody:name", "x");
    assert_rc(rdf_rc(&g, &err), RC_INTERNAL);
}

static void read_prov(const char *json, enum rc want)
{
    yyjson_val *doc;
    assert_rc(json_parse(&memory, str_of(json), 0, "prov", &doc, &err), RC_OK);
    assert_rc(prov_graph(&g, doc, &err), want);
}

static void a_revision_is_direct_and_qualified(void **state)
{
    (void)state;
    read_prov(
        "{\"prefix\":{\"e\":\"\\u001F/e/\",\"prov\":\"http://www.w3.org/ns/prov#\"},"
        "\"wasDerivedFrom\":{\"_:d\":{\"prov:generatedEntity\":\"e:2\",\"prov:usedEntity\":\"e:1\","
        "\"prov:type\":{\"$\":\"prov:Revision\",\"type\":\"prov:QUALIFIED_NAME\"}}}}",
        RC_OK);
    assert_string_equal(turtle(),
                        "_:d\n    rdf:type prov:Revision ;\n    prov:entity <http://h/e/1> .\n\n"
                        "<http://h/e/2>\n    prov:qualifiedRevision _:d ;\n"
                        "    prov:wasDerivedFrom <http://h/e/1> ;\n"
                        "    prov:wasRevisionOf <http://h/e/1> .\n");
}

static void a_name_without_prefix_is_no_provenance(void **state)
{
    (void)state;
    read_prov("{\"prefix\":{},\"entity\":{\"x:1\":{}}}", RC_CORRUPT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hostile_texts_are_escaped),
        TEST(hostile_addresses_cannot_end_an_iri),
        TEST(doubles_are_dropped_and_order_does_not_matter),
        TEST(what_is_absent_adds_nothing),
        TEST(an_unknown_prefix_is_a_mistake),
        TEST(a_revision_is_direct_and_qualified),
        TEST(a_name_without_prefix_is_no_provenance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
