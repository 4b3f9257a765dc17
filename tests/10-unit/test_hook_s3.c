/* hook_s3: what stores say about their objects, and who may say it. */
#include "tests/10-unit/hook_world.h"

#include "api/hook_s3_events.h"

/* One record with some of it replaced. */
#define RECORD(name, key, rest)                                                                        \
    "{\"eventVersion\":\"2.1\",\"eventSource\":\"aws:s3\",\"eventTime\":"                              \
    "\"2026-05-28T20:26:30.000Z\",\"eventName\":\"" name "\",\"responseElements\":{"                   \
    "\"x-amz-request-id\":\"C3D1\"},\"s3\":{\"bucket\":{\"name\":\"maps\"},\"object\":{\"key\":\"" key \
    "\"" rest "}}}"
#define ONE(name, key, rest) "{\"Records\":[" RECORD(name, key, rest) "]}"
#define SEQUENCER ",\"sequencer\":\"0055aed6DCD90281E5\""
#define PUT ONE("ObjectCreated:Put", "a.zip", SEQUENCER)

static struct world w;

static enum rc reads(const char *body)
{
    world_start(&w, NULL);
    world_body(&w, "application/json", body);
    return world_read(&w, &hook_s3);
}

static void a_notification(void **state)
{
    (void)state;
    assert_rc(reads(ONE("ObjectCreated:Put", "red+flower%2Bone%C3%A9.zip",
                        SEQUENCER ",\"versionId\":\"v1\",\"size\":5")),
              RC_OK);
    assert_int_equal(w.r.kind, HOOK_EVENTS);
    assert_int_equal(w.r.n_events, 1);
    const struct hook_event *e = &w.r.events[0];
    assert_str(e->object, "maps/red flower+one\xc3\xa9.zip");
    assert_str(e->sequence, "0055AED6DCD90281E5");
    assert_str(e->version, "v1");
    assert_int_equal(e->what, HOOK_CHANGED);
    assert_int_equal(e->at, WORLD_NOW - 10000);
    assert_true(e->id.n > 0 && e->bytes.n > 0);
    world_end(&w);
}

static void what_it_means(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        enum hook_what what;
    } cases[] = {
        {ONE("s3:ObjectCreated:CompleteMultipartUpload", "a", ""), HOOK_CHANGED},
        {ONE("ObjectRemoved:Delete", "a", ""), HOOK_GONE},
        {ONE("ObjectRemoved:DeleteMarkerCreated", "a", ""), HOOK_GONE},
        {ONE("LifecycleExpiration:Delete", "a", ""), HOOK_GONE},
        {ONE("ReducedRedundancyLostObject", "a", ""), HOOK_GONE},
        {ONE("ObjectRestore:Completed", "a", ""), HOOK_CHANGED},
        {ONE("ObjectRestore:Post", "a", ""), HOOK_OTHER},
        {ONE("ObjectTagging:Put", "a", ""), HOOK_OTHER},
        {ONE("Nonsense", "%zz", ""), HOOK_OTHER},
        {"{\"Service\":\"Amazon S3\",\"Event\":\"s3:TestEvent\",\"Time\":\"2014-10-13T15:57:02Z\","
         "\"Bucket\":\"b\",\"RequestId\":\"5582\",\"HostId\":\"x\"}",
         HOOK_OTHER},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_rc(reads(cases[i].body), RC_OK);
        assert_int_equal(w.r.n_events, 1);
        assert_int_equal(w.r.events[0].what, cases[i].what);
        world_end(&w);
    }
}

static void a_removal_names_no_version(void **state)
{
    (void)state;
    assert_rc(reads(ONE("ObjectRemoved:Delete", "a", SEQUENCER ",\"versionId\":\"v1\"")), RC_OK);
    assert_str(w.r.events[0].version, "");
    world_end(&w);
}

#define BRIDGE(type, rest)                                                                         \
    "{\"version\":\"0\",\"id\":\"17793124-05d4\",\"detail-type\":\"" type                          \
    "\",\"source\":\"aws.s3\",\"time\":\"2026-05-28T20:26:40Z\",\"detail\":{\"bucket\":{"          \
    "\"name\":\"maps\"},\"object\":{\"key\":\"red+flower %41.zip\"" rest "}}}"

