/* hook_azure: Event Grid in both schemas, and its two handshakes. */
#include "tests/10-unit/hook_world.h"

#define TOPIC "/subscriptions/x/resourceGroups/r/providers/Microsoft.Storage/storageAccounts/maps"
#define SUBJECT "/blobServices/default/containers/c/blobs/a.zip"
#define BLOB                                                                                       \
    "{\"api\":\"PutBlob\",\"eTag\":\"0x8D4BCC2E4835CD0\",\"sequencer\":"                           \
    "\"00000000000004420000000000028963\",\"url\":\"https://maps.blob.core.windows.net/c/a.zip\"}"
#define EVENT(type, data)                                                                          \
    "{\"topic\":\"" TOPIC "\",\"subject\":\"" SUBJECT "\",\"eventType\":\"" type                   \
    "\",\"id\":\"831e1650-001e-001b\",\"data\":" data                                              \
    ",\"dataVersion\":\"\",\"metadataVersion\":\"1\",\"eventTime\":\"2026-05-28T20:26:30.0000000Z\"}"
#define CREATED EVENT("Microsoft.Storage.BlobCreated", BLOB)
#define CLOUD(type)                                                                                \
    "{\"specversion\":\"1.0\",\"id\":\"831e1650-001e-001b\",\"source\":\"" TOPIC                   \
    "\",\"subject\":\"" SUBJECT "\",\"type\":\"" type                                              \
    "\",\"time\":\"2026-05-28T20:26:30.0000000Z\",\"data\":" BLOB "}"
#define VALIDATION                                                                                 \
    "{\"id\":\"2d17\",\"topic\":\"" TOPIC "\",\"subject\":\"\",\"data\":{\"validationCode\":"      \
    "\"512d38b6-c7b8\"},\"eventType\":\"Microsoft.EventGrid.SubscriptionValidationEvent\","        \
    "\"eventTime\":\"2026-05-28T20:26:30Z\",\"metadataVersion\":\"1\",\"dataVersion\":\"1\"}"

static struct world w;

static enum rc reads(const char *type, const char *body)
{
    world_start(&w, NULL);
    world_body(&w, type, body);
    return world_read(&w, &hook_azure);
}

static void is_created(const struct hook_event *e)
{
    assert_str(e->object, "maps:c/a.zip");
    assert_str(e->sequence, "00000000000004420000000000028963");
    assert_str(e->version, "0x8D4BCC2E4835CD0");
    assert_int_equal(e->what, HOOK_CHANGED);
    assert_int_equal(e->at, WORLD_NOW - 10000);
}

static void both_schemas_say_the_same(void **state)
{
    (void)state;
    assert_rc(reads("application/json; charset=utf-8", "[" CREATED "]"), RC_OK);
    assert_int_equal(w.r.kind, HOOK_EVENTS);
    assert_int_equal(w.r.n_events, 1);
    is_created(&w.r.events[0]);
    assert_str(w.r.events[0].id, "831e1650-001e-001b");
    world_end(&w);
    assert_rc(reads("application/cloudevents+json", CLOUD("Microsoft.Storage.BlobCreated")), RC_OK);
    is_created(&w.r.events[0]);
    world_end(&w);
    assert_rc(reads("application/cloudevents-batch+json",
                    "[" CLOUD("Microsoft.Storage.BlobCreated") "," CLOUD(
                        "Microsoft.Storage.BlobDeleted") "]"),
              RC_OK);
    assert_int_equal(w.r.n_events, 2);
    is_created(&w.r.events[0]);
    assert_int_equal(w.r.events[1].what, HOOK_GONE);
    assert_str(w.r.events[1].version, "");
    world_end(&w);
}

static void what_it_means(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        enum hook_what what;
    } cases[] = {
        {"[" EVENT("Microsoft.Storage.BlobDeleted", BLOB) "]", HOOK_GONE},
        {"[" EVENT("Microsoft.Storage.BlobRenamed", BLOB) "]", HOOK_CHANGED},
        {"[" EVENT("Microsoft.Storage.BlobTierChanged", BLOB) "]", HOOK_OTHER},
        {"[" EVENT("Microsoft.EventGrid.SubscriptionDeletedEvent", "{}") "]", HOOK_OTHER},
        {"[" EVENT("Contoso.Something", "5") "]", HOOK_CHANGED},
        {"[" EVENT("Microsoft.Storage.BlobCreated", "null") "]", HOOK_CHANGED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_rc(reads("application/json", cases[i].body), RC_OK);
        assert_int_equal(w.r.events[0].what, cases[i].what);
        world_end(&w);
    }
    assert_rc(reads("application/json", "[]"), RC_OK);
    assert_int_equal(w.r.n_events, 0);
    world_end(&w);
}

