/* test_classify: which bytes are news, and what is told of them: geodata through the real
 * inspector, from the candidate to head, feed and delta. */
#include "tests/30-ledger/world.h"

#include "handler/delta.h"
#include "ledger/rollback.h"

#define LIST(features) "{\"type\":\"FeatureCollection\",\"features\":[" features "]}"
#define SHAPE(id, name, w, s, e, n)                                                                \
    "{\"type\":\"Feature\",\"properties\":{\"GEOID\":\"" id "\",\"name\":\"" name                  \
    "\"},\"geometry\":{\"type\":\"Polygon\",\"coordinates\":[[[" #w "," #s "],[" #e "," #s         \
    "],[" #e "," #n "],[" #w "," #n "],[" #w "," #s "]]]}}"
#define ADAMS SHAPE("20001", "Adams", -98, 38, -97, 39)
#define BARTON SHAPE("20003", "Barton", -97, 38, -96, 39)
#define CLARK SHAPE("20005", "Clark", -96, 38, -95, 39)
#define DOUGLAS SHAPE("20007", "Douglas", -95, 38, -94, 39)
#define COUNTIES LIST(ADAMS "," BARTON "," CLARK "," DOUGLAS)

/* more: members of the declaration, each with a comma in front. */
static struct source counties(const char *level, const char *more)
{
    char json[1024];
    snprintf(json, sizeof json,
             "{\"id\":\"counties\",\"title\":\"Counties\",\"url\":\"http://127.0.0.1:%d/counties\","
             "\"collection\":\"tests\",\"sensitivity\":\"%s\"%s}",
             server.port, level, more);
    struct source s = fix_source(led, json);
    OK(ledger_begin(led, &fix_err));
    OK(project_source(led, &inst, &s, 1000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    return s;
}
#define KEYED ",\"feature_key\":\"GEOID\""

/* The upstream has these bytes now, and somebody noticed. */
static const char *arrives(const struct source *s, const char *body, struct work_counts *n)
{
    spool(body, body);
    const char *event = found(s, body);
    *n = drain();
    return event;
}

static const char *promoted(const struct source *s, const char *body)
{
    struct work_counts n;
    const char *event = arrives(s, body, &n);
    assert_int_equal(n.done, 1);
    return event;
}

static void assert_held(const struct source *s, const char *body, const char *reason)
{
    struct work_counts n;
    const char *event = arrives(s, body, &n);
    assert_int_equal(n.held, 1);
    assert_string_equal(change_of(event).reason, reason);
}

static yyjson_val *json_of(struct str doc)
{
    yyjson_val *root;
    OK(json_parse(&fix_arena, doc, 0, "a document", &root, &fix_err));
    return root;
}

static yyjson_val *delta_of(const char *event)
{
    struct str doc = change_of(event).delta;
    OK(delta_check(doc, &fix_err));
    return json_of(doc);
}

static int64_t number(yyjson_val *doc, const char *pointer)
{
    yyjson_val *v = yyjson_ptr_get(doc, pointer);
    return yyjson_is_int(v) ? yyjson_get_sint(v) : -1;
}

static const char *text(yyjson_val *doc, const char *pointer)
{
    const char *s = yyjson_get_str(yyjson_ptr_get(doc, pointer));
    return s ? s : "(none)";
}

/* Verdict and counts, the same in delta and feed. */
static void assert_delta(const char *event, const char *verdict, int added, int removed,
                         int modified)
{
    yyjson_val *d = delta_of(event), *e = json_of(change_of(event).entry);
    assert_string_equal(text(d, "/verdict"), verdict);
    assert_int_equal(number(d, "/totals/added"), added);
    assert_int_equal(number(d, "/totals/removed"), removed);
    assert_int_equal(number(d, "/totals/modified"), modified);
    assert_int_equal(number(e, "/qa_summary/features/added"), added);
    assert_int_equal(number(e, "/qa_summary/features/removed"), removed);
    assert_int_equal(number(e, "/qa_summary/features/modified"), modified);
}

/* ---- noise ----------------------------------------------------------------------------------- */

static void written_otherwise_is_no_news(void **state)
{
    static const char *const same[] = {
        LIST(DOUGLAS "," ADAMS "," CLARK "," BARTON),
        "{ \"features\" : [" ADAMS ",\n" BARTON ",\n" CLARK "," DOUGLAS
        "], \"type\" : \"FeatureCollection\" }\n",
        LIST(SHAPE("20001", "Adams", -98.0, 3.8e1, -97.00, 39) "," BARTON "," CLARK "," DOUGLAS),
        LIST(SHAPE("20001", "Adams", -98.00000001, 38, -97, 39) "," BARTON "," CLARK "," DOUGLAS),
        LIST("{\"geometry\":{\"coordinates\":[[[-98,38],[-97,38],[-97,39],[-98,39],[-98,38]]],"
             "\"type\":\"Polygon\"},\"properties\":{\"name\":\"Adams\",\"GEOID\":\"20001\"},"
             "\"type\":\"Feature\"}," BARTON "," CLARK "," DOUGLAS),
    };
    struct source s = counties("public", KEYED);
    struct work_counts n;
    (void)state;
    promoted(&s, COUNTIES);
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        const char *event = arrives(&s, same[i], &n);
        if (n.noop != 1)
            fail_msg("%s", same[i]);
        struct change c = change_of(event);
        assert_string_equal(c.reason, "BYTE_ONLY");
        assert_true(c.prov.n > 0 && c.qa.n > 0); /* evidence */
        struct check_state st;
        OK(check_state_get(led, s.no, &st, &fix_err));
        struct sha256 sha;
        digest_sha256(same[i], strlen(same[i]), &sha);
        assert_true(sha256_eq(&st.seen_sha, &sha)); /* so that it is not fetched again */
    }
    assert_head(&s, 1, COUNTIES);
    assert_int_equal(feed_length(), 1);
}

#define DOT(name, x, y)                                                                            \
    LIST("{\"type\":\"Feature\",\"properties\":{\"GEOID\":\"1\",\"name\":\"" name                  \
         "\"},\"geometry\":{\"type\":\"Point\",\"coordinates\":[" x "," y "]}}")

/* A coordinate on the edge of a step of the digest, which moved by less than a millimetre: for
 * keyed features and others. One that moved by more than the precision is news, as is
 * another attribute. */
static void noise_on_an_edge(const char *declared)
{
    struct source s = counties("public", declared);
    struct work_counts n;
    promoted(&s, DOT("a", "10.00000004999", "50"));
    for (int round = 0; round < 2; round++) { /* the second time, the form is known */
        struct change c = change_of(arrives(&s, DOT("a", "10.00000005001", "50"), &n));
        assert_string_equal(c.reason, "BYTE_ONLY");
        assert_int_equal(c.qa.n > 0, round == 0);
    }
    assert_head(&s, 1, DOT("a", "10.00000004999", "50"));
    promoted(&s, DOT("a", "10.0000003", "50"));
    promoted(&s, DOT("b", "10.0000003", "50"));
    assert_head(&s, 3, DOT("b", "10.0000003", "50"));
    assert_int_equal(feed_length(), 3);
}

static void noise_of_keyed_features(void **state)
{
    (void)state;
    noise_on_an_edge(KEYED);
}

static void noise_of_other_features(void **state)
{
    (void)state;
    noise_on_an_edge("");
}

static int64_t noise(void)
{
    return ask_number("SELECT sum(n) FROM noise_days WHERE kind = 'byte_only'");
}

/* A form that was read once is known by its digest, as long as that head stands and the source is
 * declared as it was. */
static void a_known_form_is_not_read_again(void **state)
{
    static const char *const forms[] = {LIST(DOUGLAS "," ADAMS "," CLARK "," BARTON),
                                        LIST(CLARK "," DOUGLAS "," ADAMS "," BARTON)};
    struct source s = counties("public", KEYED);
    struct work_counts n;
    struct change c;
    (void)state;
    promoted(&s, COUNTIES);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
            c = change_of(arrives(&s, forms[i], &n));
            assert_string_equal(c.reason, "BYTE_ONLY");
            assert_int_equal(c.qa.n > 0, round == 0); /* no report: nobody inspected it */
            assert_true(c.prov.n > 0);
        }
    assert_int_equal(noise(), 4);
    assert_int_equal(ask_number("SELECT n FROM public_noise WHERE kind = 'byte_only'"), 4);
    assert_int_equal(feed_length(), 1);
    promoted(&s, LIST(DOUGLAS "," ADAMS "," CLARK)); /* another head: nothing is known of it */
    c = change_of(promoted(&s, forms[0]));
    assert_string_equal(c.status, "finalized");
    assert_int_equal(noise(), 4);
}