static void eventbridge(void **state)
{
    (void)state;
    assert_rc(reads(BRIDGE("Object Created", SEQUENCER ",\"version-id\":\"v2\"")), RC_OK);
    assert_int_equal(w.r.n_events, 1);
    assert_str(w.r.events[0].id, "17793124-05d4");
    assert_str(w.r.events[0].object, "maps/red+flower %41.zip"); /* as it is */
    assert_str(w.r.events[0].version, "v2");
    assert_int_equal(w.r.events[0].what, HOOK_CHANGED);
    world_end(&w);
    assert_rc(reads(BRIDGE("Object Deleted", "")), RC_OK);
    assert_int_equal(w.r.events[0].what, HOOK_GONE);
    world_end(&w);
    assert_rc(reads(BRIDGE("Object Tags Added", "")), RC_OK);
    assert_int_equal(w.r.events[0].what, HOOK_OTHER);
    world_end(&w);
    assert_rc(reads("[" BRIDGE("Object Created", "") "," BRIDGE("Object Deleted", "") "]"), RC_OK);
    assert_int_equal(w.r.n_events, 2);
    world_end(&w);
}

/* Of one key: the shorter is filled with zeros on its right, and compared as text. */
static int later(const char *x, const char *y)
{
    for (size_t i = 0; i < 64; i++) {
        char a = i < strlen(x) ? x[i] : '0', b = i < strlen(y) ? y[i] : '0';
        if (a != b)
            return a > b ? 1 : -1;
    }
    return 0;
}

