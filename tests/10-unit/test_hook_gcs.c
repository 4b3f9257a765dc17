/* hook_gcs: messages that Pub/Sub pushes: whose token opens the door, and what an object's event
 * says. Tokens as such are in test_jwt.c. */
#include "tests/10-unit/hook_world.h"

#define AUDIENCE "https://freshet.example/hooks/maps"
#define EMAIL "push@project.iam.gserviceaccount.com"
#define CLAIMS                                                                                     \
    "{\"iss\":\"https://accounts.google.com\",\"aud\":\"" AUDIENCE "\",\"email\":\"" EMAIL         \
    "\",\"email_verified\":true,\"iat\":1779999990,\"exp\":1780003590}"
#define OPTIONS "{\"audience\":\"" AUDIENCE "\",\"email\":\"" EMAIL "\"}"

static struct keys ours;
static struct world w;

static int make_keys(void **state)
{
    (void)state;
    keys_make(&ours, 2048, WORLD_NOW / 1000 + 86400);
    return 0;
}
static int drop_keys(void **state)
{
    (void)state;
    keys_end(&ours);
    return 0;
}

/* ---- whose token ----------------------------------------------------------------------------- */

static const char *header_with(const char *scheme, const char *claims)
{
    static char out[4000];
    char part[2000];
    unsigned char sig[512];
    size_t n = (size_t)snprintf(out, sizeof out, "HTTP_AUTHORIZATION=%s", scheme), from = n;
    const char *header = "{\"alg\":\"RS256\",\"kid\":\"k1\"}";
    encode_url((const unsigned char *)header, strlen(header), part);
    n += (size_t)snprintf(out + n, sizeof out - n, "%s.", part);
    encode_url((const unsigned char *)claims, strlen(claims), part);
    n += (size_t)snprintf(out + n, sizeof out - n, "%s", part);
    size_t len = keys_sign(&ours, "SHA256", (struct str){out + from, n - from}, sig);
    encode_url(sig, len, part);
    snprintf(out + n, sizeof out - n, ".%s", part);
    return out;
}

static const char *key_set(void)
{
    static char out[1000];
    snprintf(out, sizeof out,
             "{\"keys\":[{\"kty\":\"RSA\",\"alg\":\"RS256\",\"kid\":\"k1\",\"n\":\"%.600s\","
             "\"e\":\"%.10s\"}]}",
             ours.n, ours.e);
    return out;
}

static enum rc asks(const char *options, const char *header, const char *key_file)
{
    world_start(&w, options);
    if (key_file)
        world_secret(&w, key_file);
    if (header)
        world_header(&w, header);
    world_body(&w, "application/json", "not looked at");
    return world_verify(&w, &hook_gcs);
}

static void tokens_open_the_door(void **state)
{
    (void)state;
    char options[2000];
    assert_rc(asks(OPTIONS, header_with("Bearer ", CLAIMS), key_set()), RC_OK);
    world_end(&w);
    assert_rc(asks(OPTIONS, header_with("bearer ", CLAIMS), ours.public_key), RC_OK);
    world_end(&w);
    snprintf(options, sizeof options,
             "{\"audience\":[\"x\",\"" AUDIENCE "\"],\"email\":\"" EMAIL "\",\"keys\":%.900s}",
             key_set());
    assert_rc(asks(options, header_with("Bearer ", CLAIMS), NULL), RC_OK);
    world_end(&w);
    assert_rc(asks("{\"audience\":\"" AUDIENCE "\",\"email\":\"" EMAIL
                   "\",\"issuer\":\"https://accounts.google.com\"}",
                   header_with("Bearer ", CLAIMS), key_set()),
              RC_OK);
    world_end(&w);
}