/* What says the same depends on the declaration. */
static void a_new_declaration_forgets_the_forms(void **state)
{
    const char *other =
        LIST(SHAPE("20001", "Adams", -98.00000001, 38, -97, 39) "," BARTON "," CLARK "," DOUGLAS);
    struct source s = counties("restricted", KEYED), again;
    struct work_counts n;
    (void)state;
    const char *event = arrives(&s, COUNTIES, &n);
    assert_int_equal(n.held, 1);
    fix_decide(led, event, true, "R. Viewer", "fine", 3000);
    (void)drain();
    arrives(&s, other, &n);
    assert_int_equal(n.noop, 1);
    assert_int_equal(ask_number("SELECT count(*) FROM twins"), 1);
    assert_int_equal(ask_number("SELECT sum(n) FROM public_noise"), 0); /* I8 */
    yyjson_val *decl = json_of(STR("{\"id\":\"counties\",\"url\":\"https://example.org/counties\","
                                   "\"sensitivity\":\"restricted\",\"precision_m\":0.0001}"));
    OK(source_parse(&fix_arena, decl, &again, &fix_err));
    again.no = s.no;
    OK(ledger_begin(led, &fix_err));
    OK(source_put(led, &again, 4000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_int_equal(ask_number("SELECT count(*) FROM twins"), 0);
}

/* A person is not asked about what is no change. */
static void noise_is_not_held(void **state)
{
    struct source s = counties("restricted", "");
    struct work_counts n;
    (void)state;
    const char *event = arrives(&s, COUNTIES, &n);
    assert_int_equal(n.held, 1);
    fix_decide(led, event, true, "R. Viewer", "fine", 3000);
    assert_int_equal(drain().done, 1);
    arrives(&s, LIST(DOUGLAS "," ADAMS "," CLARK "," BARTON), &n);
    assert_int_equal(n.noop, 1);
}

/* ---- news ------------------------------------------------------------------------------------ */

static void first_version_adds_all(void **state)
{
    struct source s = counties("public", KEYED);
    (void)state;
    const char *event = promoted(&s, COUNTIES);
    assert_delta(event, "(none)", 4, 0, 0);
    assert_null(yyjson_ptr_get(delta_of(event), "/features"));
    assert_string_equal(change_of(event).change_class, "new");
}

static void edits_are_told_by_key(void **state)
{
    struct source s = counties("public", KEYED);
    (void)state;
    promoted(&s, COUNTIES);
    const char *event = promoted(
        &s, LIST(SHAPE("20001", "Adams", -98, 38, -97,
                       39.5) "," BARTON "," CLARK "," SHAPE("20009", "Ellis", -94, 38, -93, 39)));
    yyjson_val *d = delta_of(event), *e = json_of(change_of(event).entry);
    assert_delta(event, "local", 1, 1, 1);
    assert_string_equal(text(d, "/features/added/0/key"), "20009");
    assert_string_equal(text(d, "/features/removed/0/key"), "20007");
    assert_string_equal(text(d, "/features/modified/0/key"), "20001");
    assert_true(yyjson_get_bool(yyjson_ptr_get(d, "/features/modified/0/moved")));
    assert_true(yyjson_get_bool(yyjson_ptr_get(d, "/features/complete")));
    assert_string_not_equal(text(d, "/features/modified/0/old_digest"),
                            text(d, "/features/modified/0/new_digest"));
    assert_true(yyjson_get_num(yyjson_ptr_get(d, "/features/modified/0/bbox/3")) == 39.5);
    assert_true(yyjson_get_num(yyjson_ptr_get(d, "/features/modified/0/old_bbox/3")) == 39);
    double pct = yyjson_get_num(yyjson_ptr_get(e, "/qa_summary/area_change_pct"));
    assert_true(pct > 11 && pct < 14); /* half a county of four */
    assert_string_equal(change_of(event).change_class, "content");
}

static void attributes_alone(void **state)
{
    struct source s = counties("public", KEYED);
    (void)state;
    promoted(&s, COUNTIES);
    const char *event = promoted(
        &s, LIST(SHAPE("20001", "Adam", -98, 38, -97, 39) "," BARTON "," CLARK "," DOUGLAS));
    assert_delta(event, "attributes_only", 0, 0, 1);
    assert_false(yyjson_get_bool(yyjson_ptr_get(delta_of(event), "/features/modified/0/moved")));
}

/* Without a key the same shape is the same feature; another shape is another one. */
static void without_a_key_shapes_are_matched(void **state)
{
    struct source s = counties("public", "");
    (void)state;
    promoted(&s, COUNTIES);
    const char *event =
        promoted(&s, LIST(SHAPE("20001", "Adam", -98, 38, -97, 39) "," BARTON "," CLARK "," SHAPE(
                         "20007", "Douglas", -95, 38, -94, 39.1)));
    assert_delta(event, "local", 1, 1, 1);
}

static void redrawn_is_not_moved(void **state)
{
    struct source s = counties("public", KEYED);
    (void)state;
    promoted(&s, COUNTIES);
    const char *event =
        promoted(&s, LIST(SHAPE("20001", "Adams", -98, 38, -97, 39.001) "," SHAPE(
                         "20003", "Barton", -97, 38, -96, 39.001) "," CLARK "," DOUGLAS));
    assert_delta(event, "local", 0, 0, 2); /* a strip of a hundred metres is no redrawing */
    event = promoted(&s, LIST(SHAPE("20001", "Adams", -98, 38, -97, 39.00104) "," SHAPE(
                             "20003", "Barton", -97, 38, -96, 39.001) "," CLARK "," DOUGLAS));
    assert_delta(event, "redigitised", 0, 0, 1);
}

static void another_file_is_a_replacement(void **state)
{
    struct source s = counties("public", KEYED);
    (void)state;
    promoted(&s, COUNTIES);
    const char *event =
        promoted(&s, LIST(ADAMS "," SHAPE("31001", "A", 1, 1, 2, 2) "," SHAPE(
                         "31003", "B", 2, 1, 3, 2) "," SHAPE("31005", "C", 3, 1, 4, 2)));
    assert_delta(event, "replaced", 3, 3, 0);
}

static void what_lies_elsewhere_is_replaced(void **state)
{
    struct source s = counties("public", KEYED);
    (void)state;
    promoted(&s, COUNTIES);
    const char *event =
        promoted(&s, LIST(SHAPE("20001", "Adams", 2, 38, 3, 39) "," SHAPE(
                         "20003", "Barton", 3, 38, 4,
                         39) "," SHAPE("20005", "Clark", 4, 38, 5, 39) "," SHAPE("20007", "Douglas",
                                                                                 5, 38, 6, 39)));
    assert_delta(event, "replaced", 0, 0, 4);
}

static void other_fields_are_another_schema(void **state)
{
    struct source s = counties("public", KEYED);
    (void)state;
    promoted(&s, LIST("{\"type\":\"Feature\",\"properties\":{\"GEOID\":\"1\"},\"geometry\":null}"));
    const char *event = promoted(&s, LIST("{\"type\":\"Feature\",\"properties\":{\"GEOID\":\"1\","
                                          "\"pop\":5},\"geometry\":null}"));
    assert_string_equal(change_of(event).change_class, "schema");
    event = promoted(&s, LIST("{\"type\":\"Feature\",\"properties\":{\"GEOID\":\"1\","
                              "\"pop\":6.5},\"geometry\":null}"));
    assert_string_equal(change_of(event).change_class, "content");
}

/* I10: a return is news, and told as such. */
static void there_and_back(void **state)
{
    static const char edited[] = LIST(ADAMS "," BARTON "," CLARK);
    struct source s = counties("public", KEYED);
    (void)state;
    promoted(&s, COUNTIES);
    assert_delta(promoted(&s, edited), "local", 0, 1, 0);
    assert_delta(promoted(&s, COUNTIES), "local", 1, 0, 0);
    assert_head(&s, 3, COUNTIES);
}

/* ---- what the public sees -------------------------------------------------------------------- */

static void generalized_tells_totals_alone(void **state)
{
    struct source s = counties("generalized", KEYED);
    struct public_doc doc;
    (void)state;
    promoted(&s, COUNTIES);
    const char *event = promoted(&s, LIST(ADAMS "," BARTON "," CLARK));
    struct ledger *r = fix_open(LEDGER_READ);
    OK(public_delta_get(r, &fix_arena, str_of(change_of(event).delta_id), &doc, &fix_err));
    assert_string_equal(text(json_of(doc.doc), "/verdict"), "local");
    assert_int_equal(number(json_of(doc.doc), "/totals/removed"), 1);
    assert_null(strstr(doc.doc.p, "20007"));
    OK(delta_check(doc.doc, &fix_err));
    ledger_close(&r);
}

/* A key may hold the mark that stands for the base URL in stored documents (core/json.h). */
static void keys_are_foreign_text(void **state)
{
    struct source s = counties("public", KEYED);
    (void)state;
    promoted(&s, COUNTIES);
    const char *event = promoted(
        &s, LIST(ADAMS "," BARTON "," CLARK "," SHAPE("\\u001f/x", "Ellis", -94, 38, -93, 39)));
    assert_string_equal(text(delta_of(event), "/features/added/0/key"), "\xef\xbf\xbd/x");
}

static void long_lists_are_cut_and_counted(void **state)
{
    enum { N = 700 };
    struct source s = counties("public", KEYED);
    struct buf b;
    (void)state;
    promoted(&s, COUNTIES);
    buf_init(&b, 1 << 20);
    buf_printf(&b, "{\"type\":\"FeatureCollection\",\"features\":[" ADAMS);
    for (int i = 0; i < N; i++)
        buf_printf(&b,
                   ",{\"type\":\"Feature\",\"properties\":{\"GEOID\":\"n%d\",\"name\":\"n\"},"
                   "\"geometry\":{\"type\":\"Point\",\"coordinates\":[1,%d.5]}}",
                   i, i % 80);
    buf_printf(&b, "]}");
    buf_add(&b, "", 1);
    const char *event = promoted(&s, b.data);
    buf_release(&b);
    assert_delta(event, "replaced", N, 3, 0);
    yyjson_val *f = yyjson_ptr_get(delta_of(event), "/features");
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(f, "added")), DIFF_LISTED_MAX);
    assert_false(yyjson_get_bool(yyjson_obj_get(f, "complete")));
}

