/* prov: bundles, byte for byte, and valid PROV-JSON. */
#include "handler/prov.h"
#include "change.h"

#define PROV_SCHEMA "../shared/data/schemas/prov-json/prov-json.schema.json"

static struct str render(struct change_story *x)
{
    struct err err;
    struct str doc;
    assert_rc(prov_render(&x->arena, &x->facts, &doc, &err), RC_OK);
    change_assert_valid(PROV_SCHEMA, doc);
    return doc;
}

static void promoted(void **state)
{
    struct change_story *x = *state;
    change_golden("prov.json", render(x));
}

/* A run that promoted nothing still tells what it used and how it ended (I5). */
static void evidence_of_a_failure(void **state)
{
    struct change_story *x = *state;
    struct facts *f = &x->facts;
    f->item_id = f->prev_item_id = f->reviewer = NULL;
    f->result = "failed";
    f->reason = "WRONG_SHAPE";
    struct str doc = render(x);
    assert_null(strstr(doc.p, "wasGeneratedBy"));
    assert_null(strstr(doc.p, "wasDerivedFrom"));
    assert_non_null(strstr(doc.p, "\"kfm:reason\":\"WRONG_SHAPE\""));
    assert_non_null(strstr(doc.p, "ent:report-"));
    f->qa = (struct validation){0};
    assert_null(strstr(render(x).p, "ent:report-"));
}

/* What was removed is invalidated by the run, and nothing was made. */
static void deletion(void **state)
{
    struct change_story *x = *state;
    struct facts *f = &x->facts;
    f->item_id = NULL;
    f->to = (struct identity){0};
    f->deletes = true;
    f->change_type = f->change_class = "deleted";
    f->qa = (struct validation){.features = -1};
    struct str doc = render(x);
    assert_null(strstr(doc.p, "wasGeneratedBy"));
    assert_null(strstr(doc.p, "wasDerivedFrom"));
    assert_non_null(
        strstr(doc.p, "\"wasInvalidatedBy\":{\"_:i1\":{\"prov:entity\":\"ent:ks-counties-v1\","
                      "\"prov:activity\":\"act:" CHANGE_RUN "\",\"prov:time\":\"2026-07-02T10:"));
}

static void no_credential_of_the_url(void **state)
{
    struct change_story *x = *state;
    struct str doc = render(x);
    assert_null(strstr(doc.p, "hush"));
    assert_non_null(strstr(doc.p, "counties.geojson?f=geojson\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {CHANGE_TEST(promoted), CHANGE_TEST(evidence_of_a_failure),
                                       CHANGE_TEST(deletion),
                                       CHANGE_TEST(no_credential_of_the_url)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