static void nothing_else_does(void **state)
{
    (void)state;
    static const struct {
        const char *options, *scheme, *word;
        bool keys;
    } cases[] = {
        {OPTIONS, NULL, "Authorization", true},
        {OPTIONS, "", "Bearer", true},
        {OPTIONS, "Basic ", "Bearer", true},
        {OPTIONS, "Bearer", "Bearer", true},
        {OPTIONS, "Bearer ", "no key", false},
        {NULL, "Bearer ", "email", true},
        {"{\"email\":\"" EMAIL "\"}", "Bearer ", "audience", true},
        {"{\"audience\":\"" AUDIENCE "\"}", "Bearer ", "email", true},
        {"{\"audience\":\"https://other.example\",\"email\":\"" EMAIL "\"}", "Bearer ", "audience",
         true},
        {"{\"audience\":\"" AUDIENCE "\",\"email\":\"" EMAIL
         "\",\"issuer\":\"https://idp.example\"}",
         "Bearer ", "issuer", true},
        {"{\"audience\":\"" AUDIENCE "\",\"email\":\"other@x.example\"}", "Bearer ", "account",
         true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *header = cases[i].scheme ? header_with(cases[i].scheme, CLAIMS) : NULL;
        refused(asks(cases[i].options, header, cases[i].keys ? key_set() : NULL), RC_UNAUTHORIZED,
                &w, cases[i].word);
        assert_null(strstr(w.err.msg, "eyJ"));
        world_end(&w);
    }
    refused(asks(OPTIONS, header_with("Bearer ", CLAIMS), "neither PEM nor JSON"), RC_INVALID, &w,
            "PEM");
    world_end(&w);
}

/* ---- what it says ---------------------------------------------------------------------------- */

#define MESSAGE(attributes)                                                                        \
    "{\"message\":{\"attributes\":{" attributes                                                    \
    "},\"data\":\"eyJ9\",\"messageId\":\"136969346945\","                                          \
    "\"publishTime\":\"2026-05-28T20:26:35.123Z\"},\"subscription\":\"projects/p/subscriptions/s\"}"
#define OBJECT(type, generation)                                                                   \
    "\"bucketId\":\"maps\",\"objectId\":\"a b/c+d.zip\",\"eventType\":\"" type                     \
    "\",\"objectGeneration\":\"" generation "\",\"eventTime\":\"2026-05-28T20:26:30Z\""

static enum rc reads(const char *body)
{
    world_start(&w, OPTIONS);
    world_body(&w, "application/json", body);
    return world_read(&w, &hook_gcs);
}

static void an_object_was_written(void **state)
{
    (void)state;
    assert_rc(reads(MESSAGE(OBJECT("OBJECT_FINALIZE", "1587627537231057"))), RC_OK);
    assert_int_equal(w.r.kind, HOOK_EVENTS);
    assert_int_equal(w.r.n_events, 1);
    const struct hook_event *e = &w.r.events[0];
    assert_str(e->id, "136969346945");
    assert_str(e->object, "maps/a b/c+d.zip");
    assert_str(e->sequence, "000015876275372310570");
    assert_str(e->version, "1587627537231057");
    assert_int_equal(e->what, HOOK_CHANGED);
    assert_int_equal(e->at, WORLD_NOW - 10000);
    world_end(&w);
}

static void what_it_means(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        enum hook_what what;
        const char *version;
    } cases[] = {
        {MESSAGE(OBJECT("OBJECT_DELETE", "5")), HOOK_GONE, ""},
        {MESSAGE(OBJECT("OBJECT_ARCHIVE", "5")), HOOK_GONE, ""},
        {MESSAGE(OBJECT("OBJECT_DELETE", "5") ",\"overwrittenByGeneration\":\"6\""), HOOK_CHANGED,
         ""},
        {MESSAGE(OBJECT("OBJECT_METADATA_UPDATE", "5")), HOOK_OTHER, "5"},
        {MESSAGE(OBJECT("OBJECT_SOMETHING", "5")), HOOK_CHANGED, "5"},
        {MESSAGE("\"colour\":\"red\""), HOOK_CHANGED, ""},
        {"{\"message\":{\"data\":\"aGVsbG8=\",\"messageId\":\"1\"}}", HOOK_CHANGED, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_rc(reads(cases[i].body), RC_OK);
        assert_int_equal(w.r.events[0].what, cases[i].what);
        assert_str(w.r.events[0].version, cases[i].version);
        world_end(&w);
    }
}

/* Numbers of any length, as text of one width; a removal after what it removes. */
static void generations_keep_their_order(void **state)
{
    (void)state;
    char seen[4][32];
    static const char *const bodies[] = {MESSAGE(OBJECT("OBJECT_FINALIZE", "999")),
                                         MESSAGE(OBJECT("OBJECT_DELETE", "999")),
                                         MESSAGE(OBJECT("OBJECT_FINALIZE", "1000")),
                                         MESSAGE(OBJECT("OBJECT_FINALIZE", "9223372036854775807"))};
    for (int i = 0; i < 4; i++) {
        assert_rc(reads(bodies[i]), RC_OK);
        snprintf(seen[i], sizeof seen[i], "%.*s", STR_FMT(w.r.events[0].sequence));
        world_end(&w);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(strcmp(seen[i], seen[i + 1]) < 0);
        assert_int_equal(strlen(seen[i]), strlen(seen[i + 1]));
    }
}

/* The generation that was overwritten, told as written or removed, is what came just before. */
static void an_overwrite_names_what_came_before(void **state)
{
    char before[32];
    (void)state;
    assert_rc(reads(MESSAGE(OBJECT("OBJECT_FINALIZE", "7"))), RC_OK);
    assert_int_equal(w.r.events[0].after.n, 0);
    snprintf(before, sizeof before, "%.*s", STR_FMT(w.r.events[0].sequence));
    world_end(&w);
    assert_rc(reads(MESSAGE(OBJECT("OBJECT_FINALIZE", "12") ",\"overwroteGeneration\":\"7\"")),
              RC_OK);
    assert_true(str_starts(str_of(before), w.r.events[0].after));
    assert_int_equal(w.r.events[0].after.n, strlen(before) - 1);
    world_end(&w);
    refused(reads(MESSAGE(OBJECT("OBJECT_FINALIZE", "12") ",\"overwroteGeneration\":\"x\"")),
            RC_INVALID, &w, "overwroteGeneration");
    world_end(&w);
}

/* Beside the message stands how often it was tried. */
static void a_repeat_is_the_same_event(void **state)
{
    (void)state;
    char first[1000];
    static const char body[] = MESSAGE(OBJECT("OBJECT_FINALIZE", "5"));
    assert_rc(reads(body), RC_OK);
    snprintf(first, sizeof first, "%.*s", STR_FMT(w.r.events[0].bytes));
    world_end(&w);
    char again[2000];
    snprintf(again, sizeof again, "{\"deliveryAttempt\":5,%s", body + 1);
    assert_rc(reads(again), RC_OK);
    assert_str(w.r.events[0].bytes, first);
    world_end(&w);
}

static void forms_that_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *body, *word;
    } cases[] = {
        {"", "is empty"},
        {"[]", "message"},
        {"{}", "message"},
        {"{\"message\":7}", "message"},
        {"{\"message\":{}}", "messageId"},
        {"{\"message\":{\"messageId\":7}}", "messageId"},
        {"{\"message\":{\"messageId\":\"a\\nb\"}}", "messageId"},
        {"{\"message\":{\"messageId\":\"1\",\"messageId\":\"2\"}}", "given twice"},
        {"{\"message\":{\"messageId\":\"1\",\"publishTime\":\"yesterday\"}}", "publishTime"},
        {MESSAGE("\"eventType\":\"OBJECT_FINALIZE\""), "bucketId"},
        {MESSAGE("\"eventType\":\"OBJECT_FINALIZE\",\"bucketId\":\"b\""), "objectId"},
        {MESSAGE("\"eventType\":\"OBJECT_FINALIZE\",\"bucketId\":\"b\",\"objectId\":\"o\""),
         "objectGeneration"},
        {MESSAGE(OBJECT("OBJECT_FINALIZE", "-1")), "objectGeneration"},
        {MESSAGE(OBJECT("OBJECT_FINALIZE", "1e3")), "objectGeneration"},
        {MESSAGE(OBJECT("OBJECT_FINALIZE", "99999999999999999999")), "objectGeneration"},
        {MESSAGE(OBJECT("OBJECT_FINALIZE", "1") ",\"objectId\":\"x\""), "given twice"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        refused(reads(cases[i].body), RC_INVALID, &w, cases[i].word);
        world_end(&w);
    }
}