static void sequencers_keep_their_order(void **state)
{
    (void)state;
    static const struct {
        const char *older, *newer;
        int order;
    } cases[] = {
        {"0055AED6DCD90281E5", "0055AED6DCD90281E6", -1},
        {"0055AED6DCD90281E5", "0055AED6DCD90281E501", -1},
        {"0055AED6DCD90281E5", "0055AED6DCD90281E500", 0},
        {"0055AED6DCD90281E5FFFF", "0055AED6DCD90281E6", -1},
        {"0055aed6dcd90281e5", "0055AED6DCD90281E5", 0},
        {"9", "a", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char body[2][1024];
        struct world x;
        const char *pair[] = {cases[i].older, cases[i].newer};
        for (int k = 0; k < 2; k++)
            snprintf(body[k], sizeof body[k],
                     ONE("ObjectCreated:Put", "a", ",\"sequencer\":\"%s\""), pair[k]);
        assert_rc(reads(body[0]), RC_OK);
        x = w;
        assert_rc(reads(body[1]), RC_OK);
        assert_int_equal(later(x.r.events[0].sequence.p, w.r.events[0].sequence.p), cases[i].order);
        world_end(&x);
        world_end(&w);
    }
}

static void copy_id(const char *body, char out[512])
{
    assert_rc(reads(body), RC_OK);
    snprintf(out, 512, "%.*s", STR_FMT(w.r.events[0].id));
    world_end(&w);
}

/* The same event has the same id in whatever batch it comes; another event has another one. */
static void identity(void **state)
{
    (void)state;
    char id[5][512];
    copy_id(PUT, id[0]);
    copy_id("{\"Records\":[" RECORD("ObjectCreated:Put", "a.zip", SEQUENCER) "," RECORD(
                "ObjectCreated:Put", "b.zip", SEQUENCER) "]}",
            id[1]);
    copy_id(ONE("ObjectCreated:Put", "b.zip", SEQUENCER), id[2]);
    copy_id(ONE("ObjectRemoved:Delete", "a.zip", SEQUENCER), id[3]);
    copy_id(ONE("ObjectCreated:Put", "a.zip", ",\"sequencer\":\"0055aed6DCD90281E6\""), id[4]);
    assert_string_equal(id[0], id[1]);
    for (int i = 2; i < 5; i++)
        assert_string_not_equal(id[0], id[i]);
}

static void one_bad_record_refuses_all(void **state)
{
    (void)state;
    static const struct {
        const char *body, *word;
    } cases[] = {
        {"{\"Records\":[" RECORD("ObjectCreated:Put", "a", SEQUENCER) ",{}]}", "eventVersion"},
        {"{\"Records\":[" RECORD("ObjectCreated:Put", "a", SEQUENCER) ",7]}", "Records"},
        {"{\"Records\":[" RECORD("ObjectCreated:Put", "a",
                                 SEQUENCER) "," RECORD("ObjectCreated:Put", "%zz", "") "]}",
         "key"},
        {ONE("ObjectCreated:Put", "a%00b", ""), "key"},
        {ONE("ObjectCreated:Put", "a%0d%0ab", ""), "key"},
        {ONE("ObjectCreated:Put", "%ff", ""), "key"},
        {ONE("ObjectCreated:Put", "", ""), "key"},
        {ONE("ObjectCreated:Put", "a", ",\"sequencer\":\"0055;DROP\""), "sequencer"},
        {ONE("ObjectCreated:Put", "a", ",\"sequencer\":5"), "sequencer"},
        {ONE("ObjectCreated:Put", "a", ",\"versionId\":[]"), "versionId"},
        {ONE("ObjectCreated:Put", "a", ",\"key\":\"b\""), "given twice"},
        {ONE("ObjectCreated:Put", "a", ",\"x\":{\"y\":1,\"y\":2}"), "given twice"},
        {"{\"Records\":[],\"Records\":[]}", "given twice"},
        {"{\"Records\":[{\"eventVersion\":\"3.0\",\"eventSource\":\"aws:s3\"}]}", "eventVersion"},
        {"{\"Records\":[{\"eventVersion\":\"2.1\",\"eventSource\":\"aws:sqs\"}]}", "eventSource"},
        {"{\"Records\":{}}", "no notification"},
        {"{\"detail-type\":\"Object Created\",\"source\":\"aws.ec2\"}", "no notification"},
        {"{\"detail-type\":\"Object Created\",\"source\":\"aws.s3\"}", "id"},
        {"{}", "no notification"},
        {"[[]]", "no notification"},
        {"\"Records\"", "no notification"},
        {"", "is empty"},
        {"{\"Records\":[", "not valid JSON"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        refused(reads(cases[i].body), RC_INVALID, &w, cases[i].word);
        world_end(&w);
    }
}

static void limits(void **state)
{
    (void)state;
    static char body[400000];
    size_t n = 0;
    for (int max = HOOK_EVENTS_MAX; max <= HOOK_EVENTS_MAX + 1; max++) {
        n = 0;
        for (int i = 0; i < max; i++)
            n += (size_t)snprintf(body + n, sizeof body - n, "%s%s", i ? "," : "{\"Records\":[",
                                  RECORD("ObjectCreated:Put", "a", SEQUENCER));
        snprintf(body + n, sizeof body - n, "]}");
        if (max > HOOK_EVENTS_MAX)
            refused(reads(body), RC_TOO_LARGE, &w, "at most 100 events");
        else
            assert_rc(reads(body), RC_OK);
        world_end(&w);
    }
    n = (size_t)snprintf(body, sizeof body, "{\"Records\":[{\"eventVersion\":\"2.1\",\"x\":");
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(body + n, sizeof body - n, "[");
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(body + n, sizeof body - n, "]");
    snprintf(body + n, sizeof body - n, "}]}");
    refused(reads(body), RC_INVALID, &w, "nested deeper");
    world_end(&w);
    memset(body, 'k', 5000);
    body[5000] = '\0';
    const char *long_key = body;
    static char around[8000];
    snprintf(around, sizeof around, ONE("ObjectCreated:Put", "%.5000s", ""), long_key);
    refused(reads(around), RC_INVALID, &w, "key");
    world_end(&w);
}

/* The examples of the provider's documentation. */
static void vectors(void **state)
{
    (void)state;
    struct arena a;
    struct err err = {0};
    yyjson_val *doc;
    arena_init(&a, 1 << 20);
    if (json_parse_file(&a, "../shared/data/vectors/s3_event.json", 0, &doc, &err) != RC_OK)
        skip();
    char *put = yyjson_val_write(yyjson_obj_get(doc, "put_event"), 0, NULL);
    char *test = yyjson_val_write(yyjson_obj_get(doc, "test_event"), 0, NULL);
    assert_rc(reads(put), RC_OK);
    assert_str(w.r.events[0].object, "mybucket/HappyFace.jpg");
    assert_str(w.r.events[0].sequence, "0055AED6DCD90281E5");
    assert_str(w.r.events[0].version, "096fKKXTRTtl3on89fVO.nfljtsv6qko");
    world_end(&w);
    assert_rc(reads(test), RC_OK);
    assert_int_equal(w.r.events[0].what, HOOK_OTHER);
    world_end(&w);
    free(put);
    free(test);
    arena_release(&a);
}

/* ---- who may say it -------------------------------------------------------------------------- */

static enum rc asks(const char *options, const char *header, bool with_secret)
{
    world_start(&w, options);
    if (with_secret) {
        world_secret(&w, "another secret of ours");
        world_secret(&w, WORLD_SECRET);
    }
    if (header)
        world_header(&w, header);
    world_body(&w, "application/json", PUT);
    return world_verify(&w, &hook_s3);
}

static void secrets_in_a_header(void **state)
{
    (void)state;
    static const struct {
        const char *options, *header;
        enum rc rc;
    } cases[] = {
        {NULL, "HTTP_X_API_KEY=" WORLD_SECRET, RC_OK},
        {NULL, "HTTP_X_API_KEY=another secret of ours", RC_OK},
        {NULL, "HTTP_X_API_KEY=" WORLD_SECRET "x", RC_UNAUTHORIZED},
        {NULL, "HTTP_X_API_KEY=a secret of 24 character", RC_UNAUTHORIZED},
        {NULL, "HTTP_X_API_KEY=", RC_UNAUTHORIZED},
        {NULL, "HTTP_X_API_KEYS=" WORLD_SECRET, RC_UNAUTHORIZED},
        {NULL, NULL, RC_UNAUTHORIZED},
        {"{\"header\":\"Authorization\"}", "HTTP_AUTHORIZATION=Bearer " WORLD_SECRET, RC_OK},
        {"{\"header\":\"Authorization\"}", "HTTP_AUTHORIZATION=bearer " WORLD_SECRET, RC_OK},
        {"{\"header\":\"Authorization\"}", "HTTP_AUTHORIZATION=" WORLD_SECRET, RC_UNAUTHORIZED},
        {"{\"header\":\"Authorization\"}", "HTTP_AUTHORIZATION=Basic " WORLD_SECRET,
         RC_UNAUTHORIZED},
        {"{\"header\":\"X-Key\",\"prefix\":\"key=\"}", "HTTP_X_KEY=key=" WORLD_SECRET, RC_OK},
        {"{\"header\":\"X-Key\",\"prefix\":\"key=\"}", "HTTP_X_KEY=" WORLD_SECRET, RC_UNAUTHORIZED},
        {"{\"header\":\"X-Key\"}", "HTTP_X_API_KEY=" WORLD_SECRET, RC_UNAUTHORIZED},
        {"{\"auth\":\"none\"}", "HTTP_X_API_KEY=" WORLD_SECRET, RC_INVALID},
        {"{\"auth\":\"hmac\"}", "HTTP_X_API_KEY=" WORLD_SECRET, RC_UNAUTHORIZED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_rc(asks(cases[i].options, cases[i].header, true), cases[i].rc);
        assert_null(strstr(w.err.msg, "of 24")); /* I12 */
        world_end(&w);
        if (cases[i].rc == RC_OK) { /* fail closed */
            assert_rc(asks(cases[i].options, cases[i].header, false), RC_UNAUTHORIZED);
            world_end(&w);
        }
    }
}

static void hmac_of_the_body(void **state)
{
    (void)state;
    struct sha256 mac;
    char hex[SHA256_HEX], header[128];
    mac_sha256(STR(WORLD_SECRET), STR(PUT), &mac);
    sha256_hex(&mac, hex);
    snprintf(header, sizeof header, "HTTP_X_MAC=sha256=%s", hex);
    const char *options = "{\"auth\":\"hmac\",\"header\":\"X-Mac\",\"prefix\":\"sha256=\"}";
    assert_rc(asks(options, header, true), RC_OK);
    world_body(&w, "application/json", PUT " ");
    assert_rc(world_verify(&w, &hook_s3), RC_UNAUTHORIZED);
    world_end(&w);
}

static void options(void **state)
{
    (void)state;
    static const struct declared cases[] = {
        {NULL, 1, NULL},
        {"{}", 1, NULL},
        {NULL, 0, "secrets"},
        {"{\"auth\":\"hmac\"}", 0, "secrets"},
        {"{\"header\":\"X-Key\",\"prefix\":\"k=\",\"auth\":\"secret\"}", 1, NULL},
        {"{\"auth\":\"hmac\",\"header\":\"X-Key\",\"encoding\":\"base64\"}", 1, NULL},
        {"{\"auth\":\"hmac\",\"encoding\":\"rot13\"}", 1, "adapter_options.encoding"},
        {"{\"auth\":\"hmac\",\"colour\":\"red\"}", 1, "adapter_options.colour"},
        {"{\"encoding\":\"base64\"}", 1, "adapter_options.encoding"},
        {"{\"auth\":\"basic\"}", 1, "adapter_options.auth"},
        {"{\"auth\":5}", 1, "adapter_options.auth"},
        {"{\"header\":\"X Key\"}", 1, "adapter_options.header"},
        {"{\"header\":[]}", 1, "adapter_options.header"},
        {"{\"prefix\":\"a\\nb\"}", 1, "adapter_options.prefix"},
        {"{\"topic_arns\":[]}", 1, "adapter_options.topic_arns"},
    };
    world_declared(&hook_s3, cases, ARRAY_LEN(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_notification),
        cmocka_unit_test(what_it_means),
        cmocka_unit_test(a_removal_names_no_version),
        cmocka_unit_test(eventbridge),
        cmocka_unit_test(sequencers_keep_their_order),
        cmocka_unit_test(identity),
        cmocka_unit_test(one_bad_record_refuses_all),
        cmocka_unit_test(limits),
        cmocka_unit_test(vectors),
        cmocka_unit_test(secrets_in_a_header),
        cmocka_unit_test(hmac_of_the_body),
        cmocka_unit_test(options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