/* ---- held ------------------------------------------------------------------------------------ */

static void drift_is_held(void **state)
{
    struct source s =
        counties("public", ",\"limits\":{\"count_drift_pct\":20,\"area_drift_pct\":30}");
    (void)state;
    promoted(&s, COUNTIES);
    assert_held(&s, LIST(ADAMS "," BARTON "," CLARK), "DISTRIBUTION_SHIFT_HIGH");
    assert_held(&s,
                LIST(SHAPE("20001", "Adams", -98, 38, -97, 41) "," BARTON "," CLARK "," DOUGLAS),
                "DISTRIBUTION_SHIFT_HIGH");
    assert_head(&s, 1, COUNTIES);
    promoted(&s,
             LIST(SHAPE("20001", "Adams", -98, 38, -97, 39.5) "," BARTON "," CLARK "," DOUGLAS));
}

#define BARE "{\"type\":\"Feature\",\"properties\":{\"GEOID\":\"20009\"},\"geometry\":null}"

/* Fields that must be filled, up to a share; keys that are no GEOIDs of counties. */
static void what_is_asked_for_is_there(void **state)
{
    struct source s =
        counties("public", KEYED ",\"required_fields\":[\"name\"],\"boundary_type\":\"county\","
                                 "\"limits\":{\"missing_pct\":20}");
    (void)state;
    promoted(&s, COUNTIES);
    promoted(&s, LIST(ADAMS "," BARTON "," CLARK "," DOUGLAS "," BARE));
    assert_held(&s, LIST(ADAMS "," BARTON "," CLARK "," BARE), "MISSINGNESS_EXCEEDED");
    assert_held(&s, LIST(SHAPE("200010", "Adams", -98, 38, -97, 39) "," BARTON), "KEY_PATTERN");
    promoted(&s, LIST(SHAPE("0500000US20001", "Adams", -98, 38, -97, 39) "," BARTON));
}