static void objects_have_names(void **state)
{
    (void)state;
    static const struct {
        const char *topic, *subject, *object;
    } cases[] = {
        {TOPIC, "/blobServices/default/containers/c/blobs/d/e f.zip", "maps:c/d/e f.zip"},
        {TOPIC, "/blobServices/default/containers/c/blobs/",
         TOPIC " /blobServices/default/containers/c/blobs/"},
        {TOPIC, "/blobServices/default/containers/c", TOPIC " /blobServices/default/containers/c"},
        {TOPIC, "/blobServices/default/containers//blobs/a",
         TOPIC " /blobServices/default/containers//blobs/a"},
        {TOPIC, "x/blobServices/default/containers/c/blobs/a",
         TOPIC " x/blobServices/default/containers/c/blobs/a"},
        {"/topics/t", SUBJECT, "/topics/t " SUBJECT},
        {"/storageAccounts/", SUBJECT, "/storageAccounts/ " SUBJECT},
        {"", SUBJECT, SUBJECT},
        {TOPIC, "", TOPIC},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char body[1000];
        snprintf(body, sizeof body,
                 "[{\"topic\":\"%s\",\"subject\":\"%s\",\"id\":\"1\",\"eventType\":"
                 "\"Microsoft.Storage.BlobCreated\",\"eventTime\":\"2026-05-28T20:26:30Z\"}]",
                 cases[i].topic, cases[i].subject);
        assert_rc(reads("application/json", body), RC_OK);
        assert_str(w.r.events[0].object, cases[i].object);
        world_end(&w);
    }
}