static void options(void **state)
{
    (void)state;
    static const struct declared cases[] = {
        {OPTIONS, 1, NULL},
        {"{\"audience\":[\"a\",\"b\"],\"email\":\"x@y\",\"issuer\":[\"https://idp.example\"]}", 1,
         NULL},
        {"{\"audience\":\"a\"}", 1, "adapter_options.email"},
        {"{\"audience\":\"a\",\"email\":\"x@y\",\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
         0, NULL},
        {NULL, 1, "adapter_options.audience"},
        {"{}", 1, "adapter_options.audience"},
        {"{\"audience\":\"\"}", 1, "adapter_options.audience"},
        {"{\"audience\":[]}", 1, "adapter_options.audience"},
        {"{\"audience\":[7]}", 1, "adapter_options.audience"},
        {OPTIONS, 0, "adapter_options.keys"},
        {"{\"audience\":\"a\",\"email\":\"x@y\",\"keys\":{\"keys\":[]}}", 0,
         "adapter_options.keys"},
        {"{\"audience\":\"a\",\"email\":\"x@y\",\"keys\":\"secret\"}", 1, "adapter_options.keys"},
        {"{\"audience\":\"a\",\"email\":\"x@y\",\"keys\":[{\"kty\":\"EC\"}]}", 0,
         "adapter_options.keys"},
        {"{\"audience\":\"a\",\"email\":5}", 1, "adapter_options.email"},
        {"{\"audience\":\"a\",\"alg\":\"none\"}", 1, "adapter_options.alg"},
    };
    world_declared(&hook_gcs, cases, ARRAY_LEN(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_open_the_door),
        cmocka_unit_test(nothing_else_does),
        cmocka_unit_test(an_object_was_written),
        cmocka_unit_test(what_it_means),
        cmocka_unit_test(generations_keep_their_order),
        cmocka_unit_test(an_overwrite_names_what_came_before),
        cmocka_unit_test(a_repeat_is_the_same_event),
        cmocka_unit_test(forms_that_are_none),
        cmocka_unit_test(options),
    };
    return cmocka_run_group_tests(tests, make_keys, drop_keys);
}