static void other_sizes_are_held(void **state)
{
    struct source s = counties("public", KEYED ",\"limits\":{\"size_drift_pct\":50}");
    (void)state;
    promoted(&s, COUNTIES);
    assert_held(&s, LIST(ADAMS), "DISTRIBUTION_SHIFT_HIGH");
}

static void lost_fields_are_held(void **state)
{
    struct source s = counties("public", KEYED);
    (void)state;
    promoted(&s, LIST(ADAMS));
    assert_held(&s, LIST(BARE), "SCHEMA_BREAKING_CHANGE");
}

#define NAKED "{\"type\":\"Feature\",\"properties\":{},\"geometry\":null}"

/* All of them at once, too; a list without features says nothing of fields. */
static void no_fields_at_all_are_lost_fields(void **state)
{
    struct source s = counties("public", "");
    (void)state;
    promoted(&s, LIST(NAKED));
    promoted(&s, LIST(ADAMS "," NAKED));
    assert_held(&s, LIST(NAKED "," NAKED), "SCHEMA_BREAKING_CHANGE");
    promoted(&s, LIST(""));
}

static void bad_shapes_and_keys_are_held(void **state)
{
    static const char bowtie[] =
        LIST("{\"type\":\"Feature\",\"properties\":{\"GEOID\":\"1\"},\"geometry\":{\"type\":"
             "\"Polygon\",\"coordinates\":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}}");
    struct source s = counties("public", KEYED ",\"region_bbox\":[-103,36,-94,41]");
    (void)state;
    promoted(&s, COUNTIES);
    assert_held(&s, bowtie, "GEOMETRY_INVALID");
    assert_held(&s, LIST(ADAMS "," SHAPE("20001", "Twice", -97, 38, -96, 39)), "KEY_COLLISION");
    assert_held(&s, LIST(ADAMS "," SHAPE("20003", "Far", 7, 50, 8, 51)), "OUTSIDE_REGION");
    assert_held(&s, LIST(ADAMS "," SHAPE("20003", "Nowhere", 1003.5, 38, 1004.5, 39)),
                "GEOMETRY_INVALID");
    assert_held(&s, LIST(BARE), "OUTSIDE_REGION"); /* no place at all */
    assert_head(&s, 1, COUNTIES);
    assert_int_equal(feed_length(), 1);
}