static void one_bad_event_refuses_all(void **state)
{
    (void)state;
    static const struct {
        const char *event, *word;
    } cases[] = {
        {"{}", "id"},
        {"7", "object"},
        {"{\"id\":\"1\"}", "eventType"},
        {"{\"id\":\"1\",\"eventType\":\"t\"}", "eventTime"},
        {"{\"id\":\"1\",\"eventType\":\"t\",\"eventTime\":\"now\"}", "eventTime"},
        {"{\"id\":\"1\",\"id\":\"2\"}", "given twice"},
        {EVENT("Microsoft.Storage.BlobCreated", "{\"sequencer\":7}"), "sequencer"},
        {EVENT("Microsoft.Storage.BlobCreated", "{\"eTag\":\"a\\nb\"}"), "eTag"},
        {VALIDATION, "alone"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char body[3000];
        snprintf(body, sizeof body, "[" CREATED ",%s]", cases[i].event);
        refused(reads("application/json", body), RC_INVALID, &w, cases[i].word);
        world_end(&w);
    }
    refused(reads("application/json", CREATED), RC_INVALID, &w, "list");
    world_end(&w);
    refused(reads("application/json", "["), RC_INVALID, &w, "not valid JSON");
    world_end(&w);
    static char many[300000];
    size_t n = 0;
    for (int i = 0; i <= HOOK_EVENTS_MAX; i++)
        n += (size_t)snprintf(many + n, sizeof many - n, "%s" CREATED, i ? "," : "[");
    snprintf(many + n, sizeof many - n, "]");
    refused(reads("application/json", many), RC_TOO_LARGE, &w, "at most 100");
    world_end(&w);
}

/* ---- handshakes ------------------------------------------------------------------------------ */

static void a_validation_is_answered(void **state)
{
    (void)state;
    assert_rc(reads("application/json", "[" VALIDATION "]"), RC_OK);
    assert_int_equal(w.r.kind, HOOK_HANDSHAKE);
    assert_int_equal(w.r.n_events, 0);
    assert_str(w.r.reply, "{\"validationResponse\":\"512d38b6-c7b8\"}");
    assert_str(w.r.reply_type, "application/json");
    world_end(&w);
    static const char *const bad[] = {
        "[{\"eventType\":\"Microsoft.EventGrid.SubscriptionValidationEvent\"}]",
        "[{\"eventType\":\"Microsoft.EventGrid.SubscriptionValidationEvent\",\"data\":{}}]",
        "[{\"eventType\":\"Microsoft.EventGrid.SubscriptionValidationEvent\",\"data\":{"
        "\"validationCode\":\"a\\r\\nb\"}}]",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        refused(reads("application/json", bad[i]), RC_INVALID, &w, i ? "validationCode" : "data");
        world_end(&w);
    }
}

/* The code is put into JSON as text, whatever it is. */
static void a_code_cannot_leave_its_quotes(void **state)
{
    (void)state;
    assert_rc(reads("application/json",
                    "[{\"eventType\":\"Microsoft.EventGrid.SubscriptionValidationEvent\",\"data\":{"
                    "\"validationCode\":\"a\\\",\\\"b\\\":\\\"\\\\\"}}]"),
              RC_OK);
    assert_str(w.r.reply, "{\"validationResponse\":\"a\\\",\\\"b\\\":\\\"\\\\\"}");
    world_end(&w);
}

static enum rc asks(const char *method, const char *options, const char *key, const char *origin)
{
    world_start(&w, options);
    world_secret(&w, WORLD_SECRET);
    w.d.method = str_of(method);
    if (key)
        world_header(&w, key);
    if (origin)
        world_header(&w, origin);
    world_body(&w, "application/json", strcmp(method, "POST") == 0 ? "[" VALIDATION "]" : "");
    return world_verify(&w, &hook_azure);
}

static void the_key_is_needed_always(void **state)
{
    (void)state;
    static const struct {
        const char *method, *options, *key, *origin;
        enum rc rc;
    } cases[] = {
        {"POST", NULL, "HTTP_AEG_SAS_KEY=" WORLD_SECRET, NULL, RC_OK},
        {"POST", NULL, "HTTP_AEG_SAS_KEY=x", NULL, RC_UNAUTHORIZED},
        {"POST", NULL, NULL, NULL, RC_UNAUTHORIZED},
        {"POST", "{\"header\":\"X-Key\"}", "HTTP_X_KEY=" WORLD_SECRET, NULL, RC_OK},
        {"POST", "{\"header\":\"X-Key\"}", "HTTP_AEG_SAS_KEY=" WORLD_SECRET, NULL, RC_UNAUTHORIZED},
        {"OPTIONS", NULL, "HTTP_AEG_SAS_KEY=" WORLD_SECRET,
         "HTTP_WEBHOOK_REQUEST_ORIGIN=eventgrid.azure.net", RC_OK},
        {"OPTIONS", NULL, NULL, "HTTP_WEBHOOK_REQUEST_ORIGIN=eventgrid.azure.net", RC_UNAUTHORIZED},
        {"OPTIONS", NULL, "HTTP_AEG_SAS_KEY=" WORLD_SECRET,
         "HTTP_WEBHOOK_REQUEST_ORIGIN=evil.example", RC_UNAUTHORIZED},
        {"OPTIONS", "{\"origins\":[\"x.example\"]}", "HTTP_AEG_SAS_KEY=" WORLD_SECRET,
         "HTTP_WEBHOOK_REQUEST_ORIGIN=eventgrid.azure.net", RC_UNAUTHORIZED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_rc(asks(cases[i].method, cases[i].options, cases[i].key, cases[i].origin),
                  cases[i].rc);
        world_end(&w);
    }
}

static void the_handshake_of_cloudevents(void **state)
{
    (void)state;
    assert_rc(asks("OPTIONS", NULL, "HTTP_AEG_SAS_KEY=" WORLD_SECRET,
                   "HTTP_WEBHOOK_REQUEST_ORIGIN=eventgrid.azure.net"),
              RC_OK);
    assert_rc(world_read(&w, &hook_azure), RC_OK);
    assert_int_equal(w.r.kind, HOOK_HANDSHAKE);
    assert_str(w.r.reply_headers, "WebHook-Allowed-Origin: eventgrid.azure.net\r\n"
                                  "WebHook-Allowed-Rate: *\r\nAllow: POST\r\n");
    world_end(&w);
}

static void options(void **state)
{
    (void)state;
    struct err err;
    assert_rc(world_options(&hook_azure, NULL, 1, &err), RC_OK);
    assert_rc(world_options(&hook_azure, "{\"header\":\"X-Key\",\"rate\":100}", 1, &err), RC_OK);
    assert_rc(world_options(&hook_azure, NULL, 0, &err), RC_INVALID);
    assert_string_equal(err.field, "secrets");
    assert_rc(world_options(&hook_azure, "{\"types\":[\"x\"]}", 1, &err), RC_INVALID);
    assert_string_equal(err.field, "adapter_options.types");
}

/* The request of the provider's documentation. */
static void vectors(void **state)
{
    (void)state;
    struct arena a;
    struct err err = {0};
    yyjson_val *doc, *request;
    arena_init(&a, 1 << 20);
    if (json_parse_file(&a, "../shared/data/vectors/azure_eventgrid.json", 0, &doc, &err) != RC_OK)
        skip();
    request = yyjson_obj_get(doc, "validation_request");
    char *body = yyjson_val_write(yyjson_obj_get(request, "body"), 0, NULL);
    char *want =
        yyjson_val_write(yyjson_obj_get(yyjson_obj_get(doc, "expected_response"), "body"), 0, NULL);
    assert_rc(reads("application/json", body), RC_OK);
    assert_str(w.r.reply, want);
    world_end(&w);
    free(body);
    free(want);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_schemas_say_the_same),
        cmocka_unit_test(what_it_means),
        cmocka_unit_test(objects_have_names),
        cmocka_unit_test(one_bad_event_refuses_all),
        cmocka_unit_test(a_validation_is_answered),
        cmocka_unit_test(a_code_cannot_leave_its_quotes),
        cmocka_unit_test(the_key_is_needed_always),
        cmocka_unit_test(the_handshake_of_cloudevents),
        cmocka_unit_test(options),
        cmocka_unit_test(vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