static void approved_although_held_has_its_delta(void **state)
{
    struct source s = counties("public", ",\"limits\":{\"count_drift_pct\":5}");
    struct work_counts n;
    (void)state;
    promoted(&s, COUNTIES);
    const char *event = arrives(&s, LIST(ADAMS "," BARTON "," CLARK), &n);
    assert_int_equal(n.held, 1);
    fix_decide(led, event, true, "R. Viewer", "they merged", 3000);
    assert_int_equal(drain().done, 1);
    assert_delta(event, "local", 0, 1, 0);
}

static void no_geodata_where_some_is_asked_for_fails(void **state)
{
    struct source s = counties("public", KEYED);
    struct work_counts n;
    (void)state;
    const char *event = arrives(&s, BODY_A, &n);
    assert_int_equal(n.failed, 1);
    assert_string_equal(change_of(event).reason, "WRONG_SHAPE");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* What was taken back does not come again in another form; once it is lifted, it does. */
static void taken_back_stays_away_in_any_form(void **state)
{
    struct source s = counties("public", KEYED);
    struct work_counts n;
    struct rollback_ask ask = {.reason = "wrong", .by = "Tester", .body = STR("{}")};
    const struct rollback_lift lift = {.src_no = s.no};
    char id[ROLLBACK_ID_MAX];
    int64_t lifted;
    (void)state;
    promoted(&s, COUNTIES);
    ask.delta_id = change_of(promoted(&s, LIST(ADAMS "," BARTON))).delta_id;
    OK(rollback_ask(led, &ask, 3000, id, &fix_err));
    assert_int_equal(drain().done, 1);
    assert_head(&s, 3, COUNTIES);
    const char *event = arrives(&s, LIST(BARTON "," ADAMS), &n);
    assert_int_equal(n.noop, 1);
    assert_string_equal(change_of(event).reason, "ROLLED_BACK_CONTENT");
    assert_head(&s, 3, COUNTIES);
    promoted(&s, LIST(ADAMS "," BARTON "," CLARK)); /* other content comes as ever */
    event = arrives(&s, LIST(BARTON "," ADAMS " "), &n);
    assert_int_equal(n.noop, 1);
    OK(rollback_lift(led, &lift, 4000, &lifted, &fix_err));
    assert_int_equal(lifted, 1);
    promoted(&s, LIST(BARTON "," ADAMS));
    assert_head(&s, 5, LIST(BARTON "," ADAMS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(written_otherwise_is_no_news),
                                       T(noise_is_not_held),
                                       T(noise_of_keyed_features),
                                       T(noise_of_other_features),
                                       T(a_known_form_is_not_read_again),
                                       T(a_new_declaration_forgets_the_forms),
                                       T(first_version_adds_all),
                                       T(edits_are_told_by_key),
                                       T(attributes_alone),
                                       T(without_a_key_shapes_are_matched),
                                       T(redrawn_is_not_moved),
                                       T(another_file_is_a_replacement),
                                       T(what_lies_elsewhere_is_replaced),
                                       T(other_fields_are_another_schema),
                                       T(there_and_back),
                                       T(generalized_tells_totals_alone),
                                       T(keys_are_foreign_text),
                                       T(long_lists_are_cut_and_counted),
                                       T(drift_is_held),
                                       T(what_is_asked_for_is_there),
                                       T(other_sizes_are_held),
                                       T(lost_fields_are_held),
                                       T(no_fields_at_all_are_lost_fields),
                                       T(bad_shapes_and_keys_are_held),
                                       T(approved_although_held_has_its_delta),
                                       T(taken_back_stays_away_in_any_form),
                                       T(no_geodata_where_some_is_asked_for_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
